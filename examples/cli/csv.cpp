#include "csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "goodput/core/error.hpp"

namespace cli {

namespace {

std::vector<std::string> cells_of(std::string_view line, char separator) {
    std::vector<std::string> cells;
    for (;;) {
        const std::size_t end = line.find(separator);
        std::string_view cell = line.substr(0, end);
        while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
        while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
        cells.emplace_back(cell);
        if (end == std::string_view::npos) return cells;
        line.remove_prefix(end + 1);
    }
}

/// The next line that is not empty, without its end.
bool next_line(std::ifstream& file, std::string& line, std::size_t& number) {
    while (std::getline(file, line)) {
        ++number;
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
        if (line.find_first_not_of(" \t") != std::string::npos) return true;
    }
    return false;
}

}  // namespace

CsvTable::CsvTable(const std::string& path) : path_(path) {
    std::ifstream file(path);
    std::string line;
    std::size_t number = 0;
    if (!file || !next_line(file, line, number))
        throw std::runtime_error(path + ": cannot be read, or is empty");
    names_ = cells_of(line, separator_);
    read_rows(file, number, "that of the header");
}

CsvTable::CsvTable(const std::string& path, std::vector<std::string> names, char separator)
    : path_(path), separator_(separator), names_(std::move(names)) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read, or is empty");
    read_rows(file, 0, "that of the columns");
    if (lines_.empty()) throw std::runtime_error(path + ": cannot be read, or is empty");
}

void CsvTable::read_rows(std::ifstream& file, std::size_t lines_before, std::string_view columns_of) {
    std::string line;
    for (std::size_t number = lines_before; next_line(file, line, number);) {
        std::vector<std::string> cells = cells_of(line, separator_);
        if (cells.size() != names_.size())
            throw std::runtime_error(path_ + ", line " + goodput::text_of(number) + ": number of cells is " +
                                     goodput::text_of(cells.size()) + ", but must be " +
                                     std::string(columns_of) + ", " + goodput::text_of(names_.size()));
        std::move(cells.begin(), cells.end(), std::back_inserter(cells_));
        lines_.push_back(number);
    }
}

std::size_t CsvTable::column(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
        if (const auto found = std::find(names_.begin(), names_.end(), name); found != names_.end())
            return static_cast<std::size_t>(found - names_.begin());
    throw std::runtime_error(path_ + ": has no column '" + std::string(*names.begin()) + "'");
}

double CsvTable::number(std::size_t row, std::size_t column) const {
    const std::string& cell = text(row, column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value))
        refuse(row, column, "a finite number");
    return value;
}

double CsvTable::time(std::size_t row, std::size_t column) const {
    const double seconds = number(row, column);
    if (seconds < 0) refuse(row, column, "at least 0");
    if (seconds > 1e10) refuse(row, column, "at most 1e10");
    return seconds;
}

long long CsvTable::integer(std::size_t row, std::size_t column, long long least, long long most) const {
    const double value = number(row, column);
    if (value != std::floor(value) || value < static_cast<double>(least) || value > static_cast<double>(most))
        refuse(row, column, "an integer from " + goodput::text_of(least) + " to " + goodput::text_of(most));
    return static_cast<long long>(value);
}

void CsvTable::refuse(std::size_t row, std::size_t column, std::string_view expected) const {
    throw std::runtime_error(path_ + ", line " + goodput::text_of(lines_[row]) + ": " + names_[column] +
                             " is '" + text(row, column) + "', but must be " + std::string(expected));
}

}  // namespace cli
