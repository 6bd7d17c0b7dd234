#ifndef GOODPUT_ALLOT_DETAIL_SOLVER_HPP
#define GOODPUT_ALLOT_DETAIL_SOLVER_HPP

// Solves a problem in four steps: it makes the compact problem (compactor.hpp), finds prices (prices.hpp),
// makes a first allotment from them (first_allotment.hpp), and searches exactly until the gap asked for is
// proven. In the compact problem, equal jobs are the copies of one group. A mixture is a solution of the
// linear relaxation: it may split jobs between several options.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/compactor.hpp"
#include "goodput/allot/detail/first_allotment.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/left_out.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

/// Does the work of an Allotter and keeps its memory, whatever its branching rule. `Search` improves a
/// first allotment, and helps to find one if the usual way fails (core_and_tree.hpp; another is
/// proving/detail/search_turns.hpp).
template <class Search>
class SolverBy {
public:
    SolverBy() = default;
    /// A copy begins without memory.
    SolverBy(const SolverBy& /*other*/) : SolverBy() {}

    /// See Allotter.
    const AllotResult& solve(const AllotmentProblem& problem, const AllotOptions& options,
                             const AnyBranching& branching) {
        Clock clock(options.deadline);
        begin(problem, options, clock, false);
        search_.begin(branching);
        if (!possible_) result_.status = AllotStatus::infeasible;
        if (possible_ && find_incumbent(options, clock)) {
            const SearchOutcome outcome =
                search_.run(compact_, relaxation_, incumbent_, what_is_left_of(options), clock);
            result_.bound = outcome.bound;
            result_.stopped = outcome.stopped;
            finish(options);
        }
        result_.nodes = search_.nodes();
        return result_;
    }

    /// See Allotter.
    RelaxedAllotment relax(const AllotmentProblem& problem, const AllotOptions& options) {
        Clock clock(options.deadline);
        begin(problem, options, clock, true);
        RelaxedAllotment relaxed;
        relaxed.choice.resize(problem.jobs());
        relaxed.prices = result_.prices;
        relaxed.passes = result_.passes;
        if (possible_) {
            relaxed.bound = relaxation_.bound();
            if (!relaxation_.complete())
                relaxed.stopped = clock.late() ? StopReason::deadline : StopReason::states;
        }
        if (!possible_ || !relaxation_.feasible()) {
            // A bound below the least possible sum of values proves that there is no mixture.
            const bool impossible = !possible_ || relaxed.bound < -compact_.magnitude - compact_.rounding();
            // If no job must run, giving nothing to every job is a mixture. The search found no other,
            // either for lack of time or because the prices would be too large to compute.
            const bool none_must = possible_ && std::ranges::find(compact_.must, 1) == compact_.must.end();
            relaxed.status = impossible  ? AllotStatus::infeasible
                             : none_must ? AllotStatus::feasible
                                         : AllotStatus::unknown;
            if (impossible)
                relaxed.stopped = StopReason::proven;
            else if (relaxed.stopped == StopReason::proven)
                relaxed.stopped = StopReason::states;
            if (impossible) relaxed.bound = 0;
            return relaxed;
        }
        if (relaxed.stopped != StopReason::proven) relaxed.status = AllotStatus::feasible;
        for (std::size_t group = 0; group < compact_.groups(); ++group) split(group, relaxed);
        price_out_what_is_left_out(problem, relaxed.prices);
        relaxed.bound = std::max(relaxation_.bound(), relaxed.objective);
        constexpr double rounding = 1e-9;
        if (relaxed.status == AllotStatus::optimal &&
            relaxed.bound - relaxed.objective > rounding * compact_.magnitude) {
            relaxed.status = AllotStatus::feasible;
            relaxed.stopped = StopReason::states;
        }
        return relaxed;
    }

private:
    void begin(const AllotmentProblem& problem, const AllotOptions& options, Clock& clock,
               bool keep_too_large) {
        options.validate();
        possible_ = compactor_.assign(problem, compact_, keep_too_large, clock);
        result_.choice.assign(problem.jobs(), no_option);
        result_.objective = result_.bound = 0;
        result_.status = AllotStatus::optimal;
        result_.stopped = StopReason::proven;
        result_.nodes = 0;
        if (possible_) relaxation_.solve(compact_, options.warm_start, clock);
        result_.prices.assign(compact_.resources(), 0);
        if (possible_)
            std::copy(relaxation_.prices().begin(), relaxation_.prices().end(), result_.prices.begin());
        result_.passes = possible_ ? relaxation_.passes() : 0;
    }

    /// Returns the options, with most_states reduced by the number of states that the search has looked at
    /// so far.
    [[nodiscard]] AllotOptions what_is_left_of(const AllotOptions& options) const {
        AllotOptions rest = options;
        rest.most_states -= std::min(rest.most_states, search_.nodes());
        return rest;
    }

