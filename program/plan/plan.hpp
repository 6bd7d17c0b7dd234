#ifndef GOODPUT_PROGRAM_PLAN_PLAN_HPP
#define GOODPUT_PROGRAM_PLAN_PLAN_HPP

#include <iosfwd>
#include <string>
#include <vector>

namespace cli {

struct PlanCommand {
    std::string policy = "sia";
    std::vector<std::string> policy_options{};  ///< key=value
    std::string models{};                       ///< "separate", "published" or "refined"; empty: refined
    bool explain = false;                       ///< add to every job why it has what it has
    bool strict = false;                        ///< refuse lines with unknown fields or GPU types
    std::string memory{};  ///< path of a file that keeps what is remembered of jobs; empty: none
    std::string proof{};   ///< path of a file for the certificate of the allotment; empty: none
    bool advise = false;   ///< add which of the round's offers of nodes are worth their price
};

/// `goodput plan`: scheduling rounds, one a line. Returns the exit status; refuses unknown policies, options
/// and models (std::invalid_argument) before it reads anything.
int run_plan(const PlanCommand& command, std::istream& in, std::ostream& out);

}  // namespace cli

#endif
