#ifndef GOODPUT_PROGRAM_PLAN_FIT_HPP
#define GOODPUT_PROGRAM_PLAN_FIT_HPP

#include "json/json_lines.hpp"

namespace cli {

/// Serves the lines of `goodput fit`, which have the measurements of a job, and questions.
[[nodiscard]] ServeDocument fit_server();

}  // namespace cli

#endif
