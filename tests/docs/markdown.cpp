#include "markdown.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace docs {

namespace {

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           static_cast<unsigned char>(c) >= 0x80;
}

/// Returns the anchor of a heading: lower case, no punctuation, "-" for spaces.
std::string anchor_of(std::string_view heading) {
    std::string anchor;
    for (const char c : heading) {
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (lower == ' ')
            anchor += '-';
        else if (is_word(lower))
            anchor += lower;
    }
    return anchor;
}

/// Reads code and links of a line outside of fenced blocks.
void read_inline(const std::string& line, std::size_t number, Page& page) {
    std::string text;  // the line without its code
    for (std::size_t at = 0; at < line.size();) {
        if (line[at] != '`') {
            text += line[at++];
            continue;
        }
        const std::size_t ticks = std::min(line.find_first_not_of('`', at), line.size()) - at;
        const std::size_t begin = at + ticks, end = line.find(std::string(ticks, '`'), begin);
        if (end == std::string::npos) break;
        page.code.push_back(
            {std::string(trimmed(std::string_view(line).substr(begin, end - begin))), number});
        at = end + ticks;
    }
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2)) {
        const std::size_t end = text.find(')', at);
        if (end != std::string::npos) page.links.push_back({text.substr(at + 2, end - at - 2), number});
    }
    if (text.starts_with("[") && text.find("]: ") != std::string::npos)
        page.links.push_back({std::string(trimmed(text.substr(text.find("]: ") + 3))), number});
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> read_lines(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error(file.string() + ": cannot be read");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

Page read_page(const std::filesystem::path& file) {
    Page page;
    page.path = file;
    page.lines = read_lines(file);
    bool in_block = false;
    for (std::size_t i = 0; i < page.lines.size(); ++i) {
        const std::string& line = page.lines[i];
        const std::string_view text = trimmed(line);
        if (text.starts_with("```")) {
            in_block = !in_block;
            if (!in_block) continue;
            Block block{.language = std::string(text.substr(3)), .line = i + 1};
            const std::string_view before = i > 0 ? trimmed(page.lines[i - 1]) : std::string_view();
            if (before.starts_with("<!--") && before.ends_with("-->"))
                block.comment = trimmed(before.substr(4, before.size() - 7));
            page.blocks.push_back(std::move(block));
        } else if (in_block) {
            page.blocks.back().lines.push_back(line);
        } else if (line.starts_with("    ") &&
                   (i == 0 || trimmed(page.lines[i - 1]).empty() || page.lines[i - 1].starts_with("    "))) {
            continue;  // an indented block or a list's continuation: links are not looked for
        } else if (line.starts_with("#")) {
            const std::string anchor = anchor_of(trimmed(line.substr(line.find_first_not_of('#'))));
            std::string name = anchor;
            for (int copy = 1; !page.anchors.insert(name).second; ++copy)
                name = anchor + "-" + std::to_string(copy);
            read_inline(line, i + 1, page);
        } else {
            read_inline(line, i + 1, page);
        }
    }
    return page;
}

std::vector<Page> read_pages(const std::filesystem::path& root) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator(); ++at) {
        const std::string name = at->path().filename().string();
        if (at->is_directory() && (name.starts_with("build") || name.starts_with(".")))
            at.disable_recursion_pending();
        if (at->is_regular_file() && at->path().extension() == ".md") files.push_back(at->path());
    }
    std::sort(files.begin(), files.end());
    std::vector<Page> pages;
    for (const fs::path& file : files) pages.push_back(read_page(file));
    return pages;
}

}  // namespace docs
