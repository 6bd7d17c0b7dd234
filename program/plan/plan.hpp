#ifndef GOODPUT_PROGRAM_PLAN_PLAN_HPP
#define GOODPUT_PROGRAM_PLAN_PLAN_HPP

#include <string>
#include <vector>

#include "json/json_lines.hpp"
#include "plan/plan_models.hpp"

namespace cli {

struct PlanCommand {
    std::string policy = "sia";
    std::vector<std::string> policy_options{};  ///< key=value
    bool explain = false;                       ///< add to every job why it has what it has
    bool strict = false;                        ///< refuse lines with unknown fields or GPU types
    std::string memory{};  ///< path of a file that keeps what is remembered of jobs; empty: none
    std::string proof{};   ///< path of a file for the certificate of the allotment; empty: none
    bool advise = false;   ///< add which of the round's offers of nodes are worth their price
};

/// Serves the lines of `goodput plan`: scheduling rounds. Refuses unknown policies and settings
/// (std::invalid_argument).
[[nodiscard]] ServeDocument plan_server(const PlanCommand& command, const PlanModels& models);

}  // namespace cli

#endif
