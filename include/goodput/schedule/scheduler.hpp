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
#include "goodput/place/concepts.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/concepts.hpp"
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
    /// (not preemptible, or restarting) spread over several GPU types. `step(Step)` is called after each
    /// step.
    template <class AfterStep>
    const Plan& plan(const Snapshot& snapshot, AfterStep step) {
        validate(snapshot.cluster);
        check_jobs(snapshot);
        open_.find(snapshot.cluster, snapshot.jobs);
        const Round round = round_of(snapshot);
        make_options(snapshot, round);
        value_options(snapshot, round);
        step(Step::value);
        allotted_ = solver_(problem_, options_);
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
    /// Most GPUs of a type that the policy offers a job this round.
    [[nodiscard]] int most_gpus(const Snapshot& snapshot, std::size_t job, std::size_t gpu_type) const {
        if constexpr (GrowthLimit<P>)
            return static_cast<int>(policy_.most_gpus(snapshot.jobs[job], model_of(snapshot, job), gpu_type));
        else
            return std::numeric_limits<int>::max();
    }

    /// The options and values that the last plan chose from, for the job of that index.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return {options_flat_.data() + first_[job], first_[job + 1] - first_[job]};
    }
    /// As many as options_of(job).
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const {
        return {values_.data() + first_[job], first_[job + 1] - first_[job]};
    }

