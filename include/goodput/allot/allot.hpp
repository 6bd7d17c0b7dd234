#ifndef GOODPUT_ALLOT_ALLOT_HPP
#define GOODPUT_ALLOT_ALLOT_HPP

// Solves the allotment problem (problem.hpp): prices (prices.hpp), a first allotment from them
// (heuristic.hpp), then exact search of the core (search.hpp) until the gap asked for is proven.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/heuristic.hpp"
#include "goodput/allot/incumbent.hpp"
#include "goodput/allot/prices.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/allot/search.hpp"

namespace goodput {

/// One option's part of a job in the linear relaxation.
struct Fraction {
    std::size_t option = 0;
    double fraction = 0;
};

/// The exact optimum of the linear relaxation: jobs may be split.
struct RelaxedAllotment {
    std::vector<std::vector<Fraction>> choice{};  ///< by job; fractions of a job sum to at most 1
    double objective = 0;
    double bound = 0;
    AllotStatus status = AllotStatus::optimal;
    std::vector<double> prices{};
    std::size_t passes = 0;
};

/// The solver with its memory: keep one and call it every round; buffers and last prices carry over.
/// Branching rule, bounding rule and primal heuristic are the caller's choice at compile time.
template <BranchingRule Branching = LeastRegretFirst, BoundingRule Bounding = NearbyPrices,
          PrimalHeuristic Heuristic = RoundedRelaxation>
class Allotter {
public:
    Allotter() = default;
    explicit Allotter(Branching branching, Bounding bounding = {}, Heuristic heuristic = {})
        : branching_(branching), bounding_(bounding), heuristic_(heuristic) {}

    /// The best allotment and its certificate; the reference is valid until the next call. Bad numbers in the
    /// problem get std::invalid_argument; a hard problem gets the best allotment found, with status, bound
    /// and why it stopped.
    const AllotResult& operator()(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        const Clock clock(options);
        begin(problem, options);
        if (!possible_ || !find_incumbent(options, clock)) return infeasible();
        const auto outcome = search_.run(compact_, prices_.prices(), prices_.bound(), incumbent_, options,
                                         clock, branching_, bounding_);
        result_.nodes += outcome.nodes;
        result_.bound = outcome.bound;
        result_.stopped = outcome.stopped;
        return finish(options);
    }

    /// The linear relaxation's optimum, exact to rounding.
    RelaxedAllotment relax(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        begin(problem, options);
        RelaxedAllotment relaxed;
        relaxed.choice.resize(problem.jobs());
        relaxed.prices = prices_.prices();
        relaxed.passes = prices_.passes();
        if (!possible_ || !prices_.relaxation_feasible()) {
            relaxed.status = AllotStatus::infeasible;
            return relaxed;
        }
        prices_.for_each_fraction(compact_, [&](std::size_t job, std::uint32_t option, double fraction) {
            std::vector<Fraction>& parts = relaxed.choice[job];
            const std::size_t original = compact_.original[option];
            const auto part = std::find_if(parts.begin(), parts.end(),
                                           [&](const Fraction& f) { return f.option == original; });
            if (part == parts.end())
                parts.push_back({original, fraction});
            else
                part->fraction += fraction;
            relaxed.objective += fraction * compact_.value[option];
        });
        relaxed.bound = std::max(prices_.bound(), relaxed.objective);
        return relaxed;
    }

private:
    /// The caller's deadline; the only clock in the library.
    class Clock {
    public:
        explicit Clock(const AllotOptions& options) : limited_(options.deadline.has_value()) {
            if (limited_) end_ = std::chrono::steady_clock::now() + *options.deadline;
        }
        bool operator()() const { return limited_ && std::chrono::steady_clock::now() >= end_; }

    private:
        bool limited_;
        std::chrono::steady_clock::time_point end_;
    };

    void begin(const AllotmentProblem& problem, const AllotOptions& options) {
        require_at_least("allot", "gap", options.gap, 0);
        problem.validate();
        result_.choice.assign(problem.jobs(), no_option);
        result_.objective = result_.bound = 0;
        result_.status = AllotStatus::optimal;
        result_.stopped = StopReason::proven;
        result_.nodes = 0;
        possible_ = compact_.assign(problem);
        const bool warm = options.warm_start && result_.prices.size() == compact_.resources();
        start_ = warm ? result_.prices : std::vector<double>();
        if (possible_) prices_.run(compact_, start_, Clock(options));
        result_.prices = possible_ ? prices_.prices() : std::vector<double>(compact_.resources(), 0.0);
        result_.passes = possible_ ? prices_.passes() : 0;
    }

    /// A first allotment that serves every job that must run; false if there is none.
    bool find_incumbent(const AllotOptions& options, const Clock& clock) {
        if (heuristic_(compact_, prices_, incumbent_)) return true;
        // Which jobs fit together is a problem of the same kind: every option of a job that must run is
        // worth 1.
        served_ = compact_;
        for (std::size_t job = 0; job < served_.jobs(); ++job) {
            if (!served_.must[job])
                for (std::uint32_t k = served_.first[job]; k < served_.first[job + 1]; ++k)
                    served_.value[k] = 0;
            else
                for (std::uint32_t k = served_.first[job]; k < served_.first[job + 1]; ++k)
                    served_.value[k] = 1;
        }
        const auto wanted = static_cast<double>(std::count(served_.must.begin(), served_.must.end(), 1));
        std::fill(served_.must.begin(), served_.must.end(), std::uint8_t{0});
        served_.magnitude = wanted;
        served_.granularity = 1;
        feasibility_prices_.run(served_, {}, clock);
        heuristic_(served_, feasibility_prices_, incumbent_);
        AllotOptions exact = options;
        exact.gap = 0;
        const auto outcome = search_.run(served_, feasibility_prices_.prices(), feasibility_prices_.bound(),
                                         incumbent_, exact, clock, branching_, bounding_);
        result_.nodes += outcome.nodes;
        result_.stopped = outcome.stopped;
        if (incumbent_.value < wanted - 0.5) return false;
        for (std::size_t job = 0; job < compact_.jobs(); ++job)
            if (!compact_.must[job] && incumbent_.choice[job] != detail::none)
                incumbent_.set(served_, job, detail::none);
        incumbent_.recount(compact_);
        return true;
    }

    const AllotResult& infeasible() {
        result_.status = AllotStatus::infeasible;
        return result_;
    }

    const AllotResult& finish(const AllotOptions& options) {
        for (std::size_t job = 0; job < compact_.jobs(); ++job)
            if (incumbent_.choice[job] != detail::none)
                result_.choice[job] = compact_.original[incumbent_.choice[job]];
        result_.objective = incumbent_.value;
        if (result_.bound - result_.objective <= compact_.rounding()) result_.bound = result_.objective;
        const bool proven = result_.gap() <= options.gap * std::max(1.0, std::abs(result_.bound));
        result_.status = proven ? AllotStatus::optimal : AllotStatus::feasible;
        if (proven) result_.stopped = StopReason::proven;
        return result_;
    }

    Branching branching_{};
    Bounding bounding_{};
    Heuristic heuristic_{};
    detail::CompactProblem compact_, served_;
    detail::PriceSearch prices_, feasibility_prices_;
    detail::Incumbent incumbent_;
    detail::CoreSearch<Branching, Bounding> search_;
    std::vector<double> start_;
    bool possible_ = true;
    AllotResult result_;
};

/// Solves one problem from scratch; see Allotter for round after round.
inline AllotResult allot(const AllotmentProblem& problem, const AllotOptions& options = {}) {
    Allotter<> allotter;
    return allotter(problem, options);
}

}  // namespace goodput

#endif
