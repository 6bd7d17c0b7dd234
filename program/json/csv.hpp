#ifndef GOODPUT_PROGRAM_JSON_CSV_HPP
#define GOODPUT_PROGRAM_JSON_CSV_HPP

// Tables of comma-separated values, quoted or not (RFC 4180), usually with a header, read by column name.
// Throws std::runtime_error that names file, line, column and value for anything missing or not a number.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace goodput::traces {

class CsvTable {
public:
    /// Refuses text in UTF-16, and a header whose cells are separated by another character.
    explicit CsvTable(const std::string& path);
    /// Reads a file without a header, whose columns get these names.
    CsvTable(const std::string& path, std::vector<std::string> names, char separator = ',');

    [[nodiscard]] std::size_t rows() const { return cells_.size() / names_.size(); }
    /// Returns the first column that has one of these names. Refuses two columns of the same name.
    [[nodiscard]] std::size_t column(std::initializer_list<std::string_view> names) const;
    [[nodiscard]] std::size_t column(std::string_view name) const { return column({name}); }
    [[nodiscard]] bool has_column(std::string_view name) const {
        return std::find(names_.begin(), names_.end(), name) != names_.end();
    }

    [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const {
        return cells_[row * names_.size() + column];
    }
    [[nodiscard]] double number(std::size_t row, std::size_t column) const;
    /// Returns seconds since the start of a replay, or of an epoch: from 0 to 1e10, three centuries.
    [[nodiscard]] double time(std::size_t row, std::size_t column) const;
    /// Returns an integer of that range.
    [[nodiscard]] long long integer(std::size_t row, std::size_t column, long long least,
                                    long long most) const;
    /// Throws std::runtime_error: file, line, column and value, "but must be" `expected`.
    [[noreturn]] void refuse(std::size_t row, std::size_t column, std::string_view expected) const;

private:
    std::string path_;
    std::vector<std::string> names_;
    std::vector<std::string> cells_;  ///< by row and column
    std::vector<std::size_t> lines_;  ///< by row: its line in the file
};

/// Returns a text as a cell of such a table, in quotes if it needs them.
std::string csv_cell(std::string_view text);

}  // namespace goodput::traces

namespace cli {
using namespace goodput::traces;  // as the program calls it
}

#endif
