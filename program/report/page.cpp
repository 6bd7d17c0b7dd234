#include "report/page.hpp"

#include <array>
#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/markup.hpp"

namespace cli {

namespace {

/// Returns a document for a script element, which a '<' in a string could end.
std::string within_script(const Json& data) {
    std::string text;
    for (const char letter : data.dump(-1, ' ', false, Json::error_handler_t::replace))
        if (letter == '<')
            text += "\\u003c";
        else
            text += letter;
    return text;
}

}  // namespace

void write_page(std::ostream& out, const Page& page) {
    const std::string title = escaped(page.title), sentence = escaped(page.sentence),
                      data = within_script(page.data);
    const std::array<std::pair<std::string_view, std::string_view>, 7> parts{{
        {"title", title},
        {"sentence", sentence},
        {"style", page_file("page.css")},
        {"data", data},
        {"chart", page_file("chart.js")},
        {"common", page_file("page.js")},
        {"script", page_file(page.script)},
    }};
    std::string_view rest = page_file("page.html");
    for (std::size_t at; (at = rest.find("{{")) != std::string_view::npos;) {
        const std::size_t end = rest.find("}}", at);
        out << rest.substr(0, at);
        for (const auto& [name, text] : parts)
            if (rest.substr(at + 2, end - at - 2) == name) out << text;
        rest.remove_prefix(end + 2);
    }
    out << rest;
}

}  // namespace cli
