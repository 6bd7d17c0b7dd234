#ifndef GOODPUT_SIM_WORLD_PARTS_HPP
#define GOODPUT_SIM_WORLD_PARTS_HPP

// Building blocks of several worlds: jobs with a fixed number of GPUs, known speeds, names, and rounds of
// whole steps. The rounds are those of Gavel's simulator and of Shockwave's, which is based on it: a job
// does as many steps as fit into a round, and the round lasts until the last job has done its last step.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput::inline v0_1 {

/// The jobs of a trace by their names.
class JobNames {
public:
    /// Begins without names.
    JobNames() = default;
    /// Takes jobs with unique names; among several jobs of one name, the first counts.
    explicit JobNames(std::span<const Job> jobs) {
        for (const Job& job : jobs) index_.emplace(job.name, index_.size());
    }
    /// Returns the index of the job of that name. Throws std::invalid_argument for other names.
    [[nodiscard]] std::size_t index_of(const std::string& name) const {
        const auto found = index_.find(name);
        if (found == index_.end()) bad_input("world", "job", "'" + name + "'", "one of its trace");
        return found->second;
    }

private:
    std::map<std::string, std::size_t> index_;
};

/// Returns a job with a fixed number of GPUs as schedulers know it. It can run on types whose rate is above
/// 0, and one unit of its work counts as an example.
[[nodiscard]] inline Job rigid_job(std::string name, std::string kind, double submitted_seconds, int gpus,
                                   std::span<const double> rates) {
    Job job{.name = std::move(name), .kind = std::move(kind)};
    job.submitted_seconds = submitted_seconds;
    job.min_gpus = job.max_gpus = gpus;
    job.adaptivity = Adaptivity::none;
    job.initial_batch = job.target_batch = 1;
    for (const double rate : rates) job.types.push_back({.max_atomic_batch = rate > 0 ? 1 : 0});
    return job;
}

/// Returns the predictor of a world with known `goodput(job, option)` whose jobs have no batch to choose.
/// Gradient noise does not matter there.
template <class Goodput>
[[nodiscard]] auto known_goodput(Goodput goodput) {
    return [goodput](const Job& job, const JobModel&, std::span<Option> options,
                     const std::optional<GradientStatistics>& = {}) {
        for (Option& option : options) {
            option.plan = {1, 0};
            option.goodput = goodput(job, option);
            option.knowledge = Knowledge::measured;
        }
    };
}

/// The steps that a job does in a round, and when it has done the last one.
struct StepRound {
    double steps = 0;        ///< a whole number; below 0 for a job that has done more than all of its steps
    double end_seconds = 0;  ///< on the clock of the trace
};

/// Returns the steps that fit into `seconds` from `begin` on at `rate` (above 0) steps per second, if
/// `left` are left.
[[nodiscard]] inline StepRound step_round(double begin, double seconds, double rate, double left) {
    // Rounding may end a round slightly before the step that ends with it.
    constexpr double rounding = 1e-6;
    const double steps = std::min(std::floor(rate * seconds + rounding), left);
    return {steps, std::max(begin, begin + steps / rate)};
}

/// The result of the last round in which a job held GPUs.
struct RoundRun {
    double begin_seconds = -1;  ///< begin of the round
    double end_seconds = 0;     ///< when it had done its last step
    double ran_seconds = 0;     ///< seconds that count as run, see RoundStarts
    double steps = 0;           ///< steps that count as done
    int batch = 0;              ///< examples per step, if the world knows them
    bool empty = false;         ///< it could not do anything
};

/// Finds from when on the time of a round counts as run: from the end of the last round in which any job
/// ran. So time in which no job runs counts for the next job, as in these simulators.
class RoundStarts {
public:
    /// Returns that moment. Call it for each job of a round that begins at `begin` and lasts `seconds`.
    [[nodiscard]] double start_of(double begin, double seconds) {
        constexpr double rounding = 1e-6;
        if (begin > begin_) start_ = begin > end_ + rounding ? end_ : begin;
        begin_ = begin;
        end_ = std::max(end_, begin + seconds);
        return start_;
    }

private:
    double begin_ = -1, start_ = 0, end_ = 0;
};

}  // namespace goodput::inline v0_1

#endif
