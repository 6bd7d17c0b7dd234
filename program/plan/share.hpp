#ifndef GOODPUT_PROGRAM_PLAN_SHARE_HPP
#define GOODPUT_PROGRAM_PLAN_SHARE_HPP

// `goodput share`: which fraction of time on which GPU type. docs/program.md has the forms.

#include <string>

#include "json/json_lines.hpp"

namespace cli {

/// The objectives that a line may name, with commas between.
[[nodiscard]] std::string share_objective_names();

/// Serves the lines of `goodput share`.
[[nodiscard]] ServeDocument share_server();

}  // namespace cli

#endif
