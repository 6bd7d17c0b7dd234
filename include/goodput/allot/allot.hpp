#ifndef GOODPUT_ALLOT_ALLOT_HPP
#define GOODPUT_ALLOT_ALLOT_HPP

// Solves the allotment problem (problem.hpp): prices (detail/prices.hpp), a first allotment from them
// (detail/first_allotment.hpp), then exact search of the core (detail/search.hpp) until the gap asked for is
// proven.

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
#include "goodput/allot/detail/job_price_search.hpp"
#include "goodput/allot/detail/left_out.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
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
    double bound = 0;  ///< equal to the objective but for rounding, unless a deadline cut it off
    /// feasible: cut off, see stopped; infeasible: jobs that must run do not fit even in parts; unknown: no
    /// mixture in which they do was found before it was cut off.
    AllotStatus status = AllotStatus::optimal;
    /// deadline; or states: as much work on the prices as is ever done (it takes some hundred resources).
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
    explicit Allotter(Branching branching, Stopping stopping = {})
        : branching_(branching), stopping_(stopping) {}

    /// The best allotment and its certificate; the reference is valid until the next call. Bad numbers in the
    /// problem get std::invalid_argument; a hard problem gets the best allotment found, with status, bound
    /// and why it stopped.
    template <AllotmentValue Value>
    const AllotResult& operator()(const BasicAllotmentProblem<Value>& problem,
                                  const AllotOptions& options = {}) {
        detail::Clock clock(options.deadline);
        begin(problem, options, clock, false);
        job_price_search_.reset();
        if (!possible_) result_.status = AllotStatus::infeasible;
        if (!possible_ || !find_incumbent(options, clock)) return result_;
        const detail::SearchOutcome outcome = search_in_turns(options, clock);
        result_.bound = outcome.bound;
        result_.stopped = outcome.stopped;
        return finish(options);
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

    /// The stopping rule of the caller, or none: the search goes on until all is proven.
    struct StopOrProve {
        const Stopping& rule;
        bool prove;
        double operator()(double objective, double bound, double gap) const {
            return prove ? 0 : rule(objective, bound, gap);
        }
    };

    /// Improves incumbent_. `prove`: whatever gap is allowed.
    detail::SearchOutcome search(const detail::CompactProblem& problem, const detail::Relaxation& relaxation,
                                 const detail::SearchStart& start, const AllotOptions& options,
                                 detail::Clock& clock, bool prove) {
        const StopOrProve stopping{stopping_, prove};
        const auto run = [&](auto& search) {
            const detail::SearchOutcome outcome =
                search.run(problem, relaxation, start, incumbent_, options, clock, branching_, stopping);
            result_.nodes += outcome.nodes;
            return outcome;
        };
        return problem.resources() > narrow ? run(wide_search_) : run(narrow_search_);
    }

    /// The core first, which is enough for most problems; then prices on jobs, the core with what these know,
    /// and parts of the allotment in turn, each for several times as long as before. One of them often does
    /// in milliseconds what takes the others hours, and nothing tells beforehand which.
    detail::SearchOutcome search_in_turns(const AllotOptions& options, detail::Clock& clock) {
        std::size_t left = what_is_left_of(options).most_states;
        detail::SearchOutcome best{relaxation_.bound(), StopReason::states, 0};
        // Runs a search for so many states at most, or alone for all that are left. Whether that was the end.
        const auto turn = [&](bool alone, std::size_t states, auto&& run) {
            if (left == 0) return true;
            AllotOptions part = options;
            part.most_states = alone ? left : std::min(states, left);
            const detail::SearchOutcome outcome = run(part);
            best = {std::min(best.bound, outcome.bound), outcome.stopped, 0};
            const bool used_up = outcome.stopped == StopReason::states;
            left -= used_up ? part.most_states : std::min(left, outcome.nodes);
            return outcome.stopped == StopReason::deadline || is_enough(best.bound, options);
        };
        const auto core = [&](const AllotOptions& part) {
            return search(compact_, relaxation_, {}, part, clock, false);
        };
        if (turn(false, first_states, core)) return best;
        const bool several = takes_several();
        bool core_fits = true, prices_apply = true;
        part_of_gap_ = first_part_of_gap;
        varied_ = 0;
        const auto prepare = [&](const AllotOptions& part) {
            const auto outcome = job_price_search_.prepare(compact_, relaxation_, best.bound, incumbent_,
                                                           part, clock, StopOrProve{stopping_, false});
            prices_apply = outcome.has_value();
            result_.nodes += job_price_search_.nodes();
            return outcome.value_or(detail::SearchOutcome{best.bound, StopReason::proven, 0});
        };
        if (turn(true, left, prepare)) return best;
        // A dive takes about as long as the prices did, and would have to begin anew if it were cut off.
        const std::size_t least_dive = 2 * job_price_search_.nodes();
        // In more dimensions fewer states of the core are the same.
        const std::size_t share = std::max<std::size_t>(1, compact_.resources() / narrow);
        for (std::size_t states = first_states; left > 0;) {
            states *= growth_of_states;
            if (core_fits && (prices_apply || !several) &&
                turn(!prices_apply, states / share, [&](const AllotOptions& part) {
                    return prices_apply ? search_narrowed(best.bound, part, clock) : core(part);
                }))
                return best;
            core_fits = core_fits && best.stopped != StopReason::memory;
            if (!core_fits && !prices_apply && !several) break;
            if (prices_apply &&
                turn(!core_fits && !several, std::max(states, least_dive), [&](const AllotOptions& part) {
                    const auto outcome =
                        job_price_search_.run(relaxation_, best.bound, part, StopOrProve{stopping_, false});
                    result_.nodes += outcome.nodes;
                    return outcome;
                }))
                return best;
            if (several && turn(!prices_apply, states, [&](const AllotOptions& part) {
                    return search_varied(best.bound, part, clock);
                }))
                return best;
            if (!prices_apply && several) break;
        }
        return best;
    }

    /// By how much an allotment may fall short of a bound to be as good as asked for.
    [[nodiscard]] double enough(double objective, double bound, const AllotOptions& options) const {
        return std::max(compact_.rounding(), stopping_(objective, bound, options.gap));
    }

    [[nodiscard]] bool is_enough(double bound, const AllotOptions& options) const {
        return bound - incumbent_.value <= enough(incumbent_.value, bound, options) + compact_.rounding();
    }

    /// The core with what prices on jobs know, as if an allotment just below the bound were known. Where
    /// there is none, the bound falls and it goes on a little further below; where there may be one but none
    /// was found in time, the next call begins further below.
    detail::SearchOutcome search_narrowed(double bound, const AllotOptions& options, detail::Clock& clock) {
        AllotOptions part = options;
        detail::SearchOutcome outcome{bound, StopReason::proven, 0};
        const auto count = [&](std::size_t nodes) {
            outcome.nodes += nodes;
            part.most_states = options.most_states - std::min(options.most_states, outcome.nodes);
        };
        for (double below = 0; outcome.stopped == StopReason::proven;) {
            const double value = incumbent_.value, least = value + enough(value, value, options);
            below = std::max(4 * below, (outcome.bound - value) * part_of_gap_);
            const double target = outcome.bound - below > least ? outcome.bound - below : value;
            const std::optional<detail::SearchStart> start =
                job_price_search_.narrow(relaxation_, std::max(target, least), part);
            count(job_price_search_.nodes());
            result_.nodes += job_price_search_.nodes();
            if (!start) {
                outcome.bound = std::min(outcome.bound, std::max(target, least));
            } else {
                std::swap(incumbent_, pretended_);
                incumbent_.clear(compact_);
                incumbent_.value = target;
                const detail::SearchOutcome found = search(compact_, relaxation_, *start, part, clock, false);
                count(found.nodes);
                outcome.stopped = found.stopped;
                const bool better = incumbent_.value > target;
                if (!better) std::swap(incumbent_, pretended_);
                if (found.stopped == StopReason::proven)
                    outcome.bound = std::max(std::min(outcome.bound, found.bound), incumbent_.value);
                else if (!better)
                    part_of_gap_ *= 2;
            }
            job_price_search_.widen();
            if (is_enough(outcome.bound, options)) break;
            if (part.most_states == 0) outcome.stopped = StopReason::states;
            if (clock.late()) outcome.stopped = StopReason::deadline;
        }
        return outcome;
    }

    /// The core again and again, each time in another order or with another measure of what is promising:
    /// what one of them sets aside another one finds. Ends where memory ends all of them.
    detail::SearchOutcome search_varied(double bound, const AllotOptions& options, detail::Clock& clock) {
        detail::SearchOutcome outcome{bound, StopReason::states, 0};
        for (std::size_t out_of_memory = 0; outcome.nodes < options.most_states; ++varied_) {
            const std::size_t cycle = varied_ / std::size(variations);
            const Variation& variation = variations[varied_ % std::size(variations)];
            detail::SearchStart start;
            start.backwards = variation.backwards;
            start.part_of_price = variation.part_of_price;
            AllotOptions part = options;
            part.most_states = std::min(cycle < 16 ? first_varied_states << 2 * cycle : options.most_states,
                                        options.most_states - outcome.nodes);
            const detail::SearchOutcome found = search(compact_, relaxation_, start, part, clock, false);
            outcome.nodes += found.stopped == StopReason::states ? part.most_states : found.nodes;
            outcome.bound = std::min(outcome.bound, found.bound);
            out_of_memory = found.stopped == StopReason::memory ? out_of_memory + 1 : 0;
            if (found.stopped == StopReason::states ||
                (found.stopped == StopReason::memory && out_of_memory < std::size(variations)))
                continue;
            outcome.stopped = found.stopped;
            break;
        }
        return outcome;
    }
    struct Variation {
        bool backwards;
        double part_of_price;
    };
    static constexpr Variation variations[] = {{false, 0.05}, {false, 0.1}, {true, 0.2}, {false, 0.2}};

    /// Whether an option takes of several resources. Prices on jobs then know little of the problem.
    [[nodiscard]] bool takes_several() const {
        for (std::uint32_t k = 0; k < compact_.count; ++k)
            if (compact_.uses_of(k).size() > 1) return true;
        return false;
    }
    [[nodiscard]] static AllotOptions at_most(std::size_t states, AllotOptions options) {
        options.most_states = std::min(options.most_states, states);
        return options;
    }

    /// The options with the states that have not been looked at yet.
    [[nodiscard]] AllotOptions what_is_left_of(const AllotOptions& options) const {
        AllotOptions rest = options;
        rest.most_states -= std::min(rest.most_states, result_.nodes);
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
        if (find_near_relaxation(at_most(first_states, what_is_left_of(options)), clock)) return true;
        if (relaxation_.feasible()) {
            incumbent_.clear(compact_);
            incumbent_.value = -std::numeric_limits<double>::infinity();
            const bool found =
                job_price_search_.find(compact_, relaxation_, incumbent_, what_is_left_of(options), clock);
            result_.nodes += job_price_search_.nodes();
            if (found) return true;
        }
        if (find_near_relaxation(what_is_left_of(options), clock)) return true;
        // Which jobs fit together is a problem of the same kind: every option of a job that must run is
        // worth 1.
        const double wanted = ask_for_service();
        service_relaxation_.solve(service_, false, clock);
        first_allotment_(service_, service_relaxation_, incumbent_, clock);
        const detail::SearchOutcome outcome =
            search(service_, service_relaxation_, {}, what_is_left_of(options), clock, true);
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
            search(compact_, relaxation_, {}, part, clock, false);
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

    const AllotResult& finish(const AllotOptions& options) {
        for (std::size_t copy = 0; copy < compact_.job.size(); ++copy)
            if (const std::uint32_t original = compact_.original[incumbent_.choice[copy]];
                original != detail::none)
                result_.choice[compact_.job[copy]] = original;
        result_.objective = incumbent_.value;
        // What is proven but for rounding is proven.
        const double rounding = 2 * compact_.rounding();
        if (result_.gap() <= rounding) result_.bound = result_.objective;
        const double enough = stopping_(result_.objective, result_.bound, options.gap);
        const bool proven = result_.gap() <= enough + rounding;
        if (proven) result_.bound = std::min(result_.bound, result_.objective + enough);
        result_.status = proven ? AllotStatus::optimal : AllotStatus::feasible;
        if (proven) result_.stopped = StopReason::proven;
        return result_;
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

    static constexpr std::size_t narrow = 4;
    /// States of each search before the other has its first turn, and by how much a turn grows.
    static constexpr std::size_t first_states = std::size_t{1} << 15, growth_of_states = 8;
    static constexpr std::size_t first_varied_states = std::size_t{1} << 20;
    static constexpr double first_part_of_gap = 0.25;
    Branching branching_{};
    Stopping stopping_{};
    detail::Compactor compactor_;
    detail::CompactProblem compact_, service_;
    detail::Relaxation relaxation_, service_relaxation_;
    detail::FirstAllotment first_allotment_;
    detail::Incumbent incumbent_, served_, pretended_;
    detail::Exchange exchange_;
    detail::JobPriceSearch<StopOrProve> job_price_search_;
    detail::CoreSearch<narrow, Branching, StopOrProve> narrow_search_;
    detail::CoreSearch<detail::dynamic_width, Branching, StopOrProve> wide_search_;
    bool possible_ = true;
    std::size_t varied_ = 0;  ///< variations of the core's search that were tried
    double part_of_gap_ = 0;  ///< how far below the bound the core looks first
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
