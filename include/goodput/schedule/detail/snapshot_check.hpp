#ifndef GOODPUT_SCHEDULE_DETAIL_SNAPSHOT_CHECK_HPP
#define GOODPUT_SCHEDULE_DETAIL_SNAPSHOT_CHECK_HPP

// Implements SnapshotCheck of snapshot.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

GOODPUT_BODY const Snapshot& SnapshotCheck::operator()(const Snapshot& snapshot, bool topology,
                                                       std::vector<std::string>& warnings) {
    warnings = snapshot.warnings;
    set_aside_.clear();
    check_whole(snapshot);
    try {
        check_each(snapshot, topology);
        if (std::all_of(snapshot.jobs.begin(), snapshot.jobs.end(), is_planned)) {
            warn_of_slips(snapshot, warnings);
            return snapshot;
        }
    } catch (const std::invalid_argument&) {
        if (snapshot.strict || snapshot.cluster.gpu_types.empty()) throw;
    }
    copy_ = snapshot;
    set_nodes_aside(snapshot.cluster, warnings);
    set_jobs_aside(snapshot, topology, warnings);
    warn_of_slips(snapshot, warnings);
    return copy_;
}

GOODPUT_BODY void SnapshotCheck::give_what_is_held(const Snapshot& given, Plan& plan) const {
    for (const SetAside& each : set_aside_) {
        Decision& decision = plan.decisions[each.job];
        // The placement may name nodes that do not exist.
        decision.action =
            each.held.empty() ? action_of(given.jobs[each.job].placement, {}, given.cluster) : Action::stay;
        decision.starts = false;
        decision.placement = each.held;
        decision.option.configuration = configuration_of(each.held, copy_.cluster);
        decision.option.plan = {};
        decision.verdict = {each.held.empty() ? Outcome::waits : Outcome::runs, "set aside: " + each.why};
    }
}

GOODPUT_BODY void SnapshotCheck::check_whole(const Snapshot& snapshot) {
    if (!std::isfinite(snapshot.time_seconds))
        bad_input("snapshot", "time_seconds", snapshot.time_seconds, "finite");
    const std::vector<Job>& jobs = snapshot.jobs;
    if (snapshot.models.empty()) return;
    if (snapshot.models.size() != jobs.size())
        bad_input("snapshot", "number of models", snapshot.models.size(),
                  "0 or the number of jobs, " + text_of(jobs.size()));
    const std::size_t types = snapshot.cluster.gpu_types.size();
    for (std::size_t j = 0; j < jobs.size(); ++j)
        if (snapshot.models[j].types.size() > types)
            bad_input("job '" + jobs[j].name + "'", "GPU types in its model", snapshot.models[j].types.size(),
                      "at most the cluster's " + text_of(types));
}

GOODPUT_BODY void SnapshotCheck::check_each(const Snapshot& snapshot, bool topology) {
    validate(snapshot.cluster, names_);
    names_.clear();
    held_.assign(snapshot.cluster.nodes.size(), 0);
    for (const Job& job : snapshot.jobs) {
        names_.push_back(&job.name);
        if (is_planned(job)) check_job(job, snapshot.cluster, topology);
    }
    detail::require_own_names("job", names_);
}

GOODPUT_BODY void SnapshotCheck::check_job(const Job& job, const Cluster& cluster, bool topology) {
    validate(job, cluster);
    if (!topology && !job.within.empty())
        bad_input("job '" + job.name + "'", "within", "'" + job.within + "'",
                  "left out: this scheduler's placer knows no topology, as TopologyPlacer does");
    for (const NodeShare& share : job.placement) {
        const Node& node = cluster.nodes[share.node];
        const int left = node.gpus - held_[share.node];
        if (share.gpus > left)
            bad_input("job '" + job.name + "'", "placement on node '" + node.name + "'", share.gpus,
                      "at most the " + text_of(left) + " GPUs that jobs before it leave");
    }
    for (const NodeShare& share : job.placement) held_[share.node] += share.gpus;
}

GOODPUT_BODY void SnapshotCheck::require_own_name(const char* kind, const std::string& name,
                                                  std::set<std::string>& names) {
    if (name.empty()) bad_input(kind, "name", "empty", "a name of its own");
    if (!names.insert(name).second)
        bad_input(std::string(kind) + " '" + name + "'", "name", "given twice", "a name of its own");
}

GOODPUT_BODY void SnapshotCheck::set_nodes_aside(const Cluster& cluster, std::vector<std::string>& warnings) {
    int left = most_gpus_of_cluster;
    std::set<std::string> names;
    makes_sense_.assign(cluster.nodes.size(), 1);
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
        const Node& node = cluster.nodes[n];
        const std::string why = refusal([&] {
            require_own_name("node", node.name, names);
            validate(node, cluster, left);
        });
        if (why.empty()) {
            left -= node.gpus;
            continue;
        }
        makes_sense_[n] = 0;
        copy_.cluster.nodes[n] = {.name = node.name, .gpus = 1, .drained = true};
        if (node.gpu_type < cluster.gpu_types.size()) copy_.cluster.nodes[n].gpu_type = node.gpu_type;
        warnings.push_back(why + "; it gets no new jobs");
    }
}

