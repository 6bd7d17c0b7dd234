#ifndef GOODPUT_EXAMPLES_CLI_REPLAY_ROWS_HPP
#define GOODPUT_EXAMPLES_CLI_REPLAY_ROWS_HPP

// What `goodput replay` prints of its replays, in any world.

#include <iosfwd>
#include <span>
#include <string>

#include "figures.hpp"
#include "json_fields.hpp"

namespace cli {

/// One replay as a line of --json.
Json json_of(const PolicyReplay& replay);

/// How every job fared, by submission; `names`: of the jobs.
Json completions_of(const PolicyReplay& replay, std::span<const std::string> names);

/// The tables of figures, one row a replay.
void write_tables(std::ostream& out, std::span<const PolicyReplay> replays);

}  // namespace cli

#endif
