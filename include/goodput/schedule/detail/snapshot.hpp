#ifndef GOODPUT_SCHEDULE_DETAIL_SNAPSHOT_HPP
#define GOODPUT_SCHEDULE_DETAIL_SNAPSHOT_HPP

// Implements snapshot.hpp.

#include <span>
#include <string>
#include <utility>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

GOODPUT_BODY Action action_of(const Placement& held, const Placement& given, const Cluster& cluster) {
    if (given.empty()) return held.empty() ? Action::wait : Action::stop;
    if (held.empty()) return Action::start;
    if (given == held) return Action::stay;
    return configuration_of(held, cluster).same_shapes(configuration_of(given, cluster)) ? Action::move
                                                                                         : Action::restart;
}

GOODPUT_BODY void find_actions(const Snapshot& snapshot, Plan& plan) {
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        Decision& decision = plan.decisions[j];
        decision.action = action_of(snapshot.jobs[j].placement, decision.placement, snapshot.cluster);
        decision.starts = decision.action == Action::start || decision.action == Action::move ||
                          decision.action == Action::restart;
    }
}

GOODPUT_BODY std::string Plan::report() const {
    std::size_t running = 0, starting = 0;
    for (const Decision& decision : decisions) {
        running += decision.placement.empty() ? 0U : 1U;
        starting += decision.starts ? 1U : 0U;
    }
    std::string text = text_of(running);
    text.append(" of ").append(text_of(decisions.size())).append(" jobs run, ");
    text.append(text_of(starting)).append(" of them (re)start; value ");
    text.append(rounded_text_of(objective)).append(", at most ");
    text.append(rounded_text_of(bound)).append(" possible");
    const auto append_count = [&](std::size_t count, const char* of_what) {
        if (count > 0) text.append("; ").append(text_of(count)).append(of_what);
    };
    append_count(conflicts.size(), " limits exceeded by what is kept");
    append_count(faults.size(), " faults of the policy");
    append_count(warnings.size(), " warnings");
    return text;
}

GOODPUT_BODY void append_description(std::string& text, const HostShare& share) {
    if (share.empty()) return;
    if (share.counts_cores())
        text.append(rounded_text_of(share.cores_per_gpu))
            .append(share.cores_per_gpu == 1 ? " core" : " cores");
    if (share.counts_cores() && share.counts_memory()) text.append(" and ");
    if (share.counts_memory()) text.append(rounded_text_of(share.memory_gib_per_gpu)).append(" GiB");
    text.append(" a GPU");
}

GOODPUT_BODY void append_description(std::string& text, const Cluster& cluster,
                                     const Configuration& configuration) {
    bool first = true;
    for (const PoolShare& part : configuration.parts()) {
        if (!std::exchange(first, false)) text.append(" and ");
        text.append(text_of(part.shape.gpus)).append(part.spot ? " spot " : " ");
        text.append(cluster.gpu_types[part.gpu_type]);
        text.append(" on ").append(text_of(part.shape.nodes));
        text.append(part.shape.nodes == 1 ? " node" : " nodes");
    }
    if (configuration.host().empty()) return;
    text.append(" with ");
    append_description(text, configuration.host());
}

GOODPUT_BODY std::string describe(const Cluster& cluster, const Configuration& configuration) {
    std::string text;
    append_description(text, cluster, configuration);
    return text;
}

GOODPUT_BODY std::string LimitUse::report() const {
    const std::string amount = rounded_text_of(capacity) + (unit.empty() ? "" : " " + unit);
    const std::string level = name + ": " + rounded_text_of(used) + " of " + amount + " used";
    if (!(price > 0)) return level;
    return level + "; one more would be worth " +
           (most_of_one_more ? "at most " + rounded_text_of(*most_of_one_more)
                             : "about " + rounded_text_of(price));
}

GOODPUT_BODY std::string LimitConflict::report(const Snapshot& snapshot, const Plan& plan) const {
    const LimitUse& use = plan.limits[limit];
    std::string names;
    for (const std::size_t job : jobs) names += (names.empty() ? "'" : ", '") + snapshot.jobs[job].name + "'";
    const std::string unit = use.unit.empty() ? "" : " " + use.unit;
    return use.name + " is " + rounded_text_of(use.capacity) + unit + ", but " +
           (jobs.size() == 1 ? "job " : "jobs ") + names + (jobs.size() == 1 ? " keeps " : " keep ") +
           rounded_text_of(kept) + unit + ": no other job gets any until " +
           rounded_text_of(kept - use.capacity) + " are given back, or the limit is raised by as much";
}

GOODPUT_BODY std::string PlanFault::report(const Snapshot& snapshot) const {
    if (!job) return "all jobs: " + what;
    const std::string subject = "job '" + snapshot.jobs[*job].name + "'";
    return subject + (configuration.empty() ? "" : ", " + describe(snapshot.cluster, configuration)) + ": " +
           what;
}

}  // namespace goodput::inline v0_1

#endif
