#ifndef GOODPUT_PROGRAM_REPORT_FIGURES_HPP
#define GOODPUT_PROGRAM_REPORT_FIGURES_HPP

// A replay and the figures by which policies are compared, for the terminal and for the page.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay_result.hpp"
#include "report/round_record.hpp"

namespace cli {

/// What became of deadlines, in a world that has them.
struct DeadlineCounts {
    struct Of {
        bool admitted = true;  ///< not refused
        bool met = false;      ///< complete by its deadline, as the policy counts that
    };
    std::vector<Of> jobs{};     ///< by submission
    std::size_t admitted = 0;   ///< jobs, those without a deadline, too
    std::size_t met = 0;        ///< jobs with a deadline
    std::size_t work_done = 0;  ///< jobs whose work was really done by their deadline
};

/// One policy's replay.
struct PolicyReplay {
    std::string policy{};
    goodput::ReplayResult result{};
    goodput::ReplayMetrics metrics{};
    RoundRecord rounds{};
    double milliseconds_median = 0;  ///< that the policy took a round
    double milliseconds_p99 = 0;
    double policy_seconds = 0;  ///< of all rounds together
    std::string host{};         ///< who gives cores and memory beside the GPUs; empty: nobody does
    std::optional<DeadlineCounts> deadlines{};  ///< none: the world has none
};

/// Which of two values of a figure is the better one.
enum class Better { neither, lower, higher };

/// One figure of a replay, under its name.
struct Figure {
    const char* name;
    double (*value)(const PolicyReplay& replay);  ///< null: the policy's name
    int digits = 0;
    const char* unit = "";
    Better better = Better::neither;
    bool of_completed = false;  ///< over completed jobs: of none there is no value

    /// The replay has a value.
    [[nodiscard]] bool says(const PolicyReplay& replay) const {
        return !of_completed || replay.metrics.completed > 0;
    }
    /// In words; "none" where it has none.
    [[nodiscard]] std::string text(const PolicyReplay& replay) const;
};

/// The tables of figures, each with the policy first.
std::span<const std::span<const Figure>> figure_tables();

/// What was paid for nodes that were rented.
std::span<const Figure> renting_figures();

/// The table of deadlines, with the policy first.
std::span<const Figure> deadline_figures();

/// The table of what else is said of worlds other than Sia's, with the policy first.
std::span<const Figure> fairness_figures();

/// The text of the best value among several replays; empty where none is better than another. Over completed
/// jobs, replays that complete fewer jobs than others are no match for them.
std::string best_text(const Figure& figure, std::span<const PolicyReplay> replays);

/// Which jobs of these replays are not complete, and that times are without theirs; empty where all are.
std::string incomplete_text(std::span<const PolicyReplay> replays);

}  // namespace cli

#endif
