#ifndef GOODPUT_PROGRAM_PLAN_SHARE_HPP
#define GOODPUT_PROGRAM_PLAN_SHARE_HPP

// `goodput share`: the fraction of time of each job on each GPU type. docs/program.md describes the
// formats.

#include <string>

#include "json/json_lines.hpp"

namespace cli {

/// Returns the objectives that a line may name, separated by commas.
[[nodiscard]] std::string share_objective_names();

/// Serves the lines of `goodput share`.
[[nodiscard]] ServeDocument share_server();

}  // namespace cli

#endif
