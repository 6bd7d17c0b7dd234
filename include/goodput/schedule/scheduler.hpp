#ifndef GOODPUT_SCHEDULE_SCHEDULER_HPP
#define GOODPUT_SCHEDULE_SCHEDULER_HPP

// One call from a snapshot to a plan. A round is a line of stations, each of which reads what the ones before
// it have found:
//
//     what is open -> what is offered -> the rows -> what it is worth -> the allotment -> the nodes ->
//     a station of one's own, if there is one -> reasons
//
// What the rows cannot say of the nodes (racks, sizes that do not divide one another) may leave a job without
// nodes: then that option is withdrawn, and allotment and nodes are found again (detail/leftovers.hpp).

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/clock.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/place/concepts.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/asked_options.hpp"
#include "goodput/schedule/detail/leaving_nodes.hpp"
#include "goodput/schedule/detail/leftovers.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/detail/price_groups.hpp"
#include "goodput/schedule/detail/reasons.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/detail/steady_choice.hpp"
#include "goodput/schedule/detail/worth.hpp"
#include "goodput/schedule/goodput_factor.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/node_station.hpp"
#include "goodput/schedule/plan.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/schedule/snapshot_check.hpp"

namespace goodput {

/// What a Scheduler is put together of.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor, class Pack = Limits<>, class Maker = ListedShapes,
          class Factor = Factors<>, class Station = NoNodeStation>
struct SchedulerParts {
    P policy{};              ///< what options are worth
    AllotOptions options{};  ///< gap of the allotment, and deadline of the plan
    NodePlacer placer{};     ///< which nodes
    Solver solver{};         ///< which option for each job
    Predictor predictor{};   ///< how good options are
    Pack limits{};           ///< what is limited besides GPUs (limits.hpp)
    Maker maker{};           ///< what jobs are offered (makers.hpp)
    Factor factor{};         ///< what else changes the goodput (goodput_factor.hpp)
    Station station{};       ///< what happens once the nodes are known (node_station.hpp)
};

/// Makes plans round after round. Keeps buffers; nothing carries over from one snapshot to the next, but for
/// the last prices where AllotOptions::warm_start asks for them.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor, class Pack = Limits<>, class Maker = ListedShapes,
          class Factor = Factors<>, class Station = NoNodeStation>
class Scheduler {
    static_assert(policy_fits<P>());
    static_assert(placer_fits<NodePlacer>());
    static_assert(solver_fits<Solver>());
    static_assert(predictor_fits<Predictor>());
    static_assert(maker_fits<Maker>());
    static_assert(factor_fits<Factor>());
    static_assert(NodeStation<Station>,
                  "NodeStation: operator() is missing, or does not take these arguments: void "
                  "operator()(const Round&, const AllotmentProblem&, std::span<PlacedJob>)");
    static_assert(ForecastPredictor<Predictor> || !OptionPredictor<Predictor> || !GradientForecast<P>,
                  "ForecastPredictor: this policy has expected_gradient(job), so the predictor must also be "
                  "callable as predictor(job, model, options, gradient)");
    static_assert(
        !PricedOptionMaker<Maker> || !RoundPolicy<P> || ValuesBeside<P>,
        "ValuesBeside: this maker answers at prices, so a policy that values whole rounds must have "
        "double value_beside(round, row, option) const");

public:
    /// The parts, each by its name.
    using Parts = SchedulerParts<P, NodePlacer, Solver, Predictor, Pack, Maker, Factor, Station>;

    /// A scheduler of these parts.
    explicit Scheduler(Parts parts) : parts_(std::move(parts)) {
        if constexpr (requires { parts_.policy.validate(); }) parts_.policy.validate();
    }
    /// A scheduler with a policy, a gap and deadline for the allotment, and parts of one's own.
    explicit Scheduler(P policy = P(), AllotOptions options = {}, NodePlacer placer = NodePlacer(),
                       Solver solver = Solver(), Predictor predictor = Predictor(), Pack limits = Pack(),
                       Maker maker = Maker())
        : Scheduler(Parts{std::move(policy), options, std::move(placer), std::move(solver),
                          std::move(predictor), std::move(limits), std::move(maker), Factor(), Station()}) {}

