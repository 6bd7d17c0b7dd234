#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_WORLD_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_WORLD_HPP

// The world of ElasticFlow (ASPLOS'23), as in its public simulator: jobs with deadlines on one GPU type,
// whose number of GPUs may change at any time.
//
// - Rounds end with events (elasticflow_events.hpp). Until then every job keeps what it holds, and
//   submissions wait.
// - In each round every running job loses the time of a start, even if nothing has changed for it. A start
//   is short if some job had exactly its GPUs before. It is longest in rounds that forget all earlier
//   ranks, which are those whose number is divisible by the seconds of a slot.
// - A job ends when it is planned to, whether its work is done by then or not, and earlier if its work is
//   done in an earlier round. GPUs are free again at the end of the round.
//
// Under the published policies, jobs end as planned (end_at). Under any other planner, a job is planned to
// end when its work is done with what it holds, without the time of starts.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/sim/world.hpp"
#include "goodput/sim/world_parts.hpp"
#include "peers/elasticflow/elasticflow_events.hpp"
#include "peers/elasticflow/elasticflow_job.hpp"
#include "peers/elasticflow/elasticflow_placement.hpp"

namespace goodput::peers {

/// The rules in which published policies differ.
struct ElasticflowRules {
    bool starts_take_time = true;  ///< the time of starts counts
    bool ends_as_planned = false;  ///< work stops at the planned end, which is before its event
    bool met_as_planned = false;   ///< a deadline is met if the planned end is before it
};

/// The jobs of a trace, for one replay.
class ElasticflowWorld {
public:
    /// `jobs` are in the order of their submission. `slot_seconds` is a whole number. Throws
    /// std::invalid_argument for clusters with several GPU types or unequal nodes, and for numbers out of
    /// range. replay() checks times and names.
    ElasticflowWorld(const Cluster& cluster, std::vector<ElasticflowJob> jobs, double slot_seconds)
        : truth_(std::move(jobs)),
          slot_(slot_seconds),
          gpus_per_node_(checked(cluster).nodes.front().gpus),
          gpus_(gpus_per_node_ * static_cast<int>(cluster.nodes.size())),
          placing_(cluster.nodes.size(), gpus_per_node_),
          standings_(truth_.size()) {
        require_at_least("slot", "seconds", slot_, 1);
        if (slot_ != std::floor(slot_)) bad_input("slot", "seconds", slot_, "a whole number");
        for (std::size_t j = 0; j < truth_.size(); ++j) {
            const ElasticflowJob& job = truth_[j];
            const auto subject = [&] { return "job '" + job.name + "'"; };
            require_at_least(subject, "iterations", job.iterations, 1);
            require_between(subject, "batch", job.batch, 1, 1 << 24);
            if (std::isnan(job.deadline_seconds))
                bad_input(subject(), "deadline", job.deadline_seconds, "a number");
            if (job.speeds.rates.size() != job.speeds.sizes.size())
                bad_input(subject(), "number of rates", job.speeds.rates.size(), "that of sizes");
            for (const double rate : job.speeds.rates) require_positive(subject, "rate", rate);
            if (job.speeds.size_within(gpus_) == 0)
                bad_input(subject(), "smallest size", job.speeds.sizes.empty() ? 0 : job.speeds.sizes.front(),
                          "at most the GPUs of the cluster");
            standings_[j].left = job.iterations;
            events_.submit(job.submitted_seconds);
            Job known{.name = job.name, .kind = job.model};
            known.submitted_seconds = job.submitted_seconds;
            known.max_gpus = std::min(job.speeds.most_gpus_elastic, gpus_);
            known.adaptivity = Adaptivity::gpus;
            known.initial_batch = known.target_batch = job.batch;
            known.types.push_back({.max_atomic_batch = job.batch});
            known.remaining_examples = job.iterations;
            validate(known, cluster);
            jobs_.push_back(std::move(known));
        }
        names_ = JobNames(jobs_);
    }

    // The functions of a world (sim/world.hpp).

