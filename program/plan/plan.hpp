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
    bool explain = false;                       ///< explain every job's decision
    bool strict = false;                        ///< refuse lines with unknown fields or GPU types
    std::string memory{};  ///< path of a file that keeps what is remembered about jobs; empty for none
    std::string proof{};   ///< path of a file for the certificate of the allotment; empty for none
    bool advise = false;   ///< say which of the round's offered nodes are worth their price
};

/// Serves the lines of `goodput plan`, which are scheduling rounds. Throws std::invalid_argument for
/// unknown policies and settings.
[[nodiscard]] ServeDocument plan_server(const PlanCommand& command, const PlanModels& models);

}  // namespace cli

#endif
