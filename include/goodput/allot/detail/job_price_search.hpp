#ifndef GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP
#define GOODPUT_ALLOT_DETAIL_JOB_PRICE_SEARCH_HPP

// The exact search by prices on jobs (job_prices.hpp), depth first: at every node the prices take a few subgradient
// steps, and whatever cannot be part of an allotment above the threshold is left out (Posta, Ferland and Michelon 2012,
// who did this for generalised assignment). The job of which every option costs most is decided next.
//
// The threshold begins just below the bound and falls: what is left of the problem is small while it is near the bound,
// and the bound is near the optimum. Every search that ends without a find lowers the bound to its threshold.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/allot/detail/clock.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/exchange.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/job_prices.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/allot/rules.hpp"

namespace goodput::detail {

template <StoppingRule Stopping>
class JobPriceSearch {
public:
    /// Improves `incumbent`, an allotment, until it is proven within the gap. `known`: a bound. Nothing where the
    /// relaxation does not apply.
    std::optional<SearchOutcome> run(const CompactProblem& problem, const Relaxation& relaxation, double known,
                                     Incumbent& incumbent, const AllotOptions& options, Clock& clock,
                                     const Stopping& stopping) {
        if (!relaxation_.assign(problem, relaxation.prices(), most_work)) return std::nullopt;
        problem_ = &problem;
        incumbent_ = &incumbent;
        clock_ = &clock;
        nodes_ = 0;
        most_nodes_ = options.most_states;
        stopped_.reset();
        SearchOutcome outcome{std::max(known, incumbent.value), StopReason::proven, 0};
        const auto gap_at = [&] {
            return std::max(std::min(stopping(incumbent_->value, outcome.bound, options.gap),
                                     stopping(incumbent_->value, incumbent_->value, options.gap)),
                            problem.rounding());
        };
        gap_ = gap_at();
        relaxation_.start(best_prices_, relaxation.prices());
        raise_threshold(-std::numeric_limits<double>::infinity());
        double root = reoptimise(best_prices_, 400, 1, true);
        if (!stopped_ && root > -std::numeric_limits<double>::infinity()) {
            outcome.bound = std::min(outcome.bound, std::max(incumbent.value, problem.round_down(root)));
            root_prices_ = best_prices_;
            dive();
        } else if (!stopped_)
            outcome.bound = incumbent.value;
        double below = 0;
        const double granule = problem.granularity;
        while (!stopped_) {
            gap_ = gap_at();
            const double difference = outcome.bound - incumbent.value;
            if (difference <= gap_) break;
            if (granule > 0)
                below = below == 0 ? granule : std::max(below + granule, std::floor(1.25 * below / granule) * granule);
            else
                below = std::max({1.5 * below, difference / 32, gap_});
            const double target = outcome.bound - below;
            relaxation_.undo(0);
            raise_threshold(target);
            found_ = false;
            search();
            if (stopped_) break;
            outcome.bound = found_ || target <= incumbent.value ? incumbent.value + (granule > 0 ? 0 : gap_)
                                                              : target;
            if (trace) fprintf(stderr, "    refuted above %.3f incumbent %.3f nodes %zu\n", outcome.bound, incumbent.value, nodes_);
        }
        outcome.bound = std::max(outcome.bound, incumbent.value);
        outcome.nodes = nodes_;
        if (stopped_) outcome.stopped = *stopped_;
        return outcome;
    }
    static inline bool trace = false;

private:
    static constexpr std::size_t most_work = std::size_t{1} << 26;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Node {
        std::size_t mark;
        std::size_t first, child, end;  // in children_
    };

    struct Child {
        double loss;
        std::uint32_t option;
    };

    /// Only allotments above both `target` and the incumbent are of interest.
    void raise_threshold(double target) {
        threshold_ = problem_->least_bound_above(std::max(target, incumbent_->value + (problem_->granularity > 0 ? 0 : gap_)));
    }

    bool stop() {
        if (nodes_ >= most_nodes_) stopped_ = StopReason::states;
        if (clock_->late(relaxation_.work())) stopped_ = StopReason::deadline;
        return stopped_.has_value();
    }

    double bound(std::span<const double> prices, bool losses) {
        nodes_ += 1 + relaxation_.work() / 256;
        return relaxation_.bound(prices, losses);
    }

    void search() {
        stack_.clear();
        children_.clear();
        prices_.assign(root_prices_.begin(), root_prices_.end());
        const std::size_t width = relaxation_.copies();
        std::size_t count = 0;
        enter(0, count++);
        while (!stack_.empty() && !stopped_) {
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
            std::copy_n(prices_.begin() + static_cast<std::ptrdiff_t>((depth - 1) * width), width,
                        prices_.begin() + static_cast<std::ptrdiff_t>(depth * width));
            if (!relaxation_.allowed(option)) continue;
            relaxation_.decide(option);
            enter(depth, count++);
        }
    }

