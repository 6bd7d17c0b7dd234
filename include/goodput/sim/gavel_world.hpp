#ifndef GOODPUT_SIM_GAVEL_WORLD_HPP
#define GOODPUT_SIM_GAVEL_WORLD_HPP

// Gavel's world (OSDI'20): every job has the number of GPUs that its owner asked for, and a measured speed
// of all of them together on each GPU type. The rules are those of Gavel's public simulator:
//
// - A job does whole steps in a round. A round ends when its last job has done its last step, or with the
//   next submission if no job runs (world_parts.hpp).
// - Starts, moves and changes of the GPU type cost nothing, and a failure loses nothing.
// - A job does nothing if it has fewer steps left than GPUs, or is too slow for one step per GPU in a
//   round. The fifth such round in a row ends it. (The simulator drops the job then; here it counts as
//   complete.)
//
// The number of nodes that the GPUs are spread over does not matter. A step counts as an example.
//
// Two jobs with equal numbers of GPUs may share them if their speeds while sharing were measured. Their
// round ends when both have done their last step, and a job that has done its work counts as complete at
// that moment. The other job does not become faster before the next round. A round in which one of the two
// can do nothing is lost for both, and does not count among the five.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/sim/world.hpp"
#include "goodput/sim/world_parts.hpp"

namespace goodput::inline v0_1 {

/// A job with a fixed number of GPUs, and its speed on GPUs of each type.
struct GavelJob {
    std::string name{};            ///< unique name
    std::string program{};         ///< jobs of one program are of one kind
    double submitted_seconds = 0;  ///< from the start of the trace
    int gpus = 1;                  ///< GPUs that it always runs on, all of one type
    double steps = 1;              ///< steps of its whole work: a whole number of at least 1
    double weight = 1;             ///< its priority, above 0
    /// Steps per second of all its GPUs together, by GPU type of the cluster; 0 if it cannot run there.
    std::vector<double> rates{};
};

/// The speeds of two programs' jobs while both share the same GPUs.
struct GavelPair {
    std::array<std::string, 2> programs{};  ///< may be equal; then the mean of both rates counts
    int gpus = 1;                           ///< GPUs of each job
    /// Steps per second of the first program's job and of the second's, by GPU type of the cluster. They
    /// run together if both are above 0.
    std::vector<std::array<double, 2>> rates{};
};

/// The jobs of a trace, for one replay.
class GavelWorld {
public:
    /// Takes the jobs in the order of their submission, and the measurements of pairs of programs. Jobs of
    /// other pairs do not run together. Throws std::invalid_argument, with job, field and value, for
    /// numbers that are out of range. replay() checks times and names.
    GavelWorld(const Cluster& cluster, std::vector<GavelJob> jobs, std::span<const GavelPair> pairs = {})
        : gpus_(cluster.gpu_types.size()),
          truth_(std::move(jobs)),
          done_(truth_.size()),
          empty_rounds_(truth_.size()),
          last_run_(truth_.size()),
          partner_(truth_.size()) {
        validate(cluster);
        for (const Node& node : cluster.nodes) gpus_[node.gpu_type] += node.gpus;
        for (std::size_t j = 0; j < truth_.size(); ++j) {
            const GavelJob& job = truth_[j];
            const auto subject = [&] { return "job '" + job.name + "'"; };
            require_between(subject, "gpus", job.gpus, 1, 1 << 20);
            require_at_least(subject, "steps", job.steps, 1);
            if (job.steps != std::floor(job.steps))
                bad_input(subject(), "steps", job.steps, "a whole number");
            require_between(subject, "number of rates", static_cast<long long>(job.rates.size()),
                            static_cast<long long>(gpus_.size()), static_cast<long long>(gpus_.size()));
            for (const double rate : job.rates) require_at_least(subject, "steps a second", rate, 0);
            Job known = rigid_job(job.name, job.program, job.submitted_seconds, job.gpus, job.rates);
            known.weight = job.weight;
            known.remaining_examples = job.steps;
            validate(known, cluster);
            jobs_.push_back(std::move(known));
        }
        names_ = JobNames(jobs_);
        note_pairs(pairs);
    }

    // The functions of a world (world.hpp).