    /// Makes a first allotment that serves every job that must run. Returns false if there is none, or if
    /// none was found; result_ then says which.
    bool find_incumbent(const AllotOptions& options, Clock& clock) {
        if (find_first(compact_, relaxation_, clock)) return true;
        if (relaxation_.feasible() &&
            search_.find(compact_, relaxation_, incumbent_, what_is_left_of(options), clock))
            return true;
        // An allotment problem in which each option of the jobs that must run is worth 1 decides whether
        // these jobs fit together.
        const double wanted = ask_for_service();
        service_relaxation_.solve(service_, false, clock);
        find_first(service_, service_relaxation_, clock);
        AllotOptions all = what_is_left_of(options);
        all.gap = all.absolute_gap = 0;
        const SearchOutcome outcome =
            search_.search_core(service_, service_relaxation_, incumbent_, all, clock);
        if (incumbent_.value < wanted - 0.5) {
            const bool proven = outcome.bound < wanted - 0.5;
            result_.status = proven ? AllotStatus::infeasible : AllotStatus::unknown;
            result_.stopped = proven ? StopReason::proven : outcome.stopped;
            result_.bound = proven ? 0 : relaxation_.bound();
            return false;
        }
        served_.clear(compact_);
        for (std::size_t copy = 0; copy < compact_.job.size(); ++copy)
            served_.set(compact_, copy, service_.original[incumbent_.choice[copy]]);
        served_.recount(compact_);
        std::swap(incumbent_, served_);
        return true;
    }

    bool find_first(const CompactProblem& problem, const Relaxation& relaxation, Clock& clock) {
        return first_allotment_(problem, relaxation, incumbent_, clock, [&](Incumbent& incumbent) {
            return search_.repair(problem, relaxation, incumbent, clock);
        });
    }

    /// Fills service_, a problem whose optimum says whether all jobs that must run can be served: each of
    /// their options is worth 1, and they may get nothing. All other jobs get nothing. `original` is the
    /// option's index in compact_. Returns the number of jobs that must run.
    double ask_for_service() {
        service_.begin_like(compact_, compact_.count + compact_.groups(), compact_.uses.size());
        service_.must.assign(compact_.groups(), 0);
        service_.single = compact_.single;
        double wanted = 0;
        for (std::size_t group = 0; group < compact_.groups(); ++group) {
            service_.first.push_back(service_.count);
            if (compact_.must[group]) {
                wanted += compact_.copies(group);
                service_.append(0, none, {});
                for (std::uint32_t k = compact_.first[group]; k < compact_.first[group + 1]; ++k)
                    service_.append(1, k, compact_.uses_of(k));
            } else {
                std::uint32_t k = compact_.first[group];
                while (!compact_.uses_of(k).empty()) ++k;
                service_.append(0, k, {});
            }
            service_.end_hull.push_back(service_.count);
        }
        service_.first.push_back(service_.count);
        service_.close();
        service_.magnitude = wanted;
        service_.granularity = 1;
        return wanted;
    }

    void finish(const AllotOptions& options) {
        for (std::size_t copy = 0; copy < compact_.job.size(); ++copy)
            if (const std::uint32_t original = compact_.original[incumbent_.choice[copy]]; original != none)
                result_.choice[compact_.job[copy]] = original;
        result_.objective = incumbent_.value;
        // A gap no larger than rounding counts as proven.
        const double rounding = 2 * compact_.rounding();
        if (result_.gap() <= rounding) result_.bound = result_.objective;
        const double enough = options.enough(result_.bound);
        const bool proven = result_.gap() <= enough + rounding;
        if (proven) result_.bound = std::min(result_.bound, result_.objective + enough);
        result_.status = proven ? AllotStatus::optimal : AllotStatus::feasible;
        if (proven) result_.stopped = StopReason::proven;
    }

    /// Splits a group's mixture over its copies one after the other, so that few copies are split.
    void split(std::size_t group, RelaxedAllotment& relaxed) const {
        std::uint32_t copy = compact_.first_copy[group];
        double room = 1;
        for (std::uint32_t k = compact_.first[group]; k < compact_.first[group + 1]; ++k) {
            double amount = relaxation_.mixture()[k];
            while (amount > 0 && copy < compact_.first_copy[group + 1]) {
                const double part = std::min(amount, room);
                if (part > 1e-12 && compact_.original[k] != none) {
                    relaxed.choice[compact_.job[copy]].push_back({compact_.original[k], part});
                    relaxed.objective += part * compact_.value[k];
                }
                amount -= part;
                room -= part;
                if (room > 1e-12) break;
                room = 1;
                ++copy;
            }
        }
    }

    Compactor compactor_;
    CompactProblem compact_, service_;
    Relaxation relaxation_, service_relaxation_;
    FirstAllotment first_allotment_;
    Incumbent incumbent_, served_;
    Search search_;
    bool possible_ = true;
    AllotResult result_;
};

}  // namespace goodput::inline v0_1::detail

#endif