    /// The jobs as a scheduler knows them. An iteration counts as an example.
    [[nodiscard]] const std::vector<Job>& jobs() const { return jobs_; }
    /// Sets what the job holds from now on.
    double start(std::size_t job, const Configuration& held) {
        standings_[job].gpus = held.gpus();
        return 0;
    }
    /// Takes everything from the job.
    void save(std::size_t job) { standings_[job].gpus = 0; }
    /// Returns when the round that begins now will end.
    double round_until(const RoundAhead& round);
    /// Lets a job train for a round.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds);
    /// Returns the fraction of its iterations that is done; 1 for a job that has ended.
    [[nodiscard]] double done(std::size_t job) const {
        if (standings_[job].ended) return 1;
        return 1 - std::clamp(standings_[job].left / truth_[job].iterations, 0.0, 1.0);
    }
    /// Reports the iterations done and left.
    void report(std::size_t job, Job& known, JobModel& model) const {
        known.remaining_examples = std::max(standings_[job].left, 0.0);
        known.done_examples = truth_[job].iterations - *known.remaining_examples;
        model.types.clear();
    }
    /// Predicts iterations per second.
    [[nodiscard]] auto predictor() const {
        return known_goodput([this](const Job& job, const Option& option) {
            return truth_[index_of(job.name)].speeds.rate(option.configuration.gpus());
        });
    }
    /// Returns the time with the best use of its share of the cluster. If that is less than a GPU, the job
    /// takes turns.
    [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
        const double share = gpus_ / sharers;
        const ElasticflowSpeeds& speeds = truth_[job].speeds;
        double best = speeds.rates.front() * std::min(share / speeds.sizes.front(), 1.0);
        for (std::size_t s = 0; s < speeds.sizes.size(); ++s)
            if (speeds.sizes[s] <= share) best = std::max(best, speeds.rates[s]);
        return truth_[job].iterations / best;
    }
    /// Returns the time on the smallest of its sizes, times its GPUs.
    [[nodiscard]] double one_gpu_seconds(std::size_t job) const {
        const ElasticflowSpeeds& speeds = truth_[job].speeds;
        return truth_[job].iterations / speeds.rates.front() * speeds.sizes.front();
    }

    // Functions for planners, in addition to a Snapshot. Jobs are indices into jobs().

    /// Returns the index of the job of that name. Throws std::invalid_argument for any other name.
    [[nodiscard]] std::size_t index_of(const std::string& name) const { return names_.index_of(name); }
    /// Returns the job as in the trace.
    [[nodiscard]] const ElasticflowJob& job(std::size_t job) const { return truth_[job]; }
    /// Returns the iterations left to do; below 0 if the job was slower than planned and did more.
    [[nodiscard]] double left(std::size_t job) const { return standings_[job].left; }
    [[nodiscard]] double slot_seconds() const { return slot_; }
    [[nodiscard]] int gpus_of_cluster() const { return gpus_; }
    [[nodiscard]] int gpus_of_node() const { return gpus_per_node_; }
    [[nodiscard]] bool has_ended(std::size_t job) const { return standings_[job].ended; }
    /// Returns when the job ends, as an event, or has ended.
    [[nodiscard]] double end(std::size_t job) const { return standings_[job].end; }
    /// Returns the same without the time of starts.
    [[nodiscard]] double planned_end(std::size_t job) const { return standings_[job].planned_end; }
    /// Returns the most seconds that a job loses in `rounds` successive rounds out of the next `within`.
    /// `gpus`, and the numbers of all jobs, are powers of two. The job loses time in every round, and once
    /// for new ranks, until all ranks are forgotten.
    [[nodiscard]] double longest_starts(int gpus, double rounds, double within) const {
        const auto [any, on_new_ranks, forgotten] = starts(gpus);
        const auto times_before = [&](double round) { return std::floor(std::max(round - 1, 0.0) / slot_); };
        const double forgets =
            std::min(times_before(rounds_ + std::max(rounds, within)) - times_before(rounds_),
                     1 + std::floor((rounds - 1) / slot_));
        const double ranks = std::has_single_bit(static_cast<unsigned>(gpus_per_node_))
                                 ? static_cast<double>(gpus_ / gpus)
                                 : std::numeric_limits<double>::infinity();
        const double fresh = std::min(rounds, ranks * (1 + forgets) - ranks_.count(gpus));
        return rounds * any + fresh * on_new_ranks + forgets * forgotten;
    }
    /// Whether the job has a deadline, and its work was really done by then, whatever the policy planned.
    [[nodiscard]] bool work_is_done_by_deadline(std::size_t job) const {
        const double deadline = truth_[job].deadline_seconds;
        return standings_[job].work_done && *standings_[job].work_done <= deadline && std::isfinite(deadline);
    }
    /// Returns when its work was really done; nothing if it is not done or the job ended before.
    [[nodiscard]] std::optional<double> work_done(std::size_t job) const { return standings_[job].work_done; }
    /// Whether no policy has refused the job.
    [[nodiscard]] bool is_admitted(std::size_t job) const { return !standings_[job].refused; }
    /// Whether the job has a deadline and has ended by then, as the policy counts it.
    [[nodiscard]] bool has_met(std::size_t job) const {
        const Standing& standing = standings_[job];
        return standing.ended &&
               (rules_.met_as_planned ? standing.planned_end : standing.end) <=
                   truth_[job].deadline_seconds &&
               std::isfinite(truth_[job].deadline_seconds);
    }

