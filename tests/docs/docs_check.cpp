#include "docs_check.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string_view>

#include "markdown.hpp"

namespace docs {

namespace fs = std::filesystem;

namespace {

std::string place(const fs::path& root, const Page& page, std::size_t line) {
    return fs::relative(page.path, root).string() + ":" + std::to_string(line) + ": ";
}

// --------------------------------------------------------------------------------------------- snippets

/// Returns the lines between // [name] and // [/name], without their common indentation.
std::optional<std::vector<std::string>> region_of(const std::vector<std::string>& file,
                                                  const std::string& name) {
    const auto is_mark = [](std::string_view line, const std::string& mark) {
        line = trimmed(line);
        return line == "// [" + mark + "]" || line == "# [" + mark + "]";
    };
    const auto begin =
        std::find_if(file.begin(), file.end(), [&](const auto& line) { return is_mark(line, name); });
    const auto end =
        std::find_if(begin, file.end(), [&](const auto& line) { return is_mark(line, "/" + name); });
    if (begin == file.end() || end == file.end()) return std::nullopt;
    std::vector<std::string> lines(begin + 1, end);
    std::size_t indentation = std::string::npos;
    for (const std::string& line : lines)
        indentation = std::min(indentation, std::min(line.find_first_not_of(' '), std::string::npos - 1));
    for (std::string& line : lines) line.erase(0, std::min(indentation, line.size()));
    return lines;
}

bool names_a_file(const std::string& comment) {
    return comment.find(' ') == std::string::npos && comment.find('.') != std::string::npos;
}

// ------------------------------------------------------------------------------------------------ links

/// Returns all words of the sources.
std::set<std::string> words_of_sources(const fs::path& root) {
    static constexpr std::array extensions{".hpp", ".cpp", ".h",    ".c",  ".py", ".cmake",
                                           ".in",  ".txt", ".json", ".sh", ""};
    std::set<std::string> words;
    const auto read = [&](const fs::path& file) {
        if (std::find(extensions.begin(), extensions.end(), file.extension().string()) == extensions.end())
            return;
        for (const std::string& line : read_lines(file))
            for (std::size_t at = 0; at < line.size();) {
                const auto in_word = [&](std::size_t i) {
                    return i < line.size() &&
                           (std::isalnum(static_cast<unsigned char>(line[i])) || line[i] == '_');
                };
                std::size_t end = at;
                while (in_word(end)) ++end;
                if (end > at) words.insert(line.substr(at, end - at));
                at = std::max(end, at + 1);
            }
    };
    for (const fs::path& entry : fs::directory_iterator(root))
        if (fs::is_regular_file(entry)) read(entry);
    for (const char* folder : {"include", "examples", "docs/snippets", "tests", "benchmarks", "cmake",
                               "packaging", "test_package"})
        if (fs::exists(root / folder))
            for (const fs::path& entry : fs::recursive_directory_iterator(root / folder))
                if (fs::is_regular_file(entry)) read(entry);
    return words;
}

/// Returns the names that must exist for code such as Job::restarts, plan() or Allotter<...>; none for
/// anything else.
std::vector<std::string> names_in(std::string_view code) {
    if (code.starts_with("std::")) return {};
    const bool call = code.find('(') != std::string_view::npos && code.back() == ')';
    code = code.substr(0, code.find_first_of("<("));
    std::vector<std::string> names{""};
    bool lower = false, upper = false;
    for (std::size_t i = 0; i < code.size(); ++i) {
        const char c = code[i];
        if (code.substr(i, 2) == "::") {
            names.emplace_back();
            ++i;
        } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
            names.back() += c;
            lower = lower || std::islower(static_cast<unsigned char>(c));
            upper = upper || std::isupper(static_cast<unsigned char>(c));
        } else {
            return {};
        }
    }
    const bool camel = lower && upper && std::isupper(static_cast<unsigned char>(code.front())) &&
                       code.find('_') == std::string_view::npos;
    if (!call && !camel && names.size() == 1) return {};
    std::erase(names, "");
    return names;
}

/// Returns the source of a program in one of these folders; if none has it, its place in the first one.
fs::path source_of(const std::string& program, const fs::path& root, const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders)
        if (fs::exists(root / folder / (program + ".cpp"))) return folder / (program + ".cpp");
    return folders.front() / (program + ".cpp");
}

