#ifndef GOODPUT_SIM_WORLD_PARTS_HPP
#define GOODPUT_SIM_WORLD_PARTS_HPP

// What several worlds are put together of: jobs of a fixed number of GPUs, speeds that are known, names, and
// rounds of whole steps, as Gavel's simulator has them and Shockwave's, which is built on it: a job does as
// many steps as fit into a round, and the round lasts until the last job has done its last step.

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

namespace goodput {

/// The jobs of a trace by their names.
class JobNames {
public:
    /// None.
    JobNames() = default;
    /// Of jobs with names of their own; of several of one name the first counts.
    explicit JobNames(std::span<const Job> jobs) {
        for (const Job& job : jobs) index_.emplace(job.name, index_.size());
    }
    /// The index of the job of that name; refuses any other (std::invalid_argument).
    [[nodiscard]] std::size_t index_of(const std::string& name) const {
        const auto found = index_.find(name);
        if (found == index_.end()) bad_input("world", "job", "'" + name + "'", "one of its trace");
        return found->second;
    }

private:
    std::map<std::string, std::size_t> index_;
};

/// A job of a fixed number of GPUs as schedulers get to know it, that can run on types whose rate is above 0:
/// one unit of its work counts as an example.
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

/// The predictor of a world whose jobs have no batch to choose, and of which `goodput(job, option)` is known.
/// How noisy gradients are does not matter there.
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

/// Steps that a job does in a round, and when it has done the last one.
struct StepRound {
    double steps = 0;        ///< a whole number; below 0 for a job that has done more than all of its steps
    double end_seconds = 0;  ///< on the clock of the trace
};

/// The steps that fit into `seconds` from `begin` on at `rate` (above 0) steps a second, if `left` are left.
[[nodiscard]] inline StepRound step_round(double begin, double seconds, double rate, double left) {
    // A round that ends with a step may come out a rounding error short of it.
    constexpr double rounding = 1e-6;
    const double steps = std::min(std::floor(rate * seconds + rounding), left);
    return {steps, std::max(begin, begin + steps / rate)};
}

/// What came of the last round in which a job held GPUs.
struct RoundRun {
    double begin_seconds = -1;  ///< of the round
    double end_seconds = 0;     ///< when it had done its last step
    double ran_seconds = 0;     ///< that count as run, see RoundStarts
    double steps = 0;           ///< that count as done
    double rate = 0;            ///< steps a second at which it did them
    int batch = 0;              ///< examples a step, where the world knows of them
    bool empty = false;         ///< it could not do anything
};

/// From when on the time of a round counts as run: from the end of the last round in which anybody ran. So a
/// time in which nobody does counts for the job that comes after it, as in these simulators.
class RoundStarts {
public:
    /// To be called for every job of a round that begins then and lasts so long.
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

}  // namespace goodput

#endif