    /// Bounds what is allowed now; unless nothing comes of it, puts a node with its children on the stack.
    void enter(std::size_t depth, std::size_t count) {
        const std::size_t width = relaxation_.copies();
        here_.assign(prices_.begin() + static_cast<std::ptrdiff_t>(depth * width),
                     prices_.begin() + static_cast<std::ptrdiff_t>((depth + 1) * width));
        std::size_t allowed = count_allowed();
        double bound_here = infinity;
        for (int round = 0; round < 4; ++round) {
            bound_here = reoptimise(here_, depth == 0 ? 60 : 16, 0.5, false);
            if (stopped_ || bound_here <= threshold_) return;
            const std::size_t still = count_allowed();
            if (still > allowed - allowed / 10) break;
            allowed = still;
        }
        if (count % 64 == 1) complete();
        const double here = bound(here_, true);
        if (!leave_out(here)) return;
        std::copy(here_.begin(), here_.end(), prices_.begin() + static_cast<std::ptrdiff_t>(depth * width));
        const double slack = here - threshold_;
        double best = -infinity;
        std::size_t copy = relaxation_.copies();
        for (std::size_t c = 0; c < relaxation_.copies(); ++c) {
            if (relaxation_.allowed_of(c) < 2) continue;
            double tree = 0;
            for (std::uint32_t k = relaxation_.first(c); k < relaxation_.end(c); ++k)
                if (relaxation_.allowed(k)) tree += std::exp(-8 * relaxation_.loss(k) / slack);
            if (-tree > best) {
                best = -tree;
                copy = c;
            }
        }
        if (copy == relaxation_.copies()) {  // all are decided
            adopt();
            return;
        }
        const std::size_t first = children_.size();
        for (std::uint32_t k = relaxation_.first(copy); k < relaxation_.end(copy); ++k)
            if (relaxation_.allowed(k)) children_.push_back({relaxation_.loss(k), k});
        std::sort(children_.begin() + static_cast<std::ptrdiff_t>(first), children_.end(), [](const Child& a, const Child& b) {
            return a.loss != b.loss ? a.loss < b.loss : a.option < b.option;
        });
        stack_.push_back({relaxation_.mark(), first, first, children_.size()});
    }

    [[nodiscard]] std::size_t count_allowed() const {
        std::size_t sum = 0;
        for (std::size_t c = 0; c < relaxation_.copies(); ++c) sum += relaxation_.allowed_of(c);
        return sum;
    }

    /// Lowers the bound by subgradient steps from `prices`, which become the best met, and leaves out what falls to
    /// the threshold on the way. At most the threshold: nothing of interest is left.
    double reoptimise(std::vector<double>& prices, int steps, double scale, bool at_root) {
        current_ = prices;
        direction_.assign(prices.size(), 0);
        double best = infinity;
        int in_vain = 0;
        for (int step = 0; step < steps; ++step) {
            if (stop()) return best;
            const bool losses = at_root ? step % 20 == 19 : step % 5 == 4 || step + 1 == steps;
            const double here = bound(current_, losses);
            if (here == -infinity) return here;
            if (here < best) {
                in_vain = here < best - 1e-6 * std::abs(best) || !at_root ? 0 : in_vain + 1;
                best = here;
                prices = current_;
            } else
                ++in_vain;
            if (best <= threshold_) return best;
            if (losses && !leave_out(here)) return -infinity;
            if (in_vain >= (at_root ? 12 : 8)) {
                scale /= 2;
                in_vain = 0;
                current_ = prices;
                std::fill(direction_.begin(), direction_.end(), 0.0);
                if (scale < (at_root ? 1e-3 : 0.05)) break;
                continue;
            }
            double square = 0;
            for (std::size_t c = 0; c < direction_.size(); ++c) {
                direction_[c] = static_cast<double>(relaxation_.served(c)) - 1 + 0.4 * direction_[c];
                square += direction_[c] * direction_[c];
            }
            if (square < 1e-9) {
                adopt();
                if (best <= threshold_) return best;
                break;
            }
            const double length = scale * std::max(here - threshold_, 1e-3 * gap_) / square;
            for (std::size_t c = 0; c < direction_.size(); ++c) current_[c] += length * direction_[c];
        }
        return best;
    }

    /// Forbids what is part of no allotment above the threshold. False: a copy has nothing left.
    bool leave_out(double here) {
        const double most_loss = here - threshold_;
        for (std::size_t c = 0; c < relaxation_.copies(); ++c) {
            if (relaxation_.allowed_of(c) < 2) continue;
            for (std::uint32_t k = relaxation_.first(c); k < relaxation_.end(c); ++k)
                if (relaxation_.allowed(k) && relaxation_.loss(k) >= most_loss) relaxation_.forbid(k);
            if (relaxation_.allowed_of(c) == 0) return false;
        }
        return true;
    }

