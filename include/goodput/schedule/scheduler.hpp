#ifndef GOODPUT_SCHEDULE_SCHEDULER_HPP
#define GOODPUT_SCHEDULE_SCHEDULER_HPP

// One call from a snapshot to a plan. A round is a line of stations, each of which reads what the ones before
// it have found:
//
//     what is open -> what is offered -> the rows -> what it is worth -> the allotment -> the nodes ->
//     their cores and memory -> reasons

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/place/concepts.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/asked_options.hpp"
#include "goodput/schedule/detail/hosting.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/detail/reasons.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/detail/snapshot_check.hpp"
#include "goodput/schedule/detail/steady_choice.hpp"
#include "goodput/schedule/detail/worth.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/plan.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Makes plans round after round. Keeps buffers; nothing carries over from one snapshot to the next, but for
/// the last prices where AllotOptions::warm_start asks for them.
template <Policy P = Sia, Placer NodePlacer = LeastMovesPlacer, AllotmentSolver Solver = Allotter<>,
          OptionPredictor Predictor = GoodputPredictor, class Pack = Limits<>,
          OptionMaker Maker = ListedShapes>
class Scheduler {
    static_assert(optional_functions_fit<P>());
    static_assert(ForecastPredictor<Predictor> || !GradientForecast<P>,
                  "ForecastPredictor: this policy has expected_gradient(job), so the predictor must also be "
                  "callable as predictor(job, model, options, gradient)");
    static_assert(
        !PricedOptionMaker<Maker> || !RoundPolicy<P> || ValuesBeside<P>,
        "ValuesBeside: this maker answers at prices, so a policy that values whole rounds must have "
        "double value_beside(round, row, option) const");

public:
    /// A scheduler with a policy, a gap and deadline for the allotment, and parts of one's own.
    explicit Scheduler(P policy = P(), AllotOptions options = {}, NodePlacer placer = NodePlacer(),
                       Solver solver = Solver(), Predictor predictor = Predictor(), Pack limits = Pack(),
                       Maker maker = Maker())
        : policy_(std::move(policy)),
          options_(options),
          placer_(std::move(placer)),
          solver_(std::move(solver)),
          predict_(std::move(predictor)),
          limits_(std::move(limits)),
          maker_(std::move(maker)) {
        if constexpr (requires { policy_.validate(); }) policy_.validate();
    }

    /// This scheduler with limits (limits.hpp) instead of those that it had.
    template <Limit... Ls>
    [[nodiscard]] auto limited_by(Ls... limits) && {
        return Scheduler<P, NodePlacer, Solver, Predictor, Limits<Ls...>, Maker>(
            std::move(policy_), options_, std::move(placer_), std::move(solver_), std::move(predict_),
            Limits<Ls...>(std::move(limits)...), std::move(maker_));
    }
    /// This scheduler with another maker of options (makers.hpp).
    template <OptionMaker M>
    [[nodiscard]] auto offering(M maker) && {
        return Scheduler<P, NodePlacer, Solver, Predictor, Pack, M>(
            std::move(policy_), options_, std::move(placer_), std::move(solver_), std::move(predict_),
            std::move(limits_), std::move(maker));
    }

    /// The plan for a snapshot; valid until the next call. Refuses bad input (std::invalid_argument naming
    /// job, field and value): see validate(Cluster), validate(Job); also two jobs of one name, nodes given to
    /// more jobs than they hold, models of more GPU types than the cluster's. What the policy, the predictor,
    /// the maker or a limit does wrong costs the jobs concerned an option or the whole choice, but not the
    /// plan: Plan::faults. `step(PlanStep)` is called after each step.
    template <class AfterStep>
    const Plan& plan(const Snapshot& snapshot, AfterStep step) {
        check_(snapshot);
        if constexpr (!KnowsTopology<NodePlacer>)
            for (const Job& job : snapshot.jobs)
                if (!job.within.empty())
                    bad_input("job '" + job.name + "'", "within", "'" + job.within + "'",
                              "left out: this scheduler's placer knows no topology, as TopologyPlacer does");
        plan_.faults.clear();
        open_.find(snapshot.cluster, snapshot.jobs);
        rows_.find_capacity(round_of(snapshot), open_, limits_);
        offers_.make(snapshot, round_of(snapshot), open_, policy_, predict_, maker_, plan_.faults);
        rows_.pose(snapshot, round_of(snapshot), open_, offers_, limits_, plan_.faults);
        worth_.find(snapshot, round_of(snapshot), policy_, offers_, rows_, plan_.faults);
        let_failed_jobs_keep(snapshot);
        step(PlanStep::value);
        allot(snapshot);
        step(PlanStep::allot);
        decide(snapshot);
        placing_.find(snapshot, open_, placer_, plan_, [&](std::size_t job, const Verdict& why) {
            Decision& decision = plan_.decisions[job];
            plan_.objective -= decision.value;
            give_nothing(decision);
            decision.verdict = why;
        });
        divide_hosts(snapshot);
        count_limits();
        step(PlanStep::place);
        return plan_;
    }
    /// The plan for a snapshot, without a call after each step.
    const Plan& plan(const Snapshot& snapshot) {
        return plan(snapshot, [](PlanStep) {});
    }