/// Returns the files that a path in back quotes may mean; empty if it is nothing to look up.
std::vector<fs::path> files_behind(const std::string& word, const fs::path& root) {
    static constexpr std::array folders{"include/", "program/", "examples/", "benchmarks/",
                                        "docs/",    "tests/",   "cmake/",    ".ci/"};
    static constexpr std::array modules{"core/",  "model/", "parallel/", "fit/",      "allot/",
                                        "place/", "share/", "policy/",   "schedule/", "sim/"};
    if (word.find_first_of("*{}<>$=") != std::string::npos) return {};
    const auto begins = [&](const char* start) { return word.starts_with(start); };
    if (std::any_of(folders.begin(), folders.end(), begins)) return {word};
    if (begins("goodput/") && word.ends_with(".hpp")) return {"include/" + word};
    if (std::any_of(modules.begin(), modules.end(), begins) && word.ends_with(".hpp"))
        return {"include/goodput/" + word};
    if (begins("build/release/benchmarks/"))
        return {source_of(word.substr(25), root,
                          {"benchmarks/speed", "benchmarks/accuracy", "benchmarks/compare"})};
    if (word == "build/release/examples/goodput") return {"program/main.cpp"};
    if (begins("build/release/examples/"))
        return {source_of(word.substr(23), root, {"examples", "docs/snippets"})};
    return {};
}

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text)
        if (c == ' ' || c == ',')
            words.emplace_back();
        else
            words.back() += c;
    for (std::string& word : words) {
        if (word.starts_with("./")) word.erase(0, 2);
        while (!word.empty() && std::string_view(".:;)").find(word.back()) != std::string_view::npos)
            word.pop_back();
    }
    return words;
}

// ---------------------------------------------------------------------------------------------- console

constexpr std::string_view anything = "…";

/// Part of a line: a number, a run of spaces, a wild card or another character.
struct Token {
    enum class Kind { number, space, anything, other } kind = Kind::other;
    std::string text{};
    double number = 0;
};

std::vector<Token> tokens_of(const std::string& line) {
    std::vector<Token> tokens;
    for (std::size_t at = 0; at < line.size();) {
        const bool sign = line[at] == '-' && at + 1 < line.size();
        if (std::isdigit(static_cast<unsigned char>(line[at + (sign ? 1 : 0)]))) {
            char* end = nullptr;
            const double number = std::strtod(line.c_str() + at, &end);
            const auto length = static_cast<std::size_t>(end - (line.c_str() + at));
            tokens.push_back({Token::Kind::number, line.substr(at, length), number});
            at += length;
        } else if (line[at] == ' ') {
            at = std::min(line.find_first_not_of(' ', at), line.size());
            tokens.push_back({Token::Kind::space, " "});
        } else if (line.compare(at, anything.size(), anything) == 0) {
            tokens.push_back({Token::Kind::anything, std::string(anything)});
            at += anything.size();
        } else {
            tokens.push_back({Token::Kind::other, line.substr(at, 1)});
            ++at;
        }
    }
    return tokens;
}

bool matches(const std::vector<Token>& expected, std::size_t i, const std::vector<Token>& got, std::size_t j,
             double tolerance) {
    for (; i < expected.size(); ++i, ++j) {
        const Token& wanted = expected[i];
        if (wanted.kind == Token::Kind::anything) {
            for (; j <= got.size(); ++j)
                if (matches(expected, i + 1, got, j, tolerance)) return true;
            return false;
        }
        if (j == got.size() || wanted.kind != got[j].kind) return false;
        if (wanted.kind == Token::Kind::number
                ? std::abs(wanted.number - got[j].number) > tolerance * std::max(1.0, std::abs(wanted.number))
                : wanted.text != got[j].text)
            return false;
    }
    return j == got.size();
}

