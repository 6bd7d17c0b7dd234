// Slurm may be slow or absent: the controller never waits for it for ever.

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

TEST_CASE("a program that does not answer in time is ended, and its output so far is kept") {
    const auto begin = std::chrono::steady_clock::now();
    const slurm::CommandResult late =
        slurm::run_command({"sh", "-c", "echo $$; echo half >&2; exec sleep 60"}, 0.5);
    CHECK(seconds_since(begin) < 30);
    CHECK(late.status != 0);
    CHECK(late.error == "half\nno answer within 0.5 s");
    REQUIRE(!late.output.empty());
    CHECK(::kill(std::stoi(late.output), 0) != 0);  // no process has that number any more

    const slurm::CommandResult in_time =
        slurm::run_command({"sh", "-c", "echo out; sleep 0.1; echo err >&2; exit 3"}, 30);
    CHECK(in_time.status == 3);
    CHECK(in_time.output == "out\n");
    CHECK(in_time.error == "err\n");
}

/// Runs a dry run with this script as squeue.
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

TEST_CASE("a job that completes as it is told to restart is not started again") {
    const support::Folder folder;
    const auto program = [&](const char* name, const std::string& script) {
        std::filesystem::permissions(folder.write(name, "#!/bin/sh\n" + script),
                                     std::filesystem::perms::owner_all);
    };
    program("squeue", R"sh(
test "$2" = --json || exec echo 7 RUNNING
cat <<'END'
{"jobs": [{"job_id": 7, "job_state": "RUNNING", "priority": 9, "admin_comment": "goodput first seen 0",
    "comment": "goodput gpus=1-8 batch=128-4096 local=a100:1-256 rate=a100:1000 restart=1",
    "current_working_directory": "/nowhere", "tres_per_node": "gres:gpu:1", "nodes": "n0",
    "job_resources": {"nodes": "n0"}, "gres_detail": ["gpu:a100:1(IDX:0)"], "start_time": 1000}]}
END
)sh");
    program("sinfo", R"sh(
cat <<'END'
{"nodes": [{"name": "n0", "state": "mixed", "state_flags": [], "gres": "gpu:a100:8"}]}
END
)sh");
    program("scontrol", "echo $* >>" + folder.path("said"));
    const std::string usual = ::getenv("PATH");
    ::setenv("PATH", (folder.path() + ":" + usual).c_str(), 1);
    support::Program controller({GOODPUT_SLURM, "--rounds", "1", "--log", folder.path("log")});
    ::setenv("PATH", usual.c_str(), 1);
    CHECK(controller.finish().status == 0);
    CHECK(folder.read("said") == "requeuehold Incomplete 7\n");
}

}  // namespace slurm_answers
