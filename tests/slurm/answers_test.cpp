// Slurm may be slow, or not there: nobody waits for it for ever.

#include <stdlib.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "command.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace slurm_answers {

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_CASE("a program that does not answer in time is ended, and what it said is kept") {
    const auto begin = std::chrono::steady_clock::now();
    const slurm::CommandResult late =
        slurm::run_command({"sh", "-c", "echo $$; echo half >&2; exec sleep 60"}, 0.5);
    CHECK(seconds_since(begin) < 30);
    CHECK(late.status != 0);
    CHECK(late.error == "half\nno answer within 0.5 s");
    REQUIRE(!late.output.empty());
    CHECK(::kill(std::stoi(late.output), 0) != 0);  // nobody goes by that number any more

    const slurm::CommandResult in_time =
        slurm::run_command({"sh", "-c", "echo out; sleep 0.1; echo err >&2; exit 3"}, 30);
    CHECK(in_time.status == 3);
    CHECK(in_time.output == "out\n");
    CHECK(in_time.error == "err\n");
}

/// How a dry run ends if squeue is this script.
support::Program::End dry_run(const std::string& squeue) {
    const support::Folder folder;
    const std::string path = folder.write("squeue", "#!/bin/sh\n" + squeue);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const std::string usual = ::getenv("PATH");
    ::setenv("PATH", (folder.path() + ":" + usual).c_str(), 1);
    support::Program program({GOODPUT_SLURM, "--dry-run", "--timeout", "0.5"});
    ::setenv("PATH", usual.c_str(), 1);
    return program.finish();
}

TEST_CASE("a dry run ends when Slurm does not answer") {
    const support::Program::End silent = dry_run("exec sleep 60\n");
    CHECK(silent.status == 1);
    CHECK(silent.errors == "goodput-slurm: squeue: no answer within 0.5 s\n");
    const support::Program::End refuses = dry_run("echo Unable to contact slurm controller >&2\nexit 1\n");
    CHECK(refuses.status == 1);
    CHECK(refuses.errors.find("squeue: Unable to contact slurm controller") != std::string::npos);
}

}  // namespace slurm_answers
