#ifndef GOODPUT_PROGRAM_REPLAY_SIZES_HPP
#define GOODPUT_PROGRAM_REPLAY_SIZES_HPP

// Work in the wrong unit makes a replay that looks right. This header warns of jobs whose size is
// implausible.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/sim/world.hpp"

namespace cli {

/// Alone with the whole cluster, a plausible job takes from a second to four weeks.
inline constexpr double shortest_job_seconds = 1, longest_job_seconds = 28 * 86400.0;

/// Returns one sentence for every kind of jobs whose first job takes less or more than that. `kinds` are by
/// job of `alone`, and `unit` names the unit of the work.
template <goodput::IsolatedTimes Times>
std::vector<std::string> warnings_of_sizes(std::span<const std::string> kinds, const Times& alone,
                                           std::string_view unit) {
    std::vector<std::string> warnings;
    std::vector<std::string_view> seen;
    for (std::size_t job = 0; job < kinds.size(); ++job) {
        if (std::find(seen.begin(), seen.end(), kinds[job]) != seen.end()) continue;
        seen.push_back(kinds[job]);
        const double seconds = alone.isolated_seconds(job, 1);
        if (!std::isfinite(seconds) || (seconds >= shortest_job_seconds && seconds <= longest_job_seconds))
            continue;
        const bool is_short = seconds < shortest_job_seconds;
        warnings.push_back("a job of '" + kinds[job] + "' alone with the whole cluster would take " +
                           goodput::rounded_text_of(is_short ? seconds : seconds / 86400) +
                           (is_short ? " s" : " days") + ": " + std::string(unit));
    }
    return warnings;
}

}  // namespace cli

#endif