    // Functions with which planners announce decisions before they give the round's GPUs.

    /// Sets the rules. Call it once, before the first decision.
    void follow(const ElasticflowRules& rules) { rules_ = rules; }
    /// Promises the job nothing.
    void refuse(std::size_t job) { standings_[job].refused = true; }
    /// Takes a refusal back.
    void admit(std::size_t job) { standings_[job].refused = false; }
    /// Begins a decision at that time. Events up to then are over.
    void decide(double now) {
        now_ = now;
        is_planned_ = false;
        events_.pass(now);
    }
    /// Plans the end of a job. Once any job gets an end in a round, every running job must have one.
    void end_at(std::size_t job, double end, double planned_end) {
        events_.move_end(job, standings_[job].end, end);
        events_.end(job, end);
        plan_end(job, end, planned_end);
    }
    /// The same without an event, for a job that has not started.
    void plan_end(std::size_t job, double end, double planned_end) {
        standings_[job].end = end;
        standings_[job].planned_end = planned_end;
        is_planned_ = true;
    }
    /// Plans a change of some job's GPUs at that time.
    void change_at(double seconds) { events_.change(seconds); }
    /// Asks for another decision at that time. Replaces an earlier such time.
    void decide_at(double seconds) { events_.decide(seconds); }
    /// Returns the time of the next event.
    [[nodiscard]] double first_event() const {
        return events_.empty() ? std::numeric_limits<double>::infinity() : events_.first();
    }
    /// Returns where the jobs that get GPUs run, by job of the world, if they are placed in that order.
    const std::vector<Placement>& place(std::span<const ElasticflowRun> runs);

private:
    struct Standing {
        double left = 0;  // iterations
        int gpus = 0;
        double end = 0, planned_end = 0;
        double start_seconds = 0;  // of a start in this round
        std::optional<double> work_done{};
        bool quick = false;  // some job had exactly its GPUs before
        bool ended = false, refused = false;
    };

    static const Cluster& checked(const Cluster& cluster) {
        validate(cluster);
        if (cluster.gpu_types.size() != 1)
            bad_input("cluster", "number of GPU types", cluster.gpu_types.size(), "1");
        if (cluster.nodes.empty()) bad_input("cluster", "number of nodes", 0, "at least 1");
        for (const Node& node : cluster.nodes)
            if (node.gpus != cluster.nodes.front().gpus)
                bad_input("node '" + node.name + "'", "GPUs", node.gpus,
                          "as many as those of the first node");
        return cluster;
    }
    /// The seconds of a start on any ranks, the additional seconds on new ranks, and those of the first new
    /// ranks after all were forgotten.
    struct Starts {
        double any = 0, on_new_ranks = 0, forgotten = 0;
    };
    [[nodiscard]] Starts starts(int gpus) const {
        const double first = 2.0 * std::bit_width(static_cast<unsigned>(gpus));
        return gpus_ >= 256 ? Starts{7, first, 47} : Starts{2, first, 27};
    }
    /// Decides what other planners leave open: where jobs run, and when they end.
    void plan_ends();