    /// The placer, for what it may be told between two plans (TopologyPlacer::set_topology).
    [[nodiscard]] NodePlacer& placer() { return placer_; }
    /// Gap and deadline of the next plans' allotments.
    [[nodiscard]] AllotOptions& options() { return options_; }
    /// The limits, to be replaced between two plans.
    [[nodiscard]] Pack& limits() { return limits_; }

    /// The last plan, and what it was made from: the pools that prices and resources are of, without their
    /// drained nodes; the allotment problem, whose first rows are these pools and whose others are those of
    /// the limits, with its solution (not that of the plan for a job that found no nodes).
    [[nodiscard]] const Plan& last_plan() const { return plan_; }
    /// See last_plan().
    [[nodiscard]] std::span<const Pool> pools() const { return open_.pools(); }
    /// See last_plan().
    [[nodiscard]] const AllotmentProblem& problem() const { return rows_.problem; }
    /// See last_plan().
    [[nodiscard]] const AllotResult& allotted() const { return allotted_; }
    /// The policy, with its settings.
    [[nodiscard]] const P& policy() const { return policy_; }

    /// The last plan's snapshot as the policy saw it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const {
        return {snapshot.time_seconds, snapshot.cluster, open_.pools(), rows_.problem.capacity, snapshot.jobs};
    }
    /// The options and values that the last plan chose from, for the job of that index.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return offers_.options_of(job);
    }
    /// As many as options_of(job); finite.
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const { return problem().values(job); }
    /// By job: the option that the last plan gives it, or gave before it found no nodes. Other than in
    /// allotted() where nodes could not give the cores and memory.
    [[nodiscard]] std::span<const std::size_t> chosen() const { return chosen_; }
    /// In the last plan the job of that index was left alone, because everything that was asked about it
    /// failed.
    [[nodiscard]] bool left_alone(std::size_t job) const { return offers_.left_alone(job); }
    /// What the rows of the limits were; Plan::limits says what came of them.
    [[nodiscard]] std::span<const LimitRow> limit_rows() const { return rows_.limits(); }

