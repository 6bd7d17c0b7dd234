// The checks of the documentation accept a correct repository and name each planted fault.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "docs_check.hpp"
#include "support/folder.hpp"

#include <doctest/doctest.h>

namespace {

using docs::Report;

/// A repository with a header, an example, and correct pages.
class Repository {
public:
    Repository() {
        write("include/goodput/core/configuration.hpp",
              "#ifndef A\n#define A\n\n// How many.\n\n/// A shape.\nstruct Shape { int gpus() const; "
              "};\n\n/// What has gpus.\ntemplate <class "
              "S>\nconcept Shaped = "
              "true;\n\nnamespace detail {\n\ntemplate <class S>\nconcept Secret = true;\n\n}  // namespace "
              "detail\n");
        write("examples/one.cpp",
              "int main() {\n    // [part]\n    int v[2];  // a;b \\n\n\n    if (v) {\n        return 0;\n   "
              " }\n    // [/part]\n}\n");
        write("examples/run.sh", "# [loop]\necho 1\n# [/loop]\n");
        write(
            "docs/core.md",
            "# Core: what & how\n\nSee [the start](../README.md#in-your-own-code), "
            "[here](#core-what--how).\n\n<!-- "
            "examples/one.cpp#part -->\n```cpp\nint v[2];  // a;b \\n\n\nif (v) {\n    return 0;\n}\n```\n");
        write("README.md", readme);
    }

    void write(const std::string& name, const std::string& text) const { folder.write(name, text); }
    void write_readme_with(const std::string& more) const { write("README.md", readme + "\n" + more); }

    const std::string readme =
        "# Title\n\n## In your own code\n\n[Core](docs/core.md), [elsewhere](https://example.org/x#y), "
        "`core/configuration.hpp`, "
        "`Shape::gpus`, `./examples/one.cpp`.\n\n<!-- examples/run.sh#loop -->\n```sh\necho 1\n```\n";
    support::Folder folder{};
};

bool names(const Report& report, const std::string& fault) {
    return report.faults.size() == 1 && report.faults[0].find(fault) != std::string::npos;
}

}  // namespace

TEST_CASE("a correct repository is accepted, and its parts are counted") {
    const Repository repository;
    Report report = docs::check_snippets(repository.folder.path());
    CHECK(report.faults.empty());
    CHECK(report.counts["blocks"] == 2);
    report = docs::check_links(repository.folder.path());
    CHECK(report.faults.empty());
    CHECK(report.counts["links"] == 3);
    CHECK(report.counts["paths"] == 2);
    report = docs::check_headers(repository.folder.path());
    CHECK(report.faults.empty());
    CHECK(report.counts["concepts"] == 1);
}

TEST_CASE("a block that differs from its file is named with the first line that differs") {
    Repository repository;
    const auto faults_with = [&](const std::string& more) {
        repository.write_readme_with(more);
        return docs::check_snippets(repository.folder.path());
    };
    CHECK(names(faults_with("```cpp\nint v;\n```\n"), "without <!-- file -->"));
    CHECK(names(faults_with("<!-- examples/two.cpp -->\n```cpp\nint v;\n```\n"), "no file examples/two.cpp"));
    CHECK(names(faults_with("<!-- examples/one.cpp#whole -->\n```cpp\nint v;\n```\n"),
                "no part between // [whole]"));
    CHECK(
        names(faults_with("<!-- examples/one.cpp -->\n```cpp\nint main() {\n```\n"), "differ in its line 2"));
    CHECK(names(faults_with("<!-- examples/one.cpp#part -->\n```cpp\nint v[3];\n```\n"),
                "differ in its line 1"));
    CHECK(names(
        faults_with("<!-- examples/one.cpp#part -->\n```cpp\nint v[2];  // a;b \\n\n\nif (v) {\n    return "
                    "0;\n}\nint more;\n```\n"),
        "differ in its line 6"));
    CHECK(names(faults_with("<!-- examples/run.sh#loop -->\n```sh\necho 2\n```\n"), "differ in its line 1"));
}

