#ifndef GOODPUT_PROVING_DETAIL_JOB_PRICE_SEARCH_HPP
#define GOODPUT_PROVING_DETAIL_JOB_PRICE_SEARCH_HPP

// The exact search by prices on jobs (job_prices.hpp). It runs depth-first searches (job_price_tree.hpp)
// for allotments above a threshold. The threshold begins just below the bound and falls. If it is near the
// bound, few options can be part of an allotment above it, so the search is small. A search that ends
// without an allotment lowers the bound to its threshold. A search that ends with an allotment has proven
// that none is better. A dive looks for a strong allotment after the first search that is cut off or, for a
// large problem, before the first search. The dive decides the jobs that exactly one resource serves in the
// relaxation, those first for which any other option would cost most, until few jobs are left. Then it
// searches the rest.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/proving/detail/job_price_descent.hpp"
#include "goodput/proving/detail/job_price_tree.hpp"
#include "goodput/proving/detail/later_knapsacks.hpp"

namespace goodput::inline v0_1::detail {

class JobPriceSearch {
public:
    /// Looks for any allotment and puts it into `incumbent`, which must be empty before (value -infinity).
    /// Returns false if it finds none, or if the relaxation does not apply (JobPrices::assign() refuses the
    /// problem).
    bool find(const CompactProblem& problem, const Relaxation& linear, Incumbent& incumbent,
              const AllotOptions& options, Clock& clock) {
        if (!start(problem, linear, linear.bound(), incumbent, options, clock)) return false;
        tree_.set_gap(problem.rounding());
        begin(linear);
        if (!tree_.stopped() && bound_ > incumbent.value) dive(linear);
        return tree_.has_incumbent();
    }
    /// Returns how many states the last call looked at. Other work counts as the number of states that take
    /// as long.
    [[nodiscard]] std::size_t nodes() const { return tree_.descent().nodes(); }

    /// Forgets the problem of the last calls, so that the next call begins anew.
    void reset() { begun_ = false; }

    /// Prepares to improve the allotment `incumbent` until it is proven within the gap. The first call for
    /// a problem also improves the prices as long as that lowers the bound. `known`: a bound known so far.
    /// Returns the bound and status afterwards, or nothing if the relaxation does not apply.
    std::optional<SearchOutcome> prepare(const CompactProblem& problem, const Relaxation& linear,
                                         double known, Incumbent& incumbent, const AllotOptions& options,
                                         Clock& clock) {
        const bool first = !begun_;
        if (first && !start(problem, linear, known, incumbent, options, clock)) return std::nullopt;
        take_up(known, options);
        if (first) begin(linear);
        return outcome();
    }
    /// Continues the search where the last call ended.
    SearchOutcome run(const Relaxation& linear, double known, const AllotOptions& options) {
        take_up(known, options);
        if (tree_.incumbent().value > searched_from_) begin_again(linear);
        // For a large problem, searches towards a threshold take too long without a strong allotment, so
        // dive first.
        if (large() && entries_ == most_entered_at_first) find_better(linear);
        for (double below = 0; !tree_.stopped() && bound_ - tree_.incumbent().value > tree_.gap();) {
            below = next_distance(below);
            const double target = bound_ - below;
            tree_.set_threshold(target);
            const std::size_t root = tree_.relaxation().mark();
            tree_.leave_out_by_prices(linear);
            const bool complete = tree_.search(tree_.root_prices(), entries_);
            tree_.relaxation().undo(root);
            if (complete) {
                // No allotment was found above the threshold, which is the higher of `target` and
                // reached().
                bound_ = std::min(bound_, std::max(target, tree_.reached()));
                if (target <= tree_.reached()) break;
            } else {
                find_better(linear);
                below = 0;
            }
            raise_gap(options);
        }
        return outcome();
    }

