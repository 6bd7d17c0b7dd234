#ifndef GOODPUT_SCHEDULE_SCHEDULER_HPP
#define GOODPUT_SCHEDULE_SCHEDULER_HPP

// One call from a snapshot to a plan: options of every job, their goodput, their values under a policy, the
// allotment, the placement.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/valid_model.hpp"
#include "goodput/place/concepts.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/snapshot_check.hpp"
#include "goodput/schedule/detail/steady_choice.hpp"
#include "goodput/schedule/open_nodes.hpp"
#include "goodput/schedule/options.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Makes plans round after round. Keeps buffers and the last prices; nothing else carries over from one
/// snapshot to the next.
template <Policy P = Sia, Placer NodePlacer = LeastMovesPlacer, AllotmentSolver Solver = Allotter<>,
          OptionPredictor Predictor = GoodputPredictor>
class Scheduler {
    static_assert(optional_functions_fit<P>());
    static_assert(ForecastPredictor<Predictor> || !GradientForecast<P>,
                  "ForecastPredictor: this policy has expected_gradient(job), so the predictor must also be "
                  "callable as predictor(job, model, options, gradient)");

public:
    /// A scheduler with a policy, a gap and deadline for the allotment, and parts of one's own.
    explicit Scheduler(P policy = P(), AllotOptions options = {}, NodePlacer placer = NodePlacer(),
                       Solver solver = Solver(), Predictor predictor = Predictor())
        : policy_(std::move(policy)),
          options_(options),
          placer_(std::move(placer)),
          solver_(std::move(solver)),
          predict_(std::move(predictor)) {
        if constexpr (requires { policy_.validate(); }) policy_.validate();
    }

    /// The plan for a snapshot; valid until the next call. Refuses bad input (std::invalid_argument naming
    /// job, field and value): see validate(Cluster), validate(Job); also two jobs of one name, nodes given to
    /// more jobs than they hold, models of more GPU types than the cluster's, a job that keeps what it holds
    /// (not preemptible, or restarting) spread over several GPU types. What the policy or the predictor does
    /// wrong costs the jobs concerned an option or the whole choice, but not the plan: Plan::faults.
    /// `step(Step)` is called after each step.
    template <class AfterStep>
    const Plan& plan(const Snapshot& snapshot, AfterStep step) {
        check_(snapshot);
        open_.find(snapshot.cluster, snapshot.jobs);
        plan_.faults.clear();
        offers_.make(snapshot, round_of(snapshot), policy_, predict_, open_, plan_.faults);
        pose(snapshot);
        step(Step::value);
        allotted_ = solver_(problem_, options_);
        check_allotted();
        steady_.keep(problem_, held_, options_.gap, allotted_);
        step(Step::allot);
        take_over(snapshot);
        place(snapshot);
        step(Step::place);
        return plan_;
    }
    /// The same without being told of the steps.
    const Plan& plan(const Snapshot& snapshot) {
        return plan(snapshot, [](Step) {});
    }

    /// The placer, for what it may be told between two plans (TopologyPlacer::set_topology).
    [[nodiscard]] NodePlacer& placer() { return placer_; }

    /// The last plan, and what it was made from: the pools that prices and resources are of, without their
    /// drained nodes; the allotment problem with its solution (not that of the plan for a job that found no
    /// nodes).
    [[nodiscard]] const Plan& last_plan() const { return plan_; }
    /// See last_plan().
    [[nodiscard]] std::span<const Pool> pools() const { return open_.pools(); }
    /// See last_plan().
    [[nodiscard]] const AllotmentProblem& problem() const { return problem_; }
    /// See last_plan().
    [[nodiscard]] const AllotResult& allotted() const { return allotted_; }
    /// The policy, with its settings.
    [[nodiscard]] const P& policy() const { return policy_; }

    /// The last plan's snapshot as the policy saw it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const {
        return {snapshot.time_seconds, snapshot.cluster, open_.used_pools()};
    }
    /// The options and values that the last plan chose from, for the job of that index.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return offers_.options_of(job);
    }
    /// As many as options_of(job); finite.
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const { return offers_.values_of(job); }
    /// In the last plan the job of that index was left alone, because the policy or the predictor failed for
    /// it.
    [[nodiscard]] bool left_alone(std::size_t job) const { return offers_.left_alone(job); }