/// Returns the line without the values of fields that hold the program's running times.
std::string without_times(std::string line) {
    for (const std::string_view field :
         {"\"milliseconds\":", "\"policy_ms_median\":", "\"policy_ms_p99\":", "\"policy_s\":"})
        for (std::size_t at = line.find(field); at != std::string::npos; at = line.find(field, at + 1)) {
            const std::size_t begin = at + field.size();
            const std::size_t end =
                line[begin] == '{' ? line.find('}', begin) + 1 : line.find_first_of(",}", begin);
            if (end != std::string::npos && end > begin) line.replace(begin, end - begin, "0");
        }
    return line;
}

/// Returns the number of the first expected line that the output lacks, or nothing if all is as expected.
std::optional<std::size_t> first_difference(const std::vector<std::string>& expected,
                                            const std::vector<std::string>& got, double tolerance) {
    std::size_t j = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (trimmed(expected[i]) == anything) {
            if (i + 1 == expected.size()) return std::nullopt;
            const auto next = tokens_of(without_times(expected[i + 1]));
            while (j < got.size() && !matches(next, 0, tokens_of(without_times(got[j])), 0, tolerance)) ++j;
            continue;
        }
        if (j == got.size() || !matches(tokens_of(without_times(expected[i])), 0,
                                        tokens_of(without_times(got[j])), 0, tolerance))
            return i;
        ++j;
    }
    return j == got.size() ? std::nullopt : std::optional(expected.size());
}

std::vector<std::string> output_of(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot run: " + command);
    std::string text;
    std::array<char, 4096> buffer;
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        text.append(buffer.data(), n);
    pclose(pipe);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

std::string quoted(const std::string& text) {
    std::string shell = "'";
    for (const char c : text) shell += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return shell + "'";
}

}  // namespace

Report check_snippets(const fs::path& root) {
    Report report;
    for (const Page& page : read_pages(root))
        for (const Block& block : page.blocks) {
            const std::string at = place(root, page, block.line);
            const bool named = names_a_file(block.comment);
            if (!named) {
                if (block.language == "cpp" || block.language == "c++")
                    report.faults.push_back(at + "a block of C++ without <!-- file --> on the line before");
                continue;
            }
            ++report.counts["blocks"];
            const std::size_t hash = block.comment.find('#');
            const std::string name = block.comment.substr(0, hash);
            if (!fs::exists(root / name)) {
                report.faults.push_back(at + "there is no file " + name);
                continue;
            }
            std::vector<std::string> lines = read_lines(root / name);
            if (hash != std::string::npos) {
                const std::string region = block.comment.substr(hash + 1);
                auto found = region_of(lines, region);
                if (!found) {
                    report.faults.push_back(at + name + " has no part between // [" + region + "] and // [/" +
                                            region + "]");
                    continue;
                }
                lines = std::move(*found);
            }
            if (lines == block.lines) continue;
            std::size_t same = 0;
            while (same < lines.size() && same < block.lines.size() && lines[same] == block.lines[same])
                ++same;
            report.faults.push_back(at + "the block is not " + block.comment + ": they differ in its line " +
                                    std::to_string(same + 1));
        }
    return report;
}

Report check_links(const fs::path& root) {
    Report report;
    const std::vector<Page> pages = read_pages(root);
    const std::set<std::string> words = words_of_sources(root);
    const auto page_at = [&](const fs::path& path) {
        return std::find_if(pages.begin(), pages.end(), [&](const Page& page) {
            return fs::weakly_canonical(page.path) == fs::weakly_canonical(path);
        });
    };
    for (const Page& page : pages) {
        for (const Mention& link : page.links) {
            if (link.text.find("://") != std::string::npos || link.text.starts_with("mailto:")) continue;
            ++report.counts["links"];
            const std::string at = place(root, page, link.line);
            const std::size_t hash = link.text.find('#');
            const std::string name = link.text.substr(0, hash);
            const fs::path target = name.empty() ? page.path : page.path.parent_path() / name;
            if (name.starts_with("/") || !fs::exists(target)) {
                report.faults.push_back(at + "the link leads nowhere: " + link.text);
                continue;
            }
            if (hash == std::string::npos) continue;
            const auto there = page_at(target);
            if (there == pages.end() || !there->anchors.contains(link.text.substr(hash + 1)))
                report.faults.push_back(at + "no heading has this anchor: " + link.text);
        }
        for (const Mention& code : page.code) {
            const std::string at = place(root, page, code.line);
            for (const std::string& word : words_of(code.text))
                for (const fs::path& file : files_behind(word, root)) {
                    ++report.counts["paths"];
                    if (!fs::exists(root / file))
                        report.faults.push_back(at + "there is no " + file.string());
                }
            for (const std::string& name : names_in(code.text)) {
                ++report.counts["names"];
                if (!words.contains(name)) report.faults.push_back(at + "no source has the name " + name);
            }
        }
        for (std::size_t i = 0; i < page.lines.size(); ++i)
            for (const char* machine : {"/tmp/", "/root/", "/home/"})
                if (page.lines[i].find(machine) != std::string::npos)
                    report.faults.push_back(place(root, page, i + 1) + "a path of one machine: " + machine);
    }
    return report;
}