    std::vector<ElasticflowJob> truth_;
    double slot_;
    int gpus_per_node_, gpus_;
    ElasticflowPlacement placing_;
    ElasticflowRanks ranks_;
    ElasticflowEvents events_;
    ElasticflowRules rules_;
    std::vector<Standing> standings_;
    std::vector<Placement> placements_;
    std::vector<Job> jobs_;
    JobNames names_;
    double now_ = -1;          // time of the last decision
    bool begun_ = false;       // the first submission has been waited for
    bool is_planned_ = false;  // a planner has planned the ends of this round
    double rounds_ = 0;        // rounds so far
};

// ---------------------------------------------------------------------------------------------------------

inline double ElasticflowWorld::round_until(const RoundAhead& round) {
    const double begin = round.begin_seconds;
    if (!std::exchange(begun_, true)) return std::min(first_event(), round.latest_seconds);
    if (now_ != begin) decide(begin);  // the planner knows nothing about this world, or has no jobs
    if (!is_planned_) plan_ends();
    if (events_.empty()) return begin;
    const bool forgets = rounds_ > 0 && std::fmod(rounds_, slot_) == 0;
    ++rounds_;
    if (forgets) ranks_.forget();
    for (std::size_t j = 0; j < standings_.size(); ++j) {
        Standing& standing = standings_[j];
        if (standing.gpus == 0 || standing.ended || !rules_.starts_take_time) continue;
        const Starts seconds = starts(standing.gpus);
        standing.start_seconds =
            seconds.any + (standing.quick ? 0 : seconds.on_new_ranks + (forgets ? seconds.forgotten : 0));
        events_.move_end(j, standing.end, standing.end + standing.start_seconds);
        standing.end += standing.start_seconds;
    }
    return std::min(events_.round_until(begin, slot_), round.latest_seconds);
}

inline std::optional<double> ElasticflowWorld::train(std::size_t job, const Configuration& held, double begin,
                                                     double seconds) {
    if (seconds <= 0) return std::nullopt;
    Standing& standing = standings_[job];
    const double now = begin + seconds, rate = truth_[job].speeds.rate(held.gpus());
    const double last = rules_.ends_as_planned ? standing.planned_end : standing.end;
    const double starts = std::exchange(standing.start_seconds, 0);
    const double done = begin + starts + standing.left / rate;
    double work = std::max(seconds - std::max(now - last, 0.0) - starts, 0.0) * rate;
    if (standing.left <= work && standing.end > now) {
        work = (standing.end - begin) * rate;
        events_.move_end(job, standing.end, now);
        // Published, and kept: as if the start had taken no time.
        standing.end = begin + std::ceil(standing.left / rate);
    }
    standing.left -= work;
    if (!events_.ends(job, now)) return std::nullopt;
    if (done <= now) standing.work_done = done;
    standing.ended = true;
    standing.gpus = 0;
    return std::max(standing.end, begin);
}

inline const std::vector<Placement>& ElasticflowWorld::place(std::span<const ElasticflowRun> runs) {
    placements_.assign(truth_.size(), {});
    if (!placing_.place(runs)) {
        std::vector<ElasticflowRun> largest_first(runs.begin(), runs.end());
        std::stable_sort(largest_first.begin(), largest_first.end(),
                         [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
        placing_.place(largest_first);
    }
    placing_.for_each([&](std::size_t job, const Placement& placement, int rank) {
        placements_[job] = placement;
        standings_[job].quick = ranks_.had(rank, shape_of(placement).gpus);
    });
    return placements_;
}

inline void ElasticflowWorld::plan_ends() {
    std::vector<ElasticflowRun> runs;
    for (std::size_t j = 0; j < standings_.size(); ++j) {
        Standing& standing = standings_[j];
        if (standing.ended) continue;
        if (standing.gpus == 0) {
            events_.drop_end(j, standing.end);
            continue;
        }
        runs.push_back({j, standing.gpus});
        const double end = now_ + std::ceil(standing.left / truth_[j].speeds.rate(standing.gpus));
        end_at(j, end, end);
    }
    std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
    place(runs);
}

}  // namespace goodput::peers

#endif
