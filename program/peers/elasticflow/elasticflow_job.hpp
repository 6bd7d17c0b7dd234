#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_JOB_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_JOB_HPP

// Jobs with deadlines as in the public simulator of ElasticFlow (ASPLOS'23): their speed depends only on
// the number of their GPUs, not on where these are.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace goodput::peers {

/// The speeds of a model with its total batch, which stays the same.
struct ElasticflowSpeeds {
    std::vector<int> sizes{};     ///< numbers of GPUs that the model can train on, ascending
    std::vector<double> rates{};  ///< iterations per second, by size
    int most_gpus_elastic = 0;    ///< most GPUs under ElasticFlow's policies: usually where the rate peaks
    int most_gpus_other = 0;      ///< most GPUs under the other policies, even if the rate is past its peak

    /// Returns the largest of the sizes that is at most `gpus`; 0 if there is none.
    [[nodiscard]] int size_within(int gpus) const {
        const auto above = std::upper_bound(sizes.begin(), sizes.end(), gpus);
        return above == sizes.begin() ? 0 : *(above - 1);
    }
    /// Returns the smallest of the sizes above `gpus` that is at most `most`; `gpus` if there is none.
    [[nodiscard]] int size_above(int gpus, int most) const {
        const auto above = std::upper_bound(sizes.begin(), sizes.end(), gpus);
        return above == sizes.end() || *above > most ? gpus : *above;
    }
    /// Returns the iterations per second; 0 for a number that is not one of the sizes.
    [[nodiscard]] double rate(int gpus) const {
        const auto at = std::lower_bound(sizes.begin(), sizes.end(), gpus);
        return at == sizes.end() || *at != gpus ? 0 : rates[static_cast<std::size_t>(at - sizes.begin())];
    }
};

/// A job of a trace. Times are seconds from its start.
struct ElasticflowJob {
    std::string name{};
    std::string model{};
    int batch = 0;  ///< examples per iteration, of all its GPUs together
    double submitted_seconds = 0;
    double iterations = 0;  ///< in all
    /// Infinity for best effort, which is promised nothing.
    double deadline_seconds = std::numeric_limits<double>::infinity();
    ElasticflowSpeeds speeds{};
};

/// Returns the first time at or after `seconds` that is a whole number of slots after `start`.
[[nodiscard]] inline double whole_slots(double start, double seconds, double slot) {
    return start + std::ceil((seconds - start) / slot) * slot;
}

}  // namespace goodput::peers

#endif