    /// A scheduler of the same parts with further limits (limits.hpp).
    template <class... Ls>
    [[nodiscard]] auto limited_by(Ls... limits) const {
        return with(parts_.limits.with(std::move(limits)...), parts_.maker, parts_.factor, parts_.station);
    }
    /// A scheduler of the same parts with another maker of options (makers.hpp).
    template <class M>
    [[nodiscard]] auto offering(M maker) const {
        return with(parts_.limits, std::move(maker), parts_.factor, parts_.station);
    }
    /// A scheduler of the same parts with further factors on the goodput of options (goodput_factor.hpp).
    template <class... Fs>
    [[nodiscard]] auto counting(Fs... factors) const {
        return with(parts_.limits, parts_.maker, parts_.factor.with(std::move(factors)...), parts_.station);
    }
    /// A scheduler of the same parts with another station after the nodes (node_station.hpp).
    template <class S>
    [[nodiscard]] auto after_nodes(S station) const {
        return with(parts_.limits, parts_.maker, parts_.factor, std::move(station));
    }

    /// The plan for a snapshot; valid until the next call. A job or a node that makes no sense is set aside
    /// and named (Plan::warnings), and the rest is planned: what validate(Node) and validate(Job) refuse, two
    /// of one name, nodes given to more jobs than they hold. Where the snapshot is strict such are refused
    /// (std::invalid_argument naming job, field and value); a time that is not finite, and models of another
    /// number, or of more GPU types than the cluster's, always are. What the policy, the predictor, the maker
    /// or a limit does wrong costs the jobs concerned an option or the whole choice, but not the plan:
    /// Plan::faults. `step(PlanStep)` is called after each step.
    template <class AfterStep>
    const Plan& plan(const Snapshot& given, AfterStep step) & {
        const Snapshot& snapshot = check_(given, KnowsTopology<NodePlacer>, plan_.warnings);
        by_price_ = parts_.limits.counts_dollars() && price_groups_.find(snapshot);
        // What does not fit has been named in one line, which is not to be followed by pages.
        if constexpr (
            Policy<P> && Placer<NodePlacer> && AllotmentSolver<Solver> && OptionPredictor<Predictor> &&
            OptionMaker<Maker> && NodeStation<Station> && !requires { requires !Pack::all_fit; } &&
            !requires { requires !Factor::all_fit; })
            plan_round(by_price_ ? price_groups_.snapshot() : snapshot, step);
        for (std::size_t j = 0; by_price_ && j < plan_.decisions.size(); ++j)
            price_groups_.forget(snapshot.cluster, plan_.decisions[j].placement,
                                 plan_.decisions[j].option.configuration);
        find_actions(snapshot, plan_);
        check_.give_what_is_held(given, plan_);
        if constexpr (requires { parts_.placer.warn(snapshot.jobs, plan_.warnings); })
            parts_.placer.warn(snapshot.jobs, plan_.warnings);
        if constexpr (requires { parts_.limits.warn(round_of(snapshot), plan_.warnings); })
            parts_.limits.warn(round_of(snapshot), plan_.warnings);
        return plan_;
    }
    /// The plan for a snapshot, without a call after each step.
    const Plan& plan(const Snapshot& snapshot) & {
        return plan(snapshot, [](PlanStep) {});
    }
    /// The same of a scheduler that is gone afterwards: the plan is the caller's.
    Plan plan(const Snapshot& snapshot) && {
        plan(snapshot);
        return std::move(plan_);
    }

    /// The placer, for what it may be told between two plans (TopologyPlacer::set_topology).
    [[nodiscard]] NodePlacer& placer() { return parts_.placer; }
    /// Gap and deadline of the next plans' allotments.
    [[nodiscard]] AllotOptions& options() { return parts_.options; }
    /// The limits, to be replaced between two plans.
    [[nodiscard]] Pack& limits() { return parts_.limits; }
    /// The maker of options.
    [[nodiscard]] const Maker& maker() const { return parts_.maker; }

    /// The factors on the goodput.
    [[nodiscard]] const Factor& factor() const { return parts_.factor; }

    /// The last plan, and what it was made from: the pools that prices and resources are of, without their
    /// drained nodes; the allotment problem, whose first rows are these pools, whose next are those of the
    /// limits and whose last are those of blocks of nodes (detail/node_blocks.hpp), with its solution (not
    /// that of the plan for a job that found no nodes).
    [[nodiscard]] const Plan& last_plan() const { return plan_; }
    /// See last_plan().
    [[nodiscard]] std::span<const Pool> pools() const { return open_.pools(); }
    /// See last_plan().
    [[nodiscard]] const AllotmentProblem& problem() const { return rows_.problem; }
    /// See last_plan(). Where options found no nodes: of the last allotment, with the bound of the first.
    [[nodiscard]] const AllotResult& allotted() const { return allotted_; }
    /// The policy, with its settings.
    [[nodiscard]] const P& policy() const { return parts_.policy; }

