#ifndef GOODPUT_PROGRAM_PLAN_SHARE_HPP
#define GOODPUT_PROGRAM_PLAN_SHARE_HPP

// `goodput share`: which fraction of time on which GPU type. docs/program.md has the forms.

#include <iosfwd>
#include <string>

namespace cli {

/// The objectives that a line may name, with commas between.
[[nodiscard]] std::string share_objective_names();

/// Serves lines of problems; returns the exit status.
int run_share(bool strict, std::istream& in, std::ostream& out);

}  // namespace cli

#endif