    /// Returns the jobs as a scheduler knows them. A step counts as an example.
    [[nodiscard]] const std::vector<Job>& jobs() const { return jobs_; }
    /// Returns the time at which the last step that fits into the round is done.
    [[nodiscard]] double round_until(const RoundAhead& round) const {
        return round.until_last(
            [this](std::size_t job, const Configuration& held, double begin, double seconds) {
                return round_of(job, held, begin, seconds).end_seconds;
            });
    }
    /// Trains a job in whole steps.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        const StepRound round = round_of(job, held, begin, seconds);
        const bool paired = partner_[job].has_value();
        RoundRun& run = last_run_[job];
        run = {.begin_seconds = begin,
               .end_seconds = round.end_seconds,
               .ran_seconds = round.end_seconds - starts_.start_of(begin, seconds),
               .steps = round.steps};
        run.empty = std::floor(round.steps / truth_[job].gpus) <= 0 || run.ran_seconds <= 0;
        if (run.empty) {
            run.steps = 0;
            if (paired) return std::nullopt;
            return ++empty_rounds_[job] >= most_empty_rounds ? std::optional(run.end_seconds) : std::nullopt;
        }
        if (!paired) empty_rounds_[job] = 0;
        done_[job] += round.steps;
        return done_[job] >= truth_[job].steps ? std::optional(run.end_seconds) : std::nullopt;
    }
    /// Sets the job that shares its GPUs from now on.
    void train_beside(std::size_t job, std::optional<std::size_t> partner) { partner_[job] = partner; }
    /// Returns the fraction of the job's steps that is done.
    [[nodiscard]] double done(std::size_t job) const { return done_[job] / truth_[job].steps; }
    /// Reports the job's steps: those done and those left.
    void report(std::size_t job, Job& known, JobModel& model) const {
        known.done_examples = done_[job];
        known.remaining_examples = steps_left(job);
        model.types.clear();
    }
    /// Returns the predictor of the measured steps per second.
    [[nodiscard]] auto predictor() const {
        return known_goodput([this](const Job& job, const Option& option) {
            return rate(index_of(job.name), option.configuration.first().gpu_type);
        });
    }
    /// Returns the time with an equal part of the GPUs of each type. If that is less than its GPUs, the job
    /// runs in turns, and at most all the time. This is Gavel's isolated throughput.
    [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
        double throughput = 0, part = 0;
        for (std::size_t t = 0; t < gpus_.size(); ++t) {
            const double turns = gpus_[t] / sharers / truth_[job].gpus;
            throughput += rate(job, t) * turns;
            part += turns;
        }
        return truth_[job].steps * std::max(part, 1.0) / throughput;
    }
    /// Returns the GPU seconds that it would take on its fastest type; infinity if it cannot run.
    [[nodiscard]] double one_gpu_seconds(std::size_t job) const {
        double fastest = 0;
        for (const double rate : truth_[job].rates) fastest = std::max(fastest, rate);
        return truth_[job].steps * truth_[job].gpus / fastest;
    }

    // Further information for planners, in addition to a Snapshot. Jobs are indices into jobs().

    /// Returns the index of the job of that name. Throws std::invalid_argument for other names.
    [[nodiscard]] std::size_t index_of(const std::string& name) const { return names_.index_of(name); }
    /// Returns the true job.
    [[nodiscard]] const GavelJob& job(std::size_t job) const { return truth_[job]; }
    /// Returns the GPUs that it runs on.
    [[nodiscard]] int gpus(std::size_t job) const { return truth_[job].gpus; }
    /// Returns its priority.
    [[nodiscard]] double weight(std::size_t job) const { return truth_[job].weight; }
    /// Returns the steps per second on GPUs of that type; 0 if it cannot run there.
    [[nodiscard]] double rate(std::size_t job, std::size_t gpu_type) const {
        return truth_[job].rates[gpu_type];
    }
    /// Returns the steps per second of the job while it shares GPUs of that type with the partner; 0 if
    /// nothing is measured, or if one of them cannot run then.
    [[nodiscard]] double pair_rate(std::size_t job, std::size_t partner, std::size_t gpu_type) const {
        if (pair_rates_.empty()) return 0;
        return pair_rates_[(kind_[job] * kinds_ + kind_[partner]) * gpus_.size() + gpu_type];
    }
    /// Returns the steps per second with what it holds, while sharing with its partner if it has one. With
    /// GPUs of several types, its workers run in step, so the slowest type counts for all. With GPUs for
    /// several copies of itself (HadarE), the sum of all copies counts.
    [[nodiscard]] double rate_with(std::size_t job, const Configuration& held) const {
        if (partner_[job]) return pair_rate(job, *partner_[job], held.first().gpu_type);
        const int own = truth_[job].gpus;
        const bool copies = held.gpus() > own;
        double sum = 0, slowest = std::numeric_limits<double>::infinity();
        for (const PoolShare& part : held.parts()) {
            const double of_type = rate(job, part.gpu_type);
            sum += of_type * (part.shape.gpus / own);
            slowest = std::min(slowest, of_type);
        }
        return copies ? sum : slowest;
    }
    /// Returns the steps that it still has to do.
    [[nodiscard]] double steps_left(std::size_t job) const { return truth_[job].steps - done_[job]; }
    /// Returns the result of the last round in which it held GPUs.
    [[nodiscard]] const RoundRun& last_run(std::size_t job) const { return last_run_[job]; }

private:
    static constexpr int most_empty_rounds = 5;