private:
    /// The allotment problem: options without goodput are worth nothing, except what a job keeps.
    void pose(const Snapshot& snapshot) {
        problem_.clear();
        problem_.capacity.clear();
        held_.assign(snapshot.jobs.size(), no_option);
        for (const Pool& pool : pools()) problem_.capacity.push_back(pool.gpus());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const bool must = open_.keeps(j);
            const Allotment held = allotment_of(snapshot.jobs[j].placement, snapshot.cluster);
            const std::span<const Option> options = options_of(j);
            const std::span<const double> values = values_of(j);
            problem_.add_job(must);
            std::uint32_t pool = 0;
            for (std::size_t k = 0; k < options.size(); ++k) {
                const Allotment& allotment = options[k].allotment;
                // Options of one pool lie side by side.
                if (k == 0 || !same_pool(allotment, options[k - 1].allotment)) pool = pool_of(allotment);
                const bool keeps = !held.empty() && allotment == held;
                if (keeps) held_[j] = k;
                const int gpus = keeps ? open_.gpus_to_keep(j) : allotment.occupied_gpus();
                problem_.add_option(must || options[k].goodput > 0 ? values[k] : 0,
                                    {Use{pool, static_cast<double>(gpus)}});
            }
        }
    }

    static bool same_pool(const Allotment& a, const Allotment& b) {
        return a.gpu_type == b.gpu_type && a.gpus_per_node == b.gpus_per_node;
    }
    [[nodiscard]] std::uint32_t pool_of(const Allotment& allotment) const {
        return static_cast<std::uint32_t>(find_pool(pools(), allotment.gpu_type, allotment.gpus_per_node));
    }

    /// Refuses what no solver may answer (std::invalid_argument). One that found no allotment in time,
    /// although there always is one, has all jobs wait that need not run.
    void check_allotted() {
        const std::size_t jobs = problem_.jobs();
        if (allotted_.choice.size() != jobs)
            bad_input("solver", "number of choices", allotted_.choice.size(),
                      "that of jobs, " + text_of(jobs));
        if (allotted_.prices.size() != pools().size())
            bad_input("solver", "number of prices", allotted_.prices.size(),
                      "that of capacities, " + text_of(pools().size()));
        if (!found_allotment(allotted_.status)) {
            if (allotted_.status == AllotStatus::infeasible && allotted_.stopped == StopReason::proven)
                bad_input("snapshot", "placements of jobs that keep what they hold",
                          std::string_view("more GPUs than there are"), "within the cluster");
            keep_only();
        }
        for (std::size_t j = 0; j < jobs; ++j)
            if (allotted_.choice[j] != no_option && allotted_.choice[j] >= problem_.options_of(j))
                bad_input("solver", "choice of job " + text_of(j), allotted_.choice[j], "one of its options");
    }

    /// Who must run has one option.
    void keep_only() {
        allotted_.status = AllotStatus::feasible;
        allotted_.objective = allotted_.bound = 0;
        for (std::size_t j = 0; j < problem_.jobs(); ++j) {
            const bool must = problem_.must(j);
            const double kept = must ? problem_.value(j, 0) : 0;
            double best = kept;
            for (const double value : problem_.values(j)) best = std::max(best, value);
            allotted_.choice[j] = must ? 0 : no_option;
            allotted_.objective += kept;
            allotted_.bound += best;
        }
    }

    void take_over(const Snapshot& snapshot) {
        plan_.objective = allotted_.objective;
        plan_.bound = allotted_.bound;
        plan_.status = allotted_.status;
        plan_.prices.clear();
        for (std::size_t p = 0; p < pools().size(); ++p)
            plan_.prices.push_back({pools()[p].gpu_type, pools()[p].gpus_per_node, allotted_.prices[p]});
        plan_.decisions.resize(snapshot.jobs.size());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Decision& decision = plan_.decisions[j];
            give_nothing(decision);
            if (const std::size_t choice = allotted_.choice[j]; choice != no_option) {
                decision.option = options_of(j)[choice];
                decision.value = values_of(j)[choice];
                // Valued by what is to come, run by what is.
                if constexpr (GradientForecast<P>)
                    detail::predict_one(snapshot, j, predict_, decision.option);
            } else {
                decision.verdict.outcome = say_why_not(snapshot, j, decision.verdict.reason);
            }
        }
    }

    /// Keeps the memory of what it had.
    static void give_nothing(Decision& decision) {
        decision.option = {};
        decision.value = 0;
        decision.placement.clear();
        decision.starts = false;
        decision.verdict.outcome = Outcome::runs;
        decision.verdict.reason.clear();
    }

    void place(const Snapshot& snapshot) {
        const std::size_t jobs = snapshot.jobs.size();
        if (requests_.size() < jobs) requests_.resize(jobs);
        for (std::size_t j = 0; j < jobs; ++j) {
            const Job& job = snapshot.jobs[j];
            PlacementRequest& request = requests_[j];
            request.allotment = plan_.decisions[j].option.allotment;
            request.current = job.placement;
            request.move_cost = std::min(job.restart_cost_seconds, longest_move_seconds);
            request.pinned = open_.keeps(j);
        }
        const PlacementResult& placed =
            placer_.place(snapshot.cluster, std::span<const PlacementRequest>(requests_.data(), jobs));
        if (placed.placements.size() != jobs)
            bad_input("placer", "number of placements", placed.placements.size(),
                      "that of requests, " + text_of(jobs));
        plan_.move_cost_seconds = placed.move_cost;
        for (std::size_t j = 0; j < jobs; ++j) {
            Decision& decision = plan_.decisions[j];
            decision.placement = placed.placements[j];
            decision.starts = !decision.placement.empty() && decision.placement != snapshot.jobs[j].placement;
        }
        for (const UnplacedJob& unplaced : placed.unplaced) {
            Decision& decision = plan_.decisions[unplaced.job];
            plan_.objective -= decision.value;
            give_nothing(decision);
            decision.verdict = unplaced.why;
        }
    }

    /// Why a job gets nothing: the policy failed for it, or there is no option at all, or none worth its
    /// price.
    Outcome say_why_not(const Snapshot& snapshot, std::size_t j, std::string& reason) const {
        const Job& job = snapshot.jobs[j];
        const std::span<const Option> options = options_of(j);
        if (left_alone(j)) {
            reason = "the policy failed for it";
            return Outcome::waits;
        }
        if (options.empty()) {
            reason = why_no_option(job, snapshot.cluster, pools());
            return Outcome::impossible;
        }
        std::size_t best = options.size();
        double best_reduced = -std::numeric_limits<double>::infinity(), best_price = 0;
        for (std::size_t k = 0; k < options.size(); ++k) {
            if (options[k].goodput <= 0) continue;
            const Use use = problem_.uses(j, k).front();
            const double price = allotted_.prices[use.resource] * use.units;
            if (values_of(j)[k] - price <= best_reduced) continue;
            best_reduced = values_of(j)[k] - price;
            best_price = price;
            best = k;
        }
        if (best == options.size()) {
            reason = "no batch plan respects its limits on any option";
            // A model that cannot be predicted from (model/valid_model.hpp) has no plans either.
            detail::contained(
                [&] { validate(detail::model_of(snapshot, j), "it", snapshot.cluster.gpu_types); },
                [&](const std::string& what) { reason = "no model: " + what; });
            return Outcome::impossible;
        }
        const double value = values_of(j)[best];
        if (value <= 0) {
            reason = "the policy offers it nothing this round (";
            append_description(reason, snapshot.cluster, options[best].allotment);
            reason.append(" has value ").append(rounded_text_of(value)).append(")");
        } else if (best_reduced <= 0) {
            append_description(reason, snapshot.cluster, options[best].allotment);
            reason.append(" would be worth ").append(rounded_text_of(value));
            reason.append(" to it, but ").append(rounded_text_of(best_price)).append(" to others");
        } else {
            reason = "its best option, ";
            append_description(reason, snapshot.cluster, options[best].allotment);
            reason.append(", does not fit beside those of others in this round");
        }
        return Outcome::waits;
    }

    static constexpr double longest_move_seconds = 1e9;  // that placers take

    P policy_;
    AllotOptions options_;
    NodePlacer placer_;
    Solver solver_;
    Predictor predict_;
    AllotmentProblem problem_;
    AllotResult allotted_;
    OpenNodes open_;
    detail::SnapshotCheck check_;
    detail::Offers offers_;
    std::vector<std::size_t> held_;  // by job: the option that it holds
    detail::SteadyChoice steady_;
    std::vector<PlacementRequest> requests_;  // of the jobs of this round, and of more that there were
    Plan plan_;
};

/// The plan for one snapshot under a policy, from scratch; see Scheduler for round after round. What is left
/// out, or given as {}, is the default.
template <Policy P = Sia, Placer NodePlacer = LeastMovesPlacer, AllotmentSolver Solver = Allotter<>,
          OptionPredictor Predictor = GoodputPredictor>
Plan plan(const Snapshot& snapshot, P policy = {}, AllotOptions options = {}, NodePlacer placer = {},
          Solver solver = {}, Predictor predictor = {}) {
    return Scheduler<P, NodePlacer, Solver, Predictor>(std::move(policy), options, std::move(placer),
                                                       std::move(solver), std::move(predictor))
        .plan(snapshot);
}

}  // namespace goodput

#endif
