#ifndef GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP
#define GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP

// The exact search by prices on jobs (job_prices.hpp): searches depth first (job_price_tree.hpp) towards a
// threshold, which begins just below the bound and falls. Near the bound little is left of the problem, and
// the bound is near the optimum. Every search that ends without a find lowers the bound to its threshold; one
// that finds an allotment has proven it. Dives (job_price_dives.hpp) look for a strong allotment before that.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "goodput/allot/detail/clock.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/job_price_descent.hpp"
#include "goodput/allot/detail/job_price_dives.hpp"
#include "goodput/allot/detail/job_price_tree.hpp"
#include "goodput/allot/detail/later_knapsacks.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/allot/rules.hpp"

namespace goodput::detail {

template <StoppingRule Stopping>
class JobPriceSearch {
public:
    /// Looks for a strong allotment, better than `incumbent`, which may be none (value -infinity). Whether
    /// there is one now. False also where the relaxation does not apply.
    bool find(const CompactProblem& problem, const Relaxation& linear, Incumbent& incumbent,
              const AllotOptions& options, Clock& clock) {
        if (!start(problem, linear, linear.bound(), incumbent, options, clock)) return false;
        tree_.set_gap(problem.rounding());
        begin(linear);
        if (!tree_.stopped() && bound_ > incumbent.value) dives_.dive(tree_, linear, bound_);
        return tree_.has_incumbent();
    }
    /// States that the last call looked at, or did as much work as.
    [[nodiscard]] std::size_t nodes() const { return tree_.descent().nodes(); }

    /// Forgets the problem of the last calls, so that start() begins anew.
    void reset() { begun_ = false; }

    /// Takes up `incumbent`, an allotment, to be improved until it is proven within the gap, and lowers the
    /// prices as long as that helps, unless an earlier call has. `known`: a bound. What is known then, or
    /// nothing where the relaxation does not apply.
    std::optional<SearchOutcome> prepare(const CompactProblem& problem, const Relaxation& linear,
                                         double known, Incumbent& incumbent, const AllotOptions& options,
                                         Clock& clock, const Stopping& stopping) {
        const bool first = !begun_;
        if (first && !start(problem, linear, known, incumbent, options, clock)) return std::nullopt;
        take_up(known, options, stopping);
        if (first) begin(linear);
        return outcome();
    }
    /// Searches on, where the last call ended.
    SearchOutcome run(const Relaxation& linear, double known, const AllotOptions& options,
                      const Stopping& stopping) {
        take_up(known, options, stopping);
        if (tree_.incumbent().value > searched_from_) begin_again(linear);
        // Of large problems, searches towards a threshold take too long to come before a strong allotment.
        if (JobPriceDives::large(tree_) && entries_ == most_entered_at_first) find_better(linear, 0);
        for (double below = 0; !tree_.stopped() && bound_ - tree_.incumbent().value > tree_.gap();) {
            below = next_distance(below);
            const double target = bound_ - below;
            tree_.set_threshold(target);
            const std::size_t before = nodes(), root = tree_.relaxation().mark();
            tree_.leave_out_by_prices(linear);
            const bool complete = tree_.search(tree_.root_prices(), entries_);
            tree_.relaxation().undo(root);
            if (complete) {
                // Nothing above the threshold, which was the higher of the two.
                bound_ = std::min(bound_, std::max(target, tree_.reached()));
                if (target <= tree_.reached()) break;
            } else {
                find_better(linear, nodes() - before);
                below = 0;
            }
            raise_gap(options, stopping);
        }
        return outcome();
    }