TEST_CASE("broken links, paths and names are named") {
    Repository repository;
    const auto faults_with = [&](const std::string& more) {
        repository.write_readme_with(more);
        return docs::check_links(repository.folder.path());
    };
    CHECK(names(faults_with("[x](docs/model.md)"), "leads nowhere: docs/model.md"));
    CHECK(names(faults_with("[x](/docs/core.md)"), "leads nowhere"));
    CHECK(names(faults_with("[x](#title-1)"), "no heading has this anchor: #title-1"));
    CHECK(names(faults_with("[x](docs/core.md#what)"), "no heading has this anchor"));
    CHECK(names(faults_with("`examples/two.cpp`"), "there is no examples/two.cpp"));
    CHECK(names(faults_with("`build/release/examples/two --help`"), "there is no examples/two.cpp"));
    CHECK(names(faults_with("`build/release/benchmarks/two`"), "there is no benchmarks/speed/two.cpp"));
    repository.write("benchmarks/compare/two.cpp", "int main() {}\n");
    CHECK(faults_with("`build/release/benchmarks/two`").faults.empty());
    CHECK(names(faults_with("`core/job.hpp`"), "there is no include/goodput/core/job.hpp"));
    CHECK(names(faults_with("`Shapes`"), "no source has the name Shapes"));
    CHECK(names(faults_with("`nodes()`"), "no source has the name nodes"));
    CHECK(names(faults_with("`Shape::nodes`"), "no source has the name nodes"));
    CHECK(names(faults_with(std::string("```sh\ncd /ho") + "me/me/main\n```"), "a path of one machine"));
    CHECK(faults_with("# Title\n\n[x](#title-1)").faults.empty());
}

TEST_CASE("a header without a chapter and a public concept without a comment are named") {
    Repository repository;
    const std::string guard = "#ifndef B\n#define B\n\n", chapter = "// Jobs.\n\n";
    const auto faults_with = [&](const std::string& header) {
        repository.write("include/goodput/core/job.hpp", header);
        return docs::check_headers(repository.folder.path());
    };
    CHECK(names(faults_with(guard + "/// J.\nstruct J {};\n"),
                "core/job.hpp: does not begin with its chapter"));
    CHECK(
        names(faults_with(guard + chapter + "template <class J>\nconcept Job = true;\n"), "core/job.hpp:7"));
    CHECK(faults_with(guard + chapter + "/// J.\ntemplate <class J>\nconcept Job = true;\n").faults.empty());
}

TEST_CASE("commands print what the page shows below them, except for times, spaces and rounding") {
    Repository repository;
    std::filesystem::path programs = repository.folder.path("programs of the test");
    std::filesystem::create_directories(programs);
    {
        std::ofstream(programs / "answer")
            << "#!/bin/sh\ncat\necho '{\"milliseconds\":0.12,\"price\":0.7083333333,\"n\":-3}'\n";
    }
    std::filesystem::permissions(programs / "answer", std::filesystem::perms::owner_all);
    const auto faults_with = [&](const std::string& block) {
        repository.write_readme_with(block);
        return docs::check_console(repository.folder.path(), programs);
    };
    const std::string command = "$ echo a  b |\n> ./build/release/examples/answer\n";
    const auto console = [&](const std::string& output) {
        return "```console\n" + command + output + "```\n";
    };

    CHECK(faults_with(console("a b\n{\"milliseconds\":9,\"price\":0.70833333,\"n\":-3}\n")).faults.empty());
    CHECK(faults_with(console("a…\n{\"milliseconds\":9,…\"n\":-3}\n")).faults.empty());
    CHECK(faults_with(console("…\n")).faults.empty());
    CHECK(faults_with(console("…\n{…}\n")).faults.empty());
    CHECK(
        faults_with("<!-- tolerance 0.1 -->\n" + console("…\n{…\"price\":0.75,\"n\":-3}\n")).faults.empty());
    CHECK(faults_with("```console\n$ no-such-program\nnothing\n```\n").faults.empty());

    CHECK(names(faults_with(console("a b\n")), "from line 2 on"));
    CHECK(names(faults_with(console("a c\n…\n")), "from line 1 on"));
    CHECK(names(faults_with(console("…\n{…\"price\":0.75,\"n\":-3}\n")), "something else"));
    CHECK(names(faults_with(console("…\n{…\"price\":0.70833333,\"n\":3}\n")), "something else"));
    CHECK(names(faults_with(console("a b\n{…}\nmore\n")), "from line 3 on"));
    CHECK(names(faults_with("```console\nnothing\n```\n"), "without a command"));
}
