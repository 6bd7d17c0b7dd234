#ifndef GOODPUT_DEADLINES_ADMISSION_ORDER_HPP
#define GOODPUT_DEADLINES_ADMISSION_ORDER_HPP

// Decides which jobs are promised an end in time if not all jobs can be: first come, first promised.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/deadlines/admission.hpp"

namespace goodput::inline v0_1 {

/// The jobs that were admitted and refused in a given order.
struct OrderedAdmission {
    std::vector<std::size_t> admitted{};  ///< jobs, in the order given
    /// Jobs for which no plan was found together with all jobs admitted before them.
    std::vector<std::size_t> refused{};
    std::vector<std::size_t> unproven{};  ///< refused jobs with neither a plan nor a proof
    /// The answer for all admitted jobs together, numbered as in `admitted`. Its prices are empty.
    Admission admission{};
};

/// Admits jobs in the order given: each job that can end in time together with those admitted before it.
/// Put running promises first and newcomers behind them. Throws std::invalid_argument for whatever admit()
/// rejects.
inline OrderedAdmission admit_in_order(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                                       const AdmissionOptions& options = {}) {
    OrderedAdmission answer;
    std::vector<DeadlineJob> kept;
    // Admits the jobs from `begin` to `end` if all of them can end in time.
    const auto take = [&](std::size_t begin, std::size_t end) {
        kept.insert(kept.end(), jobs.begin() + static_cast<std::ptrdiff_t>(begin),
                    jobs.begin() + static_cast<std::ptrdiff_t>(end));
        Admission all = admit(cluster, kept, options);
        if (all.status == AdmissionStatus::possible) {
            for (std::size_t j = begin; j < end; ++j) answer.admitted.push_back(j);
            answer.admission = std::move(all);
            return AdmissionStatus::possible;
        }
        kept.resize(kept.size() - (end - begin));
        return all.status;
    };
    // Try as many jobs as possible at once, and half as many after each failure.
    std::size_t next = 0, step = std::max<std::size_t>(jobs.size(), 1);
    answer.admission.status = AdmissionStatus::possible;
    while (next < jobs.size()) {
        step = std::min(step, jobs.size() - next);
        const AdmissionStatus status = take(next, next + step);
        if (status == AdmissionStatus::possible) {
            next += step;
            step *= 2;
        } else if (step > 1) {
            step /= 2;
        } else {
            answer.refused.push_back(next);
            if (status == AdmissionStatus::unknown) answer.unproven.push_back(next);
            ++next;
        }
    }
    return answer;
}

}  // namespace goodput::inline v0_1

#endif