    [[nodiscard]] StepRound round_of(std::size_t job, const Configuration& held, double begin,
                                     double seconds) const {
        const double rate_held = rate_with(job, held);
        if (!(rate_held > 0)) return {0, begin};
        StepRound round = step_round(begin, seconds, rate_held, steps_left(job));
        if (!partner_[job]) return round;
        // This is what the partner had left when the round began, because the partner may have trained
        // already.
        const std::size_t partner = *partner_[job];
        const RoundRun& last = last_run_[partner];
        const double left = steps_left(partner) + (last.begin_seconds == begin ? last.steps : 0);
        if (left <= 0) return round;
        const double rate_partner = pair_rate(partner, job, held.first().gpu_type);
        const StepRound other = step_round(begin, seconds, rate_partner, left);
        round.end_seconds = std::max(round.end_seconds, other.end_seconds);
        if (std::floor(other.steps / truth_[partner].gpus) <= 0) round.steps = 0;
        return round;
    }

    /// Numbers the kinds of jobs (programs with numbers of GPUs), and records the rates of pairs.
    void note_pairs(std::span<const GavelPair> pairs) {
        std::map<std::pair<std::string, int>, std::size_t> kinds;
        if (pairs.empty()) return;
        for (const GavelJob& job : truth_)
            kind_.push_back(kinds.try_emplace({job.program, job.gpus}, kinds.size()).first->second);
        kinds_ = kinds.size();
        pair_rates_.resize(kinds_ * kinds_ * gpus_.size());
        for (const GavelPair& pair : pairs) {
            const auto subject = [&] {
                return "pair of '" + pair.programs[0] + "' and '" + pair.programs[1] + "'";
            };
            require_between(subject, "number of rates", static_cast<long long>(pair.rates.size()),
                            static_cast<long long>(gpus_.size()), static_cast<long long>(gpus_.size()));
            const auto first = kinds.find({pair.programs[0], pair.gpus});
            const auto second = kinds.find({pair.programs[1], pair.gpus});
            for (std::size_t t = 0; t < gpus_.size(); ++t) {
                for (const double rate : pair.rates[t]) require_at_least(subject, "steps a second", rate, 0);
                if (first == kinds.end() || second == kinds.end()) continue;
                if (!(pair.rates[t][0] > 0 && pair.rates[t][1] > 0)) continue;
                const auto rate_of = [&](std::size_t own, std::size_t other) -> double& {
                    return pair_rates_[(own * kinds_ + other) * gpus_.size() + t];
                };
                rate_of(first->second, second->second) = pair.rates[t][0];
                rate_of(second->second, first->second) =
                    first == second ? (pair.rates[t][0] + pair.rates[t][1]) / 2 : pair.rates[t][1];
            }
        }
    }

    std::vector<int> gpus_;  // by GPU type
    std::vector<GavelJob> truth_;
    std::vector<double> done_;       // steps
    std::vector<int> empty_rounds_;  // rounds without progress in a row, until now
    std::vector<RoundRun> last_run_;
    std::vector<std::optional<std::size_t>> partner_;
    std::size_t kinds_ = 0;
    std::vector<std::size_t> kind_;   // by job, if pairs are known
    std::vector<double> pair_rates_;  // by kind, kind of the partner and GPU type; empty if no pairs are
                                      // known
    RoundStarts starts_;
    std::vector<Job> jobs_;
    JobNames names_;
};

}  // namespace goodput::inline v0_1

#endif
