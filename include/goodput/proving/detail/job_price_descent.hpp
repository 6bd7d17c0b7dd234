#ifndef GOODPUT_PROVING_DETAIL_JOB_PRICE_DESCENT_HPP
#define GOODPUT_PROVING_DETAIL_JOB_PRICE_DESCENT_HPP

// Lowers the bound of job_prices.hpp by subgradient steps, whose lengths aim at a threshold (Polyak 1969),
// and leaves out on the way whatever cannot be part of an allotment above the threshold. Counts the work, and
// stops at the caller's limits.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/proving/detail/job_prices.hpp"

namespace goodput::detail {

/// How far and how long job prices are improved.
struct DescentSteps {
    int count;
    double length;        ///< first, as a part of the way to the threshold
    int patience;         ///< steps without a better bound until it is halved
    double least_length;  ///< where that ends
    int between_losses;   ///< steps from one look at what can be left out to the next
};

class JobPriceDescent {
public:
    /// Takes over a problem, with nothing left out; false as JobPrices::assign().
    bool assign(const CompactProblem& problem, std::span<const double> prices, const AllotOptions& options,
                Clock& clock) {
        nodes_ = work_ = 0;
        most_nodes_ = options.most_states;
        clock_ = &clock;
        stopped_.reset();
        last_ = infinity;
        rounding_ = problem.rounding();
        return relaxation_.assign(problem, prices, most_work, 2 * options.memory_states);
    }

    /// Takes the caller's limits anew, for the same problem.
    void go_on(const AllotOptions& options) {
        nodes_ = 0;
        most_nodes_ = options.most_states;
        stopped_.reset();
    }

    [[nodiscard]] JobPrices& relaxation() { return relaxation_; }
    [[nodiscard]] const JobPrices& relaxation() const { return relaxation_; }
    /// States that were looked at, or what did as much work.
    [[nodiscard]] std::size_t nodes() const { return nodes_; }
    /// Work so far, in numbers of tables that were read or written, or what takes as long.
    [[nodiscard]] std::size_t work() const { return work_; }
    /// Counts work that was done elsewhere.
    void count(std::size_t work) {
        work_ += work;
        nodes_ += work / work_of_state;
    }
    /// Why the caller's limits ended it, if they did.
    [[nodiscard]] std::optional<StopReason> stopped() const { return stopped_; }

    /// Only allotments above it are of interest.
    void set_threshold(double threshold) { threshold_ = threshold; }
    [[nodiscard]] double threshold() const { return threshold_; }

    /// JobPrices::bound(), counted. Where it gets late on the way, stopped() says so.
    double bound(std::span<const double> prices, double most_loss = JobPrices::no_losses) {
        last_ = relaxation_.bound(prices, *clock_, most_loss);
        ++nodes_;
        count(relaxation_.work());
        if (clock_->late(1)) stopped_ = StopReason::deadline;
        return last_;
    }

    /// Lowers the bound from `prices`, which become the best met, and leaves out what falls to the threshold.
    /// At most the threshold: nothing of interest is left. The last bound's choice may be an allotment, see
    /// served_once().
    double lower(std::vector<double>& prices, const DescentSteps& steps) {
        current_ = prices;
        direction_.assign(prices.size(), 0);
        double best = infinity, length = steps.length;
        for (int step = 0, in_vain = 0; step < steps.count && !stop(); ++step) {
            const bool losses = step % steps.between_losses == 0 || step + 1 == steps.count;
            const double here = bound(current_, losses ? most_loss() : JobPrices::no_losses);
            if (stopped_) return best;
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
            if (!step_to(target, here, length)) break;
        }
        return best;
    }

    /// Lets prices follow what was decided, by so many steps, with nothing left out. False: nothing is
    /// possible any more, or a limit was reached.
    bool follow(std::vector<double>& prices, int steps) {
        current_ = prices;
        direction_.assign(prices.size(), 0);
        for (int step = 0; step < steps; ++step) {
            if (stop()) return false;
            const double here = bound(current_);
            if (stopped_ || here == -infinity) return false;
            if (!step_to(here - std::max(rounding_, 1e-3 * std::abs(here)), here, 0.3)) break;
        }
        prices = current_;
        return bound(prices, infinity) > -infinity && !stopped_;
    }

    /// Forbids what is part of no allotment above the threshold, by the losses of the last bound, which was
    /// `here`. False: a copy has nothing left.
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

    /// Whether the last bound served every copy once: its choice is an allotment then, as far as whole
    /// resources go.
    [[nodiscard]] bool served_once() const {
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy)
            if (relaxation_.served(copy) != 1) return false;
        return true;
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr std::size_t most_work = std::size_t{1} << 28;
    static constexpr std::size_t work_of_state =
        256;  ///< numbers in tables that take as long as a state of the core
    static constexpr double memory_of_direction = 0.4, least_progress = 0.01;

    bool stop() {
        if (nodes_ >= most_nodes_) stopped_ = StopReason::states;
        if (clock_->late(relaxation_.most_work())) stopped_ = StopReason::deadline;
        return stopped_.has_value();
    }

    /// Up to where losses are of interest, as far as the last bound tells.
    [[nodiscard]] double most_loss() const {
        return last_ > -infinity ? std::max(last_ - threshold_, 0.0) : infinity;
    }

    /// By how much a bound has to fall for the steps not to be in vain.
    [[nodiscard]] double progress(double best) const {
        return threshold_ > -infinity ? least_progress * (best - threshold_) : 1e-6 * std::abs(best);
    }

    /// Moves current_ against the subgradient: a copy that is served by several resources becomes dearer, one
    /// that is served by none cheaper. False: all are served once, and no step is left.
    bool step_to(double target, double here, double length) {
        double square = 0;
        for (std::size_t copy = 0; copy < direction_.size(); ++copy) {
            direction_[copy] =
                static_cast<double>(relaxation_.served(copy)) - 1 + memory_of_direction * direction_[copy];
            square += direction_[copy] * direction_[copy];
        }
        if (square < 1e-9) return false;
        const double factor = length * std::max(here - target, 1e-3 * rounding_) / square;
        for (std::size_t copy = 0; copy < direction_.size(); ++copy)
            current_[copy] += factor * direction_[copy];
        return true;
    }

    JobPrices relaxation_;
    Clock* clock_ = nullptr;
    std::vector<double> current_, direction_;  // by copy
    double threshold_ = 0, last_ = 0, rounding_ = 0;
    std::size_t nodes_ = 0, most_nodes_ = 0, work_ = 0;
    std::optional<StopReason> stopped_;
};

}  // namespace goodput::detail

#endif
