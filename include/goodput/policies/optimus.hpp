#ifndef GOODPUT_POLICIES_OPTIMUS_HPP
#define GOODPUT_POLICIES_OPTIMUS_HPP

// Optimus' policy (Peng et al., EuroSys'18, section 4.1): every active job first gets its smallest allotment,
// in the order of submission; what is left goes where it shortens the jobs' remaining times most,
//
//     least sum over the admitted jobs of work_j / goodput_jk
//
// where work is what the job declared that is left of it (Job::remaining_examples). The published greedy
// rule, one GPU at a time to the job with the largest work / goodput(K) - work / goodput(K + 1), approximates
// this sum; the allotment step finds its least value. Hence, T = work / goodput and `spread` = the sum over
// admitted jobs of (longest T - shortest T) of their options,
//
//     value = 1 + spread + longest T - T         next to nothing for the options of jobs not admitted
//
// so that no saving is worth dropping an admitted job, and jobs that are not admitted get what nobody else
// can use. (The allotment step's relative gap refers to the sum of these values: with n jobs the sum of
// remaining times is exact to about gap * n * spread.)
//
// What differs from the published system:
// - Work is declared by the owner; Optimus extrapolates the loss curve (its re-implementations know the
//   truth). A job that declared nothing, or of which nothing has been measured, counts as if it had
//   `assumed_seconds` to go on its slowest option.
// - Allotments of GPUs only, no parameter servers. The sizes are those that always pack.
// - Models are learnt while jobs run: a job at most doubles the number of GPUs that it has been measured on
//   (published: a few profile runs before the first start).
// - The cost of a restart counts. The published rule ignores it, but decides every ten minutes, and on one
//   GPU type, where a job need not move while its number of GPUs stays.
// - A job whose smallest allotment finds no room in what those before it leave waits, even if moving another
//   to another GPU type would make room.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"

namespace goodput {

/// Least sum of the admitted jobs' remaining times; a RoundPolicy.
struct Optimus {
    double assumed_seconds = 3600;  ///< remaining time of a job without declared work
    /// Adds the cost of a restart to T of all options but the one held.
    bool counts_restarts = true;

    static constexpr bool weights_count = false;  ///< who is admitted does not depend on them

    /// Refuses a remaining time that is none (std::invalid_argument).
    void validate() const { require_positive("policy optimus", "assumed", assumed_seconds); }

    /// Twice the GPUs measured on any type, at least one replica.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        return Sia{}.most_gpus(job, model, gpu_type);
    }

    /// Values of all jobs' options.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto by_submission = detail::ordered(rows, [](const OptionRow&) { return 0; });
        // What takes least of what there is (who stays on a drained node takes nothing). Where that exists
        // in several pools, what it holds, or else that with the most room.
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

    /// T of a job's options.
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
        /// `option` has goodput.
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

}  // namespace goodput

#endif
