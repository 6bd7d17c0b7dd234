#ifndef GOODPUT_ALLOT_DETAIL_PRICE_TREE_HPP
#define GOODPUT_ALLOT_DETAIL_PRICE_TREE_HPP

// A search that computes new prices at every node. The search of the core (search.hpp) takes its bounds
// from the prices of the relaxation. These say little if many rows bind, because deep in the search other
// rows bind. Here a node is the set of choices that are still allowed. The search solves the node's linear
// relaxation (dual_simplex.hpp), and closes the node if the relaxation is worth no more than the threshold:
// the value that an allotment must exceed to be better than the best one so far (the incumbent) by more
// than the gap. Otherwise it takes a job that the relaxation splits, and branches: the job takes one of
// some options, or none of them (Beale and Tomlin 1970). The order of the nodes (tree_nodes.hpp) keeps the
// bound falling.
//
// A mixture is a solution that splits jobs. If the units left of a resource are whole in every allotment,
// but not in the mixture, a node may decide the number of these units instead: at most some number is left,
// or more.
//
// Before the first decision, rows that cut off the relaxation's mixture are added (cover_rows.hpp,
// rounding_rows.hpp) as long as they lower the bound. When a better incumbent rules out options by their
// reduced cost at the root (their regret), these are left out from then on (Mansini and Speranza, INFORMS
// Journal on Computing 24(3), 2012). Once many are left out, the search continues with a smaller problem
// (reduction.hpp). Mixtures are rounded to allotments, and exchanges improve these (exchange.hpp).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/cover_rows.hpp"
#include "goodput/allot/detail/dual_simplex.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/reduction.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/rounded_amounts.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/detail/tree_decisions.hpp"
#include "goodput/allot/detail/tree_nodes.hpp"
#include "goodput/allot/detail/tree_rows.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/detail/resource_uses.hpp"

namespace goodput::inline v0_1::detail {

/// A log that writes nothing. Another log may write down why the bound of a search holds.
struct NoLog {
    static constexpr bool writes = false;
    void cut(const Cover&) {}
    void branch(std::size_t, std::size_t, std::uint32_t, std::span<const std::uint32_t>, double) {}
    void close(std::size_t, std::span<const double>) {}
};

template <class Log = NoLog>
class PriceTree {
public:
    [[nodiscard]] Log& log() { return log_; }

    /// Starts on a new problem.
    void reset() { begun_ = false; }

    /// Improves `incumbent` until it is proven within the gap, or until options.most_states states have
    /// been looked at. Continues where the last run ended. `problem` and `relaxation` must be those of the
    /// first run after reset().
    SearchOutcome run(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                      const AllotOptions& options, Clock& clock) {
        given_ = &problem;
        incumbent_ = &incumbent;
        clock_ = &clock;
        options_ = &options;
        if (!begun_) begin(relaxation);
        const std::size_t before = states();
        raise_threshold();
        SearchOutcome outcome{0, StopReason::proven, 0};
        if (nodes_.only_root() && !begun_root_) {
            begun_root_ = true;
            if (!search_root()) outcome.stopped = StopReason::deadline;
        }
        while (outcome.stopped == StopReason::proven && nodes_.any_open()) {
            if (states() - before >= options.most_states)
                outcome.stopped = StopReason::states;
            else if (nodes_.size() >= options.memory_states)
                outcome.stopped = StopReason::memory;
            else if (!take_up_next())
                break;
            else if (!visit())
                outcome.stopped = StopReason::deadline;
        }
        outcome.nodes = states() - before;
        outcome.bound =
            std::max(incumbent.value,
                     problem.round_down(std::min(root_bound_, std::max(closed_bound_, nodes_.open_bound()))));
        return outcome;
    }

private:
    static constexpr std::size_t numbers_a_state = 256;  ///< about as many as a state of the core reads
    /// A node whose bound exceeds the threshold by less than this part of the sum of values is almost
    /// closed.
    static constexpr double nearly = 1e-6;

    [[nodiscard]] std::size_t states() const {
        return (work_before_ + simplex_.work() + 2 * rounded_.work()) / numbers_a_state;
    }