private:
    void check_jobs(const Snapshot& snapshot) {
        const std::vector<Job>& jobs = snapshot.jobs;
        if (!std::isfinite(snapshot.time_seconds))
            bad_input("snapshot", "time_s", snapshot.time_seconds, "finite");
        if (!snapshot.models.empty() && snapshot.models.size() != jobs.size())
            bad_input("snapshot", "number of models", snapshot.models.size(),
                      "0 or the number of jobs, " + text_of(jobs.size()));
        const std::size_t types = snapshot.cluster.gpu_types.size();
        for (std::size_t j = 0; j < snapshot.models.size(); ++j)
            if (snapshot.models[j].types.size() > types)
                bad_input("job '" + jobs[j].name + "'", "GPU types in its model",
                          snapshot.models[j].types.size(), "at most the cluster's " + text_of(types));
        by_name_.clear();
        held_gpus_.assign(snapshot.cluster.nodes.size(), 0);
        for (const Job& job : jobs) {
            validate(job, snapshot.cluster);
            by_name_.push_back(&job);
            for (const NodeShare& share : job.placement) {
                const Node& node = snapshot.cluster.nodes[share.node];
                int& held = held_gpus_[share.node];
                if (share.gpus > node.gpus - held)
                    bad_input("job '" + job.name + "'", "placement on node '" + node.name + "'", share.gpus,
                              "at most the " + text_of(node.gpus - held) + " GPUs that jobs before it leave");
                held += share.gpus;
            }
            if (job.keeps_what_it_holds() && allotment_of(job.placement, snapshot.cluster).empty())
                bad_input("job '" + job.name + "'", "placement",
                          std::string_view("over nodes of several GPU types or sizes"),
                          "over nodes of one kind, as the job keeps it");
        }
        std::sort(by_name_.begin(), by_name_.end(),
                  [](const Job* a, const Job* b) { return a->name < b->name; });
        const auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                              [](const Job* a, const Job* b) { return a->name == b->name; });
        if (twice != by_name_.end())
            bad_input("job '" + (*twice)->name + "'", "name", std::string_view("given twice"),
                      "a name of its own");
    }

    const JobModel& model_of(const Snapshot& snapshot, std::size_t job) const {
        static const JobModel nothing_known;
        return snapshot.models.empty() ? nothing_known : snapshot.models[job];
    }

    void make_options(const Snapshot& snapshot, const Round& round) {
        options_flat_.clear();
        first_.assign(1, 0);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Job& job = snapshot.jobs[j];
            const JobModel& model = model_of(snapshot, j);
            const auto most_gpus = [&](std::size_t type) { return this->most_gpus(snapshot, j, type); };
            if (job.keeps_what_it_holds()) {
                options_flat_.push_back({round.held_by(job), {}, 0, Knowledge::unknown});
            } else {
                append_options(job, pools(), most_gpus, options_flat_);
                if (open_.may_stay_on_drained(j))
                    insert_held(job, round.held_by(job), open_.used_pools(), most_gpus, first_.back(),
                                options_flat_);
            }
            const std::span<Option> options = std::span<Option>(options_flat_).subspan(first_.back());
            if constexpr (GradientForecast<P>)
                predict_(job, model, options, policy_.expected_gradient(job));
            else
                predict_(job, model, options);
            first_.push_back(options_flat_.size());
        }
    }

    void value_options(const Snapshot& snapshot, const Round& round) {
        values_.assign(options_flat_.size(), 0);
        rows_.clear();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            rows_.push_back({snapshot.jobs[j], options_of(j),
                             std::span<double>(values_).subspan(first_[j], first_[j + 1] - first_[j])});
        value_rows(policy_, round, std::span<const Row>(rows_));
        problem_.clear();
        problem_.capacity.clear();
        for (const Pool& pool : pools()) problem_.capacity.push_back(pool.gpus());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const bool must = snapshot.jobs[j].keeps_what_it_holds();
            const Allotment held = round.held_by(snapshot.jobs[j]);
            problem_.add_job(must);
            for (std::size_t k = first_[j]; k < first_[j + 1]; ++k) {
                if (!std::isfinite(values_[k]))
                    bad_input("job '" + snapshot.jobs[j].name + "'",
                              "value of " + describe(snapshot.cluster, options_flat_[k].allotment),
                              values_[k], "finite");
                const bool offered = must || options_flat_[k].goodput > 0;
                const Allotment& allotment = options_flat_[k].allotment;
                const int gpus = allotment == held ? open_.gpus_to_keep(j) : allotment.occupied_gpus();
                problem_.add_option(offered ? values_[k] : 0,
                                    {Use{pool_of(allotment), static_cast<double>(gpus)}});
            }
        }
    }

    [[nodiscard]] std::uint32_t pool_of(const Allotment& allotment) const {
        return static_cast<std::uint32_t>(find_pool(pools(), allotment.gpu_type, allotment.gpus_per_node));
    }

    void take_over(const Snapshot& snapshot) {
        if (allotted_.status == AllotStatus::infeasible)
            bad_input("snapshot", "placements of jobs that keep what they hold",
                      std::string_view("more GPUs than there are"), "within the cluster");
        plan_.objective = allotted_.objective;
        plan_.bound = allotted_.bound;
        plan_.status = allotted_.status;
        plan_.prices.clear();
        for (std::size_t p = 0; p < pools().size(); ++p)
            plan_.prices.push_back({pools()[p].gpu_type, pools()[p].gpus_per_node, allotted_.prices[p]});
        plan_.decisions.resize(snapshot.jobs.size());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Decision& decision = plan_.decisions[j];
            decision = {};
            if (const std::size_t choice = allotted_.choice[j]; choice != no_option) {
                decision.option = options_of(j)[choice];
                decision.value = values_of(j)[choice];
                // Valued by what is to come, run by what is.
                if constexpr (GradientForecast<P>)
                    predict_(snapshot.jobs[j], model_of(snapshot, j), std::span<Option>(&decision.option, 1));
            } else {
                decision.verdict = why_not(snapshot, j);
            }
        }
    }

    void place(const Snapshot& snapshot) {
        requests_.clear();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Job& job = snapshot.jobs[j];
            requests_.push_back({plan_.decisions[j].option.allotment, job.placement, job.restart_cost_seconds,
                                 job.keeps_what_it_holds()});
        }
        PlacementResult placed = placer_.place(snapshot.cluster, requests_);
        plan_.move_cost_seconds = placed.move_cost;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Decision& decision = plan_.decisions[j];
            decision.placement = std::move(placed.placements[j]);
            decision.starts = !decision.placement.empty() && decision.placement != snapshot.jobs[j].placement;
        }
        for (const UnplacedJob& unplaced : placed.unplaced) {
            Decision& decision = plan_.decisions[unplaced.job];
            plan_.objective -= decision.value;
            decision = {};
            decision.verdict = unplaced.why;
        }
    }

    /// Why a job gets nothing: no option at all, or none worth its price.
    [[nodiscard]] Verdict why_not(const Snapshot& snapshot, std::size_t j) const {
        const Job& job = snapshot.jobs[j];
        const std::span<const Option> options = options_of(j);
        if (options.empty()) return {Outcome::impossible, why_no_option(job, snapshot.cluster, pools())};
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
        if (best == options.size())
            return {Outcome::impossible, "no batch plan respects its limits on any option"};
        const std::string what = describe(snapshot.cluster, options[best].allotment);
        const double value = values_of(j)[best];
        if (value <= 0)
            return {Outcome::waits, "the policy offers it nothing this round (" + what + " has value " +
                                        rounded_text_of(value) + ")"};
        if (best_reduced <= 0)
            return {Outcome::waits, what + " would be worth " + rounded_text_of(value) + " to it, but " +
                                        rounded_text_of(best_price) + " to others"};
        return {Outcome::waits,
                "its best option, " + what + ", does not fit beside those of others in this round"};
    }

    P policy_;
    AllotOptions options_;
    NodePlacer placer_;
    Solver solver_;
    Predictor predict_;
    AllotmentProblem problem_;
    AllotResult allotted_;
    OpenNodes open_;
    std::vector<const Job*> by_name_;
    std::vector<int> held_gpus_;  // by node
    std::vector<Option> options_flat_;
    std::vector<std::size_t> first_{0};
    std::vector<double> values_;
    std::vector<Row> rows_;
    std::vector<PlacementRequest> requests_;
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