    /// The last plan's snapshot as the policy saw it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const {
        const Cluster& cluster = by_price_ ? price_groups_.snapshot().cluster : snapshot.cluster;
        return {snapshot.time_seconds, cluster, open_.pools(), rows_.problem.capacity, snapshot.jobs};
    }
    /// The options and values that the last plan chose from, for the job of that index.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return offers_.options_of(job);
    }
    /// As many as options_of(job); finite.
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const { return problem().values(job); }
    /// By job: the option that the last plan gives it, or gave before it found no nodes. Other than in
    /// allotted() where a station after the nodes has changed it.
    [[nodiscard]] std::span<const std::size_t> chosen() const { return chosen_; }
    /// In the last plan everything that was asked about the job of that index failed: it keeps what it holds,
    /// or waits.
    [[nodiscard]] bool has_failed(std::size_t job) const { return offers_.has_failed(job); }
    /// In the last plan the job of that index was set aside (Plan::warnings).
    [[nodiscard]] bool is_set_aside(std::size_t job) const { return check_.is_set_aside(job); }
    /// What the rows of the limits were; Plan::limits says what came of them.
    [[nodiscard]] std::span<const LimitRow> limit_rows() const { return rows_.limits(); }
    /// A row of problem() that is no pool, in words; for the snapshot of the last plan.
    [[nodiscard]] LimitRow row_of(const Snapshot& snapshot, std::size_t row) const {
        return rows_.describe(row, snapshot.cluster, open_);
    }