    /// Leaves out, until widen(), options that are part of no allotment worth more than `target`. Returns
    /// what the search of the core (the choices that prices on capacities leave undecided) should start
    /// with, and gives its second bound (`later`) the prices. Returns nothing if no allotment can be worth
    /// more.
    std::optional<SearchStart> narrow(const Relaxation& linear, double target, const AllotOptions& options,
                                      LaterKnapsacks& later) {
        tree_.descent().go_on(options);
        narrowed_from_ = tree_.relaxation().mark();
        const double threshold = tree_.problem().least_bound_above(target);
        tree_.descent().set_threshold(threshold);
        tree_.leave_out_by_prices(linear);
        narrow_prices_ = tree_.root_prices();
        if (tree_.descent().lower(narrow_prices_, steps_at_top) <= threshold && !tree_.stopped())
            return std::nullopt;
        tree_.relaxation().left_out(left_out_, tree_.problem().count);
        later.know(tree_.relaxation(), narrow_prices_);
        return SearchStart{
            .left_out = left_out_, .left_out_bound = threshold, .backwards = true, .part_of_price = 0.05};
    }
    void widen() { tree_.relaxation().undo(narrowed_from_); }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    static constexpr DescentSteps once{1, 1, 1, 1, 1};
    static constexpr DescentSteps at_root{400, 1, 12, 1e-3, 20};

    /// Called after a search that did not complete: makes the next one longer and, once, dives for a better
    /// allotment.
    void find_better(const Relaxation& linear) {
        if (tree_.stopped()) return;
        if (entries_ == most_entered_at_first) dive(linear);
        if (!tree_.stopped()) entries_ *= growth_of_entries;
    }
    /// Returns whether going through all options takes so long that a search needs a strong allotment
    /// first.
    [[nodiscard]] bool large() const { return tree_.relaxation().most_work() > work_of_large; }

    void dive(const Relaxation& linear) {
        const std::size_t root = tree_.relaxation().mark();
        tree_.set_threshold(tree_.has_incumbent() ? bound_ - (bound_ - tree_.incumbent().value) / 4
                                                  : -infinity);
        if (tree_.has_incumbent()) tree_.leave_out_by_prices(linear);
        dive_prices_ = tree_.root_prices();
        tree_.descent().bound(dive_prices_);
        tree_.complete();
        const std::size_t few = 16 + tree_.relaxation().copies() / 50;
        while (!tree_.stopped() && open_copies() > few)
            if (!tree_.descent().follow(dive_prices_, large() ? 6 : 12) || !decide_surest()) break;
        if (!tree_.stopped()) tree_.complete();
        if (!tree_.stopped()) tree_.search(dive_prices_, most_entered_in_dive);
        tree_.relaxation().undo(root);
    }
    [[nodiscard]] std::size_t open_copies() const {
        const JobPrices& prices = tree_.relaxation();
        std::size_t sum = 0;
        for (std::size_t copy = 0; copy < prices.copies(); ++copy)
            sum += prices.allowed_of(copy) > 1 ? 1U : 0U;
        return sum;
    }
    /// Decides one sixth of the copies (jobs) that are served once, or one third for a large problem.
    /// Returns false if no copy is served once.
    bool decide_surest() {
        JobPrices& prices = tree_.relaxation();
        sure_.clear();
        for (std::size_t copy = 0; copy < prices.copies(); ++copy) {
            if (prices.allowed_of(copy) < 2 || prices.served(copy) != 1) continue;
            double second = infinity;
            std::uint32_t chosen = none;
            for (std::uint32_t k = prices.first(copy); k < prices.end(copy); ++k) {
                if (prices.taken(k))
                    chosen = k;
                else if (prices.allowed(k))
                    second = std::min(second, prices.loss(k));
            }
            sure_.push_back({-second, chosen});
        }
        std::sort(sure_.begin(), sure_.end());
        const std::size_t part = large() ? 3 : 6;
        sure_.resize((sure_.size() + part - 1) / part);
        for (const OptionLoss& sure : sure_) prices.decide(sure.option);
        return !sure_.empty();
    }

    bool start(const CompactProblem& problem, const Relaxation& linear, double known, Incumbent& incumbent,
               const AllotOptions& options, Clock& clock) {
        if (!tree_.assign(problem, linear, incumbent, options, clock)) return false;
        bound_ = std::max(known, incumbent.value);
        entries_ = most_entered_at_first;
        searched_from_ = -infinity;
        begun_ = true;
        return true;
    }
    /// Returns how far below the bound the next threshold lies.
    [[nodiscard]] double next_distance(double last) const {
        const double granule = tree_.problem().granularity;
        if (granule > 0)
            return last == 0 ? granule
                             : std::max(last + granule, std::floor(1.25 * last / granule) * granule);
        return std::max({2 * last, (bound_ - tree_.incumbent().value) / 16, tree_.gap()});
    }

