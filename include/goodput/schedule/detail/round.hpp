#ifndef GOODPUT_SCHEDULE_DETAIL_ROUND_HPP
#define GOODPUT_SCHEDULE_DETAIL_ROUND_HPP

// Plans a round, from a snapshot to a plan, in steps. Each step reads what the previous ones have found:
//
//       1 check      the snapshot, in which every number makes sense        snapshot_check.hpp
//       2 open       pools of nodes, and what pinned jobs take of them      open_nodes.hpp
//       3 capacity   of the pools and of the limits                         rows.hpp
//       4 list       the options of every job                               offers.hpp
//       5 predict    how good the options are                               offers.hpp
//       6 pose       the allotment problem                                  rows.hpp
//       7 value      the worth of every option                              worth.hpp
//       8 allot      an option for each job                                 steady_choice.hpp
//       9 place      the jobs on nodes                                      placing.hpp
//      10 settle     use free GPUs, run the user's station                  leftovers.hpp
//      11 say        the reasons                                            reasons.hpp
//      12 hand over  bound, status, use of limits, warnings
//
// The rows of the problem cannot express every constraint on nodes: racks, or sizes that do not divide one
// another. So a job may find no nodes. Then its option is withdrawn, and steps 8 and 9 are repeated
// (leftovers.hpp). If the maker also finds options at given prices, step 8 asks it for more
// (asked_options.hpp).

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/asked_options.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/leaving_nodes.hpp"
#include "goodput/schedule/detail/leftovers.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/detail/price_groups.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/detail/steady_choice.hpp"
#include "goodput/schedule/detail/worth.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Runs the steps of a round. It keeps buffers. A plan does not depend on earlier snapshots, except for the
/// last prices if AllotOptions::warm_start asks for them.
class RoundState {
public:
    Plan& plan(const Snapshot& given, const Joints& joints, const AllotOptions& options,
               const AfterStep& step) {
        joints_ = joints;
        options_ = options;
        const Snapshot& snapshot = check_(given, joints.placer.lies_within != nullptr, plan_.warnings);
        by_price_ = joints.limits.find_price_groups && joints.limits.counts_dollars(joints.limits.part) &&
                    joints.limits.find_price_groups(price_groups_, snapshot);
        plan_round(by_price_ ? (*price_groups_).snapshot() : snapshot, step);
        for (std::size_t j = 0; by_price_ && j < plan_.decisions.size(); ++j)
            PriceGroups::forget(snapshot.cluster, plan_.decisions[j].placement,
                                plan_.decisions[j].option.configuration);
        find_actions(snapshot, plan_);
        check_.give_what_is_held(given, plan_);
        if (joints.placer.warn) joints.placer.warn(joints.placer.part, snapshot.jobs, plan_.warnings);
        if (joints.limits.warn) joints.limits.warn(joints.limits.part, round_of(snapshot), plan_.warnings);
        return plan_;
    }

    [[nodiscard]] const Plan& last_plan() const { return plan_; }
    [[nodiscard]] std::span<const Pool> pools() const { return open_.pools(); }
    [[nodiscard]] const AllotmentProblem& problem() const { return rows_.problem; }
    [[nodiscard]] const AllotResult& allotted() const { return allotted_; }
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const {
        const Cluster& cluster = by_price_ ? (*price_groups_).snapshot().cluster : snapshot.cluster;
        return {snapshot.time_seconds, cluster, open_.pools(), rows_.problem.capacity, snapshot.jobs};
    }
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return offers_.options_of(job);
    }
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const { return problem().values(job); }
    [[nodiscard]] std::span<const std::size_t> chosen() const { return chosen_; }
    [[nodiscard]] bool has_failed(std::size_t job) const { return offers_.has_failed(job); }
    [[nodiscard]] bool is_set_aside(std::size_t job) const { return check_.is_set_aside(job); }
    [[nodiscard]] std::span<const LimitRow> limit_rows() const { return rows_.limits(); }
    [[nodiscard]] LimitRow row_of(const Snapshot& snapshot, std::size_t row) const {
        return rows_.describe(row, snapshot.cluster, open_);
    }

