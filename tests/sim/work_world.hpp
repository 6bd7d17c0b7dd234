#ifndef GOODPUT_TESTS_SIM_WORK_WORLD_HPP
#define GOODPUT_TESTS_SIM_WORK_WORLD_HPP

// The smallest possible world.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"

namespace support {

/// Makes a job of `gpus` GPUs that says nothing about itself.
inline goodput::Job rigid_job(std::size_t index, double submitted_seconds, int gpus,
                              std::size_t gpu_types = 1) {
    goodput::Job job{.name = "job-" + std::to_string(index)};
    job.submitted_seconds = submitted_seconds;
    job.max_gpus = gpus;
    job.adaptivity = goodput::Adaptivity::none;
    job.initial_batch = job.target_batch = gpus;
    job.types.assign(gpu_types, {.max_atomic_batch = 1});
    return job;
}

/// A world in which every job has some GPU-seconds of work.
struct WorkWorld {
    std::vector<goodput::Job> trace{};
    std::vector<double> work{}, left{};

    void add(double submitted_seconds, int gpus, double gpu_seconds) {
        trace.push_back(rigid_job(trace.size(), submitted_seconds, gpus));
        left.push_back(work.emplace_back(gpu_seconds));
    }
    [[nodiscard]] const std::vector<goodput::Job>& jobs() const { return trace; }
    [[nodiscard]] double done(std::size_t job) const { return 1 - left[job] / work[job]; }
    std::optional<double> train(std::size_t job, const goodput::Configuration& held, double begin,
                                double seconds) {
        const double needed = left[job] / held.gpus();
        left[job] = needed <= seconds ? 0 : left[job] - seconds * held.gpus();
        return needed <= seconds ? std::optional(begin + needed) : std::nullopt;
    }
};

}  // namespace support

#endif