    /// Takes the last bound()'s choice as an allotment, if it is one and better.
    void adopt() {
        candidate_.clear(*problem_);
        for (std::size_t c = 0; c < relaxation_.copies(); ++c)
            for (std::uint32_t k = relaxation_.first(c); k < relaxation_.end(c); ++k)
                if (relaxation_.taken(k)) candidate_.set(*problem_, c, relaxation_.original(k));
        candidate_.recount(*problem_);
        if (candidate_.feasible(*problem_)) keep_candidate();
    }
    void keep_candidate() {
        for (const std::uint32_t option : candidate_.choice)
            if (option == none) return;
        if (candidate_.value <= incumbent_->value + problem_->rounding()) return;
        if (candidate_.value > threshold_) found_ = true;
        *incumbent_ = candidate_;
        if (trace) fprintf(stderr, "    incumbent %.3f nodes %zu\n", candidate_.value, nodes_);
        threshold_ = std::max(threshold_, problem_->least_bound_above(incumbent_->value + (problem_->granularity > 0 ? 0 : gap_)));
    }
    /// Makes an allotment of the last bound()'s choice: who is served twice keeps the more valuable.
    void complete() {
        candidate_.clear(*problem_);
        for (std::size_t c = 0; c < relaxation_.copies(); ++c) {
            std::uint32_t chosen = none;
            for (std::uint32_t k = relaxation_.first(c); k < relaxation_.end(c); ++k)
                if (relaxation_.taken(k) && (chosen == none || problem_->value[relaxation_.original(k)] >
                                                                   problem_->value[relaxation_.original(chosen)]))
                    chosen = k;
            if (chosen != none && candidate_.fits(*problem_, relaxation_.original(chosen)))
                candidate_.set(*problem_, c, relaxation_.original(chosen));
        }
        if (exchange_(*problem_, candidate_, std::size_t{1} << 24, *clock_)) keep_candidate();
    }

    /// Decides a part of the copies that are served once, those of which anything else costs most, and looks again,
    /// until all are decided.
    void dive() {
        here_ = root_prices_;
        const double threshold = threshold_;
        complete();
        for (int round = 0; round < 40 && !stopped_; ++round) {
            threshold_ = -infinity;
            double reached = reoptimise_in_dive();
            threshold_ = std::max(threshold, threshold_);
            if (stopped_ || reached == -infinity) break;
            if (round % 4 == 3) complete();
            sure_.clear();
            for (std::size_t c = 0; c < relaxation_.copies(); ++c) {
                if (relaxation_.allowed_of(c) < 2 || relaxation_.served(c) != 1) continue;
                double second = infinity;
                std::uint32_t chosen = none;
                for (std::uint32_t k = relaxation_.first(c); k < relaxation_.end(c); ++k) {
                    if (!relaxation_.allowed(k)) continue;
                    if (relaxation_.taken(k))
                        chosen = k;
                    else
                        second = std::min(second, relaxation_.loss(k));
                }
                sure_.push_back({-second, chosen});
            }
            if (sure_.empty()) break;
            std::sort(sure_.begin(), sure_.end(), [](const Child& a, const Child& b) {
                return a.loss != b.loss ? a.loss < b.loss : a.option < b.option;
            });
            sure_.resize((sure_.size() + 5) / 6);
            for (const Child& child : sure_) relaxation_.decide(child.option);
        }
        if (!stopped_) complete();
        relaxation_.undo(0);
        threshold_ = std::max(threshold, problem_->least_bound_above(incumbent_->value + (problem_->granularity > 0 ? 0 : gap_)));
    }
    double reoptimise_in_dive() {
        const double difference = std::max(gap_, 1e-3 * std::abs(incumbent_->value));
        current_ = here_;
        direction_.assign(here_.size(), 0);
        double here = infinity;
        for (int step = 0; step < 12; ++step) {
            if (stop()) return here;
            here = bound(current_, step == 11);
            if (here == -infinity) return here;
            double square = 0;
            for (std::size_t c = 0; c < direction_.size(); ++c) {
                direction_[c] = static_cast<double>(relaxation_.served(c)) - 1 + 0.4 * direction_[c];
                square += direction_[c] * direction_[c];
            }
            if (step == 11 || square < 1e-9) break;
            const double length = 0.3 * difference / square;
            for (std::size_t c = 0; c < direction_.size(); ++c) current_[c] += length * direction_[c];
        }
        here_ = current_;
        return bound(here_, true);
    }

    const CompactProblem* problem_ = nullptr;
    Incumbent* incumbent_ = nullptr;
    Clock* clock_ = nullptr;
    JobPrices relaxation_;
    Exchange exchange_;
    Incumbent candidate_;
    std::vector<double> best_prices_, root_prices_, prices_, here_, current_, direction_;
    std::vector<Node> stack_;
    std::vector<Child> children_, sure_;
    std::size_t nodes_ = 0, most_nodes_ = 0;
    double threshold_ = 0, gap_ = 0;
    bool found_ = false;
    std::optional<StopReason> stopped_;
};

}  // namespace goodput::detail

#endif