private:
    static constexpr int most_passes = 8;
    /// The policy says for each job what it gets; other options are worth nothing.
    static constexpr bool chooses = RoundPolicy<P> && !ValuesBeside<P>;

    template <class AfterStep>
    void plan_round(const Snapshot& snapshot, AfterStep step) {
        const detail::Clock clock(parts_.options.deadline);
        plan_.faults.clear();
        open_.find(snapshot.cluster, snapshot.jobs);
        rows_.find_capacity(round_of(snapshot), open_, parts_.limits);
        offers_.make(snapshot, round_of(snapshot), open_, parts_.policy, parts_.predictor, parts_.factor,
                     parts_.maker, plan_.faults);
        pose(snapshot, plan_.faults);
        withdrawn_.clear();
        value(snapshot, plan_.faults);
        let_failed_jobs_keep(snapshot);
        step(PlanStep::value);
        AllotOptions options = parts_.options;
        options.deadline = clock.left();
        if (options.deadline) options.deadline = time_to_allot(snapshot, *options.deadline);
        allot(snapshot, options, false);
        step(PlanStep::allot);
        place(snapshot, clock);
        count_limits();
        step(PlanStep::place);
    }

    /// The allotment leaves time for finding nodes; where valuing the options has taken nearly all of the
    /// deadline, it may exceed that by as little as is worth the GPUs that would be idle otherwise.
    [[nodiscard]] std::chrono::nanoseconds time_to_allot(const Snapshot& snapshot,
                                                         std::chrono::nanoseconds left) const {
        constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(5);
        const std::chrono::nanoseconds to_place =
            std::chrono::microseconds(2) *
            static_cast<std::int64_t>(snapshot.jobs.size() + snapshot.cluster.nodes.size());
        return std::max(left - std::min(to_place, left / 2), std::min(least, *parts_.options.deadline / 4));
    }

    void pose(const Snapshot& snapshot, std::vector<PlanFault>& faults) {
        if constexpr (requires {
                          { parts_.placer.topology() } -> std::convertible_to<const Topology&>;
                      })
            rows_.domains.find(parts_.placer.topology(), snapshot.cluster, snapshot.jobs, open_,
                               [&](std::size_t j) { return offers_.options_of(j); });
        rows_.pose(snapshot, round_of(snapshot), open_, offers_, parts_.limits, faults);
    }

    /// For whom everything failed and who holds something keeps it, and is offered nothing else.
    void let_failed_jobs_keep(const Snapshot& snapshot) {
        const Round round = round_of(snapshot);
        std::vector<std::size_t> keeping;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (has_failed(j) && !open_.keeps(j) && !snapshot.jobs[j].placement.empty()) keeping.push_back(j);
        if (keeping.empty()) return;
        open_.keep(keeping, snapshot.cluster, snapshot.jobs);
        offers_.offer_what_is_kept(snapshot, round, open_, parts_.predictor, parts_.factor, parts_.maker);
        const AllotmentProblem valued = rows_.problem;
        std::vector<PlanFault> known;  // limits are asked again, and say the same
        pose(snapshot, known);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (!has_failed(j)) std::ranges::copy(valued.values(j), rows_.problem.values(j).begin());
    }

    /// What all options are worth that are not withdrawn.
    void value(const Snapshot& snapshot, std::vector<PlanFault>& faults) {
        worth_.find(snapshot, round_of(snapshot), parts_.policy, offers_, rows_, faults,
                    [&](std::size_t j) { return withdrawn_.options_of(j, offers_); });
        if constexpr (!chooses) leaving_.lower_values(snapshot, open_, offers_, rows_);
    }

    /// `again`: after options were withdrawn.
    void allot(const Snapshot& snapshot, const AllotOptions& options, bool again) {
        const detail::Clock clock(options.deadline);
        if constexpr (chooses)
            if (again) {
                std::vector<PlanFault> known;  // the policy is asked again, and says the same
                value(snapshot, known);
            }
        solve(snapshot, options, again);
        // Who must run, but need not stay where it is, may wait where there is no other way.
        if (allotted_.status == AllotStatus::infeasible && rows_.let_all_wait(open_))
            solve(snapshot, options, again);
        fills_up_ = false;
        check_allotted();
        const auto is_same = [&](std::size_t j, std::size_t k, std::size_t held) {
            return options_of(j)[k].configuration.same_gpus(options_of(j)[held].configuration);
        };
        steady_.keep(problem(), rows_.held, is_same, parts_.options.gap, allotted_, clock.left());
        steady_.use_fewer_nodes(
            problem(), rows_.held,
            [&](std::size_t j, std::size_t k) -> const Option& { return options_of(j)[k]; }, allotted_);
        if (again && !chooses) {
            allotted_.bound = plan_.bound;  // with what was withdrawn
        } else {
            plan_.bound = allotted_.bound;
            plan_.status = allotted_.status;
        }
    }

    void solve(const Snapshot& snapshot, const AllotOptions& options, bool again) {
        if constexpr (PricedOptionMaker<Maker>) {
            const Round round = round_of(snapshot);
            allotted_ = asked_.allot(
                detail::RoundParts<P, Predictor, Factor, Maker, Pack>{
                    snapshot, round, open_, parts_.policy, parts_.predictor, parts_.factor, parts_.maker,
                    parts_.limits, offers_, rows_, plan_.faults},
                parts_.solver, options, again);
        } else {
            allotted_ = parts_.solver(problem(), options);
        }
    }

    /// Nodes for what is allotted, and for what is allotted instead where there are none.
    void place(const Snapshot& snapshot, detail::Clock clock) {
        double allotted = allotted_.objective;
        for (int pass = 1;; ++pass) {
            decide(snapshot);
            if constexpr (requires { parts_.placer.set_time(clock.left()); })
                parts_.placer.set_time(clock.left());
            find_nodes(snapshot);
            const bool vain = !chooses && leaving_.take_back_vain_changes(snapshot, offers_, rows_, chosen_,
                                                                          plan_.decisions);
            if ((unplaced_.empty() && !vain) || pass == most_passes || clock.late()) break;
            withdrawn_.add(unplaced_, snapshot, offers_, rows_, plan_.decisions);
            AllotOptions options = parts_.options;
            options.deadline = clock.left();
            allot(snapshot, options, true);
            if (chooses) allotted = allotted_.objective;
        }
        withdrawn_.give_back(rows_, false);
        const bool unproven = count_withdrawn();
        withdrawn_.give_back(rows_, true);
        std::array<std::size_t, 0> nobody;
        NoNodeStation all_room;
        give_leftovers(snapshot, nobody, all_room, clock);
        if constexpr (!std::same_as<Station, NoNodeStation>) run_station(snapshot, clock);
        for (const detail::Unplaced& of : withdrawn_.first())
            if (plan_.decisions[of.job].placement.empty()) {
                plan_.decisions[of.job].verdict = of.why;
                // The placer knows of this option alone.
                if (has_other_option(of)) plan_.decisions[of.job].verdict.outcome = Outcome::waits;
                chosen_[of.job] = of.option;
            }
        plan_.bound = std::max(plan_.bound, plan_.objective);
        // What is proven of the allotment is proven of the plan as far as the plan is worth as much.
        const double rounding = 1e-9 * std::abs(plan_.bound),
                     enough = std::max(parts_.options.enough(plan_.bound), rounding);
        if (unproven || plan_.objective < allotted - 1e-9 * std::abs(allotted))
            plan_.status =
                plan_.bound - plan_.objective <= enough ? AllotStatus::optimal : AllotStatus::feasible;
    }
    /// A policy that chooses again values what is left anew, and the last allotment knows nothing of the
    /// options that found no nodes. A placement may have nodes for them, so the bound counts them. Whether it
    /// is larger for that.
    bool count_withdrawn() {
        if (!chooses || withdrawn_.first().empty()) return false;
        const double with_all = detail::bound_at(problem(), allotted_.prices);
        if (with_all <= plan_.bound) return false;
        plan_.bound = with_all;
        return true;
    }
    [[nodiscard]] bool has_other_option(const detail::Unplaced& of) const {
        const std::span<const Option> options = options_of(of.job);
        for (std::size_t k = 0; k < options.size(); ++k)
            if (values_of(of.job)[k] > 0 &&
                !options[k].configuration.same_gpus(options[of.option].configuration))
                return true;
        return false;
    }
    void find_nodes(const Snapshot& snapshot) {
        chosen_ = allotted_.choice;
        unplaced_.clear();
        placing_.find(snapshot, open_, parts_.placer, plan_, [&](std::size_t j, const Verdict& why) {
            unplaced_.push_back({j, chosen_[j], why});
            lose_nodes(j, why);
        });
    }
    void lose_nodes(std::size_t j, Verdict why) {
        plan_.objective -= plan_.decisions[j].value;
        give_nothing(plan_.decisions[j]);
        plan_.decisions[j].verdict = std::move(why);
    }
    /// What is free, as far as a station has room there.
    template <class Room>
    void give_leftovers(const Snapshot& snapshot, std::span<const std::size_t> taken_back, Room& room,
                        const detail::Clock& clock) {
        if (!fills_up_) return;
        if constexpr (requires {
                          { parts_.solver.keeps_idle() } -> std::convertible_to<bool>;
                      })
            if (parts_.solver.keeps_idle()) return;
        // Idle GPUs are worth some milliseconds after the deadline.
        constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(5);
        std::optional<std::chrono::nanoseconds> time = clock.left();
        if (time) time = std::max(*time, least);
        leftovers_.offer(snapshot, open_, offers_, rows_, chosen_, parts_.placer, plan_, taken_back, room,
                         detail::Clock(time),
                         [&](std::size_t j, std::size_t option, const Placement& placement) {
                             give(snapshot, j, option, placement);
                         });
    }
    /// In place of what the job has.
    void give(const Snapshot& snapshot, std::size_t j, std::size_t option, const Placement& placement) {
        Decision& decision = plan_.decisions[j];
        const bool had_nodes = !decision.placement.empty();
        if (had_nodes && option == chosen_[j] && placement == decision.placement) return;
        const double value = decision.value, paid = detail::move_cost_of(snapshot, j, decision.placement);
        if (!had_nodes || option != chosen_[j]) {
            give_nothing(decision);
            choose(snapshot, j, option);
        }
        chosen_[j] = option;
        decision.placement = placement;
        plan_.objective += decision.value - value;
        plan_.move_cost_seconds += detail::move_cost_of(snapshot, j, placement) - paid;
    }

    /// It goes on, on nodes that it shares although it is on several.
    [[nodiscard]] bool shares_nodes(const Snapshot& snapshot, std::size_t j) const {
        return open_.shares_nodes(j) && plan_.decisions[j].placement == snapshot.jobs[j].placement;
    }
    /// The station after the nodes changes what jobs get there, and what that leaves is offered to others.
    void run_station(const Snapshot& snapshot, const detail::Clock& clock) {
        placed_.clear();
        for (std::size_t j = 0; j < plan_.decisions.size(); ++j)
            if (!plan_.decisions[j].placement.empty())
                placed_.push_back({j,
                                   options_of(j),
                                   open_.keeps(j),
                                   chosen_[j],
                                   plan_.decisions[j].placement,
                                   {},
                                   shares_nodes(snapshot, j)});
        if constexpr (requires { parts_.station.set_time(clock.left()); })
            parts_.station.set_time(clock.left());
        parts_.station(round_of(snapshot), problem(), std::span<PlacedJob>(placed_));
        bool any_other = false;
        taken_back_.clear();
        for (PlacedJob& placed : placed_) {
            const std::size_t j = placed.job;
            any_other |= placed.option != chosen_[j];
            if (placed.option != no_option) {
                if (placed.option >= options_of(j).size())
                    bad_input("station", "option of job " + text_of(j), placed.option, "one of its options");
                give(snapshot, j, placed.option, placed.placement);
                continue;
            }
            plan_.move_cost_seconds -= detail::move_cost_of(snapshot, j, plan_.decisions[j].placement);
            lose_nodes(j, {Outcome::waits, std::move(placed.why)});
            taken_back_.push_back(j);
        }
        if constexpr (KnowsRoom<Station>)
            if (any_other) give_leftovers(snapshot, taken_back_, parts_.station, clock);
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
            return;
        }
        fills_up_ = true;
        for (std::size_t j = 0; j < jobs; ++j)
            if (allotted_.choice[j] != no_option && allotted_.choice[j] >= problem().options_of(j))
                bad_input("solver", "choice of job " + text_of(j), allotted_.choice[j], "one of its options");
    }

    /// Who keeps what it holds has one option.
    void keep_only() {
        allotted_.status = AllotStatus::feasible;
        allotted_.objective = allotted_.bound = 0;
        for (std::size_t j = 0; j < problem().jobs(); ++j) {
            const bool keeps = open_.keeps(j);
            const double kept = keeps ? problem().value(j, 0) : 0;
            double best = kept;
            for (const double value : problem().values(j)) best = std::max(best, value);
            allotted_.choice[j] = keeps ? 0 : no_option;
            allotted_.objective += kept;
            allotted_.bound += best;
        }
    }

    void decide(const Snapshot& snapshot) {
        plan_.objective = allotted_.objective;
        plan_.prices.clear();
        for (std::size_t p = 0; p < pools().size(); ++p)
            plan_.prices.push_back({pools()[p].gpu_type, pools()[p].gpus_per_node, allotted_.prices[p],
                                    pools()[p].spot, pools()[p].group});
        plan_.decisions.resize(snapshot.jobs.size());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Decision& decision = plan_.decisions[j];
            give_nothing(decision);
            if (const std::size_t choice = allotted_.choice[j]; choice != no_option) {
                choose(snapshot, j, choice);
            } else {
                decision.verdict.outcome = detail::say_why_not(snapshot, j, open_, offers_, rows_,
                                                               allotted_.prices, decision.verdict.reason);
                if constexpr (ReasonMaker<Maker>)
                    if (options_of(j).empty() && !has_failed(j))
                        if (std::string why = parts_.maker.why_none(
                                detail::round_for(snapshot.jobs[j], round_of(snapshot), open_),
                                snapshot.jobs[j]);
                            !why.empty())
                            decision.verdict.reason = std::move(why);
                if constexpr (requires {
                                  { parts_.maker.lets_wait(snapshot.jobs[j]) } -> std::convertible_to<bool>;
                              })
                    if (parts_.maker.lets_wait(snapshot.jobs[j])) decision.verdict.outcome = Outcome::waits;
                if (decision.verdict.outcome == Outcome::impossible && could_run_later(snapshot, j))
                    decision.verdict.outcome = Outcome::waits;
            }
        }
    }

    /// Whether a job has options as soon as nobody keeps nodes that it could have.
    [[nodiscard]] bool could_run_later(const Snapshot& snapshot, std::size_t j) {
        if (std::ranges::all_of(snapshot.jobs[j].types, [](const TypeLimits& limits) {
                return limits.nodes_now >= limits.max_nodes;
            }))
            return false;
        Job later = snapshot.jobs[j];
        for (TypeLimits& limits : later.types) limits.nodes_now = limits.max_nodes;
        const std::vector<int> any(later.types.size(), std::numeric_limits<int>::max());
        std::vector<Option> options;
        return detail::contained([&] {
                   const Round round = detail::round_for(later, round_of(snapshot), open_);
                   parts_.maker.list(round, later, std::span<const int>(any), options);
               }) &&
               std::ranges::any_of(options, [&](Option& option) {
                   return detail::predict_one(snapshot, j, parts_.predictor, parts_.factor, parts_.maker,
                                              false, option) &&
                          option.goodput > 0;
               });
    }

    void choose(const Snapshot& snapshot, std::size_t j, std::size_t option) {
        Decision& decision = plan_.decisions[j];
        decision.option = options_of(j)[option];
        decision.value = values_of(j)[option];
        // Valued by what is to come, run by what is, and as it runs where that is as good.
        const Job& job = snapshot.jobs[j];
        const bool keeps_plan =
            KeepsRunningPlans<Predictor> && job.running_plan.atomic_batch > 0 &&
            decision.option.configuration.same_gpus(configuration_of(job.placement, snapshot.cluster));
        if (GradientForecast<P> || keeps_plan)
            detail::predict_one(snapshot, j, parts_.predictor, parts_.factor, parts_.maker, keeps_plan,
                                decision.option);
    }

    /// Keeps the memory of what it had.
    static void give_nothing(Decision& decision) {
        decision.option = {};
        decision.value = 0;
        decision.placement.clear();
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
        if constexpr (!PricedOptionMaker<Maker>)
            if (std::any_of(plan_.limits.begin(), plan_.limits.end(),
                            [](const LimitUse& limit) { return limit.price > 0; })) {
                const double above =
                    std::max(detail::bound_at(problem(), allotted_.prices) - plan_.objective, 0.0);
                for (LimitUse& limit : plan_.limits)
                    if (limit.price > 0) limit.most_of_one_more = limit.price + above;
            }
        for (std::size_t j = 0; j < plan_.decisions.size(); ++j) {
            if (plan_.decisions[j].placement.empty()) continue;
            for (const ResourceUse& use : problem().uses(j, chosen_[j]))
                if (const std::size_t limit = rows_.limit_of(use.resource); limit < limit_rows().size())
                    plan_.limits[limit].used += use.units;
        }
    }

    /// These parts, and others in place of those that change their type.
    template <class OtherLimits, class M, class F, class S>
    auto with(OtherLimits limits, M maker, F factor, S station) const {
        using Other = Scheduler<P, NodePlacer, Solver, Predictor, OtherLimits, M, F, S>;
        return Other({parts_.policy, parts_.options, parts_.placer, parts_.solver, parts_.predictor,
                      std::move(limits), std::move(maker), std::move(factor), std::move(station)});
    }

    Parts parts_;
    SnapshotCheck check_;
    detail::PriceGroups price_groups_;
    bool by_price_ = false;  // in the last plan, nodes of unlike prices were pools of their own
    detail::OpenNodes open_;
    detail::Offers offers_;
    detail::Rows rows_;
    detail::Worth worth_;
    detail::LeavingNodes leaving_;
    detail::AskedOptions asked_;
    AllotResult allotted_;
    detail::SteadyChoice steady_;
    std::vector<std::size_t> chosen_;
    detail::Placing placing_;
    bool fills_up_ = false;                   // the solver found an allotment
    std::vector<detail::Unplaced> unplaced_;  // of this pass
    detail::Withdrawn withdrawn_;
    detail::Leftovers leftovers_;
    std::vector<PlacedJob> placed_;        // as the station sees them
    std::vector<std::size_t> taken_back_;  // ascending
    Plan plan_;
};

/// The type of a scheduler with a policy and limits and everything else as it is by default, for members of
/// classes: `LimitedScheduler<Mine, TeamQuotas> scheduler =
/// Scheduler(Mine()).limited_by(TeamQuotas(quotas))`.
template <class P, class... Ls>
using LimitedScheduler = Scheduler<P, LeastMovesPlacer, Allotter<>, GoodputPredictor, Limits<Ls...>>;

template <class P>
Plan plan(const Snapshot& snapshot, P policy, AllotOptions options) {
    return Scheduler<P>(std::move(policy), options).plan(snapshot);
}

/// The same with parts of one's own: a placer, a solver, a predictor.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor>
Plan plan(const Snapshot& snapshot, P policy, AllotOptions options, NodePlacer placer, Solver solver = {},
          Predictor predictor = {}) {
    return Scheduler<P, NodePlacer, Solver, Predictor>(std::move(policy), options, std::move(placer),
                                                       std::move(solver), std::move(predictor))
        .plan(snapshot);
}

}  // namespace goodput

#endif
