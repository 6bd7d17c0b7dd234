#ifndef GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP
#define GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP

// The exact search by prices on jobs (job_prices.hpp), depth first: at every node the prices take a few
// subgradient steps, and what cannot be part of an allotment above the threshold is left out (Posta, Ferland
// and Michelon 2012, who did this for generalised assignment). The job whose options all cost much is decided
// next: that with the least sum of exp(-8 loss / slack), an estimate of how much has to be searched below.
//
// The threshold begins just below the bound and falls. Near the bound little is left of the problem, and the
// bound is near the optimum. Every search that ends without a find lowers the bound to its threshold; one
// that finds an allotment has proven it.
//
// Before that a dive looks for a strong allotment: of the jobs that are served once, those of which anything
// else costs most are decided, until few are left, which are searched.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/allot/detail/clock.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/exchange.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/job_price_descent.hpp"
#include "goodput/allot/detail/job_prices.hpp"
#include "goodput/allot/detail/later_knapsacks.hpp"
#include "goodput/allot/detail/neighbourhood.hpp"
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
        gap_ = problem.rounding();
        begin(linear);
        if (!stopped() && bound_ > incumbent.value) dive(linear);
        return has_incumbent();
    }
    /// States that the last call looked at, or did as much work as.
    [[nodiscard]] std::size_t nodes() const { return descent_.nodes(); }

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
        if (incumbent_->value > searched_from_) begin_again(linear);
        // Of large problems, searches towards a threshold take too long to come before a strong allotment.
        if (large() && entries_ == most_entered_at_first) find_better(linear, 0);
        for (double below = 0; !stopped() && bound_ - incumbent_->value > gap_;) {
            below = next_distance(below);
            const double target = bound_ - below;
            set_threshold(target);
            const std::size_t before = nodes(), root = relaxation().mark();
            leave_out_by_prices(linear);
            const bool complete = search(root_prices_, entries_);
            relaxation().undo(root);
            if (complete) {
                // Nothing above the threshold, which was the higher of the two.
                bound_ = std::min(bound_, std::max(target, reached()));
                if (target <= reached()) break;
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
        descent_.go_on(options);
        narrowed_from_ = relaxation().mark();
        const double threshold = problem_->least_bound_above(target);
        descent_.set_threshold(threshold);
        leave_out_by_prices(linear);
        narrow_prices_ = root_prices_;
        if (descent_.lower(narrow_prices_, at_top) <= threshold && !stopped()) return std::nullopt;
        relaxation().left_out(left_out_, problem_->count);
        return SearchStart{left_out_, threshold, &relaxation(), narrow_prices_, true, 0.05};
    }
    void widen() { relaxation().undo(narrowed_from_); }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    static constexpr DescentSteps once{1, 1, 1, 1, 1};
    static constexpr DescentSteps at_root{400, 1, 12, 1e-3, 20};
    static constexpr DescentSteps at_top{60, 0.5, 8, 0.05, 5};
    static constexpr DescentSteps at_node{16, 0.5, 8, 0.05, 5};

    /// After a search in vain, which looked at so many nodes: looks for a better allotment, and makes the
    /// next search longer.
    void find_better(const Relaxation& linear, std::size_t in_vain) {
        const bool first = entries_ == most_entered_at_first;
        const std::size_t before = nodes();
        if (!stopped() && first) dive(linear);
        if (!stopped()) improve(first ? 10 * in_vain + nodes() - before : in_vain / 2);
        if (!stopped()) entries_ *= growth_of_entries;
    }

    struct Node {
        std::size_t mark;
        std::size_t first, child, end;  // in children_
    };
    struct Child {
        double loss;
        std::uint32_t option;
        bool operator<(const Child& other) const {
            return loss != other.loss ? loss < other.loss : option < other.option;
        }
    };

    bool start(const CompactProblem& problem, const Relaxation& linear, double known, Incumbent& incumbent,
               const AllotOptions& options, Clock& clock) {
        if (!descent_.assign(problem, linear.prices(), options, clock)) return false;
        problem_ = &problem;
        incumbent_ = &incumbent;
        clock_ = &clock;
        searched_again_ = first_searched_again;
        neighbourhood_.reset();
        exchange_.reset();
        exchanged_ = 0;
        most_prices_ = options.memory_states;
        bound_ = std::max(known, incumbent.value);
        entries_ = most_entered_at_first;
        searched_from_ = -infinity;
        begun_ = true;
        relaxation().start(root_prices_, linear.prices());
        return true;
    }
    [[nodiscard]] JobPrices& relaxation() { return descent_.relaxation(); }
    [[nodiscard]] const JobPrices& relaxation() const { return descent_.relaxation(); }
    [[nodiscard]] bool stopped() const { return descent_.stopped().has_value(); }
    [[nodiscard]] bool has_incumbent() const { return incumbent_->value > -infinity; }
    [[nodiscard]] bool granular() const { return problem_->granularity > 0; }
    /// What is proven once nothing better than the incumbent was found.
    [[nodiscard]] double reached() const { return incumbent_->value + (granular() ? 0 : gap_); }

    /// Only allotments above both `target` and the incumbent are of interest.
    void set_threshold(double target) {
        descent_.set_threshold(problem_->least_bound_above(std::max(target, reached())));
    }

    /// How far below the bound the next threshold lies.
    [[nodiscard]] double next_distance(double last) const {
        const double granule = problem_->granularity;
        if (granule > 0)
            return last == 0 ? granule
                             : std::max(last + granule, std::floor(1.25 * last / granule) * granule);
        const double difference = has_incumbent() ? bound_ - incumbent_->value : 1e-3 * problem_->magnitude;
        return std::max({2 * last, difference / 16, gap_});
    }

    /// Notes the limits of a call, and what was found by others since the last one.
    void take_up(double known, const AllotOptions& options, const Stopping& stopping) {
        descent_.go_on(options);
        bound_ = std::max(std::min(bound_, known), incumbent_->value);
        raise_gap(options, stopping);
    }
    void raise_gap(const AllotOptions& options, const Stopping& stopping) {
        const double value = incumbent_->value;
        gap_ = std::max({problem_->rounding(), std::min(stopping(value, bound_, options.gap),
                                                        stopping(value, value, options.gap))});
    }
    [[nodiscard]] SearchOutcome outcome() const {
        return {std::max(bound_, incumbent_->value), descent_.stopped().value_or(StopReason::proven),
                nodes()};
    }

    /// The prices and the bound before anything is decided, and a first strong allotment. The prices are
    /// lowered as if an allotment just below the bound were known: little of the problem is left then, and
    /// the steps are quick and short. Where that shows that there is none, the same a little further below.
    void begin(const Relaxation& linear) {
        set_threshold(-infinity);
        for (double below = 0; !stopped() && has_incumbent() && bound_ > reached();) {
            below = std::max(below, (bound_ - incumbent_->value) / 8);
            const double target = bound_ - below;
            if (target <= reached()) break;
            const std::size_t root = relaxation().mark();
            descent_.set_threshold(problem_->least_bound_above(target));
            leave_out_by_prices(linear);
            const double here = descent_.lower(root_prices_, affordable(at_root));
            const bool may_be = here > descent_.threshold();
            if (!stopped() && may_be) {
                descent_.bound(root_prices_);
                complete();
            }
            relaxation().undo(root);
            // What was left out is worth no more than the target.
            bound_ = std::min(bound_, problem_->round_down(std::max(target, here)));
            if (stopped() || may_be) break;
        }
        begin_again(linear);
    }
    /// Leaves out what is known to be in no better allotment than the incumbent.
    void begin_again(const Relaxation& linear) {
        if (stopped()) return;
        set_threshold(-infinity);
        leave_out_by_prices(linear);
        const double root = descent_.lower(root_prices_, has_incumbent() ? once : affordable(at_root));
        if (!stopped() && root > descent_.threshold()) complete();
        bound_ = std::min(bound_, std::max(reached(), problem_->round_down(root)));
        searched_from_ = incumbent_->value;
        if (!stopped() && descent_.served_once()) adopt();
    }
    [[nodiscard]] DescentSteps affordable(DescentSteps steps) const {
        const std::size_t most = 10 + most_root_work / relaxation().most_work();
        steps.count = static_cast<int>(std::min(most, static_cast<std::size_t>(steps.count)));
        return steps;
    }

    /// Forbids what the first relaxation knows to be in no better allotment.
    void leave_out_by_prices(const Relaxation& linear) {
        const double most_regret = linear.bound() - descent_.threshold() + problem_->rounding();
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy) {
            double best = -infinity;
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
                best = std::max(best, problem_->reduced_value(relaxation().original(k), linear.prices()));
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
                if (relaxation().allowed(k) &&
                    best - problem_->reduced_value(relaxation().original(k), linear.prices()) > most_regret)
                    relaxation().forbid(k);
        }
    }

    /// Searches what is allowed now, from these prices, depth first, until all is done or so many nodes were
    /// entered. Whether all is done.
    bool search(const std::vector<double>& from, std::size_t most_entered) {
        stack_.clear();
        children_.clear();
        prices_.assign(from.begin(), from.end());
        const std::size_t width = relaxation().copies();
        most_rows_ = std::max(std::size_t{2}, most_prices_ / width);
        const std::size_t base = relaxation().mark();
        std::size_t entered = 0;
        enter(0, entered++);
        while (!stack_.empty() && !stopped() && entered < most_entered) {
            Node& node = stack_.back();
            relaxation().undo(node.mark);
            if (node.child == node.end) {
                children_.resize(node.first);
                stack_.pop_back();
                continue;
            }
            const std::uint32_t option = children_[node.child++].option;
            const std::size_t depth = stack_.size();
            prices_.resize(std::max(prices_.size(), std::min(depth + 1, most_rows_) * width));
            if (depth < most_rows_) std::copy_n(row(depth - 1), width, row(depth));
            relaxation().decide(option);
            enter(depth, entered++);
        }
        relaxation().undo(base);
        return stack_.empty() && !stopped();
    }
    /// The job prices of a depth. The deepest share one row where there are too many: any prices do.
    [[nodiscard]] std::vector<double>::iterator row(std::size_t depth) {
        return prices_.begin() +
               static_cast<std::ptrdiff_t>(std::min(depth, most_rows_ - 1) * relaxation().copies());
    }

    /// Bounds what is allowed now; unless nothing comes of it, puts a node with its children on the stack.
    void enter(std::size_t depth, std::size_t entered) {
        here_.assign(row(depth), row(depth) + static_cast<std::ptrdiff_t>(relaxation().copies()));
        // As long as much can be left out, it is worth to look again.
        for (std::size_t allowed = relaxation().allowed(), before = 0, round = 0; round < 4; ++round) {
            before = allowed;
            if (descent_.lower(here_, depth == 0 ? at_top : at_node) <= descent_.threshold() || stopped())
                return;
            if (descent_.served_once()) adopt();
            allowed = relaxation().allowed();
            if (allowed > before - before / 10) break;
        }
        if (entered % nodes_between_completions == 1) complete();
        const double here = descent_.bound(here_, infinity);
        if (stopped() || !descent_.leave_out(here)) return;
        std::copy(here_.begin(), here_.end(), row(depth));
        const std::size_t copy = next_copy(here - descent_.threshold());
        if (copy == relaxation().copies()) return adopt_rest();
        const std::size_t first = children_.size();
        for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
            if (relaxation().allowed(k)) children_.push_back({relaxation().loss(k), k});
        std::sort(children_.begin() + static_cast<std::ptrdiff_t>(first), children_.end());
        stack_.push_back({relaxation().mark(), first, first, children_.size()});
    }

    /// The copy to be decided next; copies() where all are.
    [[nodiscard]] std::size_t next_copy(double slack) const {
        double least = infinity;
        std::size_t chosen = relaxation().copies();
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy) {
            if (relaxation().allowed_of(copy) < 2) continue;
            double below = 0;
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
                if (relaxation().allowed(k)) below += std::exp(-8 * relaxation().loss(k) / slack);
            if (below < least) {
                least = below;
                chosen = copy;
            }
        }
        return chosen;
    }

    /// Takes the last bound()'s choice as an allotment, if it is one and better.
    void adopt() {
        adopt_where([&](std::uint32_t k) { return relaxation().taken(k); });
    }
    /// Takes what is allowed, one option a copy, as an allotment, if it is one and better. The last bound()'s
    /// choice may be another one, from before options were left out.
    void adopt_rest() {
        adopt_where([&](std::uint32_t k) { return relaxation().allowed(k); });
    }
    template <class Chosen>
    void adopt_where(Chosen chosen) {
        candidate_.clear(*problem_);
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy)
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
                if (chosen(k)) candidate_.set(*problem_, copy, relaxation().original(k));
        if (candidate_.feasible(*problem_)) keep_candidate();
    }
    /// Makes an allotment of the last bound()'s choice: who is served twice keeps the more valuable.
    void complete() {
        candidate_.clear(*problem_);
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy) {
            std::uint32_t chosen = none;
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
                if (relaxation().taken(k) && (chosen == none || value(k) > value(chosen))) chosen = k;
            if (chosen != none && candidate_.fits(*problem_, relaxation().original(chosen)))
                candidate_.set(*problem_, copy, relaxation().original(chosen));
        }
        // Exchanges have a part of the time: where many jobs share a resource, they would take nearly all.
        const std::size_t due = first_exchange_work + descent_.work() / part_of_exchanges;
        const std::size_t most = (due - std::min(due, exchanged_)) / work_of_exchange;
        if (exchange_(*problem_, candidate_, most, *clock_)) keep_candidate();
        exchanged_ += work_of_exchange * exchange_.work();
        descent_.count(work_of_exchange * exchange_.work());
    }
    [[nodiscard]] double value(std::uint32_t option) const {
        return problem_->value[relaxation().original(option)];
    }
    void keep_candidate() {
        if (std::ranges::find(candidate_.choice, none) != candidate_.choice.end()) return;
        candidate_.recount(*problem_);
        if (candidate_.value <= incumbent_->value + problem_->rounding()) return;
        *incumbent_ = candidate_;
        set_threshold(descent_.threshold());
    }

    void dive(const Relaxation& linear) {
        const std::size_t root = relaxation().mark();
        if (has_incumbent()) {
            set_threshold(bound_ - (bound_ - incumbent_->value) / 4);
            leave_out_by_prices(linear);
        } else {
            set_threshold(-infinity);
        }
        here_ = root_prices_;
        descent_.bound(here_);
        complete();
        const std::size_t few = 16 + relaxation().copies() / 50;
        while (!stopped() && open_copies() > few) {
            if (!descent_.follow(here_, large() ? 6 : 12) || !decide_surest()) break;
        }
        if (!stopped()) complete();
        if (!stopped()) search(here_, most_entered_in_dive);
        relaxation().undo(root);
    }
    /// Searches parts of the incumbent again, one after the other, for as much work as `most` or until a
    /// round of them is in vain.
    void improve(std::size_t most) {
        const std::size_t end = nodes() + most;
        for (bool better = true; better && !stopped() && nodes() < end && bound_ > incumbent_->value;) {
            set_threshold(-infinity);
            if (descent_.lower(root_prices_, at_top) <= descent_.threshold() && !stopped())
                bound_ = std::min(bound_, reached());
            if (stopped() || bound_ <= incumbent_->value) return;
            const double here = descent_.bound(root_prices_, infinity);
            if (stopped()) return;
            neighbourhood_.assign(relaxation(), incumbent_->choice, here - descent_.threshold());
            better = false;
            std::size_t complete = 0, rounds = relaxation().resources();
            for (std::size_t i = 0; i < rounds && !stopped() && nodes() < end; ++i) {
                const double value = incumbent_->value;
                complete += search_again() ? 1 : 0;
                better = better || incumbent_->value > value;
            }
            if (better || 2 * complete < rounds) continue;
            // What was searched was too little of the problem to find anything.
            searched_again_ += searched_again_ / 2;
            better = searched_again_ < relaxation().copies();
        }
    }
    /// Whether all of a neighbourhood was searched.
    bool search_again() {
        const std::size_t root = relaxation().mark();
        neighbourhood_.next(searched_again_);
        set_threshold(-infinity);
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy) {
            if (neighbourhood_.free(copy) || relaxation().allowed_of(copy) < 2) continue;
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
                if (relaxation().allowed(k) && relaxation().original(k) == incumbent_->choice[copy]) {
                    relaxation().decide(k);
                    break;
                }
        }
        const bool complete = search(root_prices_, most_entered_again);
        relaxation().undo(root);
        return complete;
    }
    [[nodiscard]] std::size_t open_copies() const {
        std::size_t sum = 0;
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy)
            sum += relaxation().allowed_of(copy) > 1 ? 1 : 0;
        return sum;
    }
    [[nodiscard]] bool large() const { return relaxation().most_work() > work_of_large; }
    /// Decides a sixth of the copies that are served once, of large problems a third. False: there are none.
    bool decide_surest() {
        sure_.clear();
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy) {
            if (relaxation().allowed_of(copy) < 2 || relaxation().served(copy) != 1) continue;
            double second = infinity;
            std::uint32_t chosen = none;
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k) {
                if (relaxation().taken(k))
                    chosen = k;
                else if (relaxation().allowed(k))
                    second = std::min(second, relaxation().loss(k));
            }
            sure_.push_back({-second, chosen});
        }
        std::sort(sure_.begin(), sure_.end());
        const std::size_t part = large() ? 3 : 6;
        sure_.resize((sure_.size() + part - 1) / part);
        for (const Child& child : sure_) relaxation().decide(child.option);
        return !sure_.empty();
    }

    static constexpr std::size_t nodes_between_completions = 64;
    /// Nodes of the first search towards a target, and of the next one in terms of the one before.
    static constexpr std::size_t most_entered_at_first = 8, growth_of_entries = 16;
    static constexpr std::size_t most_entered_in_dive = 400, most_entered_again = 60;
    static constexpr std::size_t first_searched_again = 40;              ///< copies of a neighbourhood
    static constexpr std::size_t most_root_work = std::size_t{1} << 29;  ///< numbers in tables, half a second
    static constexpr std::size_t work_of_large = std::size_t{1} << 24;
    static constexpr std::size_t first_exchange_work = std::size_t{1} << 20, part_of_exchanges = 4;
    static constexpr std::size_t work_of_exchange = 4;  ///< of an option looked at, in numbers of tables

    const CompactProblem* problem_ = nullptr;
    Incumbent* incumbent_ = nullptr;
    Clock* clock_ = nullptr;
    JobPriceDescent descent_;
    Exchange exchange_;
    Neighbourhood neighbourhood_;
    Incumbent candidate_;
    std::vector<double> root_prices_, prices_, here_;
    std::vector<Node> stack_;
    std::vector<Child> children_, sure_;
    std::size_t most_prices_ = 0, most_rows_ = 0;
    std::size_t exchanged_ = 0;       ///< work of exchanges so far
    std::size_t searched_again_ = 0;  ///< copies of a neighbourhood
    double bound_ = 0, gap_ = 0;
    bool begun_ = false;
    std::size_t entries_ = 0, narrowed_from_ = 0;
    double searched_from_ = 0;
    std::vector<double> narrow_prices_;
    std::vector<std::uint8_t> left_out_;
};

}  // namespace goodput::detail

#endif
