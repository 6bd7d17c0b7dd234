#ifndef GOODPUT_ALLOT_DETAIL_PRICE_TREE_HPP
#define GOODPUT_ALLOT_DETAIL_PRICE_TREE_HPP

// A search that computes new prices at every node. The search of the core (search.hpp) takes its bounds
// from the prices of the relaxation. These say little if many rows bind, because deep in the search other
// rows bind. Here a node is the set of choices that are still allowed. The search solves the node's linear
// relaxation (dual_simplex.hpp), and closes the node if the relaxation is worth no more than the threshold:
// the value that an allotment must exceed to be better than the best one so far (the incumbent) by more
// than the gap. Otherwise it takes a job that the relaxation splits, and branches: the job takes one of
// some options, or none of them (Beale and Tomlin 1970). The search dives into one of the two children.
// Later it continues with the node of the largest bound among those not yet solved (the open ones), so the
// bound keeps falling.
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
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/cover_rows.hpp"
#include "goodput/allot/detail/dual_simplex.hpp"
#include "goodput/allot/detail/exchange.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/reduction.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/rounding_rows.hpp"
#include "goodput/allot/detail/search.hpp"
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
        if (nodes_.size() == 1 && !begun_root_) {
            begun_root_ = true;
            if (!search_root()) outcome.stopped = StopReason::deadline;
        }
        while (outcome.stopped == StopReason::proven && (next_ != none || !open_.empty())) {
            if (states() - before >= options.most_states)
                outcome.stopped = StopReason::states;
            else if (nodes_.size() + options_pool_.size() / 8 >= options.memory_states)
                outcome.stopped = StopReason::memory;
            else if (!take_up_next())
                break;
            else if (!visit())
                outcome.stopped = StopReason::deadline;
        }
        outcome.nodes = states() - before;
        outcome.bound =
            std::max(incumbent.value,
                     problem.round_down(std::min(root_bound_, std::max(closed_bound_, open_bound()))));
        return outcome;
    }

