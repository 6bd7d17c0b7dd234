#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_JOB_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_JOB_HPP

// Jobs with deadlines as the public simulator of ElasticFlow (ASPLOS'23) has them: their speed depends on the
// number of their GPUs alone, not on where these are.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace goodput::peers {

/// How fast a model trains with its total batch, which stays the same.
struct ElasticflowSpeeds {
    std::vector<int> sizes{};     ///< numbers of GPUs that it can train on, ascending
    std::vector<double> rates{};  ///< iterations a second, by size
    int most_gpus_elastic = 0;    ///< that ElasticFlow's policies give it: mostly where the rate peaks
    int most_gpus_other = 0;      ///< that the other policies give it, also where the rate is past its peak

    /// The largest of its sizes that is at most `gpus`; 0 if there is none.
    [[nodiscard]] int size_within(int gpus) const {
        const auto above = std::upper_bound(sizes.begin(), sizes.end(), gpus);
        return above == sizes.begin() ? 0 : *(above - 1);
    }
    /// The smallest of its sizes above `gpus` that is at most `most`; `gpus` if there is none.
    [[nodiscard]] int size_above(int gpus, int most) const {
        const auto above = std::upper_bound(sizes.begin(), sizes.end(), gpus);
        return above == sizes.end() || *above > most ? gpus : *above;
    }
    /// Iterations a second; 0 of what is none of its sizes.
    [[nodiscard]] double rate(int gpus) const {
        const auto at = std::lower_bound(sizes.begin(), sizes.end(), gpus);
        return at == sizes.end() || *at != gpus ? 0 : rates[static_cast<std::size_t>(at - sizes.begin())];
    }
};

/// A job of a trace. Times are seconds from its start.
struct ElasticflowJob {
    std::string name{};
    std::string model{};
    int batch = 0;  ///< examples an iteration, of all its GPUs together
    double submitted_seconds = 0;
    double iterations = 0;  ///< in all
    /// Infinity for best effort: nobody promises anything.
    double deadline_seconds = std::numeric_limits<double>::infinity();
    ElasticflowSpeeds speeds{};
};

/// The first time at or after `seconds` that is a whole number of slots away from `start`.
[[nodiscard]] inline double whole_slots(double start, double seconds, double slot) {
    return start + std::ceil((seconds - start) / slot) * slot;
}

}  // namespace goodput::peers

#endif
