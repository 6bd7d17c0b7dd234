#ifndef GOODPUT_PROGRAM_REPORT_REPORT_HPP
#define GOODPUT_PROGRAM_REPORT_REPORT_HPP

// A replay under several policies as one self-contained page: a table of the figures, the durations of
// jobs, load and restarts. Two policies are shown next to each other: the GPUs that jobs held over time,
// the worth of a GPU, and the jobs that the two treat most differently. The program writes the numbers, and
// page/report.js draws them.

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/sim/application.hpp"
#include "report/figures.hpp"

namespace cli {

/// The replayed trace and settings.
struct ReplayedTrace {
    std::string title{};
    goodput::Cluster cluster{};  ///< with all nodes that exist at any time
    std::span<const std::string> applications{};
    std::span<const goodput::Submission> submissions{};
    std::string command{};   ///< the command that replayed it, as typed in a shell; empty if unknown
    std::uint64_t seed = 0;  ///< seed that broke ties
    bool rents = false;      ///< nodes are rented, so the figures include dollars
};

/// Writes the page. Equal input gives equal bytes.
void write_report(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays);

}  // namespace cli

#endif
