#ifndef GOODPUT_PROVING_DETAIL_JOB_PRICE_TREE_HPP
#define GOODPUT_PROVING_DETAIL_JOB_PRICE_TREE_HPP

// A depth-first search by prices on jobs (job_prices.hpp). The code calls each job a copy. At every node
// the prices take a few subgradient steps, and options that cannot be part of an allotment above the
// threshold are left out (Posta, Ferland and Michelon 2012, who did this for generalised assignment). The
// loss of an option is how far the bound falls if a job takes it, and the slack is the distance from the
// bound to the threshold. The next job to decide is one whose options all have large losses: the job with
// the least sum of exp(-8 loss / slack) over its options. This sum estimates how much has to be searched
// below the node. Allotments found on the way become the incumbent (the best one so far), including
// those that exchanges make from choices that are almost allotments.

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/exchange.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/proving/detail/job_price_descent.hpp"
#include "goodput/proving/detail/job_prices.hpp"

namespace goodput::inline v0_1::detail {

/// Settings of the descent before any decision, when some options are already left out.
inline constexpr DescentSteps steps_at_top{60, 0.5, 8, 0.05, 5};

/// By how much the bound falls if a copy takes an option.
struct OptionLoss {
    double loss;
    std::uint32_t option;
    auto operator<=>(const OptionLoss&) const = default;
};

class JobPriceTree {
public:
    /// Takes a problem and an incumbent, which may be empty (value -infinity), with no option left out.
    /// Returns false if the relaxation does not apply (JobPrices::assign() refuses the problem).
    bool assign(const CompactProblem& problem, const Relaxation& linear, Incumbent& incumbent,
                const AllotOptions& options, Clock& clock) {
        if (!descent_.assign(problem, linear.prices(), options, clock)) return false;
        problem_ = &problem;
        incumbent_ = &incumbent;
        clock_ = &clock;
        exchange_.reset();
        exchanged_ = 0;
        most_prices_ = options.memory_states;
        relaxation().start(root_prices_, linear.prices());
        return true;
    }

    [[nodiscard]] JobPriceDescent& descent() { return descent_; }
    [[nodiscard]] const JobPriceDescent& descent() const { return descent_; }
    [[nodiscard]] JobPrices& relaxation() { return descent_.relaxation(); }
    [[nodiscard]] const JobPrices& relaxation() const { return descent_.relaxation(); }
    [[nodiscard]] const CompactProblem& problem() const { return *problem_; }
    [[nodiscard]] Incumbent& incumbent() { return *incumbent_; }
    [[nodiscard]] const Incumbent& incumbent() const { return *incumbent_; }
    /// Returns the job prices before any decision.
    [[nodiscard]] std::vector<double>& root_prices() { return root_prices_; }

    [[nodiscard]] bool stopped() const { return descent_.stopped().has_value(); }
    [[nodiscard]] bool has_incumbent() const { return incumbent_->value > -infinity; }
    /// Sets by how much the incumbent may fall short of a better allotment.
    void set_gap(double gap) { gap_ = gap; }
    [[nodiscard]] double gap() const { return gap_; }
    /// Returns the bound that a complete search proves if it finds no allotment better than the incumbent.
    [[nodiscard]] double reached() const {
        return incumbent_->value + (problem_->granularity > 0 ? 0 : gap_);
    }
    /// Sets the threshold such that only allotments above both `target` and the incumbent are of interest.
    void set_threshold(double target) {
        descent_.set_threshold(problem_->least_bound_above(std::max(target, reached())));
    }

    /// Forbids options that are in no better allotment according to the first relaxation.
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

    /// Searches everything that is allowed now, depth first, starting from the prices `from`. Stops after
    /// entering `most_entered` nodes. Returns whether it searched everything.
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
    /// Makes the choice of the last bound() the incumbent, if it is an allotment and better.
    void adopt() {
        adopt_where([&](std::uint32_t k) { return relaxation().taken(k); });
    }
    /// Makes an allotment of the choice of the last bound(): a copy that is served twice keeps the more
    /// valuable option.
    void complete() {
        candidate_.clear(*problem_);
        for (std::size_t copy = 0; copy < relaxation().copies(); ++copy) {
            std::uint32_t chosen = none;
            for (std::uint32_t k = relaxation().first(copy); k < relaxation().end(copy); ++k)
                if (relaxation().taken(k) && (chosen == none || value(k) > value(chosen))) chosen = k;
            if (chosen != none && candidate_.fits(*problem_, relaxation().original(chosen)))
                candidate_.set(*problem_, copy, relaxation().original(chosen));
        }
        // Exchanges get only a part of the time. Otherwise they would take nearly all of it if many jobs
        // share a resource.
        const std::size_t due = first_exchange_work + descent_.work() / part_of_exchanges;
        const std::size_t most = (due - std::min(due, exchanged_)) / work_of_exchange;
        if (exchange_.repair(*problem_, {}, candidate_, most, *clock_)) {
            exchange_.improve(*problem_, candidate_, *clock_);
            keep_candidate();
        }
        exchanged_ += work_of_exchange * exchange_.work();
        descent_.count(work_of_exchange * exchange_.work());
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr DescentSteps at_node{16, 0.5, 8, 0.05, 5};

    struct Node {
        std::size_t mark;
        std::size_t first, child, end;  // indices in children_
    };

    /// Returns the job prices of a depth. If there are too many depths, the deepest share one row, because
    /// any prices will do.
    [[nodiscard]] std::vector<double>::iterator row(std::size_t depth) {
        return prices_.begin() +
               static_cast<std::ptrdiff_t>(std::min(depth, most_rows_ - 1) * relaxation().copies());
    }

    /// Bounds what is allowed now. Puts a node with its children on the stack, unless nothing of interest
    /// is left.
    void enter(std::size_t depth, std::size_t entered) {
        here_.assign(row(depth), row(depth) + static_cast<std::ptrdiff_t>(relaxation().copies()));
        // Look again as long as many options can be left out.
        for (std::size_t allowed = relaxation().allowed(), before = 0, round = 0; round < 4; ++round) {
            before = allowed;
            if (descent_.lower(here_, depth == 0 ? steps_at_top : at_node) <= descent_.threshold() ||
                stopped())
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

    /// Returns the copy to decide next, or copies() if all are decided.
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

    /// Makes the options that are still allowed, one per copy, the incumbent, if they are an allotment and
    /// better. The choice of the last bound() may differ from them, because options were left out
    /// afterwards.
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

    static constexpr std::size_t nodes_between_completions = 64;
    static constexpr std::size_t first_exchange_work = std::size_t{1} << 20, part_of_exchanges = 4;
    static constexpr std::size_t work_of_exchange = 4;  ///< work per option looked at, in table entries

    const CompactProblem* problem_ = nullptr;
    Incumbent* incumbent_ = nullptr;
    Clock* clock_ = nullptr;
    JobPriceDescent descent_;
    Exchange exchange_;
    Incumbent candidate_;
    std::vector<double> root_prices_, prices_, here_;
    std::vector<Node> stack_;
    std::vector<OptionLoss> children_;
    std::size_t most_prices_ = 0, most_rows_ = 0;
    std::size_t exchanged_ = 0;  ///< work of all exchanges so far
    double gap_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
