#ifndef GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP
#define GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP

// The exact search by prices on jobs (job_prices.hpp), depth first: at every node the prices take a few
// subgradient steps, and what cannot be part of an allotment above the threshold is left out (Posta, Ferland and
// Michelon 2012, who did this for generalised assignment). The job whose options all cost much is decided next:
// that with the least sum of exp(-8 loss / slack), an estimate of how much has to be searched below.
//
// The threshold begins just below the bound and falls. Near the bound little is left of the problem, and the bound
// is near the optimum. Every search that ends without a find lowers the bound to its threshold; one that finds an
// allotment has proven it.
//
// Before that a dive looks for a strong allotment: of the jobs that are served once, those of which anything else
// costs most are decided, until few are left, which are searched.

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
#include "goodput/allot/detail/job_prices.hpp"
#include "goodput/allot/detail/neighbourhood.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/allot/rules.hpp"

namespace goodput::detail {

template <StoppingRule Stopping>
class JobPriceSearch {
public:
    /// Looks for a strong allotment, better than `incumbent`, which may be none (value -infinity). Whether there is
    /// one now. False also where the relaxation does not apply.
    bool find(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
              const AllotOptions& options, Clock& clock) {
        if (!start(problem, relaxation, relaxation.bound(), incumbent, options, clock)) return false;
        gap_ = problem.rounding();
        begin(relaxation);
        if (!stopped_ && bound_ > incumbent.value) dive();
        return has_incumbent();
    }
    /// States that the last call looked at, or did as much work as.
    [[nodiscard]] std::size_t nodes() const { return nodes_; }

    /// Improves `incumbent`, an allotment, until it is proven within the gap. `known`: a bound. Nothing where the
    /// relaxation does not apply.
    std::optional<SearchOutcome> run(const CompactProblem& problem, const Relaxation& relaxation, double known,
                                     Incumbent& incumbent, const AllotOptions& options, Clock& clock,
                                     const Stopping& stopping) {
        if (!start(problem, relaxation, known, incumbent, options, clock)) return std::nullopt;
        const auto raise_gap = [&] {
            gap_ = std::max({problem.rounding(), std::min(stopping(incumbent.value, bound_, options.gap),
                                                          stopping(incumbent.value, incumbent.value, options.gap))});
        };
        raise_gap();
        begin(relaxation);
        std::size_t entries = most_entered_at_first;
        for (double below = 0; !stopped_ && bound_ - incumbent.value > gap_;) {
            below = next_distance(below);
            const double target = bound_ - below;
            set_threshold(target);
            found_ = false;
            const std::size_t before = nodes_;
            if (search(root_prices_, entries)) {
                const bool all = found_ || target <= incumbent.value;
                bound_ = all ? std::min(bound_, reached()) : target;
                if (all) break;
            } else {
                const std::size_t in_vain = nodes_ - before;
                if (!stopped_ && entries == most_entered_at_first) dive();
                if (!stopped_) improve(entries == most_entered_at_first ? 10 * in_vain : in_vain / 2);
                entries *= growth_of_entries;
                below = 0;
            }
            raise_gap();
        }
        return SearchOutcome{std::max(bound_, incumbent.value), stopped_.value_or(StopReason::proven), nodes_};
    }

private:
    static constexpr std::size_t most_work = std::size_t{1} << 28;
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double memory_of_direction = 0.4, least_progress = 0.01;

    /// How far and how long the prices are improved.
    struct Steps {
        int count;
        double length;        ///< first, as a part of the way to the threshold by Polyak's rule
        int patience;         ///< steps without a better bound until it is halved
        double least_length;  ///< where that ends
        int between_losses;   ///< steps from one look at what can be left out to the next
    };
    static constexpr Steps at_first{40, 0.5, 6, 1e-3, 10};
    static constexpr Steps at_root{400, 1, 12, 1e-3, 20};
    static constexpr Steps at_top{60, 0.5, 8, 0.05, 5};
    static constexpr Steps at_node{16, 0.5, 8, 0.05, 5};

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

    bool start(const CompactProblem& problem, const Relaxation& relaxation, double known, Incumbent& incumbent,
               const AllotOptions& options, Clock& clock) {
        nodes_ = 0;
        if (!relaxation_.assign(problem, relaxation.prices(), most_work)) return false;
        problem_ = &problem;
        incumbent_ = &incumbent;
        clock_ = &clock;
        most_nodes_ = options.most_states;
        stopped_.reset();
        searched_again_ = first_searched_again;
        bound_ = std::max(known, incumbent.value);
        return true;
    }
    [[nodiscard]] bool has_incumbent() const { return incumbent_->value > -infinity; }
    [[nodiscard]] bool granular() const { return problem_->granularity > 0; }
    /// What is proven once nothing better than the incumbent was found.
    [[nodiscard]] double reached() const { return incumbent_->value + (granular() ? 0 : gap_); }

