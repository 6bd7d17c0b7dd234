// Tables of comma-separated values: quoted cells as in RFC 4180 and unquoted ones make the same table.

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "json/csv.hpp"
#include "support/folder.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace cli_csv {

using Rows = std::vector<std::vector<std::string>>;

/// Returns the table in a file with this text.
cli::CsvTable read(const std::string& text) {
    const support::Folder folder;
    const std::string path = folder.path("table.csv");
    std::ofstream(path, std::ios::binary) << text;
    return cli::CsvTable(path);
}

std::string refusal_of(const std::string& text) {
    try {
        (void)read(text);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

std::string in_quotes(const std::string& cell) {
    std::string text = "\"";
    for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
}

TEST_CASE("cells come out as they were written, quoted or not, whatever the line ends are") {
    support::Random random(91);
    const std::string letters = "ab,\"\n 7";
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        const int columns = random.integer(1, 4), rows = random.integer(0, 5);
        const std::string end = trial % 2 == 0 ? "\n" : "\r\n";
        std::string text = trial % 3 == 0 ? "\xEF\xBB\xBF" : "";
        for (int c = 0; c < columns; ++c) {
            const std::string name = "column " + std::to_string(c);
            text += (c > 0 ? "," : "") + (random.chance(0.5) ? in_quotes(name) : "  " + name + "\t");
        }
        text += end;
        Rows expected;
        for (int r = 0; r < rows; ++r) {
            if (random.chance(0.2)) text += end;  // an empty line is no row
            std::vector<std::string>& row = expected.emplace_back();
            for (int c = 0; c < columns; ++c) {
                std::string cell;
                for (int i = random.integer(0, 6); i > 0; --i)
                    cell += letters[static_cast<std::size_t>(random.integer(0, 6))];
                const bool plain =
                    cell.find_first_of(",\"\n ") == std::string::npos && (columns > 1 || !cell.empty());
                text += (c > 0 ? "," : "");
                text += plain && random.chance(0.5) ? " " + cell + " "
                                                    : (random.chance(0.3) ? " " : "") + in_quotes(cell);
                row.push_back(cell);
            }
            if (r + 1 < rows || random.chance(0.5)) text += end;
        }
        CAPTURE(text);
        const cli::CsvTable table = read(text);
        REQUIRE(table.rows() == expected.size());
        for (std::size_t r = 0; r < expected.size(); ++r)
            for (std::size_t c = 0; c < expected[r].size(); ++c)
                CHECK(table.text(r, table.column("column " + std::to_string(c))) == expected[r][c]);
    }
}

TEST_CASE("numbers may be quoted, and lines are counted as in an editor") {
    const cli::CsvTable table = read("\"name\",\"time\"\r\n\"two\nlines\",\"1.5\"\r\n\"x\",many\r\n");
    CHECK(table.number(0, table.column("time")) == 1.5);
    CHECK_THROWS_WITH((void)table.number(1, table.column("time")),
                      doctest::Contains("line 4: time is 'many', but must be a finite number"));
}

TEST_CASE("quotes that make no sense are refused with the line") {
    CHECK(refusal_of("name\n\"open\nand so on\n").find("line 2: a quote is not closed") != std::string::npos);
    CHECK(refusal_of("name,x\n\"a\"b,1\n").find("line 2: something stands behind a closing quote") !=
          std::string::npos);
    CHECK(refusal_of("name,x\n\"a,1\"\n").find("line 2: number of cells is 1") != std::string::npos);
    CHECK(refusal_of("").find("is empty") != std::string::npos);
    CHECK(refusal_of("name\nan \"inner\" quote\n").empty());
}

TEST_CASE("text in UTF-16 is refused by name, with and without its mark") {
    const std::string text = "name,time\na,1\n";
    for (const bool little : {true, false})
        for (const bool marked : {true, false}) {
            CAPTURE(little);
            CAPTURE(marked);
            std::string wide = marked ? (little ? "\xFF\xFE" : "\xFE\xFF") : "";
            for (const char letter : text)
                wide += little ? std::string{letter, '\0'} : std::string{'\0', letter};
            CHECK(refusal_of(wide).find("table.csv, line 1: text is UTF-16 or binary, but must be UTF-8") !=
                  std::string::npos);
        }
    CHECK(refusal_of(std::string("name\na\0b\n", 9)).find("line 2: text is UTF-16") != std::string::npos);
    CHECK(refusal_of("na\xC3\xBCme\n\xFF\xFE\n").empty());  // the mark counts only at the beginning
}

TEST_CASE("a separator other than the comma is named") {
    CHECK(refusal_of("name;time\na;1\n")
              .find("line 1: cells are separated by semicolons, but must be by "
                    "commas") != std::string::npos);
    CHECK(refusal_of("name\ttime\na\t1\n").find("line 1: cells are separated by tabs") != std::string::npos);
    CHECK(refusal_of("name;nick,time\na,1\n").empty());
}

TEST_CASE("a column that occurs twice is refused only if it is asked for") {
    const cli::CsvTable table = read("name,time,time\na,1,2\n");
    CHECK(table.text(0, table.column("name")) == "a");
    CHECK_THROWS_WITH((void)table.column("time"),
                      doctest::Contains("column 'time' is there twice, but must be there once"));
    CHECK_THROWS_WITH((void)table.column({"seconds", "time"}), doctest::Contains("'time' is there twice"));
}

}  // namespace cli_csv