private:
    static constexpr std::size_t numbers_a_state = 256;  ///< about as many as a state of the core reads
    static constexpr double whole = 1e-6;
    /// A node whose bound exceeds the threshold by less than this part of the sum of values is almost
    /// closed.
    static constexpr double nearly = 1e-6;

    struct Node {
        std::size_t parent, child;  // first of its two children, 0 if there are none yet
        double bound;               // bound of its parent
        std::uint32_t group;        // group, or resource, that its children decide
        std::uint32_t most;      // most copies of the group that take one of the options in its first child
        std::size_t first, end;  // range of those options in options_pool_; empty if units are decided
        double units;  // if units are decided: the most that are left of the resource in its first child
    };

    /// A pseudocost: the mean fall of the bound after a job was decided one way, divided by the fraction of
    /// a job that the decision moved.
    struct Fall {
        double sum = 0;
        std::size_t count = 0;
        void add(double fell) {
            sum += fell;
            ++count;
        }
        [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    };

    [[nodiscard]] std::size_t states() const {
        return (work_before_ + simplex_.work() + 2 * exchange_work_) / numbers_a_state;
    }
    [[nodiscard]] double open_bound() const {
        double bound = next_ == none ? -infinity : nodes_[next_].bound;
        if (!open_.empty()) bound = std::max(bound, nodes_[open_.front()].bound);
        return bound;
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
        nodes_.assign(1, Node{0, 0, relaxation.bound(), 0, 0, 0, 0, 0});
        options_pool_.clear();
        open_.clear();
        next_ = 0;
        root_bound_ = relaxation.bound();
        closed_bound_ = threshold_ = -infinity;
        work_before_ = exchange_work_ = 0;
        exchange_.reset();
        begin_root(relaxation.mixture(), relaxation.prices());
    }
    /// Begins with the root of problem_, from the basis of these amounts and prices.
    void begin_root(std::span<const double> amounts, std::span<const double> prices) {
        further_.clear();
        root_regret_.clear();
        root_most_.resize(problem_->count);
        for (std::size_t group = 0; group < problem_->groups(); ++group)
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k)
                root_most_[k] = problem_->copies(group);
        fall_.assign(2 * (problem_->groups() + problem_->resources()), Fall{});
        rounding_.begin(*problem_);
        simplex_.assign(*problem_, further_);
        simplex_.begin(amounts, prices);
        amounts_.resize(problem_->count);
    }

    /// Continues with a problem that has only the options that are not left out, if these are far fewer.
    /// Returns whether it does. If no allotment is left, next_ is `none` and the search is over.
    bool reduce() {
        if (Log::writes) return false;
        const auto left =
            static_cast<std::size_t>(std::ranges::count_if(root_most_, [](double most) { return most > 0; }));
        if (static_cast<double>(left) > most_left * problem_->count) return false;
        for (std::uint32_t k = 0, kept = 0; k < problem_->count; ++k)
            if (root_most_[k] > 0) amounts_[kept++] = amounts_[k];
        prices_.assign(simplex_.prices().begin(), simplex_.prices().end());
        work_before_ += simplex_.work();
        if (!reduction_(*problem_, root_most_)) next_ = none;
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
                if (next_ == none) return true;
                round = -1;
                continue;
            }
            if (round >= most_rounds || (round > 1 && before - root_bound_ < 0.01 * gap)) return true;
            if (!add_rows()) return true;
        }
    }
    /// Adds covers and rounding rows that the amounts violate, and drops rows that do not bind. Returns
    /// whether there are new rows.
    bool add_rows() {
        const std::size_t resources = problem_->resources();
        keep_rows([&](std::size_t i) { return Log::writes || simplex_.binds(resources + i); });
        const std::size_t known = further_.size();
        for (std::size_t r = 0; r < resources; ++r) {
            if (!simplex_.binds(r) || !covers_.find(*problem_, r, amounts_)) continue;
            log_.cut(covers_.cover());
            CoverSearch::add_row(*problem_, covers_.cover(), further_);
            row_before_.push_back(none);
        }
        if constexpr (!Log::writes) {
            // simplex_ still has the earlier rows.
            for (std::size_t row = 0; row < simplex_.rows(); ++row) {
                if (!rounding_.find(*problem_, further_before_, simplex_, row, amounts_)) continue;
                further_.add(rounding_.row());
                row_before_.push_back(none);
            }
            work_before_ += simplex_.rows() * (problem_->uses.size() + problem_->count);
        }
        work_before_ += resources * problem_->count;
        if (further_.size() == known && further_.size() == simplex_.rows() - resources) return false;
        begin_like_before();
        return further_.size() > known;
    }

    /// Drops the rounding rows: their allowance for rounding may exceed what a proof still lacks. Returns
    /// whether there were any.
    bool drop_rounding_rows() {
        keep_rows([&](std::size_t i) { return further_before_[i].whole; });
        const bool any = further_.size() < further_before_.size();
        if (any) begin_like_before();
        return any;
    }
    /// Keeps the further rows for which keep(index) holds. Then further_before_ holds the earlier rows, and
    /// row_before_ the index that each row had in the simplex method.
    template <class Keep>
    void keep_rows(Keep keep) {
        std::swap(further_, further_before_);
        further_.clear();
        row_before_.resize(problem_->resources());
        std::iota(row_before_.begin(), row_before_.end(), std::size_t{0});
        for (std::size_t i = 0; i < further_before_.size(); ++i) {
            if (!keep(i)) continue;
            further_.add(further_before_[i]);
            row_before_.push_back(problem_->resources() + i);
        }
    }
    /// Continues the simplex method with the present rows, from the basis that it had with the earlier
    /// rows.
    void begin_like_before() {
        std::swap(simplex_, other_);
        work_before_ += other_.work();
        simplex_.assign(*problem_, further_);
        simplex_.begin_like(other_, row_before_);
    }

    /// Sets here_ to the node to look at next. Returns false if none is left.
    bool take_up_next() {
        for (;;) {
            if (next_ != none) {
                here_ = std::exchange(next_, none);
            } else {
                if (open_.empty()) return false;
                std::pop_heap(open_.begin(), open_.end(), smaller_bound());
                here_ = open_.back();
                open_.pop_back();
            }
            if (Log::writes || nodes_[here_].bound > threshold_) return true;
            closed_bound_ = std::max(closed_bound_, nodes_[here_].bound);
        }
    }
    void put_away(std::size_t node) {
        open_.push_back(node);
        std::push_heap(open_.begin(), open_.end(), smaller_bound());
    }
    /// Returns the order of the heap open_.
    [[nodiscard]] auto smaller_bound() const {
        return [this](std::size_t a, std::size_t b) {
            return nodes_[a].bound != nodes_[b].bound ? nodes_[a].bound < nodes_[b].bound : a < b;
        };
    }

    /// Limits the options to what the decisions on the way to here_ allow.
    void limit_to_here() {
        limit_to_root();
        for (std::size_t node = here_; node != 0; node = nodes_[node].parent) {
            const Node& above = nodes_[nodes_[node].parent];
            const bool taken = node != above.child;
            if (above.first == above.end) {
                limit_left(above.group, above.units, taken);
                continue;
            }
            limit(above.group, std::span(options_pool_).subspan(above.first, above.end - above.first),
                  above.most, taken);
        }
    }
    /// Limits the units left of a resource to at most `units` or, with `more`, to more than that.
    void limit_left(std::size_t resource, double units, bool more) {
        const double least = simplex_.least_left(resource), most = simplex_.most_left(resource);
        if (more)
            simplex_.limit_left(resource, std::max(least, units + 1), most);
        else
            simplex_.limit_left(resource, least, std::min(most, units));
    }
    /// Limits the copies of a group that take one of the options to at most `most` or, with `more`, to more
    /// than that.
    void limit(std::uint32_t group, std::span<const std::uint32_t> options, std::uint32_t most, bool more) {
        if (problem_->copies(group) > 1) {
            const std::uint32_t k = options[0];
            const double least = simplex_.least(k), here = simplex_.most(k);
            return more ? simplex_.limit(k, std::max(least, most + 1.0), here)
                        : simplex_.limit(k, least, std::min(here, static_cast<double>(most)));
        }
        auto next_listed = options.begin();  // in order
        for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k) {
            const bool listed = next_listed != options.end() && *next_listed == k;
            if (listed) ++next_listed;
            if (listed != more) simplex_.limit(k, 0, 0);
        }
    }

    /// Solves here_, and closes it or opens two nodes below it. Returns false if time has run out.
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
            next_ = here_;
            return false;
        }
        const double bound = std::min(nodes_[here_].bound, simplex_.bound());
        if (end == DualSimplex::End::closed || end == DualSimplex::End::infeasible || bound <= threshold_) {
            close(bound);
            return true;
        }
        read_amounts();
        if (end == DualSimplex::End::optimal) {
            if (here_ == 0) learn_from_root();
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
        log_.close(here_, simplex_.prices());
    }

    /// A way to decide a job that the amounts split: at most `most` copies take one of the options from
    /// place `split` of sort_options() on, or more copies do. If the group has several copies, `split` is
    /// the index of a single option instead.
    struct Decision {
        std::uint32_t group = 0;
        std::size_t split = 0;
        double part = 0;  // part of a copy that takes one of the options
        std::uint32_t most = 0;
        double score = 0;
        // Decides the units left of resource `group` instead: at most `units`, or more.
        bool of_units = false;
        double units = 0;
    };
    /// Returns the index in fall_ of the first of a decision's two entries.
    [[nodiscard]] std::size_t falls_of(const Decision& decision) const {
        return 2 * (decision.of_units ? problem_->groups() + decision.group : decision.group);
    }
    /// Returns a decision on the units left of a resource. Its part is 0 unless these are whole in every
    /// allotment, but not here.
    Decision split_of_units(std::uint32_t resource) {
        Decision decision{resource};
        decision.of_units = true;
        if (Log::writes || !rounding_.whole(resource)) return decision;
        const double left = simplex_.left(resource), units = std::floor(left + whole);
        if (left - units <= whole) return decision;
        decision.part = left - units;
        decision.units = units;
        return decision;
    }

    /// Returns the split of a group that is closest to one half. Its part is 0 if there is none.
    Decision split_of(std::uint32_t group) {
        Decision decision{group};
        double best = whole;
        const std::uint32_t first = problem_->first[group], end = problem_->first[group + 1];
        if (problem_->copies(group) > 1) {
            for (std::uint32_t k = first; k < end; ++k) {
                const double part = amounts_[k] - std::floor(amounts_[k]);
                if (std::min(part, 1 - part) <= best) continue;
                best = std::min(part, 1 - part);
                decision = {group, k, part, static_cast<std::uint32_t>(std::floor(amounts_[k]))};
            }
            return decision;
        }
        if (*std::max_element(amounts_.begin() + first, amounts_.begin() + end) > 1 - whole) return decision;
        sort_options(group);
        double sum = 0;
        for (std::size_t i = 0; i + 1 < sorted_.size(); ++i) {
            sum += amounts_[sorted_[i].second];
            if (std::min(sum, 1 - sum) <= best) continue;
            best = std::min(sum, 1 - sum);
            decision = {group, i + 1, 1 - sum, 0};
        }
        return decision;
    }
    /// Appends a decision's options to options_pool_, in order of their index.
    void append_options(const Decision& decision) {
        const std::size_t first = options_pool_.size();
        if (problem_->copies(decision.group) > 1)
            return options_pool_.push_back(static_cast<std::uint32_t>(decision.split));
        sort_options(decision.group);
        for (std::size_t i = decision.split; i < sorted_.size(); ++i)
            options_pool_.push_back(sorted_[i].second);
        std::sort(options_pool_.begin() + static_cast<std::ptrdiff_t>(first), options_pool_.end());
    }

    /// Makes the decision that lowers the bounds of both children most. The estimate comes from earlier
    /// decisions about the job. While these are few, it comes from some pivots in each child (Achterberg,
    /// Koch and Martin, Operations Research Letters 33, 2005).
    void branch(double bound) {
        decisions_.clear();
        prices_.assign(simplex_.prices().begin(), simplex_.prices().end());
        const auto list = [&](Decision decision) {
            if (decision.part == 0) return;
            const std::size_t falls = falls_of(decision);
            decision.score =
                score(fall_[falls].mean() * decision.part, fall_[falls + 1].mean() * (1 - decision.part)) +
                1e-6 * std::min(decision.part, 1 - decision.part);
            decisions_.push_back(decision);
        };
        for (std::uint32_t r = 0; r < problem_->resources(); ++r) list(split_of_units(r));
        // An incumbent that was found here may have ruled out options. A split is a position in the list of
        // the options left, so that list must be up to date when the split is sought.
        if (left_out_) limit_to_here();
        for (std::uint32_t group = 0; group < problem_->groups(); ++group) list(split_of(group));
        if (decisions_.empty()) return branch_anywhere(bound);
        std::sort(decisions_.begin(), decisions_.end(), [](const Decision& a, const Decision& b) {
            return a.score != b.score ? a.score > b.score : a.group < b.group;
        });
        try_decisions(bound);
        const Decision chosen =
            *std::max_element(decisions_.begin(), decisions_.end(),
                              [](const Decision& a, const Decision& b) { return a.score < b.score; });
        Node& node = nodes_[here_];
        node.group = chosen.group;
        node.most = chosen.most;
        node.units = chosen.units;
        node.first = options_pool_.size();
        if (!chosen.of_units) append_options(chosen);
        open_children(bound, chosen.part > 0.5);
    }
    static double score(double one, double other) { return std::max(one, 1e-9) * std::max(other, 1e-9); }

    /// Scores decisions about which too little is known, by some pivots in both children.
    void try_decisions(double bound) {
        constexpr std::size_t most_tried = 8, most_pivots = 12, reliable = 4;
        std::size_t tried = 0;
        bool saved = false;
        for (Decision& decision : decisions_) {
            Fall& down = fall_[falls_of(decision)];
            Fall& up = fall_[falls_of(decision) + 1];
            if (std::min(down.count, up.count) >= reliable || tried++ == most_tried) continue;
            if (!std::exchange(saved, true)) simplex_.save(basis_);
            limit_to_here();  // the limits determine the decision's options
            const std::size_t first = options_pool_.size();
            if (!decision.of_units) append_options(decision);
            double fell[2];
            for (const bool taken : {false, true}) {
                if (taken) limit_to_here();
                if (decision.of_units)
                    limit_left(decision.group, decision.units, taken);
                else
                    limit(decision.group, std::span(options_pool_).subspan(first), decision.most, taken);
                simplex_.solve(threshold_, *clock_, most_pivots);
                fell[taken] = std::clamp(bound - simplex_.bound(), 0.0, bound - threshold_);
                simplex_.restore(basis_);
            }
            down.add(fell[0] / decision.part);
            up.add(fell[1] / (1 - decision.part));
            decision.score = score(fell[0], fell[1]) + 1e-6 * std::min(decision.part, 1 - decision.part);
            options_pool_.resize(first);
        }
        if (saved) limit_to_here();
    }

    /// Decides the first job that has a choice, if no amount is split or there are no amounts.
    void branch_anywhere(double bound) {
        Node& node = nodes_[here_];
        for (std::uint32_t group = 0; group < problem_->groups(); ++group) {
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k) {
                const double copies = problem_->copies(group);
                double most_others = 0;
                for (std::uint32_t i = problem_->first[group]; i < problem_->first[group + 1]; ++i)
                    if (i != k) most_others += simplex_.most(i);
                if (simplex_.least(k) >= std::min(simplex_.most(k), copies) || most_others == 0) continue;
                node.group = group;
                node.first = options_pool_.size();
                node.most = static_cast<std::uint32_t>(simplex_.least(k));
                options_pool_.push_back(k);
                return open_children(bound, true);
            }
        }
        settle();
    }
    /// Closes a node in which nothing is left to be decided.
    void settle() {
        candidate_.clear(*problem_);
        for (std::size_t group = 0; group < problem_->groups(); ++group) {
            std::uint32_t copy = problem_->first_copy[group];
            const std::uint32_t end = problem_->first_copy[group + 1];
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k)
                for (double n = simplex_.least(k); n > 0 && copy < end; --n)
                    candidate_.set(*problem_, copy++, k);
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k)
                if (simplex_.most(k) > 0)
                    while (copy < end) candidate_.set(*problem_, copy++, k);
            if (copy < end) return close(-infinity);
        }
        close(candidate_.feasible(*problem_) ? candidate_.value : -infinity);
        if (candidate_.feasible(*problem_)) adopt_candidate();
    }
    void open_children(double bound, bool second_first) {
        const std::size_t child = nodes_.size();
        Node& node = nodes_[here_];
        node.end = options_pool_.size();
        node.child = child;
        log_.branch(here_, child, node.group, std::span(options_pool_).subspan(node.first), node.most);
        nodes_.push_back({here_, 0, bound, 0, 0, 0, 0, 0});
        nodes_.push_back({here_, 0, bound, 0, 0, 0, 0, 0});
        next_ = child + (second_first ? 1 : 0);
        put_away(child + (second_first ? 0 : 1));
    }
    /// Fills sorted_ with the options of a job that are allowed here, in order of the price of their uses
    /// (prices_, which branch() sets).
    void sort_options(std::uint32_t group) {
        sorted_.clear();
        for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k) {
            if (simplex_.most(k) == 0) continue;
            sorted_.push_back({price_of(problem_->uses_of(k), prices_), k});
        }
        std::sort(sorted_.begin(), sorted_.end());
    }

    /// Rounds the amounts to an allotment, which becomes the incumbent if it is better. A search that
    /// writes a proof skips this, because it knows the best allotment.
    void round_amounts() {
        if (Log::writes) return;
        candidate_.clear(*problem_);
        for (std::size_t group = 0; group < problem_->groups(); ++group) {
            std::uint32_t copy = problem_->first_copy[group];
            const std::uint32_t end = problem_->first_copy[group + 1];
            sorted_.clear();
            for (std::uint32_t k = problem_->first[group]; k < problem_->first[group + 1]; ++k) {
                const double amount = amounts_[k];
                for (double n = std::floor(amount + whole); n > 0 && copy < end; --n)
                    candidate_.set(*problem_, copy++, k);
                sorted_.push_back({std::floor(amount + whole) - amount, k});
            }
            std::sort(sorted_.begin(), sorted_.end());
            for (std::size_t i = 0; copy < end; ++i)
                candidate_.set(*problem_, copy++, sorted_[i % sorted_.size()].second);
        }
        if (!candidate_.feasible(*problem_) && !repair()) return;
        adopt_candidate();
    }
    /// Makes the candidate the incumbent if it is better.
    void adopt_candidate() {
        candidate_.recount(*problem_);
        if (candidate_.value <= incumbent_->value + problem_->rounding()) return;
        for (std::uint32_t& option : candidate_.choice) option = given_option(option);
        candidate_.left.assign(given_->capacity.begin(), given_->capacity.end());
        for (const std::uint32_t option : candidate_.choice)
            for (const ResourceUse& use : given_->uses_of(option)) candidate_.left[use.resource] -= use.units;
        if (!candidate_.feasible(*given_)) return;
        *incumbent_ = candidate_;
        raise_threshold();
    }
    /// Makes an allotment of the rounded amounts by exchanges, which may use only a part of the time.
    /// Returns whether it succeeded.
    bool repair() {
        constexpr std::size_t first_work = std::size_t{1} << 15;
        if (exchange_work_ > first_work * 8 + simplex_.work() / 4) return false;
        const auto prices = simplex_.prices().first(problem_->resources());
        const bool fits = exchange_.repair(*problem_, prices, candidate_, first_work, *clock_);
        if (fits) exchange_.improve(*problem_, candidate_, *clock_);
        exchange_work_ += exchange_.work() + problem_->count;
        return fits && candidate_.feasible(*problem_);
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

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
    DualSimplex simplex_, other_;
    CoverSearch covers_;
    RoundingRows rounding_;
    Exchange exchange_;
    FurtherRows further_, further_before_;
    std::vector<std::size_t> row_before_;  // earlier index of each row of simplex_; `none` if the row is new
    bool begun_ = false, begun_root_ = false;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> options_pool_;
    std::vector<std::size_t> open_;  // heap in order of bound
    std::size_t next_ = none, here_ = 0;
    double root_bound_ = 0, regret_bound_ = 0, closed_bound_ = 0, threshold_ = 0;
    bool left_out_ = false;  // options have been ruled out since the limits were last set
    std::vector<double> root_regret_, root_most_, amounts_;
    std::vector<std::pair<double, std::uint32_t>> sorted_;
    std::vector<Decision> decisions_;
    // Two entries per group, then per resource: for the first child and for the second.
    std::vector<Fall> fall_;
    DualSimplex::Basis basis_;
    std::vector<double> prices_;  ///< prices of the node that branches, or of the root before it is reduced
    Incumbent candidate_;
    std::size_t work_before_ = 0, exchange_work_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
