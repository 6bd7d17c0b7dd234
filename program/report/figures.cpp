#include "report/figures.hpp"

#include <algorithm>
#include <cstddef>

#include "report/markup.hpp"

namespace cli {

std::string Figure::text(const PolicyReplay& replay) const {
    if (!value) return replay.policy;
    return says(replay) ? fixed(value(replay), digits) + unit : "none";
}

std::string best_text(const Figure& figure, std::span<const PolicyReplay> replays) {
    if (figure.better == Better::neither || replays.empty()) return {};
    std::size_t most = 1;
    for (const PolicyReplay& replay : replays) most = std::max(most, replay.metrics.completed);
    const PolicyReplay* best = nullptr;
    bool differ = false;
    for (const PolicyReplay& replay : replays) {
        if (figure.of_completed && replay.metrics.completed < most) continue;
        if (!best) best = &replay;
        const double value = figure.value(replay), best_value = figure.value(*best);
        differ = differ || figure.text(replay) != figure.text(*best);
        if (figure.better == Better::lower ? value < best_value : value > best_value) best = &replay;
    }
    return differ ? figure.text(*best) : std::string();
}

std::string incomplete_text(std::span<const PolicyReplay> replays) {
    std::string text;
    for (const PolicyReplay& replay : replays)
        if (const std::size_t left = replay.metrics.jobs - replay.metrics.completed; left > 0)
            text += (text.empty() ? "Times and rho are of completed jobs only; not complete are " : ", ") +
                    std::to_string(left) + " of " + std::to_string(replay.metrics.jobs) + " under " +
                    replay.policy;
    return text.empty() ? text : text + ".";
}

std::span<const std::span<const Figure>> figure_tables() {
    using Of = const PolicyReplay&;
    using enum Better;
    static constexpr Figure policy{"policy", nullptr};
    static constexpr Figure times[]{
        policy,
        {"jobs", [](Of of) { return static_cast<double>(of.metrics.jobs); }},
        {"completed", [](Of of) { return static_cast<double>(of.metrics.completed); }, 0, "", higher},
        {"average JCT h", [](Of of) { return of.metrics.average_hours; }, 3, "", lower, true},
        {"median JCT h", [](Of of) { return of.metrics.median_hours; }, 3, "", lower, true},
        {"99 % JCT h", [](Of of) { return of.metrics.p99_hours; }, 3, "", lower, true},
        {"makespan h", [](Of of) { return of.metrics.makespan_hours; }, 2, "", lower, true},
        {"GPU h/job", [](Of of) { return of.metrics.gpu_hours_per_job; }, 3, "", lower},
        {"restarts/job", [](Of of) { return of.metrics.restarts_per_job; }, 2},
        {"policy ms median", [](Of of) { return of.milliseconds_median; }, 3, "", lower},
        {"policy ms 99 %", [](Of of) { return of.milliseconds_p99; }, 3, "", lower},
    };
    static constexpr Figure uses[]{
        policy,
        {"queueing h", [](Of of) { return of.metrics.queueing_hours; }, 3, "", lower},
        {"rho mean", [](Of of) { return of.metrics.rho_mean; }, 2, "", lower, true},
        {"rho 99 %", [](Of of) { return of.metrics.rho_p99; }, 2, "", lower, true},
        {"rho > 1", [](Of of) { return 100 * of.metrics.rho_above_one; }, 1, " %", lower, true},
        {"utilisation", [](Of of) { return 100 * of.metrics.utilisation; }, 1, " %", higher},
        {"effective GPUs", [](Of of) { return of.metrics.effective_gpus; }, 2, "", higher},
        {"migrations/job", [](Of of) { return of.metrics.migrations_per_job; }, 2},
        {"failures/job", [](Of of) { return of.metrics.failures_per_job; }, 2, "", lower},
        {"policy s", [](Of of) { return of.policy_seconds; }, 3, "", lower},
    };
    static constexpr std::span<const Figure> tables[]{times, uses};
    return tables;
}

std::span<const Figure> renting_figures() {
    using Of = const PolicyReplay&;
    static constexpr Figure figures[]{
        {"policy", nullptr},
        {"dollars", [](Of of) { return of.metrics.dollars; }, 2, "", Better::lower},
        {"dollars/job", [](Of of) { return of.metrics.dollars_per_job; }, 3, "", Better::lower},
        {"node h", [](Of of) { return of.metrics.node_hours; }, 2, "", Better::lower},
    };
    return figures;
}

std::span<const Figure> deadline_figures() {
    using Of = const PolicyReplay&;
    static constexpr Figure figures[]{
        {"policy", nullptr},
        {"admitted", [](Of of) { return static_cast<double>(of.deadlines->admitted); }, 0, "",
         Better::higher},
        {"deadlines met", [](Of of) { return static_cast<double>(of.deadlines->met); }, 0, "",
         Better::higher},
        {"work done by then", [](Of of) { return static_cast<double>(of.deadlines->work_done); }, 0, "",
         Better::higher},
    };
    return figures;
}

std::span<const Figure> fairness_figures() {
    using Of = const PolicyReplay&;
    static constexpr Figure figures[]{
        {"policy", nullptr},
        {"rho worst", [](Of of) { return of.metrics.rho_worst; }, 2, "", Better::lower, true},
        {"rho > 1.05", [](Of of) { return 100 * of.metrics.unfair; }, 1, " %", Better::lower, true},
        {"faults", [](Of of) { return static_cast<double>(of.result.faults); }, 0, "", Better::lower},
    };
    return figures;
}

}  // namespace cli