private:
    /// Who is left alone and holds something keeps it, and is offered nothing else.
    void let_failed_jobs_keep(const Snapshot& snapshot) {
        const Round round = round_of(snapshot);
        std::vector<std::size_t> keeping;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (left_alone(j) && !open_.keeps(j) && !snapshot.jobs[j].placement.empty()) keeping.push_back(j);
        if (keeping.empty()) return;
        open_.keep(keeping, snapshot.cluster, snapshot.jobs);
        offers_.offer_what_is_kept(snapshot, round, open_, predict_);
        const AllotmentProblem valued = rows_.problem;
        std::vector<PlanFault> known;  // limits are asked again, and say the same
        rows_.pose(snapshot, round, open_, offers_, limits_, known);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (!left_alone(j)) std::ranges::copy(valued.values(j), rows_.problem.values(j).begin());
    }

    void allot(const Snapshot& snapshot) {
        if constexpr (PricedOptionMaker<Maker>)
            allotted_ = asked_.allot(snapshot, round_of(snapshot), open_, policy_, predict_, maker_, limits_,
                                     offers_, rows_, solver_, options_, plan_.faults);
        else
            allotted_ = solver_(problem(), options_);
        check_allotted();
        // With other cores and memory beside the same GPUs a job runs on.
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (rows_.held[j] != no_option && allotted_.choice[j] != no_option &&
                options_of(j)[allotted_.choice[j]].configuration.same_gpus(
                    options_of(j)[rows_.held[j]].configuration))
                rows_.held[j] = allotted_.choice[j];
        steady_.keep(problem(), rows_.held, options_.gap, allotted_);
    }

    /// Refuses what no solver may answer (std::invalid_argument). One that found no allotment in time,
    /// although there always is one, has all jobs wait that need not run.
    void check_allotted() {
        const std::size_t jobs = problem().jobs();
        if (allotted_.choice.size() != jobs)
            bad_input("solver", "number of choices", allotted_.choice.size(),
                      "that of jobs, " + text_of(jobs));
        if (allotted_.prices.size() != rows_.problem.capacity.size())
            bad_input("solver", "number of prices", allotted_.prices.size(),
                      "that of capacities, " + text_of(rows_.problem.capacity.size()));
        if (!found_allotment(allotted_.status)) {
            if (allotted_.status == AllotStatus::infeasible && allotted_.stopped == StopReason::proven)
                bad_input("snapshot", "placements of jobs that keep what they hold",
                          std::string_view("more GPUs than there are"), "within the cluster");
            keep_only();
        }
        for (std::size_t j = 0; j < jobs; ++j)
            if (allotted_.choice[j] != no_option && allotted_.choice[j] >= problem().options_of(j))
                bad_input("solver", "choice of job " + text_of(j), allotted_.choice[j], "one of its options");
    }

    /// Who must run has one option.
    void keep_only() {
        allotted_.status = AllotStatus::feasible;
        allotted_.objective = allotted_.bound = 0;
        for (std::size_t j = 0; j < problem().jobs(); ++j) {
            const bool must = problem().must(j);
            const double kept = must ? problem().value(j, 0) : 0;
            double best = kept;
            for (const double value : problem().values(j)) best = std::max(best, value);
            allotted_.choice[j] = must ? 0 : no_option;
            allotted_.objective += kept;
            allotted_.bound += best;
        }
    }

    void decide(const Snapshot& snapshot) {
        plan_.objective = allotted_.objective;
        plan_.bound = allotted_.bound;
        plan_.status = allotted_.status;
        plan_.prices.clear();
        for (std::size_t p = 0; p < pools().size(); ++p)
            plan_.prices.push_back(
                {pools()[p].gpu_type, pools()[p].gpus_per_node, allotted_.prices[p], pools()[p].spot});
        plan_.decisions.resize(snapshot.jobs.size());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Decision& decision = plan_.decisions[j];
            give_nothing(decision);
            if (const std::size_t choice = allotted_.choice[j]; choice != no_option) {
                choose(snapshot, j, choice);
            } else {
                decision.verdict.outcome =
                    detail::say_why_not(snapshot, j, offers_, rows_, open_.pools_for(snapshot.jobs[j]),
                                        allotted_.prices, decision.verdict.reason);
                if constexpr (ReasonMaker<Maker>)
                    if (std::string why = maker_.why_none(snapshot.jobs[j]);
                        options_of(j).empty() && !left_alone(j) && !why.empty())
                        decision.verdict.reason = std::move(why);
            }
        }
    }

    /// What is given becomes what the nodes can give of the allotment.
    void divide_hosts(const Snapshot& snapshot) {
        chosen_ = allotted_.choice;
        hosting_.find(
            snapshot, open_, offers_, rows_, allotted_.choice, plan_,
            [&](std::size_t j, std::size_t option) {
                plan_.objective += values_of(j)[option] - plan_.decisions[j].value;
                chosen_[j] = option;
                choose(snapshot, j, option);
            },
            [&](std::size_t j) {
                plan_.objective -= plan_.decisions[j].value;
                give_nothing(plan_.decisions[j]);
                plan_.decisions[j].verdict = {Outcome::waits,
                                              "its nodes cannot give the cores and the memory that it needs "
                                              "beside those of others"};
            });
    }

    void choose(const Snapshot& snapshot, std::size_t j, std::size_t option) {
        Decision& decision = plan_.decisions[j];
        decision.option = options_of(j)[option];
        decision.value = values_of(j)[option];
        // Valued by what is to come, run by what is.
        if constexpr (GradientForecast<P>)
            detail::predict_one(snapshot, j, predict_, offers_.lost_time(), decision.option);
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

    /// How much of each limit the plan takes.
    void count_limits() {
        plan_.conflicts = rows_.conflicts;
        plan_.limits.clear();
        if (limit_rows().empty()) return;
        for (std::size_t l = 0; l < limit_rows().size(); ++l) {
            const LimitRow& row = limit_rows()[l];
            plan_.limits.push_back(
                {row.name, row.unit, row.capacity, 0, allotted_.prices[rows_.pools() + l]});
        }
        for (std::size_t j = 0; j < plan_.decisions.size(); ++j) {
            if (plan_.decisions[j].placement.empty()) continue;
            for (const ResourceUse& use : problem().uses(j, chosen_[j]))
                if (use.resource >= rows_.pools())
                    plan_.limits[use.resource - rows_.pools()].used += use.units;
        }
    }

    P policy_;
    AllotOptions options_;
    NodePlacer placer_;
    Solver solver_;
    Predictor predict_;
    Pack limits_;
    Maker maker_;
    detail::SnapshotCheck check_;
    detail::OpenNodes open_;
    detail::Offers offers_;
    detail::Rows rows_;
    detail::Worth worth_;
    detail::AskedOptions asked_;
    AllotResult allotted_;
    detail::SteadyChoice steady_;
    std::vector<std::size_t> chosen_;
    detail::Placing placing_;
    detail::Hosting hosting_;
    Plan plan_;
};

template <Policy P>
Plan plan(const Snapshot& snapshot, P policy, AllotOptions options) {
    return Scheduler<P>(std::move(policy), options).plan(snapshot);
}

/// The same with parts of one's own: a placer, a solver, a predictor.
template <Policy P = Sia, Placer NodePlacer = LeastMovesPlacer, AllotmentSolver Solver = Allotter<>,
          OptionPredictor Predictor = GoodputPredictor>
Plan plan(const Snapshot& snapshot, P policy, AllotOptions options, NodePlacer placer, Solver solver = {},
          Predictor predictor = {}) {
    return Scheduler<P, NodePlacer, Solver, Predictor>(std::move(policy), options, std::move(placer),
                                                       std::move(solver), std::move(predictor))
        .plan(snapshot);
}

}  // namespace goodput

#endif
