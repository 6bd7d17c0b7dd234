#ifndef GOODPUT_TESTS_DOCS_DOCS_CHECK_HPP
#define GOODPUT_TESTS_DOCS_DOCS_CHECK_HPP

// What the documentation promises about itself: code blocks are parts of files that are compiled, commands
// print what stands below them, links and names lead somewhere. Each check returns a line for every fault
// that it finds.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace docs {

using Faults = std::vector<std::string>;

/// What a check found, and how much it looked at.
struct Report {
    Faults faults{};
    std::map<std::string, int> counts{};  ///< by kind of thing
};

/// Every ```cpp block has a comment before it, <!-- FILE --> or <!-- FILE#NAME -->, and is that file, or what
/// stands in it between a line `// [NAME]` and a line `// [/NAME]` (or `#` for `//`), less the indentation of
/// the whole. Blocks of other languages are held to that where they have such a comment.
Report check_snippets(const std::filesystem::path& root);

/// Links to files and headings lead somewhere; paths, headers and names of C++ in back quotes exist; no file
/// names a place of one machine.
Report check_links(const std::filesystem::path& root);

/// Every public header begins with a comment, its first chapter (all but version.hpp), and every concept in
/// it has one: Doxygen looks at neither.
Report check_headers(const std::filesystem::path& root);

/// The commands of ```console blocks (lines that begin with "$ ", continued on lines that begin with "> ")
/// that run a program of ./build/release/examples, or of examples/python where GOODPUT_LIBRARY names the
/// library that it needs, print what stands below them. `programs`: the folder that holds the former. Times
/// may differ, spaces too, numbers by the sixth digit or by what <!-- tolerance
/// 0.1 --> before the block says; a "…" stands for anything, on a line of its own for any lines. Other
/// commands are not run.
Report check_console(const std::filesystem::path& root, const std::filesystem::path& programs);

}  // namespace docs

#endif
