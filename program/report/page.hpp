#ifndef GOODPUT_PROGRAM_REPORT_PAGE_HPP
#define GOODPUT_PROGRAM_REPORT_PAGE_HPP

// Self-contained pages: page/page.html with the style sheet, scripts, the chart library and the data of one
// page in it. The scripts draw the page from the data.

#include <iosfwd>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "json/json_fields.hpp"

namespace cli {

/// Returns a file of program/page, or chart.js, as it was when the program was built. Throws
/// std::out_of_range for other names.
[[nodiscard]] std::string_view page_file(std::string_view name);

struct Page {
    std::string title{};
    std::string sentence{};     ///< the result in a sentence
    std::string_view script{};  ///< name of the file of program/page that shows `data`
    Json data{};
};

/// Writes the page. Equal pages give equal bytes. Bytes that are not UTF-8 are replaced.
void write_page(std::ostream& out, const Page& page);

}  // namespace cli

#endif
