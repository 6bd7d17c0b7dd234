#ifndef GOODPUT_SHARE_RESULT_HPP
#define GOODPUT_SHARE_RESULT_HPP

// Shares of time, with their certificate.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// What a search for shares is asked for.
struct ShareOptions {
    /// Proven when objective and bound differ by at most gap times the larger of the two; with utilities, gap
    /// times the sum of rate * slope, so that the unit of rates does not count. Above 0; much below 1e-8
    /// rounding has the last word.
    double gap = 1e-7;
    /// Shares below that part of the job's largest are left out; 0: none. The middle of all best answers has
    /// a trace of everything.
    double least_part = 1e-10;
};

/// What is proven of shares.
enum class ShareStatus {
    optimal,    ///< to the gap asked for
    feasible,   ///< all constraints are kept; see bound
    infeasible  ///< no shares give the objective a finite number: nobody can run who has something to do
};

/// The word for it.
[[nodiscard]] inline std::string_view name_of(ShareStatus status) {
    if (status == ShareStatus::infeasible) return "infeasible";
    return status == ShareStatus::optimal ? "optimal" : "feasible";
}

/// Shares of time, feasible in any case.
struct ShareResult {
    std::size_t types = 0;         ///< number of GPU types
    std::vector<double> shares{};  ///< by job, then by GPU type: fractions of time
    std::vector<double> rates{};   ///< by job: effective rate in steps/s
    std::vector<double> levels{};  ///< by job, where the objective has levels: its own
    /// The number that the objective stands for, over the jobs that can run; see ShareProblem::can_run().
    double objective = 0;
    double bound = 0;                           ///< no shares have a better one, up to rounding
    ShareStatus status = ShareStatus::optimal;  ///< what is proven of them
    /// By GPU type: by how much the objective would improve for each GPU more, at the margin, at least 0.
    std::vector<double> prices{};
    bool deadlines_met = true;   ///< false: they cannot be met together, and none was asked for
    std::size_t iterations = 0;  ///< passes of the interior-point method, each over all jobs

    /// The shares of one job, by GPU type.
    [[nodiscard]] std::span<const double> of(std::size_t job) const {
        return {shares.data() + job * types, types};
    }
    /// One line for a log.
    [[nodiscard]] std::string report() const {
        return std::string(name_of(status)) + ": objective " + rounded_text_of(objective) + ", bound " +
               rounded_text_of(bound) + ", " + text_of(iterations) + " iterations";
    }
};

}  // namespace goodput

#endif