    /// Only allotments above both `target` and the incumbent are of interest.
    void set_threshold(double target) {
        threshold_ = problem_->least_bound_above(std::max(target, reached()));
    }

    /// How far below the bound the next threshold lies.
    [[nodiscard]] double next_distance(double last) const {
        const double granule = problem_->granularity;
        if (granule > 0)
            return last == 0 ? granule : std::max(last + granule, std::floor(1.25 * last / granule) * granule);
        const double difference = has_incumbent() ? bound_ - incumbent_->value : 1e-3 * problem_->magnitude;
        return std::max({2 * last, difference / 16, gap_});
    }

    /// The prices and the bound before anything is decided, and a first strong allotment.
    void begin(const Relaxation& relaxation) {
        relaxation_.start(root_prices_, relaxation.prices());
        set_threshold(-infinity);
        bound(root_prices_);
        complete();
        double root = reoptimise(root_prices_, at_first);
        if (root > threshold_ && !stopped_) {
            bound(root_prices_);
            complete();
            root = std::min(root, reoptimise(root_prices_, at_root));
        }
        if (stopped_) return;
        if (root == -infinity) {
            bound_ = incumbent_->value;
            return;
        }
        bound_ = std::min(bound_, std::max(incumbent_->value, problem_->round_down(root)));
    }

    bool stop() {
        if (nodes_ >= most_nodes_) stopped_ = StopReason::states;
        if (clock_->late(relaxation_.most_work())) stopped_ = StopReason::deadline;
        return stopped_.has_value();
    }
    double bound(std::span<const double> prices, double most_loss = JobPrices::no_losses) {
        const double here = relaxation_.bound(prices, most_loss);
        nodes_ += 1 + relaxation_.work() / work_of_state;
        return here;
    }

    /// Searches what is allowed now, from these prices, depth first, until all is done or so many nodes were
    /// entered. Whether all is done.
    bool search(const std::vector<double>& from, std::size_t most_entered) {
        stack_.clear();
        children_.clear();
        prices_.assign(from.begin(), from.end());
        const std::size_t width = relaxation_.copies();
        const std::size_t base = relaxation_.mark();
        std::size_t entered = 0;
        enter(0, entered++);
        while (!stack_.empty() && !stopped_ && entered < most_entered) {
            Node& node = stack_.back();
            relaxation_.undo(node.mark);
            if (node.child == node.end) {
                children_.resize(node.first);
                stack_.pop_back();
                continue;
            }
            const std::uint32_t option = children_[node.child++].option;
            const std::size_t depth = stack_.size();
            prices_.resize(std::max(prices_.size(), (depth + 1) * width));
            std::copy_n(row(depth - 1), width, row(depth));
            relaxation_.decide(option);
            enter(depth, entered++);
        }
        relaxation_.undo(base);
        return stack_.empty() && !stopped_;
    }
    /// The job prices of a depth.
    [[nodiscard]] std::vector<double>::iterator row(std::size_t depth) {
        return prices_.begin() + static_cast<std::ptrdiff_t>(depth * relaxation_.copies());
    }

    /// Bounds what is allowed now; unless nothing comes of it, puts a node with its children on the stack.
    void enter(std::size_t depth, std::size_t entered) {
        here_.assign(row(depth), row(depth) + static_cast<std::ptrdiff_t>(relaxation_.copies()));
        // As long as much can be left out, it is worth to look again.
        for (std::size_t allowed = relaxation_.allowed(), before = 0, round = 0; round < 4; ++round) {
            before = allowed;
            if (reoptimise(here_, depth == 0 ? at_top : at_node) <= threshold_ || stopped_) return;
            allowed = relaxation_.allowed();
            if (allowed > before - before / 10) break;
        }
        if (entered % nodes_between_completions == 1) complete();
        const double here = bound(here_, infinity);
        if (!leave_out(here)) return;
        std::copy(here_.begin(), here_.end(), row(depth));
        const std::size_t copy = next_copy(here - threshold_);
        if (copy == relaxation_.copies()) return adopt();
        const std::size_t first = children_.size();
        for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k)
            if (relaxation_.allowed(k)) children_.push_back({relaxation_.loss(k), k});
        std::sort(children_.begin() + static_cast<std::ptrdiff_t>(first), children_.end());
        stack_.push_back({relaxation_.mark(), first, first, children_.size()});
    }