Report check_headers(const fs::path& root) {
    Report report;
    std::vector<fs::path> headers;
    for (const fs::path& file : fs::recursive_directory_iterator(root / "include"))
        if (file.extension() == ".hpp" && file.parent_path().filename() != "detail") headers.push_back(file);
    std::sort(headers.begin(), headers.end());
    for (const fs::path& header : headers) {
        const std::vector<std::string> lines = read_lines(header);
        ++report.counts["headers"];
        if (header.filename() != "version.hpp" && (lines.size() < 4 || !lines[3].starts_with("// ")))
            report.faults.push_back(fs::relative(header, root).string() +
                                    ": does not begin with its chapter, a comment below the include guard");
        bool detail = false;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (lines[i].starts_with("namespace detail")) detail = true;
            if (lines[i].starts_with("}  // namespace detail")) detail = false;
            if (detail || !lines[i].starts_with("concept ")) continue;
            ++report.counts["concepts"];
            std::size_t before = i;
            while (before > 0 && !lines[before].starts_with("template")) --before;
            if (before == 0 || !lines[before - 1].starts_with("///"))
                report.faults.push_back(fs::relative(header, root).string() + ":" + std::to_string(i + 1) +
                                        ": a concept without a comment");
        }
    }
    return report;
}

Report check_console(const fs::path& root, const fs::path& programs) {
    static const std::string folder = "./build/release/examples/", examples = "python3 examples/python/";
    Report report;
    for (const Page& page : read_pages(root))
        for (const Block& block : page.blocks) {
            if (block.language != "console") continue;
            double tolerance = 1e-6;
            if (block.comment.starts_with("tolerance ")) tolerance = std::stod(block.comment.substr(10));
            for (std::size_t i = 0; i < block.lines.size();) {
                const std::string at = place(root, page, block.line + 1 + i);
                if (!block.lines[i].starts_with("$ ")) {
                    report.faults.push_back(at + "output without a command before it");
                    break;
                }
                std::string command = block.lines[i++].substr(2);
                for (; i < block.lines.size() && block.lines[i].starts_with("> "); ++i)
                    command += "\n" + block.lines[i].substr(2);
                std::vector<std::string> expected;
                for (; i < block.lines.size() && !block.lines[i].starts_with("$ "); ++i)
                    expected.push_back(block.lines[i]);
                const bool python =
                    command.find(examples) != std::string::npos && std::getenv("GOODPUT_LIBRARY");
                if (command.find(folder) == std::string::npos && !python) continue;
                ++report.counts["commands"];
                for (std::size_t found = command.find(folder); found != std::string::npos;
                     found = command.find(folder, found))
                    command.replace(found, folder.size(), quoted(programs.string() + "/"));
                std::vector<std::string> got =
                    output_of("cd " + quoted(root.string()) + " && {\n" + command + "\n} 2>&1");
                // A replay of more than ten seconds prints its progress.
                static const std::regex progress(".*: [0-9]+ of [0-9]+ jobs(, about [0-9]+ s left)?");
                std::erase_if(got, [](const std::string& line) { return std::regex_match(line, progress); });
                const std::optional<std::size_t> different = first_difference(expected, got, tolerance);
                if (!different) continue;
                std::string fault = at + "the command prints something else from line " +
                                    std::to_string(*different + 1) + " on:";
                for (const std::string& line : got) fault += "\n    " + line;
                report.faults.push_back(std::move(fault));
            }
        }
    return report;
}

}  // namespace docs
