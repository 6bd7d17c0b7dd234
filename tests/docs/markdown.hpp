#ifndef GOODPUT_TESTS_DOCS_MARKDOWN_HPP
#define GOODPUT_TESTS_DOCS_MARKDOWN_HPP

// As much of Markdown as the checks need: fenced blocks, headings, links, code in back quotes.

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace docs {

/// A fenced block with what the line before it says.
struct Block {
    std::string language{};
    std::vector<std::string> lines{};
    std::size_t line = 0;   ///< of the opening fence, from 1
    std::string comment{};  ///< of <!-- comment --> on the line before; empty: none
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
    std::vector<Mention> links{};     ///< targets
    std::vector<Mention> code{};      ///< in back quotes
    std::set<std::string> anchors{};  ///< of headings, as GitHub makes them
};

std::vector<std::string> read_lines(const std::filesystem::path& file);
Page read_page(const std::filesystem::path& file);

/// All pages below `root`, in the order of their names; folders `build*` and hidden ones are left out.
std::vector<Page> read_pages(const std::filesystem::path& root);

std::string_view trimmed(std::string_view text);

}  // namespace docs

#endif
