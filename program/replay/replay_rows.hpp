#ifndef GOODPUT_PROGRAM_REPLAY_REPLAY_ROWS_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAY_ROWS_HPP

// What `goodput replay` prints of its replays, in any world.

#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json/json_fields.hpp"
#include "replay/replay.hpp"
#include "report/figures.hpp"
#include "report/result_file.hpp"

namespace cli {

/// One replay as a line of --json says it; with dollars where nodes are rented.
Json json_of(const PolicyReplay& replay, bool rents);

/// The rows of a command: with --json a line each, as soon as it is there, else tables at the end.
class ReplayRows {
public:
    /// `names`: of the jobs, by submission; `gpu_types`: names. All have to outlive it. Says `warnings` on
    /// standard error. std::runtime_error for files that cannot be written.
    ReplayRows(const ReplayCommand& command, std::ostream& out, std::span<const std::string> names,
               std::span<const std::string> gpu_types, std::vector<std::string> warnings = {});

    /// Saves the rows so far in the files, too, each beside the one that it will replace.
    void add(PolicyReplay replay);
    /// Writes what is left, files and charts, too, and returns the exit status.
    int finish();
    [[nodiscard]] std::span<const PolicyReplay> replays() const { return replays_; }

private:
    const ReplayCommand* command_;
    std::ostream* out_;
    std::span<const std::string> names_, gpu_types_;
    std::vector<std::string> warnings_;
    ResultFile csv_, latex_;
    std::vector<PolicyReplay> replays_;
};

}  // namespace cli

#endif
