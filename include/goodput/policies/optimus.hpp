#ifndef GOODPUT_POLICIES_OPTIMUS_HPP
#define GOODPUT_POLICIES_OPTIMUS_HPP

// Optimus' policy (Peng et al., EuroSys'18, section 4.1). Every active job first gets its smallest
// allotment, in the order of submission, as long as it fits. Such a job is admitted. The other GPUs go
// where they shorten the jobs' remaining times most,
//
//     least sum over the admitted jobs of work_j / goodput_jk
//
// where work is the remaining work that the job declared (Job::remaining_examples). The published greedy
// rule gives one GPU at a time to the job with the largest work / goodput(K) - work / goodput(K + 1), K
// being its number of GPUs. This approximates the least sum; here the allotment finds the least sum itself.
// Let T = work / goodput. A job's longest T is the largest among its options, and `spread` is the sum of
// longest T - shortest T over the admitted jobs. The values are
//
//     value = 1 + spread + longest T - T         nearly 0 for the options of jobs that are not admitted
//
// so no saving is worth leaving out an admitted job, and jobs that are not admitted get what no other job
// can use. (The allotment's relative gap refers to the sum of these values. With n jobs, the sum of
// remaining times is exact to about gap * n * spread.)
//
// Differences from the published system:
// - The owner declares the work; the published Optimus extrapolates the loss curve, and its
//   re-implementations use the true value. A job without declared work, or without any measurement, is
//   assumed to have `assumed_seconds` left on its slowest option.
// - Only GPUs are allotted, no parameter servers. A job may have the numbers of GPUs that the option maker
//   lists. With the default maker, ListedShapes, nodes can always be found for them.
// - Models are learnt while jobs run, so a job gets at most twice the number of GPUs on which it was
//   measured (published: a few profile runs before the first start).
// - The cost of a restart is included. The published rule ignores this cost. But it decides only every ten
//   minutes, and for a single GPU type, so a job need not move while its number of GPUs stays the same.
// - A job waits if its smallest allotment does not fit what earlier jobs leave, even if moving another job
//   to another GPU type would make room.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"

namespace goodput::inline v0_1 {

/// Minimises the sum of the admitted jobs' remaining times. It is a RoundPolicy.
struct Optimus {
    double assumed_seconds = 3600;  ///< remaining time of a job without declared work
    /// Whether T includes the cost of a restart, for all options except the held one.
    bool counts_restarts = true;

    static constexpr bool weights_count = false;  ///< false, because admission does not depend on the weights

    /// Throws std::invalid_argument if the remaining time is not above 0.
    void validate() const { require_positive("policy optimus", "assumed", assumed_seconds); }

    /// Returns twice the largest number of GPUs on which the job was measured, over all types; at least one
    /// replica.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        return Sia{}.most_gpus(job, model, gpu_type);
    }

    /// Sets the values of all jobs' options.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto by_submission = detail::ordered(rows, [](const OptionRow&) { return 0; });
        // Prefer the option that takes the fewest units (a job that stays on a drained node takes none). If
        // options of several pools take equally few, prefer what the job holds, and then the pool with the
        // most room.
        const auto smallest = [](const Round& now, const OptionRow& row, const Option& option, double room) {
            const auto uses = row.uses(static_cast<std::size_t>(&option - row.options.data()));
            const double units = uses.empty() ? 0 : uses.front().units;
            const bool held = option.configuration.same_gpus(now.held_by(row.job));
            return 1 / (units + (held ? 0 : 1 / (1.0 + room)) + 1e-9);
        };
        detail::serve_in_order(round, rows, by_submission, true, smallest);
        double spread = 0;
        std::vector<double> longest(rows.size(), not_admitted);
        for (std::size_t j = 0; j < rows.size(); ++j) {
            const OptionRow& row = rows[j];
            if (std::none_of(row.values.begin(), row.values.end(), [](double v) { return v > 0; })) continue;
            const RemainingSeconds seconds(*this, round, row);
            double shortest = std::numeric_limits<double>::infinity();
            for (const Option& option : row.options) {
                if (option.goodput <= 0) continue;
                shortest = std::min(shortest, seconds(option));
                longest[j] = std::max(longest[j], seconds(option));
            }
            spread += longest[j] - shortest;
        }
        for (std::size_t j = 0; j < rows.size(); ++j) {
            const OptionRow& row = rows[j];
            const RemainingSeconds seconds(*this, round, row);
            for (std::size_t k = 0; k < row.options.size(); ++k)
                row.values[k] = row.options[k].goodput <= 0 ? 0
                                : longest[j] == not_admitted
                                    ? 1e-9 * (1 + spread)
                                    : 1 + spread + longest[j] - seconds(row.options[k]);
        }
    }

private:
    static constexpr double not_admitted = -1;

    /// Computes T of the opening comment for a job's options.
    class RemainingSeconds {
    public:
        RemainingSeconds(const Optimus& policy, const Round& round, const OptionRow& row)
            : held_(round.held_by(row.job)) {
            double least = std::numeric_limits<double>::infinity();
            bool known = row.job.remaining_examples.has_value();
            for (const Option& option : row.options) {
                if (option.goodput <= 0) continue;
                least = std::min(least, option.goodput);
                known = known && option.knowledge != Knowledge::unknown;
            }
            work_ = known ? *row.job.remaining_examples : policy.assumed_seconds * least;
            if (policy.counts_restarts && !held_.empty()) restart_ = row.job.restart_cost_seconds;
        }
        /// Returns T. The option's goodput must be above 0.
        double operator()(const Option& option) const {
            return work_ / option.goodput + (option.configuration.same_gpus(held_) ? 0 : restart_);
        }

    private:
        Configuration held_;
        double work_ = 0;
        double restart_ = 0;
    };
};

static_assert(RoundPolicy<Optimus> && GrowthLimit<Optimus>);

}  // namespace goodput::inline v0_1

#endif
