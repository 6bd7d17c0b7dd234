#ifndef GOODPUT_PROGRAM_PLAN_ALLOT_HPP
#define GOODPUT_PROGRAM_PLAN_ALLOT_HPP

#include <string>

#include "json/json_lines.hpp"

namespace cli {

struct AllotCommand {
    bool warm = false;     ///< each line starts from the prices of the previous line
    bool relax = false;    ///< the linear relaxation: jobs may be split
    bool explain = false;  ///< explain every job's option, and what resources are worth
    bool strict = false;   ///< refuse lines with unknown fields
    std::string proof{};   ///< path of a file for the certificate; empty for none
};

/// Serves the lines of `goodput allot`, which are allotment problems.
[[nodiscard]] ServeDocument allot_server(const AllotCommand& command);

}  // namespace cli

#endif
