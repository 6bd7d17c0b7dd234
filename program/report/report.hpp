#ifndef GOODPUT_PROGRAM_REPORT_REPORT_HPP
#define GOODPUT_PROGRAM_REPORT_REPORT_HPP

// A replay under several policies as one page that needs nothing else: a table of the figures, how long jobs
// took, load and restarts, and two policies side by side: who held which GPUs when, what a GPU was worth, and
// the jobs that they treat most differently. The program writes the numbers, page/report.js draws them.

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/sim/application.hpp"
#include "report/figures.hpp"

namespace cli {

/// What was replayed.
struct ReplayedTrace {
    std::string title{};
    goodput::Cluster cluster{};  ///< with all nodes that are there at some time
    std::span<const std::string> applications{};
    std::span<const goodput::Submission> submissions{};
    std::string command{};   ///< that replayed it, as a shell takes it; empty: not told
    std::uint64_t seed = 0;  ///< that broke ties
    bool rents = false;      ///< nodes are rented: dollars belong to the figures
};

/// Writes the page. Equal input gives equal bytes.
void write_report(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays);

}  // namespace cli

#endif
