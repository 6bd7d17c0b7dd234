#ifndef GOODPUT_EXAMPLES_CLI_REPORT_HPP
#define GOODPUT_EXAMPLES_CLI_REPORT_HPP

// A replay under several policies as one page that needs nothing else: tables of the figures, how long jobs
// took, two policies side by side, restarts, and for each policy who held which GPUs when and what a GPU was
// worth. Everything is drawn in the file; its script adds what answers the pointer.

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "figures.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/sim/application.hpp"

namespace cli {

/// What was replayed.
struct ReplayedTrace {
    std::string title{};
    goodput::Cluster cluster{};  ///< with all nodes that are there at some time
    std::span<const std::string> applications{};
    std::span<const goodput::Submission> submissions{};
    std::string command{};   ///< that replayed it, as a shell takes it; empty: not told
    std::uint64_t seed = 0;  ///< that broke ties
};

/// Writes the page. Equal input gives equal bytes.
void write_report(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays);

}  // namespace cli

#endif
