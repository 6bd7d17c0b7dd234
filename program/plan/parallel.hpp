#ifndef GOODPUT_PROGRAM_PLAN_PARALLEL_HPP
#define GOODPUT_PROGRAM_PLAN_PARALLEL_HPP

// `goodput parallel`: stages, replicas and tensor-parallel groups of a large model. docs/program.md
// describes the formats.

#include <iosfwd>
#include <string>
#include <vector>

namespace cli {

struct ParallelCommand {
    std::string profiles{};                ///< folder of measurements of each layer
    std::string time_model = "published";  ///< one of time_model_names()
    std::string report{};                  ///< HTML file; empty for none
    bool strict = false;                   ///< refuse lines with unknown fields
};

/// Returns the values that --time-model accepts.
[[nodiscard]] std::vector<std::string> time_model_names();

/// Serves lines of questions. Returns the exit status.
int run_parallel(const ParallelCommand& command, std::istream& in, std::ostream& out);

}  // namespace cli

#endif