    void raise_threshold() {
        const double known = incumbent_->value;
        const double enough = std::max(options_->enough(known), problem_->rounding());
        const double threshold = problem_->least_bound_above(known + enough);
        if (threshold <= threshold_) return;
        threshold_ = threshold;
        leave_out();
    }
    /// Forbids the options that the root's prices rule out.
    void leave_out() {
        if (root_regret_.empty()) return;
        for (std::uint32_t k = 0; k < problem_->count; ++k) {
            if (root_most_[k] == 0 || regret_bound_ - root_regret_[k] > threshold_) continue;
            root_most_[k] = 0;
            left_out_ = true;
            closed_bound_ = std::max(closed_bound_, regret_bound_ - root_regret_[k]);
        }
    }
    /// Notes what the last optimum of the root proves.
    void learn_from_root() {
        root_bound_ = std::min(root_bound_, simplex_.bound());
        if (!root_regret_.empty() && simplex_.bound_of_regrets() > regret_bound_) return;
        regret_bound_ = simplex_.bound_of_regrets();
        root_regret_.assign(problem_->count, 0);
        for (std::size_t group = 0; group < problem_->groups(); ++group) {
            if (problem_->copies(group) != 1) continue;
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k)
                if (root_most_[k] > 0) root_regret_[k] = simplex_.regret(k);
        }
        if constexpr (Log::writes) {
            simplex_.prices_of_regrets(prices_);
            log_.fix(prices_);
        }
        leave_out();
    }

