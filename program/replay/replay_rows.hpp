#ifndef GOODPUT_PROGRAM_REPLAY_REPLAY_ROWS_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAY_ROWS_HPP

// Prints the results of `goodput replay`, in any world.

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

/// Returns the --json line of one replay, with dollars if nodes are rented.
Json json_of(const PolicyReplay& replay, bool rents);

/// The rows of a command: with --json, one line per replay as soon as it is complete; otherwise tables at
/// the end.
class ReplayRows {
public:
    /// `names` are those of the jobs, by submission, and `gpu_types` those of the types. The caller keeps
    /// all arguments alive. Prints `warnings` on standard error. Throws std::runtime_error for files that
    /// cannot be written.
    ReplayRows(const ReplayCommand& command, std::ostream& out, std::span<const std::string> names,
               std::span<const std::string> gpu_types, std::vector<std::string> warnings = {});

    /// Adds a row, and saves all rows so far in the files, each next to the file that it will replace.
    void add(PolicyReplay replay);
    /// Writes what is left, including files and charts. Returns the exit status.
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
