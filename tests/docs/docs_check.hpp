#ifndef GOODPUT_TESTS_DOCS_DOCS_CHECK_HPP
#define GOODPUT_TESTS_DOCS_DOCS_CHECK_HPP

// Checks of what the documentation promises about itself: code blocks are parts of compiled
// files, commands print what follows them, links and names exist. Each check returns a line per
// fault.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace docs {

using Faults = std::vector<std::string>;

/// The faults that a check found, and how much it looked at.
struct Report {
    Faults faults{};
    std::map<std::string, int> counts{};  ///< number of things checked, by kind
};

/// Checks code blocks. Every ```cpp block has a comment before it, <!-- FILE --> or <!-- FILE#NAME -->, and
/// equals that file, or its part between `// [NAME]` and `// [/NAME]` (or `#` for `//`) without the common
/// indentation. Blocks of other languages are checked if they have such a comment.
Report check_snippets(const std::filesystem::path& root);

/// Checks that links to files and headings work, that paths, headers and names of C++ in back quotes exist,
/// and that no file names a folder of one machine.
Report check_links(const std::filesystem::path& root);

/// Checks what Doxygen ignores: every public header (except version.hpp) begins with a comment, its first
/// chapter, and every concept in it has a comment.
Report check_headers(const std::filesystem::path& root);

/// Checks ```console blocks. Commands (lines that begin with "$ ", continued on lines that begin with
/// "> ") that run a program of ./build/release/examples, or of examples/python if GOODPUT_LIBRARY
/// names the library, must print what follows them. `programs` is the folder of the former. Times and
/// spaces may differ, numbers by the sixth digit or by what <!-- tolerance 0.1 --> before the block
/// says. A "…" stands for anything, or for any lines if alone on its line. Other commands are not
/// run.
Report check_console(const std::filesystem::path& root, const std::filesystem::path& programs);

}  // namespace docs

#endif
