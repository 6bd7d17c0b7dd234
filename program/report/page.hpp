#ifndef GOODPUT_PROGRAM_REPORT_PAGE_HPP
#define GOODPUT_PROGRAM_REPORT_PAGE_HPP

// A page that needs nothing else: page/page.html with style sheet, scripts, the chart library and the data of
// one page in it. The scripts make what is seen out of the data.

#include <iosfwd>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "json/json_fields.hpp"

namespace cli {

/// A file of program/page, or chart.js, as it was when the program was built. std::out_of_range for others.
[[nodiscard]] std::string_view page_file(std::string_view name);

struct Page {
    std::string title{};
    std::string sentence{};     ///< what comes out of it
    std::string_view script{};  ///< the file of program/page that shows `data`
    Json data{};
};

/// Writes the page. Equal pages give equal bytes; text that is not UTF-8 is mended.
void write_page(std::ostream& out, const Page& page);

}  // namespace cli

#endif
