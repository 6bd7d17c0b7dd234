#ifndef GOODPUT_DEADLINES_ADMISSION_CHANGE_HPP
#define GOODPUT_DEADLINES_ADMISSION_CHANGE_HPP

// Finds a change with which all jobs can end in time: a later deadline, or more nodes for some time.
//
// More time or more nodes never hurt, so bisection with admit() finds both. An answer is a change for which
// a plan was found. `proven_below` is the largest smaller change that is proven to be too small.
// AdmissionOptions::deadline limits all questions of a call together.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"
#include "goodput/deadlines/admission.hpp"

namespace goodput::inline v0_1 {

/// A deadline that can be met.
struct LaterDeadline {
    double deadline_seconds = 0;           ///< seconds from now
    std::optional<double> proven_below{};  ///< a deadline for which provably no plan exists
};

/// Additional nodes with which all deadlines can be met.
struct MoreNodes {
    NodesOverTime nodes{};              ///< how many more nodes, and until when
    std::optional<int> proven_below{};  ///< proven: this many more nodes are too few, however long they
                                        ///< stay
};

namespace detail {

/// Asks admit() many questions within AdmissionOptions::deadline. Each question gets a part of the time
/// that is left. Questions after its end are answered with `unknown`.
class AdmissionQuestions {
public:
    explicit AdmissionQuestions(const AdmissionOptions& options)
        : options_(options), clock_(options.deadline) {}
    AdmissionStatus operator()(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs) {
        if (clock_.late()) return AdmissionStatus::unknown;
        if (const auto left = clock_.left()) options_.deadline = *left / 8;
        return admit(cluster, jobs, options_).status;
    }
    /// Returns the same options with the time that is left.
    [[nodiscard]] AdmissionOptions rest() const {
        AdmissionOptions rest = options_;
        rest.deadline = clock_.left();
        return rest;
    }

private:
    AdmissionOptions options_;
    Clock clock_;
};

/// Halves the distance between what is too little and what is enough until it is at most `resolution`.
/// Returns what is enough.
template <class Number, class Suffices>
Number least_enough(Number too_little, Number enough, Number resolution, Suffices&& suffices) {
    while (enough - too_little > resolution) {
        const Number middle = too_little + (enough - too_little) / 2;
        if (middle <= too_little || middle >= enough) break;
        (suffices(middle) ? enough : too_little) = middle;
    }
    return enough;
}

}  // namespace detail

/// Returns the earliest deadline of one job, not before its own, with which all jobs can end in time, exact
/// to `resolution_seconds` or to a whole slot if that is longer. The search
/// begins with the last deadline of all jobs, then doubles the delay up to 20 times. Returns nothing if none
/// of these deadlines helps. Throws std::invalid_argument for whatever admit() rejects, an unknown job, and
/// a resolution that is not above 0.
inline std::optional<LaterDeadline> later_deadline(const ClusterOverTime& cluster,
                                                   std::span<const DeadlineJob> jobs, std::size_t job,
                                                   const AdmissionOptions& options = {},
                                                   double resolution_seconds = 1) {
    if (job >= jobs.size())
        bad_input("later deadline", "job", job, "below the number of jobs, " + text_of(jobs.size()));
    require_positive("later deadline", "resolution_seconds", resolution_seconds);
    std::vector<DeadlineJob> changed(jobs.begin(), jobs.end());
    detail::AdmissionQuestions ask(options);
    LaterDeadline answer{jobs[job].deadline_seconds};
    const auto suffices = [&](double deadline) {
        changed[job].deadline_seconds = deadline;
        const AdmissionStatus status = ask(cluster, changed);
        if (status == AdmissionStatus::impossible) answer.proven_below = deadline;
        return status == AdmissionStatus::possible;
    };
    double too_early = std::max(0.0, jobs[job].deadline_seconds);
    if (suffices(too_early)) return answer;

    // Find a deadline that is late enough: start at the horizon of all jobs, then double the delay
    // repeatedly.
    const double resolution = std::max(resolution_seconds, options.slot_seconds);
    double step = resolution;
    for (const DeadlineJob& each : jobs) step = std::max(step, each.deadline_seconds - too_early);
    for (int doublings = 0; !suffices(too_early + step); ++doublings) {
        if (doublings == 20) return std::nullopt;
        too_early += step;
        step *= 2;
    }
    answer.deadline_seconds = detail::least_enough(too_early, too_early + step, resolution, suffices);
    return answer;
}

/// Returns the smallest number of nodes like `kind` with which all jobs can end in time, and then the
/// earliest moment until which they must stay, exact to `resolution_seconds` or a whole slot. From `kind`
/// only the type, the GPUs and the arrival are read, not `nodes` and `until_seconds`. Returns nothing if no
/// number of nodes helps. Throws std::invalid_argument for whatever admit() rejects, in `kind` too, and for
/// a resolution that is not above 0.
inline std::optional<MoreNodes> more_nodes(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                                           NodesOverTime kind, const AdmissionOptions& options = {},
                                           double resolution_seconds = 1) {
    require_positive("more nodes", "resolution_seconds", resolution_seconds);
    ClusterOverTime changed = cluster;
    changed.nodes.push_back(kind);
    NodesOverTime& more = changed.nodes.back();
    more.nodes = 0;
    double horizon = std::max(0.0, kind.from_seconds), gpus = 0;
    for (const DeadlineJob& job : jobs) {
        horizon = std::max(horizon, job.deadline_seconds);
        if (kind.gpu_type < job.speed.size() && !job.speed[kind.gpu_type].empty())
            gpus += std::ldexp(
                1.0, static_cast<int>(std::min<std::size_t>(job.speed[kind.gpu_type].size(), 31)) - 1);
    }
    if (options.slot_seconds > 0) horizon = std::ceil(horizon / options.slot_seconds) * options.slot_seconds;
    detail::AdmissionQuestions ask(options);
    const auto with = [&](int nodes, double until) {
        more.nodes = nodes;
        more.until_seconds = until;
        return ask(changed, jobs);
    };
    MoreNodes answer{kind, std::nullopt};
    const auto suffice = [&](int nodes) {
        const AdmissionStatus status = with(nodes, horizon);
        if (status == AdmissionStatus::impossible) answer.proven_below = nodes;
        return status == AdmissionStatus::possible;
    };
    answer.nodes.nodes = 0;
    answer.nodes.until_seconds = kind.from_seconds;
    if (suffice(0)) return answer;

    // With this many nodes every job could have all GPUs that it can use.
    const double each = std::exp2(std::floor(std::log2(kind.gpus_per_node)));
    const int many = static_cast<int>(std::min(std::ceil(gpus / each) + 1, 1e6));
    if (!suffice(many)) return std::nullopt;
    answer.nodes.nodes = detail::least_enough(0, many, 1, suffice);
    answer.nodes.until_seconds = detail::least_enough(
        std::max(0.0, kind.from_seconds), horizon, std::max(resolution_seconds, options.slot_seconds),
        [&](double until) { return with(answer.nodes.nodes, until) == AdmissionStatus::possible; });
    return answer;
}

/// A change that may help a job: a cluster, a later deadline for the job, or one promise less.
struct TriedChange {
    const ClusterOverTime& cluster;        ///< the cluster, with the added nodes if these are the change
    double seconds_later = 0;              ///< how much later the job's deadline is
    std::optional<std::size_t> without{};  ///< index of the job that loses its promise, if any
};

/// Describes in words what would have to change so that one job and all others can end in time. Each way is
/// enough by itself: more nodes of a type that the cluster has (the type that needs the fewest GPUs), a
/// later deadline, or no promise to one other job that can be moved, among the last 16 of `jobs`.
/// `spared_seconds` (at least 0) says by how much the reserve before the job's deadline was cut short. A
/// later deadline must make up for it. `keeps`, if given, is asked whether a change helps before that
/// change is named. Returns an empty text if nothing was found. Throws std::invalid_argument for whatever
/// admit() rejects, and for an unknown job.
inline std::string what_would_help(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                                   std::size_t job, const AdmissionOptions& options = {},
                                   double spared_seconds = 0,
                                   const std::function<bool(const TriedChange&)>& keeps = {}) {
    constexpr double resolution_seconds = 60;
    std::vector<std::string> ways;
    detail::AdmissionQuestions ask(options);
    // The text names whole minutes, so the check uses the same whole minutes.
    const auto minutes = [](double seconds) { return std::ceil(seconds / 60 - 1e-9); };
    const auto helps = [&](const TriedChange& change) {
        std::vector<DeadlineJob> changed(jobs.begin(), jobs.end());
        if (change.seconds_later > 0) changed[job].deadline_seconds += change.seconds_later - spared_seconds;
        if (change.without) changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(*change.without));
        return ask(change.cluster, changed) == AdmissionStatus::possible && (!keeps || keeps(change));
    };
    std::optional<MoreNodes> least;
    const auto gpus_of = [](const MoreNodes& more) { return more.nodes.nodes * more.nodes.gpus_per_node; };
    for (std::size_t type = 0; type < cluster.gpu_types.size(); ++type) {
        NodesOverTime kind{.gpu_type = type, .gpus_per_node = 0};
        for (const NodesOverTime& nodes : cluster.nodes)
            if (nodes.gpu_type == type)
                kind.gpus_per_node = std::max(kind.gpus_per_node, nodes.gpus_per_node);
        if (kind.gpus_per_node == 0) continue;
        const std::optional<MoreNodes> more = more_nodes(cluster, jobs, kind, ask.rest(), resolution_seconds);
        if (more && (!least || gpus_of(*more) < gpus_of(*least))) least = more;
    }
    if (least && least->nodes.nodes > 0) {
        const double stay = minutes(least->nodes.until_seconds);
        ClusterOverTime more = cluster;
        more.nodes.push_back(least->nodes);
        more.nodes.back().until_seconds = 60 * stay;
        const std::string& type = cluster.gpu_types[least->nodes.gpu_type];
        const bool one_size = std::count(cluster.gpu_types.begin(), cluster.gpu_types.end(), type) == 1;
        if (helps({more}))
            ways.push_back(text_of(gpus_of(*least)) + " more " + type +
                           (one_size ? "" : " on nodes of " + text_of(least->nodes.gpus_per_node)) +
                           " for the next " + text_of(stay) + " min");
    }
    if (const auto later = later_deadline(cluster, jobs, job, ask.rest(), resolution_seconds)) {
        const double now = jobs[job].deadline_seconds - spared_seconds,
                     by = minutes(later->deadline_seconds - now);
        if (by > 0 && helps({cluster, 60 * by})) ways.push_back("a deadline " + text_of(by) + " min later");
    }
    constexpr std::size_t most_tried = 16;
    for (std::size_t j = jobs.size(), tried = 0; j-- > 0 && tried < most_tried; ++tried) {
        // Without a promise, a job that cannot be moved now would keep its GPUs anyway.
        if (j == job || jobs[j].from_seconds > 0 || !helps({cluster, 0, j})) continue;
        ways.push_back("no promise to job '" + jobs[j].name + "'");
        break;
    }
    std::string text;
    for (const std::string& way : ways) text += (text.empty() ? "" : ", or ") + way;
    return text;
}

}  // namespace goodput::inline v0_1

#endif
