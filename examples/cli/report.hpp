#ifndef GOODPUT_EXAMPLES_CLI_REPORT_HPP
#define GOODPUT_EXAMPLES_CLI_REPORT_HPP

// A replay under several policies as one page that needs nothing else: a table of the figures, and for each
// policy who held which GPUs when, one lane a GPU type.

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"

namespace cli {

/// One policy's replay.
struct PolicyReplay {
    std::string policy{};
    goodput::ReplayResult result{};
    goodput::ReplayMetrics metrics{};
    double milliseconds_median = 0;  ///< that the policy took a round
    double milliseconds_p99 = 0;
    double policy_seconds = 0;  ///< of all rounds together
};

/// One figure of a replay as text, under its name.
struct Figure {
    const char* name;
    std::string (*text)(const PolicyReplay& replay);
};
/// The tables of figures, each with the policy first.
std::span<const std::span<const Figure>> figure_tables();

/// Writes the page (HTML with SVG).
void write_report(std::ostream& out, const std::string& title, const goodput::Cluster& cluster,
                  std::span<const std::string> applications, std::span<const goodput::Submission> submissions,
                  std::span<const PolicyReplay> replays);

}  // namespace cli

#endif
