#ifndef GOODPUT_ALLOT_ALLOT_HPP
#define GOODPUT_ALLOT_ALLOT_HPP

// Solves the allotment problem (problem.hpp): prices (detail/prices.hpp), a first allotment from them
// (detail/first_allotment.hpp), then exact searches in turn (detail/search_turns.hpp) until the gap asked for
// is proven.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "goodput/allot/detail/clock.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/compactor.hpp"
#include "goodput/allot/detail/exchange.hpp"
#include "goodput/allot/detail/first_allotment.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/left_out.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search_turns.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/allot/rules.hpp"

namespace goodput {

/// One option's part of a job in the linear relaxation.
struct OptionFraction {
    std::size_t option = 0;  ///< index into the job's options
    double fraction = 0;     ///< share of the job that takes it, above 0 and at most 1
};

/// The exact optimum of the linear relaxation: jobs may be split.
struct RelaxedAllotment {
    std::vector<std::vector<OptionFraction>> choice{};  ///< by job; fractions of a job sum to at most 1
    double objective = 0;                               ///< value of the mixture
    double bound = 0;                                   ///< no mixture is worth more
    /// optimal: the bound is the objective but for rounding; feasible: cut off, see stopped; infeasible: jobs
    /// that must run do not fit even in parts; unknown: no mixture in which they do was found before it was
    /// cut off.
    AllotStatus status = AllotStatus::optimal;
    /// deadline; or states: as much work on the prices as is ever done (it takes some hundred resources), or
    /// as exact as numbers so far apart can be counted.
    StopReason stopped = StopReason::proven;
    std::vector<double> prices{};  ///< by resource, see AllotResult::prices
    std::size_t passes = 0;        ///< evaluations of all options that the prices took
};

/// The solver with its memory: keep one and call it every round; its buffers carry over, and no call
/// allocates that needs no more room than one before it. The caller's choice at compile time: in which order
/// jobs are decided, and how near to the bound is near enough (rules.hpp).
template <BranchingRule Branching = FineGrainedFirst, StoppingRule Stopping = RelativeGap>
class Allotter {
public:
    Allotter() = default;
    /// A solver with rules of one's own.
    explicit Allotter(Branching branching, Stopping stopping = {}) : turns_(branching, stopping) {}

    /// The best allotment and its certificate; the reference is valid until the next call. Bad numbers in the
    /// problem get std::invalid_argument; a hard problem gets the best allotment found, with status, bound
    /// and why it stopped.
    template <AllotmentValue Value>
    const AllotResult& operator()(const BasicAllotmentProblem<Value>& problem,
                                  const AllotOptions& options = {}) {
        detail::Clock clock(options.deadline);
        begin(problem, options, clock, false);
        turns_.begin();
        if (!possible_) result_.status = AllotStatus::infeasible;
        const bool found = possible_ && find_incumbent(options, clock);
        if (found) {
            const detail::SearchOutcome outcome =
                turns_.run(compact_, relaxation_, incumbent_, what_is_left_of(options), clock);
            result_.bound = outcome.bound;
            result_.stopped = outcome.stopped;
            finish(options);
        }
        result_.nodes = turns_.nodes();
        return result_;
    }