    /// Takes the limits of a call, and what other searches have found since the last one.
    void take_up(double known, const AllotOptions& options) {
        tree_.descent().go_on(options);
        bound_ = std::max(std::min(bound_, known), tree_.incumbent().value);
        raise_gap(options);
    }
    void raise_gap(const AllotOptions& options) {
        tree_.set_gap(std::max(tree_.problem().rounding(),
                               std::min(options.enough(bound_), options.enough(tree_.incumbent().value))));
    }
    [[nodiscard]] SearchOutcome outcome() const {
        return {std::max(bound_, tree_.incumbent().value),
                tree_.descent().stopped().value_or(StopReason::proven), nodes()};
    }

    /// Finds the prices and the bound before any decision, and a first strong allotment. It lowers the
    /// bound as if an allotment just below the bound were known, because then few options are left, and the
    /// steps are quick and short. If that proves that no allotment is worth more, it repeats this a little
    /// further below.
    void begin(const Relaxation& linear) {
        tree_.set_threshold(-infinity);
        for (double below = 0; !tree_.stopped() && tree_.has_incumbent() && bound_ > tree_.reached();) {
            below = std::max(below, (bound_ - tree_.incumbent().value) / 8);
            const double target = bound_ - below;
            if (target <= tree_.reached()) break;
            const std::size_t root = tree_.relaxation().mark();
            tree_.descent().set_threshold(tree_.problem().least_bound_above(target));
            tree_.leave_out_by_prices(linear);
            const double here = tree_.descent().lower(tree_.root_prices(), affordable(at_root));
            const bool may_be = here > tree_.descent().threshold();
            if (!tree_.stopped() && may_be) {
                tree_.descent().bound(tree_.root_prices());
                tree_.complete();
            }
            tree_.relaxation().undo(root);
            // Everything that was left out is worth no more than the target.
            bound_ = std::min(bound_, tree_.problem().round_down(std::max(target, here)));
            if (tree_.stopped() || may_be) break;
        }
        begin_again(linear);
    }
    /// Leaves out options that are known to be in no better allotment than the incumbent.
    void begin_again(const Relaxation& linear) {
        if (tree_.stopped()) return;
        tree_.set_threshold(-infinity);
        tree_.leave_out_by_prices(linear);
        const double root =
            tree_.descent().lower(tree_.root_prices(), tree_.has_incumbent() ? once : affordable(at_root));
        if (!tree_.stopped() && root > tree_.descent().threshold()) tree_.complete();
        bound_ = std::min(bound_, std::max(tree_.reached(), tree_.problem().round_down(root)));
        searched_from_ = tree_.incumbent().value;
        if (!tree_.stopped() && tree_.descent().served_once()) tree_.adopt();
    }
    [[nodiscard]] DescentSteps affordable(DescentSteps steps) const {
        const std::size_t most = 10 + most_root_work / tree_.relaxation().most_work();
        steps.count = static_cast<int>(std::min(most, static_cast<std::size_t>(steps.count)));
        return steps;
    }

    /// Largest number of nodes of the first search towards a target, and the factor by which later searches
    /// may have more.
    static constexpr std::size_t most_entered_at_first = 8, growth_of_entries = 16;
    static constexpr std::size_t most_entered_in_dive = 400;
    static constexpr std::size_t work_of_large = std::size_t{1} << 24;  ///< in table entries read or written
    /// In table entries read or written; this many take about half a second.
    static constexpr std::size_t most_root_work = std::size_t{1} << 29;

    JobPriceTree tree_;
    double bound_ = 0;
    bool begun_ = false;
    std::size_t entries_ = 0, narrowed_from_ = 0;
    double searched_from_ = 0;
    std::vector<double> narrow_prices_, dive_prices_;
    std::vector<OptionLoss> sure_;
    std::vector<std::uint8_t> left_out_;
};

}  // namespace goodput::inline v0_1::detail

#endif