    /// The copy to be decided next; copies() where all are.
    [[nodiscard]] std::size_t next_copy(double slack) const {
        double least = infinity;
        std::size_t chosen = relaxation_.copies();
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy) {
            if (relaxation_.allowed_of(copy) < 2) continue;
            double below = 0;
            for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k)
                if (relaxation_.allowed(k)) below += std::exp(-8 * relaxation_.loss(k) / slack);
            if (below < least) {
                least = below;
                chosen = copy;
            }
        }
        return chosen;
    }

    /// Lowers the bound by subgradient steps from `prices`, which become the best met, and leaves out what falls to
    /// the threshold on the way. At most the threshold: nothing of interest is left.
    double reoptimise(std::vector<double>& prices, const Steps& steps) {
        current_ = prices;
        direction_.assign(prices.size(), 0);
        double best = infinity, length = steps.length;
        for (int step = 0, in_vain = 0; step < steps.count; ++step) {
            if (stop()) return best;
            const bool losses = step % steps.between_losses == 0 || step + 1 == steps.count;
            const double here = bound(current_, losses ? best - threshold_ : JobPrices::no_losses);
            if (here == -infinity) return here;
            ++in_vain;
            if (here < best) {
                if (here < best - progress(best)) in_vain = 0;
                best = here;
                prices = current_;
            }
            if (best <= threshold_) return best;
            if (losses && !leave_out(here)) return -infinity;
            if (in_vain >= steps.patience) {
                length /= 2;
                in_vain = 0;
                current_ = prices;
                std::fill(direction_.begin(), direction_.end(), 0.0);
                if (length < steps.least_length) break;
                continue;
            }
            const double target = threshold_ > -infinity ? threshold_ : here - 1e-2 * std::abs(here);
            if (!step_to(target, here, length)) {
                adopt();
                break;
            }
        }
        return best;
    }

    /// By how much a bound has to fall for the steps not to be in vain.
    [[nodiscard]] double progress(double best) const {
        return threshold_ > -infinity ? least_progress * (best - threshold_) : 1e-6 * std::abs(best);
    }

    /// Moves current_ against the subgradient: a copy that is served by several resources becomes dearer, one that
    /// is served by none cheaper. False: all are served once, and no step is left.
    bool step_to(double target, double here, double length) {
        double square = 0;
        for (std::size_t copy = 0; copy < direction_.size(); ++copy) {
            direction_[copy] =
                static_cast<double>(relaxation_.served(copy)) - 1 + memory_of_direction * direction_[copy];
            square += direction_[copy] * direction_[copy];
        }
        if (square < 1e-9) return false;
        const double factor = length * std::max(here - target, 1e-3 * gap_) / square;
        for (std::size_t copy = 0; copy < direction_.size(); ++copy) current_[copy] += factor * direction_[copy];
        return true;
    }

    /// Forbids what is part of no allotment above the threshold. False: a copy has nothing left.
    bool leave_out(double here) {
        const double most_loss = here - threshold_;
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy) {
            if (relaxation_.allowed_of(copy) < 2) continue;
            for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k)
                if (relaxation_.allowed(k) && relaxation_.loss(k) >= most_loss) relaxation_.forbid(k);
            if (relaxation_.allowed_of(copy) == 0) return false;
        }
        return true;
    }

    /// Takes the last bound()'s choice as an allotment, if it is one and better.
    void adopt() {
        candidate_.clear(*problem_);
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy)
            for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k)
                if (relaxation_.taken(k)) candidate_.set(*problem_, copy, relaxation_.original(k));
        if (candidate_.feasible(*problem_)) keep_candidate();
    }
    /// Makes an allotment of the last bound()'s choice: who is served twice keeps the more valuable.
    void complete() {
        candidate_.clear(*problem_);
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy) {
            std::uint32_t chosen = none;
            for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k)
                if (relaxation_.taken(k) && (chosen == none || value(k) > value(chosen))) chosen = k;
            if (chosen != none && candidate_.fits(*problem_, relaxation_.original(chosen)))
                candidate_.set(*problem_, copy, relaxation_.original(chosen));
        }
        if (exchange_(*problem_, candidate_, most_exchange_work, *clock_)) keep_candidate();
    }
    [[nodiscard]] double value(std::uint32_t option) const {
        return problem_->value[relaxation_.original(option)];
    }
    void keep_candidate() {
        if (std::ranges::find(candidate_.choice, none) != candidate_.choice.end()) return;
        candidate_.recount(*problem_);
        if (candidate_.value <= incumbent_->value + problem_->rounding()) return;
        found_ = found_ || candidate_.value > threshold_;
        *incumbent_ = candidate_;
        set_threshold(threshold_);
    }

    void dive() {
        const std::size_t root = relaxation_.mark();
        set_threshold(-infinity);
        here_ = root_prices_;
        bound(here_);
        complete();
        const std::size_t few = 16 + relaxation_.copies() / 50;
        while (!stopped_ && open_copies() > few) {
            if (!follow() || !decide_surest()) break;
        }
        if (!stopped_) complete();
        if (!stopped_) search(here_, most_entered_in_dive);
        relaxation_.undo(root);
    }
    /// Searches parts of the incumbent again, one after the other, for as much work as `most` or until a round of
    /// them is in vain.
    void improve(std::size_t most) {
        const std::size_t end = nodes_ + most;
        for (bool better = true; better && !stopped_ && nodes_ < end && bound_ > incumbent_->value;) {
            set_threshold(-infinity);
            if (reoptimise(root_prices_, at_top) <= threshold_ && !stopped_) bound_ = std::min(bound_, reached());
            if (stopped_ || bound_ <= incumbent_->value) return;
            const double here = bound(root_prices_, infinity);
            neighbourhood_.assign(relaxation_, incumbent_->choice, here - threshold_);
#ifdef DBG
            fprintf(stderr,"improve from %.3f bound %.3f size %zu options %zu nodes %zu end %zu cpu %.3f\n",incumbent_->value,bound_,searched_again_,relaxation_.allowed(),nodes_,end,double(::clock())/1e6);
#endif
            better = false;
            std::size_t complete = 0, rounds = relaxation_.resources();
            for (std::size_t i = 0; i < rounds && !stopped_ && nodes_ < end; ++i) {
                const double value = incumbent_->value;
                complete += search_again() ? 1 : 0;
                better = better || incumbent_->value > value;
            }
            if (better || 2 * complete < rounds) continue;
            // What was searched was too little of the problem to find anything.
            searched_again_ += searched_again_ / 2;
            better = searched_again_ < relaxation_.copies();
        }
    }
    /// Whether all of a neighbourhood was searched.
    bool search_again() {
        const std::size_t root = relaxation_.mark();
        neighbourhood_.next(searched_again_);
        set_threshold(-infinity);
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy) {
            if (neighbourhood_.free(copy) || relaxation_.allowed_of(copy) < 2) continue;
            for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k)
                if (relaxation_.allowed(k) && relaxation_.original(k) == incumbent_->choice[copy]) {
                    relaxation_.decide(k);
                    break;
                }
        }
        const bool complete = search(root_prices_, most_entered_again);
        relaxation_.undo(root);
        return complete;
    }
    [[nodiscard]] std::size_t open_copies() const {
        std::size_t sum = 0;
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy)
            sum += relaxation_.allowed_of(copy) > 1 ? 1 : 0;
        return sum;
    }
    /// Lets here_ follow what was decided. False: nothing is left, or it is late.
    bool follow() {
        current_ = here_;
        direction_.assign(here_.size(), 0);
        for (int step = 0; step < 12; ++step) {
            if (stop()) return false;
            const double here = bound(current_);
            if (here == -infinity) return false;
            if (!step_to(here - std::max(gap_, 1e-3 * std::abs(here)), here, 0.3)) break;
        }
        here_ = current_;
        return bound(here_, infinity) > -infinity;
    }
    /// Decides a sixth of the copies that are served once. False: there are none.
    bool decide_surest() {
        sure_.clear();
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy) {
            if (relaxation_.allowed_of(copy) < 2 || relaxation_.served(copy) != 1) continue;
            double second = infinity;
            std::uint32_t chosen = none;
            for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k) {
                if (relaxation_.taken(k))
                    chosen = k;
                else if (relaxation_.allowed(k))
                    second = std::min(second, relaxation_.loss(k));
            }
            sure_.push_back({-second, chosen});
        }
        std::sort(sure_.begin(), sure_.end());
        sure_.resize((sure_.size() + 5) / 6);
        for (const Child& child : sure_) relaxation_.decide(child.option);
        return !sure_.empty();
    }

    static constexpr std::size_t work_of_state = 256;  ///< numbers in tables that take as long as a state of the core
    static constexpr std::size_t nodes_between_completions = 64, most_entered_at_first = 8, growth_of_entries = 16, first_searched_again = 40,
                                  most_entered_again = 60, most_entered_in_dive = 400;
    static constexpr std::size_t most_exchange_work = std::size_t{1} << 24;

    const CompactProblem* problem_ = nullptr;
    Incumbent* incumbent_ = nullptr;
    Clock* clock_ = nullptr;
    JobPrices relaxation_;
    Exchange exchange_;
    Neighbourhood neighbourhood_;
    Incumbent candidate_;
    std::vector<double> root_prices_, prices_, here_, current_, direction_;
    std::vector<Node> stack_;
    std::vector<Child> children_, sure_;
    std::size_t nodes_ = 0, most_nodes_ = 0;
    std::size_t searched_again_ = 0;  ///< copies of a neighbourhood
    double bound_ = 0, threshold_ = 0, gap_ = 0;
    bool found_ = false;
    std::optional<StopReason> stopped_;
};

}  // namespace goodput::detail

#endif