    /// The linear relaxation's optimum, exact to rounding. Options that exceed a capacity alone count in
    /// part; those that exceed it by more than 2^30 times itself do not (those that take anything of a
    /// capacity of 0, therefore): the bound is that of the others, the prices are such that nobody wants
    /// them.
    template <AllotmentValue Value>
    RelaxedAllotment relax(const BasicAllotmentProblem<Value>& problem, const AllotOptions& options = {}) {
        detail::Clock clock(options.deadline);
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
            // A bound below all that options could be worth proves that there is no mixture.
            const bool none = !possible_ || relaxed.bound < -compact_.magnitude - compact_.rounding();
            // Nothing for anybody is a mixture, if that is allowed: no other was found in time, or in numbers
            // whose prices are beyond what can be counted.
            const bool none_must = possible_ && std::ranges::find(compact_.must, 1) == compact_.must.end();
            relaxed.status = none        ? AllotStatus::infeasible
                             : none_must ? AllotStatus::feasible
                                         : AllotStatus::unknown;
            if (none)
                relaxed.stopped = StopReason::proven;
            else if (relaxed.stopped == StopReason::proven)
                relaxed.stopped = StopReason::states;
            if (none) relaxed.bound = 0;
            return relaxed;
        }
        if (relaxed.stopped != StopReason::proven) relaxed.status = AllotStatus::feasible;
        for (std::size_t group = 0; group < compact_.groups(); ++group) split(group, relaxed);
        detail::price_out_what_is_left_out(problem, relaxed.prices);
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
    template <AllotmentValue Value>
    void begin(const BasicAllotmentProblem<Value>& problem, const AllotOptions& options, detail::Clock& clock,
               bool keep_too_large) {
        require_at_least("allot", "gap", options.gap, 0);
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

    [[nodiscard]] static AllotOptions at_most(std::size_t states, AllotOptions options) {
        options.most_states = std::min(options.most_states, states);
        return options;
    }

    /// The options with the states that have not been looked at yet.
    [[nodiscard]] AllotOptions what_is_left_of(const AllotOptions& options) const {
        AllotOptions rest = options;
        rest.most_states -= std::min(rest.most_states, turns_.nodes());
        return rest;
    }

    /// A first allotment that serves every job that must run. If there is none, or none was found: false,
    /// and what is known is in result_.
    bool find_incumbent(const AllotOptions& options, detail::Clock& clock) {
        if (first_allotment_(compact_, relaxation_, incumbent_, clock)) return true;
        incumbent_ = relaxation_.rounded();
        exchange_.reset();
        if (exchange_.repair(compact_, relaxation_.prices(), incumbent_, std::size_t{1} << 22, clock))
            return true;
        if (find_near_relaxation(at_most(Turns::first_states, what_is_left_of(options)), clock)) return true;
        if (relaxation_.feasible()) {
            incumbent_.clear(compact_);
            incumbent_.value = -std::numeric_limits<double>::infinity();
            if (turns_.find(compact_, relaxation_, incumbent_, what_is_left_of(options), clock)) return true;
        }
        if (find_near_relaxation(what_is_left_of(options), clock)) return true;
        // Which jobs fit together is a problem of the same kind: every option of a job that must run is
        // worth 1.
        const double wanted = ask_for_service();
        service_relaxation_.solve(service_, false, clock);
        first_allotment_(service_, service_relaxation_, incumbent_, clock);
        const detail::SearchOutcome outcome = turns_.search_core(
            service_, service_relaxation_, {}, incumbent_, what_is_left_of(options), clock, true);
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

    /// Searches as if an allotment were known that is worth a little less than the bound. Where all jobs that
    /// must run fit, but hardly, that is quicker than to ask for their service alone, because their values
    /// say which of many choices to look at.
    bool find_near_relaxation(const AllotOptions& options, detail::Clock& clock) {
        if (!relaxation_.feasible()) return false;
        for (const double below : {0.01, 0.1}) {
            const double pretended = relaxation_.bound() - below * compact_.magnitude;
            incumbent_.clear(compact_);
            incumbent_.value = pretended;
            AllotOptions part = what_is_left_of(options);
            part.most_states = std::min(part.most_states, options.most_states / 8);
            part.gap = std::min(part.gap, below / 8);
            turns_.search_core(compact_, relaxation_, {}, incumbent_, part, clock, false);
            if (incumbent_.value > pretended) return true;
        }
        return false;
    }

    /// Fills service_: the jobs that must run may get nothing or be worth 1, the others get nothing;
    /// `original` is the option of compact_. Returns how many must run.
    double ask_for_service() {
        service_.capacity = compact_.capacity;
        service_.tolerance = compact_.tolerance;
        service_.jobs = compact_.jobs;
        service_.first_copy = compact_.first_copy;
        service_.job = compact_.job;
        service_.must.assign(compact_.groups(), 0);
        service_.single = compact_.single;
        service_.first.clear();
        service_.end_hull.clear();
        service_.reserve(compact_.count + compact_.groups(), compact_.uses.size());
        double wanted = 0;
        for (std::size_t group = 0; group < compact_.groups(); ++group) {
            service_.first.push_back(service_.count);
            if (compact_.must[group]) {
                wanted += compact_.copies(group);
                service_.append(0, detail::none, {});
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
            if (const std::uint32_t original = compact_.original[incumbent_.choice[copy]];
                original != detail::none)
                result_.choice[compact_.job[copy]] = original;
        result_.objective = incumbent_.value;
        // What is proven but for rounding is proven.
        const double rounding = 2 * compact_.rounding();
        if (result_.gap() <= rounding) result_.bound = result_.objective;
        const double enough = turns_.stopping()(result_.objective, result_.bound, options.gap);
        const bool proven = result_.gap() <= enough + rounding;
        if (proven) result_.bound = std::min(result_.bound, result_.objective + enough);
        result_.status = proven ? AllotStatus::optimal : AllotStatus::feasible;
        if (proven) result_.stopped = StopReason::proven;
    }

    /// Deals a group's mixture to its copies one after the other, so that few of them are split.
    void split(std::size_t group, RelaxedAllotment& relaxed) const {
        std::uint32_t copy = compact_.first_copy[group];
        double room = 1;
        for (std::uint32_t k = compact_.first[group]; k < compact_.first[group + 1]; ++k) {
            double amount = relaxation_.mixture()[k];
            while (amount > 0 && copy < compact_.first_copy[group + 1]) {
                const double part = std::min(amount, room);
                if (part > 1e-12 && compact_.original[k] != detail::none) {
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

    using Turns = detail::SearchTurns<Branching, Stopping>;
    detail::Compactor compactor_;
    detail::CompactProblem compact_, service_;
    detail::Relaxation relaxation_, service_relaxation_;
    detail::FirstAllotment first_allotment_;
    detail::Incumbent incumbent_, served_;
    detail::Exchange exchange_;
    Turns turns_;
    bool possible_ = true;
    AllotResult result_;
};

/// Solves one problem from scratch; see Allotter for round after round.
template <AllotmentValue Value>
AllotResult allot(const BasicAllotmentProblem<Value>& problem, const AllotOptions& options = {}) {
    Allotter<> allotter;
    return allotter(problem, options);
}

}  // namespace goodput

#endif