GOODPUT_BODY void SnapshotCheck::set_jobs_aside(const Snapshot& snapshot, bool topology,
                                                std::vector<std::string>& warnings) {
    std::set<std::string> names;
    held_.assign(copy_.cluster.nodes.size(), 0);
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        std::string why = refusal([&] { require_own_name("job", job.name, names); });
        if (why.empty()) why = job.set_aside;
        if (why.empty())
            why = refusal([&] {
                for (const NodeShare& share : job.placement)
                    if (share.node < makes_sense_.size() && !makes_sense_[share.node])
                        bad_input("job '" + job.name + "'", "placement",
                                  "on node '" + snapshot.cluster.nodes[share.node].name + "'",
                                  "on nodes that make sense");
                check_job(job, copy_.cluster, topology);
            });
        if (why.empty()) continue;
        warnings.push_back(why + "; it is left as it is");
        set_aside_.push_back({j, why, on_nodes_that_are_there(job.placement)});
        copy_.jobs[j] = stand_in_for(job, set_aside_.back().held);
        if (!copy_.models.empty()) copy_.models[j] = {};
    }
}

GOODPUT_BODY void SnapshotCheck::warn_of_slips(const Snapshot& snapshot,
                                               std::vector<std::string>& warnings) const {
    constexpr double a_minute = 60, an_hour = 3600, ten_years = 3.2e8, extreme = 1e6;
    bool interrupted = false;
    for (const Node& node : snapshot.cluster.nodes) interrupted |= node.interruptions_per_hour > 0;
    NameList early, old, no_gradient, free_restart, no_model;
    const Job *lightest = nullptr, *heaviest = nullptr;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        if (is_set_aside(j)) continue;
        const double age = snapshot.time_seconds - job.submitted_seconds;
        if (age < -a_minute) early.add(job.name);
        if (age > ten_years) old.add(job.name);
        if (job.adaptivity == Adaptivity::batch && job.largest_batch() > job.initial_batch &&
            job.attained_gpu_seconds >= an_hour && !measured_gradient(job.gradient) &&
            !measured_gradient(job.usual_gradient))
            no_gradient.add(job.name);
        if (interrupted && job.restart_cost_seconds == 0 && job.checkpoints.empty())
            free_restart.add(job.name);
        bool rated = false;
        for (const TypeLimits& limits : job.types) rated |= limits.reference_rate > 0;
        if (rated && model_of(snapshot, j).types.empty()) no_model.add(job.name);
        if (!lightest || job.weight < lightest->weight) lightest = &job;
        if (!heaviest || job.weight > heaviest->weight) heaviest = &job;
    }
    const auto say = [&](const NameList& jobs, const char* what) {
        if (!jobs.empty()) warnings.push_back(jobs.text("job") + what);
    };
    say(early, ": submitted later than now: are both times on one clock?");
    say(old, ": submitted more than ten years ago: are both times on one clock?");
    if (heaviest && heaviest->weight > extreme * lightest->weight)
        warnings.push_back("job '" + heaviest->name + "': weighs " +
                           rounded_text_of(heaviest->weight / lightest->weight) + " times as much as job '" +
                           lightest->name + "'");
    say(no_gradient,
        ": has run for a GPU hour and reports no gradient statistics, so its batch does not grow");
    say(free_restart,
        ": has restarts that cost nothing and no way to save its state, so interruptions count as free");
    say(no_model,
        ": has a reference rate but no model; JobMemory makes one of it, or JobHistory::begin() and refit()");
}

GOODPUT_BODY Placement SnapshotCheck::on_nodes_that_are_there(Placement placement) const {
    std::erase_if(placement, [&](const NodeShare& share) {
        return share.node >= copy_.cluster.nodes.size() || share.gpus < 1;
    });
    std::sort(placement.begin(), placement.end());
    const auto again = std::unique(placement.begin(), placement.end(),
                                   [](const NodeShare& a, const NodeShare& b) { return a.node == b.node; });
    placement.erase(again, placement.end());
    return placement;
}

GOODPUT_BODY Job SnapshotCheck::stand_in_for(const Job& job, const Placement& shares) {
    Job kept{.name = job.name, .max_gpus = 0, .initial_batch = 1, .max_batch = 1, .preemptible = false};
    kept.types.resize(copy_.cluster.gpu_types.size());
    kept.team = job.team;
    kept.user = job.user;
    for (const NodeShare& share : shares) {
        Node& node = copy_.cluster.nodes[share.node];
        const int gpus = std::min(share.gpus, node.gpus - held_[share.node]);
        if (gpus < share.gpus) node.drained = true;
        if (gpus == 0) continue;
        held_[share.node] += gpus;
        kept.max_gpus += gpus;
        kept.placement.push_back({share.node, gpus});
    }
    kept.max_gpus = std::clamp(kept.max_gpus, 1, 1 << 20);
    return kept;
}

}  // namespace goodput::inline v0_1

#endif