    void begin(const Relaxation& relaxation) {
        begun_ = true;
        begun_root_ = false;
        problem_ = given_;
        given_option_.clear();
        nodes_.begin(relaxation.bound());
        root_bound_ = relaxation.bound();
        closed_bound_ = threshold_ = -infinity;
        work_before_ = 0;
        rounded_.reset();
        begin_root(relaxation.mixture(), relaxation.prices());
    }
    /// Begins with the root of problem_, from the basis of these amounts and prices.
    void begin_root(std::span<const double> amounts, std::span<const double> prices) {
        root_regret_.clear();
        root_most_.resize(problem_->count);
        for (std::size_t group = 0; group < problem_->groups(); ++group)
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k)
                root_most_[k] = problem_->copies(group);
        decisions_.begin(*problem_);
        rows_.begin(*problem_, simplex_);
        simplex_.begin(amounts, prices);
        amounts_.resize(problem_->count);
    }

    /// Continues with a problem that has only the options that are not left out, if these are far fewer.
    /// Returns whether it does. If no allotment is left, no node is open, and the search is over.
    bool reduce() {
        if (Log::writes) return false;
        const auto left =
            static_cast<std::size_t>(std::ranges::count_if(root_most_, [](double most) { return most > 0; }));
        if (static_cast<double>(left) > most_left * problem_->count) return false;
        for (std::uint32_t k = 0, kept = 0; k < problem_->count; ++k)
            if (root_most_[k] > 0) amounts_[kept++] = amounts_[k];
        prices_.assign(simplex_.prices().begin(), simplex_.prices().end());
        work_before_ += simplex_.work();
        if (!reduction_(*problem_, root_most_)) nodes_.drop_next();
        if (!given_option_.empty())
            for (std::uint32_t& option : reduction_.problem.original) option = given_option_[option];
        std::swap(reduced_, reduction_.problem);
        given_option_ = reduced_.original;
        problem_ = &reduced_;
        begin_root(amounts_, std::span(prices_).first(std::min(prices_.size(), reduced_.resources())));
        return true;
    }
    /// Returns the caller's index of an option.
    [[nodiscard]] std::uint32_t given_option(std::uint32_t option) const {
        return given_option_.empty() ? option : given_option_[option];
    }

    void limit_to_root() {
        left_out_ = false;
        for (std::size_t group = 0; group < problem_->groups(); ++group)
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k)
                simplex_.limit(k, 0, root_most_[k]);
        for (std::size_t r = 0; r < problem_->resources(); ++r)
            simplex_.limit_left(r, 0, problem_->capacity[r]);
    }
    void read_amounts() {
        for (std::uint32_t k = 0; k < problem_->count; ++k) amounts_[k] = simplex_.amount(k);
    }

    /// Solves the root, adds rows to it, and leaves out options. Returns false if time has run out.
    bool search_root() {
        constexpr int most_rounds = 12;
        for (int round = 0;; ++round) {
            limit_to_root();
            const double before = root_bound_;
            const auto end = simplex_.solve(threshold_, *clock_);
            if (end == DualSimplex::End::unfinished) return !clock_->late();
            if (end != DualSimplex::End::optimal) return true;
            learn_from_root();
            read_amounts();
            round_amounts();
            const double gap = root_bound_ - threshold_;
            if (gap <= 0) return true;
            if (reduce()) {
                if (!nodes_.any_open()) return true;
                round = -1;
                continue;
            }
            if (round >= most_rounds || (round > 1 && before - root_bound_ < 0.01 * gap)) return true;
            const bool added = rows_.add(*problem_, simplex_, amounts_, log_);
            work_before_ += rows_.take_work();
            if (!added) return true;
        }
    }
    /// Takes up the node to look at next. Returns false if none is left.
    bool take_up_next() {
        while (nodes_.take_up()) {
            if (Log::writes || nodes_.here().bound > threshold_) return true;
            closed_bound_ = std::max(closed_bound_, nodes_.here().bound);
        }
        return false;
    }

    /// Limits the options to what the decisions on the way to this node allow.
    void limit_to_here() {
        limit_to_root();
        nodes_.for_each_above([&](const TreeNodes::Node& above, bool second) {
            if (above.first == above.end)
                limit_units(simplex_, above.group, above.units, second);
            else
                limit_copies(simplex_, *problem_, above.group, nodes_.options_of(above), above.most, second);
        });
    }

    /// Solves this node, and closes it or opens two nodes below it. Returns false if time has run out.
    bool visit() {
        limit_to_here();
        auto end = simplex_.solve(threshold_, *clock_);
        if (simplex_.bound() > threshold_ && simplex_.bound() - threshold_ < nearly * problem_->magnitude &&
            drop_rounding_rows()) {
            limit_to_here();
            end = simplex_.solve(threshold_, *clock_);
        }
        if (end == DualSimplex::End::unfinished && !clock_->late()) {
            // Try another way through the bases.
            std::ranges::fill(amounts_, 0.0);
            simplex_.begin(amounts_, {});
            limit_to_here();
            end = simplex_.solve(threshold_, *clock_);
        }
        if (clock_->late()) {
            nodes_.put_back();
            return false;
        }
        const double bound = std::min(nodes_.here().bound, simplex_.bound());
        if (end == DualSimplex::End::closed || end == DualSimplex::End::infeasible || bound <= threshold_) {
            close(bound);
            return true;
        }
        read_amounts();
        if (end == DualSimplex::End::optimal) {
            if (nodes_.index() == 0) learn_from_root();
            round_amounts();
        }
        if (bound <= threshold_)
            close(bound);
        else if (end == DualSimplex::End::optimal)
            branch(bound);
        else
            branch_anywhere(bound);
        return true;
    }
    void close(double bound) {
        closed_bound_ = std::max(closed_bound_, bound);
        log_.close(nodes_.index(), simplex_.prices());
    }
    bool drop_rounding_rows() {
        const bool any = rows_.drop_rounding_rows(*problem_, simplex_);
        work_before_ += rows_.take_work();
        return any;
    }

    /// Makes the decision that lowers the bounds of both children most. While there are few decisions to
    /// estimate from, the estimate comes from some pivots in each child (Achterberg, Koch and Martin,
    /// Operations Research Letters 33, 2005).
    void branch(double bound) {
        decisions_.clear(simplex_.prices());
        if constexpr (!Log::writes) decisions_.list_units(*problem_, simplex_, rows_.rounding());
        // An incumbent that was found here may have ruled out options. A split is a position in the list of
        // the options left, so that list must be up to date when the split is sought.
        if (left_out_) limit_to_here();
        decisions_.list_splits(*problem_, simplex_, amounts_);
        if (decisions_.listed().empty()) return branch_anywhere(bound);
        decisions_.sort();
        try_decisions(bound);
        const TreeDecision& chosen = decisions_.best();
        TreeNodes::Node& node = nodes_.here();
        node.group = chosen.group;
        node.most = chosen.most;
        node.units = chosen.units;
        node.first = nodes_.options().size();
        if (!chosen.of_units) decisions_.append_options(*problem_, simplex_, chosen, nodes_.options());
        open_children(bound, chosen.part > 0.5);
    }

    /// Scores decisions about which too little is known, by some pivots in both children.
    void try_decisions(double bound) {
        constexpr std::size_t most_tried = 8, most_pivots = 12;
        std::size_t tried = 0;
        bool saved = false;
        std::vector<std::uint32_t>& options = nodes_.options();
        for (TreeDecision& decision : decisions_.listed()) {
            if (decisions_.is_reliable(decision) || tried++ == most_tried) continue;
            if (!std::exchange(saved, true)) simplex_.save(basis_);
            limit_to_here();  // the limits determine the decision's options
            const std::size_t first = options.size();
            if (!decision.of_units) decisions_.append_options(*problem_, simplex_, decision, options);
            double fell[2];
            for (const bool second : {false, true}) {
                if (second) limit_to_here();
                if (decision.of_units)
                    limit_units(simplex_, decision.group, decision.units, second);
                else
                    limit_copies(simplex_, *problem_, decision.group, std::span(options).subspan(first),
                                 decision.most, second);
                simplex_.solve(threshold_, *clock_, most_pivots);
                fell[second] = std::clamp(bound - simplex_.bound(), 0.0, bound - threshold_);
                simplex_.restore(basis_);
            }
            decisions_.learn(decision, fell[0], fell[1]);
            options.resize(first);
        }
        if (saved) limit_to_here();
    }

    /// Decides the first job that has a choice, if no amount is split or there are no amounts.
    void branch_anywhere(double bound) {
        TreeNodes::Node& node = nodes_.here();
        for (std::uint32_t group = 0; group < problem_->groups(); ++group) {
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k) {
                const double copies = problem_->copies(group);
                double most_others = 0;
                for (std::uint32_t i = problem_->first[group]; i < problem_->first[group + 1]; ++i)
                    if (i != k) most_others += simplex_.most(i);
                if (simplex_.least(k) >= std::min(simplex_.most(k), copies) || most_others == 0) continue;
                node.group = group;
                node.first = nodes_.options().size();
                node.most = static_cast<std::uint32_t>(simplex_.least(k));
                nodes_.options().push_back(k);
                return open_children(bound, true);
            }
        }
        // Nothing is left to be decided.
        const double value = rounded_.settle(*problem_, simplex_);
        close(value);
        if (value > -infinity) adopt(rounded_.allotment());
    }
    void open_children(double bound, bool second_first) {
        const TreeNodes::Node node = nodes_.here();
        const std::size_t child = nodes_.open_children(bound, second_first);
        log_.branch(nodes_.index(), child, node.group, std::span(nodes_.options()).subspan(node.first),
                    node.most);
    }

    /// Rounds the amounts to an allotment, which becomes the incumbent if it is better. A search that
    /// writes a proof skips this, because it knows the best allotment.
    void round_amounts() {
        if (Log::writes || !rounded_.round(*problem_, amounts_, simplex_, *clock_)) return;
        adopt(rounded_.allotment());
    }
    /// Makes an allotment of problem_ the incumbent if it is better.
    void adopt(Incumbent& better) {
        better.recount(*problem_);
        if (better.value <= incumbent_->value + problem_->rounding()) return;
        for (std::uint32_t& option : better.choice) option = given_option(option);
        better.left.assign(given_->capacity.begin(), given_->capacity.end());
        for (const std::uint32_t option : better.choice)
            for (const ResourceUse& use : given_->uses_of(option)) better.left[use.resource] -= use.units;
        if (!better.feasible(*given_)) return;
        *incumbent_ = better;
        raise_threshold();
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();

    /// A reduced problem is worth making if it has at most this part of the options.
    static constexpr double most_left = 0.75;

    Log log_;
    const CompactProblem* given_ = nullptr;
    const CompactProblem* problem_ = nullptr;  ///< given_ or reduced_
    Reduction reduction_;
    CompactProblem reduced_;
    // Caller's index of each option of reduced_; empty if there is no reduced problem.
    std::vector<std::uint32_t> given_option_;
    Incumbent* incumbent_ = nullptr;
    Clock* clock_ = nullptr;
    const AllotOptions* options_ = nullptr;
    DualSimplex simplex_;
    TreeRows rows_;
    TreeNodes nodes_;
    TreeDecisions decisions_;
    RoundedAmounts rounded_;
    bool begun_ = false, begun_root_ = false;
    double root_bound_ = 0, regret_bound_ = 0, closed_bound_ = 0, threshold_ = 0;
    bool left_out_ = false;  // options have been ruled out since the limits were last set
    std::vector<double> root_regret_, root_most_, amounts_;
    DualSimplex::Basis basis_;
    std::vector<double> prices_;  // of the root
    std::size_t work_before_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