private:
    static constexpr int most_passes = 8;

    /// Whether the policy itself decides what each job gets. Then the options that it did not choose are
    /// worth nothing.
    [[nodiscard]] bool chooses() const { return joints_.policy.chooses(); }
    void plan_round(const Snapshot& snapshot, const AfterStep& step) {
        const Clock clock(options_.deadline);
        plan_.faults.clear();
        open_.find(snapshot.cluster, snapshot.jobs);
        rows_.find_capacity(round_of(snapshot), open_, joints_.limits);
        offers_.make(snapshot, round_of(snapshot), open_, joints_, plan_.faults);
        pose(snapshot, plan_.faults);
        withdrawn_.clear();
        value(snapshot, plan_.faults);
        let_failed_jobs_keep(snapshot);
        step(PlanStep::value);
        AllotOptions options = options_;
        options.deadline = clock.left();
        if (options.deadline) options.deadline = time_to_allot(snapshot, *options.deadline);
        allot(snapshot, options, false);
        step(PlanStep::allot);
        const double allotted = place(snapshot, clock);
        say_why_not(snapshot);
        const bool unproven = give_back_withdrawn();
        settle(snapshot, clock);
        say_what_found_no_nodes();
        hand_over(allotted, unproven);
        step(PlanStep::place);
    }

    /// Returns the time for the allotment. The rest of the deadline is left for finding nodes. If valuing
    /// the options has taken nearly all of the deadline, the allotment may exceed it a little, because
    /// otherwise GPUs would be idle.
    [[nodiscard]] std::chrono::nanoseconds time_to_allot(const Snapshot& snapshot,
                                                         std::chrono::nanoseconds left) const {
        constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(5);
        const std::chrono::nanoseconds to_place =
            std::chrono::microseconds(2) *
            static_cast<std::int64_t>(snapshot.jobs.size() + snapshot.cluster.nodes.size());
        return std::max(left - std::min(to_place, left / 2), std::min(least, *options_.deadline / 4));
    }

    void pose(const Snapshot& snapshot, std::vector<PlanFault>& faults) {
        if (joints_.placer.topology)
            joints_.placer.find_domain_blocks(rows_.domains, joints_.placer.topology(joints_.placer.part),
                                              snapshot, open_, offers_);
        rows_.pose(snapshot, round_of(snapshot), open_, offers_, joints_.limits, faults);
    }

    /// A job for which everything failed and that holds something keeps it, and has no other option.
    void let_failed_jobs_keep(const Snapshot& snapshot) {
        const Round round = round_of(snapshot);
        std::vector<std::size_t> keeping;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (has_failed(j) && !open_.keeps(j) && !snapshot.jobs[j].placement.empty()) keeping.push_back(j);
        if (keeping.empty()) return;
        open_.keep(keeping, snapshot.cluster, snapshot.jobs);
        offers_.offer_what_is_kept(snapshot, round, open_, joints_);
        const AllotmentProblem valued = rows_.problem;
        std::vector<PlanFault> known;  // the limits are asked again, with the same faults
        pose(snapshot, known);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (!has_failed(j)) std::ranges::copy(valued.values(j), rows_.problem.values(j).begin());
    }

    /// Values all options that are not withdrawn.
    void value(const Snapshot& snapshot, std::vector<PlanFault>& faults) {
        worth_.find(snapshot, round_of(snapshot), joints_.policy, offers_, rows_, faults,
                    [&](std::size_t j) { return withdrawn_.options_of(j, offers_); });
        if (!chooses()) leaving_.lower_values(snapshot, open_, offers_, rows_);
    }

    /// `again` says that options were withdrawn since the last allotment.
    void allot(const Snapshot& snapshot, const AllotOptions& options, bool again) {
        const Clock clock(options.deadline);
        if (again && chooses()) {
            std::vector<PlanFault> known;  // the policy is asked again, with the same faults
            value(snapshot, known);
        }
        solve(snapshot, options, again);
        // If not all jobs that must run (Job::must_run) can run, let those wait that need not keep what
        // they hold.
        if (allotted_.status == AllotStatus::infeasible && rows_.let_all_wait(open_))
            solve(snapshot, options, again);
        fills_up_ = false;
        check_allotted();
        const auto is_same = [&](std::size_t j, std::size_t k, std::size_t held) {
            return options_of(j)[k].configuration.same_gpus(options_of(j)[held].configuration);
        };
        steady_.keep(problem(), rows_.held, is_same, options_.gap, allotted_, clock.left());
        steady_.use_fewer_nodes(
            problem(), rows_.held,
            [&](std::size_t j, std::size_t k) -> const Option& { return options_of(j)[k]; }, allotted_);
        if (again && !chooses()) {
            allotted_.bound = plan_.bound;  // includes the withdrawn options
        } else {
            plan_.bound = allotted_.bound;
            plan_.status = allotted_.status;
        }
    }

    void solve(const Snapshot& snapshot, const AllotOptions& options, bool again) {
        if (joints_.maker.ask) {
            const Round round = round_of(snapshot);
            joints_.maker.allot_asked(asked_, {snapshot, round, open_, joints_, offers_, rows_, plan_.faults},
                                      options, again, allotted_);
        } else {
            joints_.solver.solve(joints_.solver.part, problem(), options, allotted_);
        }
    }

    /// Finds nodes for the allotment. If an option finds none, solves the allotment again and repeats.
    /// Returns the value of the last allotment.
    double place(const Snapshot& snapshot, Clock clock) {
        double allotted = allotted_.objective;
        for (int pass = 1;; ++pass) {
            decide(snapshot);
            if (joints_.placer.set_time) joints_.placer.set_time(joints_.placer.part, clock.left());
            find_nodes(snapshot);
            const bool vain = !chooses() && leaving_.take_back_vain_changes(snapshot, offers_, rows_, chosen_,
                                                                            plan_.decisions);
            if ((unplaced_.empty() && !vain) || pass == most_passes || clock.late()) return allotted;
            withdrawn_.add(unplaced_, snapshot, offers_, rows_, plan_.decisions);
            AllotOptions options = options_;
            options.deadline = clock.left();
            allot(snapshot, options, true);
            if (chooses()) allotted = allotted_.objective;
        }
    }
    /// Restores the values of options that found no nodes. Returns whether this made the bound larger.
    bool give_back_withdrawn() {
        withdrawn_.give_back(rows_, false);
        const bool unproven = count_withdrawn();
        withdrawn_.give_back(rows_, true);
        return unproven;
    }
    /// Gives free GPUs to waiting jobs. Then the station may change the placed jobs.
    void settle(const Snapshot& snapshot, const Clock& clock) {
        give_leftovers(snapshot, {}, {}, clock);
        if (joints_.station.run) run_station(snapshot, clock);
    }
    void say_what_found_no_nodes() {
        for (const Unplaced& failed : withdrawn_.first())
            if (plan_.decisions[failed.job].placement.empty()) {
                plan_.decisions[failed.job].verdict = failed.why;
                // The placer knows only about this option.
                if (has_other_option(failed)) plan_.decisions[failed.job].verdict.outcome = Outcome::waits;
                chosen_[failed.job] = failed.option;
            }
    }
    /// Sets the bound and the status. What is proven about the allotment also holds for the plan if the
    /// plan is worth as much.
    void hand_over(double allotted, bool unproven) {
        plan_.bound = std::max(plan_.bound, plan_.objective);
        const double rounding = 1e-9 * std::abs(plan_.bound),
                     enough = std::max(options_.enough(plan_.bound), rounding);
        if (unproven || plan_.objective < allotted - 1e-9 * std::abs(allotted))
            plan_.status =
                plan_.bound - plan_.objective <= enough ? AllotStatus::optimal : AllotStatus::feasible;
        count_limits();
    }
    /// Raises the bound if a policy that decides itself chose again. That policy valued the remaining
    /// options anew, so the last allotment ignores options that found no nodes. A better placement may have
    /// nodes for them. Returns whether the bound became larger.
    bool count_withdrawn() {
        if (!chooses() || withdrawn_.first().empty()) return false;
        const double with_all = bound_at(problem(), allotted_.prices);
        if (with_all <= plan_.bound) return false;
        plan_.bound = with_all;
        return true;
    }
    [[nodiscard]] bool has_other_option(const Unplaced& failed) const {
        const std::span<const Option> options = options_of(failed.job);
        for (std::size_t k = 0; k < options.size(); ++k)
            if (values_of(failed.job)[k] > 0 &&
                !options[k].configuration.same_gpus(options[failed.option].configuration))
                return true;
        return false;
    }
    void find_nodes(const Snapshot& snapshot) {
        chosen_ = allotted_.choice;
        unplaced_.clear();
        placing_.find(snapshot, open_, joints_.placer, plan_, [&](std::size_t j, const Verdict& why) {
            unplaced_.push_back({j, chosen_[j], why});
            lose_nodes(j, why);
        });
    }
    void lose_nodes(std::size_t j, Verdict why) {
        plan_.objective -= plan_.decisions[j].value;
        give_nothing(plan_.decisions[j]);
        plan_.decisions[j].verdict = std::move(why);
    }
    /// Gives free GPUs to waiting jobs, as far as the user's station leaves room for them.
    void give_leftovers(const Snapshot& snapshot, std::span<const std::size_t> taken_back,
                        const StationJoint& room, const Clock& clock);
    /// Gives a job an option and nodes, in place of what it has.
    void give(const Snapshot& snapshot, std::size_t j, std::size_t option, const Placement& placement);

    /// Whether a job keeps running over several nodes that it shares.
    [[nodiscard]] bool shares_nodes(const Snapshot& snapshot, std::size_t j) const {
        return open_.shares_nodes(j) && plan_.decisions[j].placement == snapshot.jobs[j].placement;
    }
    /// Runs the station, now that nodes are known. Then offers what its changes left free to other jobs.
    void run_station(const Snapshot& snapshot, const Clock& clock);

    /// Throws std::invalid_argument if a solver's answer is impossible. If the solver found no allotment in
    /// time, although there always is one, all jobs that need not run wait.
    void check_allotted();

    /// Gives jobs that keep what they hold their only option.
    void keep_only();

    void decide(const Snapshot& snapshot) {
        plan_.objective = allotted_.objective;
        plan_.prices.clear();
        for (std::size_t p = 0; p < pools().size(); ++p)
            plan_.prices.push_back({pools()[p].gpu_type, pools()[p].gpus_per_node, allotted_.prices[p],
                                    pools()[p].spot, pools()[p].group});
        plan_.decisions.resize(snapshot.jobs.size());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            give_nothing(plan_.decisions[j]);
            if (allotted_.choice[j] != no_option) choose(snapshot, j, allotted_.choice[j]);
        }
    }

    /// Says why jobs were allotted nothing.
    void say_why_not(const Snapshot& snapshot);

    /// Whether a job would have options if no other job kept nodes that it could use.
    [[nodiscard]] bool could_run_later(const Snapshot& snapshot, std::size_t j);

    void choose(const Snapshot& snapshot, std::size_t j, std::size_t option) {
        Decision& decision = plan_.decisions[j];
        decision.option = options_of(j)[option];
        decision.value = values_of(j)[option];
        // The policy may have valued a forecast, but the job runs at its present state. It keeps its batch
        // plan if that is about as good.
        const Job& job = snapshot.jobs[j];
        const bool keeps_plan =
            joints_.predictor.keep_running_plan && job.running_plan.atomic_batch > 0 &&
            decision.option.configuration.same_gpus(configuration_of(job.placement, snapshot.cluster));
        if (joints_.policy.expected_gradient || keeps_plan)
            predict_one(joints_, snapshot, j, keeps_plan, decision.option);
    }

    /// Clears the members, but keeps their allocated memory.
    static void give_nothing(Decision& decision) {
        decision.option = {};
        decision.value = 0;
        decision.placement.clear();
        decision.verdict.outcome = Outcome::runs;
        decision.verdict.reason.clear();
    }

    /// Counts how much of each limit the plan takes.
    void count_limits();

    Joints joints_;         // joints of the last plan's parts, which may no longer exist
    AllotOptions options_;  // gap and deadline of the last plan
    SnapshotCheck check_;
    HiddenState<PriceGroups> price_groups_;
    bool by_price_ = false;  // whether nodes were grouped by price in the last plan
    OpenNodes open_;
    Offers offers_;
    Rows rows_;
    Worth worth_;
    LeavingNodes leaving_;
    HiddenState<AskedOptions> asked_;
    AllotResult allotted_;
    SteadyChoice steady_;
    std::vector<std::size_t> chosen_;
    Placing placing_;
    bool fills_up_ = false;           // the solver found an allotment
    std::vector<Unplaced> unplaced_;  // options that found no nodes in this pass
    Withdrawn withdrawn_;
    Leftovers leftovers_;
    std::vector<PlacedJob> placed_;        // as the station sees them
    std::vector<std::size_t> taken_back_;  // ascending
    Plan plan_;
};

}  // namespace goodput::inline v0_1::detail

#include "goodput/schedule/detail/round_stations.hpp"

#endif