    /// Leaves out what can be part of no allotment worth more than `target`, until widen(). What is known of
    /// the rest; nothing if that is nothing.
    std::optional<SearchStart> narrow(const Relaxation& linear, double target, const AllotOptions& options) {
        tree_.descent().go_on(options);
        narrowed_from_ = tree_.relaxation().mark();
        const double threshold = tree_.problem().least_bound_above(target);
        tree_.descent().set_threshold(threshold);
        tree_.leave_out_by_prices(linear);
        narrow_prices_ = tree_.root_prices();
        if (tree_.descent().lower(narrow_prices_, steps_at_top) <= threshold && !tree_.stopped())
            return std::nullopt;
        tree_.relaxation().left_out(left_out_, tree_.problem().count);
        return SearchStart{left_out_, threshold, &tree_.relaxation(), narrow_prices_, true, 0.05};
    }
    void widen() { tree_.relaxation().undo(narrowed_from_); }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    static constexpr DescentSteps once{1, 1, 1, 1, 1};
    static constexpr DescentSteps at_root{400, 1, 12, 1e-3, 20};

    /// After a search in vain, which looked at so many nodes: looks for a better allotment, and makes the
    /// next search longer.
    void find_better(const Relaxation& linear, std::size_t in_vain) {
        const bool first = entries_ == most_entered_at_first;
        const std::size_t before = nodes();
        if (!tree_.stopped() && first) dives_.dive(tree_, linear, bound_);
        if (!tree_.stopped())
            dives_.improve(tree_, first ? 10 * in_vain + nodes() - before : in_vain / 2, bound_);
        if (!tree_.stopped()) entries_ *= growth_of_entries;
    }

    bool start(const CompactProblem& problem, const Relaxation& linear, double known, Incumbent& incumbent,
               const AllotOptions& options, Clock& clock) {
        if (!tree_.assign(problem, linear, incumbent, options, clock)) return false;
        dives_.reset();
        bound_ = std::max(known, incumbent.value);
        entries_ = most_entered_at_first;
        searched_from_ = -infinity;
        begun_ = true;
        return true;
    }
    /// How far below the bound the next threshold lies.
    [[nodiscard]] double next_distance(double last) const {
        const double granule = tree_.problem().granularity;
        if (granule > 0)
            return last == 0 ? granule
                             : std::max(last + granule, std::floor(1.25 * last / granule) * granule);
        const double difference =
            tree_.has_incumbent() ? bound_ - tree_.incumbent().value : 1e-3 * tree_.problem().magnitude;
        return std::max({2 * last, difference / 16, tree_.gap()});
    }

    /// Notes the limits of a call, and what was found by others since the last one.
    void take_up(double known, const AllotOptions& options, const Stopping& stopping) {
        tree_.descent().go_on(options);
        bound_ = std::max(std::min(bound_, known), tree_.incumbent().value);
        raise_gap(options, stopping);
    }
    void raise_gap(const AllotOptions& options, const Stopping& stopping) {
        const double value = tree_.incumbent().value;
        tree_.set_gap(std::max(tree_.problem().rounding(), std::min(stopping(value, bound_, options.gap),
                                                                    stopping(value, value, options.gap))));
    }
    [[nodiscard]] SearchOutcome outcome() const {
        return {std::max(bound_, tree_.incumbent().value),
                tree_.descent().stopped().value_or(StopReason::proven), nodes()};
    }

    /// The prices and the bound before anything is decided, and a first strong allotment. The prices are
    /// lowered as if an allotment just below the bound were known: little of the problem is left then, and
    /// the steps are quick and short. Where that shows that there is none, the same a little further below.
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
            // What was left out is worth no more than the target.
            bound_ = std::min(bound_, tree_.problem().round_down(std::max(target, here)));
            if (tree_.stopped() || may_be) break;
        }
        begin_again(linear);
    }
    /// Leaves out what is known to be in no better allotment than the incumbent.
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

    /// Nodes of the first search towards a target, and of the next one in terms of the one before.
    static constexpr std::size_t most_entered_at_first = 8, growth_of_entries = 16;
    static constexpr std::size_t most_root_work = std::size_t{1} << 29;  ///< numbers in tables, half a second

    JobPriceTree tree_;
    JobPriceDives dives_;
    double bound_ = 0;
    bool begun_ = false;
    std::size_t entries_ = 0, narrowed_from_ = 0;
    double searched_from_ = 0;
    std::vector<double> narrow_prices_;
    std::vector<std::uint8_t> left_out_;
};

}  // namespace goodput::detail

#endif
