#ifndef GOODPUT_PROGRAM_REPORT_FIGURES_HPP
#define GOODPUT_PROGRAM_REPORT_FIGURES_HPP

// A replay, and the figures that compare policies, for the terminal and for the page.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay_result.hpp"
#include "report/round_record.hpp"

namespace cli {

/// The outcome of deadlines, in a world that has them.
struct DeadlineCounts {
    struct Of {
        bool admitted = true;  ///< not refused
        bool met = false;      ///< complete by its deadline, as the policy counts it
    };
    std::vector<Of> jobs{};     ///< by submission
    std::size_t admitted = 0;   ///< admitted jobs, including those without a deadline
    std::size_t met = 0;        ///< jobs that met their deadline
    std::size_t work_done = 0;  ///< jobs whose work was really done by their deadline
};

/// One policy's replay.
struct PolicyReplay {
    std::string policy{};
    goodput::ReplayResult result{};
    goodput::ReplayMetrics metrics{};
    RoundRecord rounds{};
    double milliseconds_median = 0;  ///< median of the policy's time per round
    double milliseconds_p99 = 0;
    double policy_seconds = 0;                  ///< policy's time for all rounds together
    std::string host{};                         ///< how cores and memory are divided; empty if they are not
    std::optional<DeadlineCounts> deadlines{};  ///< if the world has deadlines
};

/// The direction in which a figure is better.
enum class Better { neither, lower, higher };

/// A figure of a replay, with its name.
struct Figure {
    const char* name;
    double (*value)(const PolicyReplay& replay);  ///< null for the policy's name
    int digits = 0;
    const char* unit = "";
    Better better = Better::neither;
    bool of_completed = false;  ///< over completed jobs; without any there is no value

    /// Whether the replay has a value.
    [[nodiscard]] bool says(const PolicyReplay& replay) const {
        return !of_completed || replay.metrics.completed > 0;
    }
    /// Returns the value in words; "none" if there is no value.
    [[nodiscard]] std::string text(const PolicyReplay& replay) const;
};

/// Returns the tables of figures, each with the policy first.
std::span<const std::span<const Figure>> figure_tables();

/// Returns the figures about rented nodes.
std::span<const Figure> renting_figures();

/// Returns the table of deadlines, with the policy first.
std::span<const Figure> deadline_figures();

/// Returns the additional table for worlds other than Sia's, with the policy first.
std::span<const Figure> fairness_figures();

/// Returns the text of the best value among several replays; empty if none is better than another. For
/// figures over completed jobs, a replay that completes fewer jobs than another does not count.
std::string best_text(const Figure& figure, std::span<const PolicyReplay> replays);

/// Names the jobs of these replays that are not complete, and says that times leave them out. Empty if all
/// are complete.
std::string incomplete_text(std::span<const PolicyReplay> replays);

}  // namespace cli

#endif
