#ifndef GOODPUT_PROGRAM_PLAN_ALLOT_HPP
#define GOODPUT_PROGRAM_PLAN_ALLOT_HPP

#include <string>

#include "json/json_lines.hpp"

namespace cli {

struct AllotCommand {
    bool warm = false;     ///< a line starts from the prices of the line before
    bool relax = false;    ///< the linear relaxation: jobs may be split
    bool explain = false;  ///< say why every job got what it got, and what resources are worth
    bool strict = false;   ///< refuse lines with unknown fields
    std::string proof{};   ///< path of a file for the certificate; empty: none
};

/// Serves the lines of `goodput allot`: allotment problems.
[[nodiscard]] ServeDocument allot_server(const AllotCommand& command);

}  // namespace cli

#endif
