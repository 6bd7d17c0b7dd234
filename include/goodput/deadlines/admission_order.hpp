#ifndef GOODPUT_DEADLINES_ADMISSION_ORDER_HPP
#define GOODPUT_DEADLINES_ADMISSION_ORDER_HPP

// Who is promised an end in time where not all can be: first come, first promised.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/deadlines/admission.hpp"

namespace goodput {

/// Whom an order admits.
struct OrderedAdmission {
    std::vector<std::size_t> admitted{};  ///< jobs, in the order given
    std::vector<std::size_t> refused{};  ///< no plan was found for them with all who are admitted before them
    std::vector<std::size_t> unproven{};  ///< of the refused: neither plan nor proof was found
    /// Of all who are admitted together, by their index in `admitted`; its prices are empty.
    Admission admission{};
};

/// Admits jobs in the order given: each one that can be kept together with those before it that were
/// admitted. Put running promises first and newcomers behind them. Refuses what admit() refuses
/// (std::invalid_argument).
inline OrderedAdmission admit_in_order(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                                       const AdmissionOptions& options = {}) {
    OrderedAdmission answer;
    std::vector<DeadlineJob> kept;
    // Takes jobs from `begin` to `end` in if all of them can be kept.
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
    // As many as can be at once, half of them where they cannot.
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

}  // namespace goodput

#endif
