#ifndef GOODPUT_PROVING_DETAIL_JOB_PRICE_DESCENT_HPP
#define GOODPUT_PROVING_DETAIL_JOB_PRICE_DESCENT_HPP

// Lowers the bound of job_prices.hpp by subgradient steps on the job prices. The step lengths aim at a
// threshold (Polyak 1969): only allotments worth more are of interest. On the way, the descent leaves out
// every option that cannot be part of an allotment above the threshold. It counts the work, and stops at
// the caller's limits.

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

namespace goodput::inline v0_1::detail {

/// Settings of a descent: how many steps, and how long they are.
struct DescentSteps {
    int count;
    double length;        ///< length of the first steps, as a part of the way to the threshold
    int patience;         ///< number of steps without a better bound after which the length is halved
    double least_length;  ///< the descent ends when the length falls below this
    int between_losses;   ///< number of steps after which it looks again for options to leave out
};

class JobPriceDescent {
public:
    /// Takes a problem, with no option left out. Returns false if JobPrices::assign() does.
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

    /// Takes new limits from the caller for the same problem.
    void go_on(const AllotOptions& options) {
        nodes_ = 0;
        most_nodes_ = options.most_states;
        stopped_.reset();
    }

    [[nodiscard]] JobPrices& relaxation() { return relaxation_; }
    [[nodiscard]] const JobPrices& relaxation() const { return relaxation_; }
    /// Returns how many states were looked at; other work counts as the number of states that take as long.
    [[nodiscard]] std::size_t nodes() const { return nodes_; }
    /// Returns the work so far: the number of table entries read or written. Other work counts as the
    /// number of entries that take as long.
    [[nodiscard]] std::size_t work() const { return work_; }
    /// Adds work that was done elsewhere.
    void count(std::size_t work) {
        work_ += work;
        nodes_ += work / work_of_state;
    }
    /// Returns which of the caller's limits ended the descent, or nothing if none did.
    [[nodiscard]] std::optional<StopReason> stopped() const { return stopped_; }

    /// Sets the threshold: only allotments above it are of interest.
    void set_threshold(double threshold) { threshold_ = threshold; }
    [[nodiscard]] double threshold() const { return threshold_; }

    /// Returns JobPrices::bound() and counts its work. If time runs out during the call, stopped() says so.
    double bound(std::span<const double> prices, double most_loss = JobPrices::no_losses) {
        last_ = relaxation_.bound(prices, *clock_, most_loss);
        ++nodes_;
        count(relaxation_.work());
        if (clock_->late(1)) stopped_ = StopReason::deadline;
        return last_;
    }

    /// Lowers the bound, starting from `prices`, which become the best prices found. Leaves out options
    /// whose bound falls to the threshold. If the bound returned does not exceed the threshold, nothing of
    /// interest is left. The choice of the last bound may be an allotment, see served_once().
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

    /// Adapts the prices to the decisions made so far by at most `steps` steps, without leaving anything
    /// out. Returns false if nothing is possible any more, or if a limit was reached.
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

    /// Forbids options that are part of no allotment above the threshold, by the losses of the last bound,
    /// which was `here`. Returns false if a copy has no option left.
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

    /// Returns whether the last bound served every copy once. Its choice is then an allotment, as far as
    /// whole resources are concerned.
    [[nodiscard]] bool served_once() const {
        for (std::size_t copy = 0; copy < relaxation_.copies(); ++copy)
            if (relaxation_.served(copy) != 1) return false;
        return true;
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr std::size_t most_work = std::size_t{1} << 28;
    /// One state of the search of the core, that is, of the undecided choices (allot/detail/search.hpp),
    /// takes as long as this many table entries.
    static constexpr std::size_t work_of_state = 256;
    static constexpr double memory_of_direction = 0.4, least_progress = 0.01;

    bool stop() {
        if (nodes_ >= most_nodes_) stopped_ = StopReason::states;
        if (clock_->late(relaxation_.most_work())) stopped_ = StopReason::deadline;
        return stopped_.has_value();
    }

    /// Returns the largest loss that is of interest, as estimated from the last bound.
    [[nodiscard]] double most_loss() const {
        return last_ > -infinity ? std::max(last_ - threshold_, 0.0) : infinity;
    }

    /// Returns by how much a bound must fall to count as progress.
    [[nodiscard]] double progress(double best) const {
        return threshold_ > -infinity ? least_progress * (best - threshold_) : 1e-6 * std::abs(best);
    }

    /// Moves current_ against the subgradient: a copy that several resources serve becomes dearer, one that
    /// none serves becomes cheaper. Returns false if every copy is served once, so that there is no
    /// direction left.
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

}  // namespace goodput::inline v0_1::detail

#endif
