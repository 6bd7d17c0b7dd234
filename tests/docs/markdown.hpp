#ifndef GOODPUT_TESTS_DOCS_MARKDOWN_HPP
#define GOODPUT_TESTS_DOCS_MARKDOWN_HPP

// Parses as much Markdown as the checks need: fenced blocks, headings, links, code in back quotes.

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace docs {

/// A fenced block with the comment on the line before it.
struct Block {
    std::string language{};
    std::vector<std::string> lines{};
    std::size_t line = 0;   ///< line of the opening fence, from 1
    std::string comment{};  ///< text of <!-- comment --> on the line before; empty if there is none
};

/// Something found outside of fenced blocks.
struct Mention {
    std::string text{};
    std::size_t line = 0;
};

struct Page {
    std::filesystem::path path{};
    std::vector<std::string> lines{};
    std::vector<Block> blocks{};
    std::vector<Mention> links{};     ///< targets of links
    std::vector<Mention> code{};      ///< code in back quotes
    std::set<std::string> anchors{};  ///< anchors of headings, as GitHub makes them
};

std::vector<std::string> read_lines(const std::filesystem::path& file);
Page read_page(const std::filesystem::path& file);

/// Returns all pages below `root`, sorted by name. Leaves out hidden folders and `build*`.
std::vector<Page> read_pages(const std::filesystem::path& root);

std::string_view trimmed(std::string_view text);

}  // namespace docs

#endif
