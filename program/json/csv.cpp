#include "json/csv.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "goodput/core/error.hpp"
#include "json/text_parts.hpp"

namespace goodput::traces {

namespace {

/// Reads the records of a file one after the other. A cell may be in double quotes, as in RFC 4180. Then
/// separators, ends of lines and quotes (written twice) are part of it. Blanks around cells without quotes
/// do not count. Lines end with a line feed, with or without a carriage return before it.
class Records {
public:
    Records(const std::string& path, char separator) : path_(path), file_(path), separator_(separator) {}

    [[nodiscard]] bool is_open() const { return file_.is_open(); }
    /// Returns the line on which the last record begins.
    [[nodiscard]] std::size_t line() const { return record_; }

    /// Reads the cells of the next record that is not an empty line. Returns false at the end of the file.
    bool next(std::vector<std::string>& cells) {
        while (next_line()) {
            if (text_.find_first_not_of(" \t") == std::string::npos) continue;
            record_ = line_;
            cells.clear();
            std::size_t at = 0;
            do cells.push_back(cell(at));
            while (at++ < text_.size());
            return true;
        }
        return false;
    }

private:
    bool next_line() {
        if (!std::getline(file_, text_)) return false;
        ++line_;
        if (!text_.empty() && text_.back() == '\r') text_.pop_back();
        if (line_ == 1 && text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);
        // UTF-16 without a mark at its beginning still has a NUL in every separator.
        const bool marked = line_ == 1 && (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF"));
        if (marked || text_.find('\0') != std::string::npos)
            throw std::runtime_error(path_ + ", line " + goodput::text_of(line_) +
                                     ": text is UTF-16 or binary, but must be UTF-8");
        return true;
    }

    [[nodiscard]] bool is_blank(std::size_t i) const { return text_[i] == ' ' || text_[i] == '\t'; }

    /// Returns the cell that begins at `at`. Moves `at` to the separator behind it, or to the end.
    std::string cell(std::size_t& at) {
        std::size_t begin = at;
        while (begin < text_.size() && is_blank(begin) && text_[begin] != separator_) ++begin;
        if (begin < text_.size() && text_[begin] == '"') return quoted(at = begin + 1);
        at = std::min(text_.find(separator_, begin), text_.size());
        std::size_t end = at;
        while (end > begin && is_blank(end - 1)) --end;
        return text_.substr(begin, end - begin);
    }

    /// The same for a quoted cell whose first character behind the quote is at `at`.
    std::string quoted(std::size_t& at) {
        std::string content;
        for (;;) {
            const std::size_t quote = text_.find('"', at);
            content += text_.substr(at, quote == std::string::npos ? quote : quote - at);
            if (quote == std::string::npos) {
                if (!next_line()) refuse("a quote is not closed");
                content += '\n';
                at = 0;
                continue;
            }
            at = quote + 1;
            if (at == text_.size() || text_[at] != '"') break;
            content += '"';
            ++at;
        }
        while (at < text_.size() && is_blank(at) && text_[at] != separator_) ++at;
        if (at < text_.size() && text_[at] != separator_) refuse("something stands behind a closing quote");
        return content;
    }

    [[noreturn]] void refuse(const char* what) const {
        throw std::runtime_error(path_ + ", line " + goodput::text_of(record_) + ": " + what);
    }

    std::string path_;
    std::ifstream file_;
    char separator_;
    std::string text_{};      // the line being read
    std::size_t line_ = 0;    // its number
    std::size_t record_ = 0;  // the line on which the record begins
};

}  // namespace

CsvTable::CsvTable(const std::string& path) : CsvTable(path, {}, ',') {}

CsvTable::CsvTable(const std::string& path, std::vector<std::string> names, char separator)
    : path_(path), names_(std::move(names)) {
    const bool header = names_.empty();
    Records records(path, separator);
    if (!records.is_open() || (header && !records.next(names_)))
        throw std::runtime_error(path + ": cannot be read, or is empty");
    if (header && names_.size() == 1)
        for (const auto& [other, name] : {std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}})
            if (names_[0].find(other) != std::string::npos)
                throw std::runtime_error(path + ", line " + goodput::text_of(records.line()) +
                                         ": cells are separated by " + name + ", but must be by commas");
    for (std::vector<std::string> cells; records.next(cells);) {
        if (cells.size() != names_.size())
            throw std::runtime_error(path_ + ", line " + goodput::text_of(records.line()) +
                                     ": number of cells is " + goodput::text_of(cells.size()) +
                                     ", but must be that of the " + (header ? "header, " : "columns, ") +
                                     goodput::text_of(names_.size()));
        std::move(cells.begin(), cells.end(), std::back_inserter(cells_));
        lines_.push_back(records.line());
    }
    if (!header && lines_.empty()) throw std::runtime_error(path + ": cannot be read, or is empty");
}

std::size_t CsvTable::column(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
        if (const auto found = std::find(names_.begin(), names_.end(), name); found != names_.end()) {
            if (std::find(found + 1, names_.end(), name) != names_.end())
                throw std::runtime_error(path_ + ": column '" + std::string(name) +
                                         "' is there twice, but must be there once");
            return static_cast<std::size_t>(found - names_.begin());
        }
    throw std::runtime_error(path_ + ": has no column '" + std::string(*names.begin()) + "'");
}

double CsvTable::number(std::size_t row, std::size_t column) const {
    const auto value = cli::number_in<double>(text(row, column));
    if (!value || !std::isfinite(*value)) refuse(row, column, "a finite number");
    return *value;
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

std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    return quoted + '"';
}

}  // namespace goodput::traces
