#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_WORLD_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_WORLD_HPP

// Shockwave's world (NSDI'23), as in its public simulator, which is built on Gavel's (gavel_world.hpp):
// jobs with a fixed number of GPUs that do whole steps in rounds. It differs in these points:
//
// - The batch changes while a job trains (shockwave_training.hpp).
// - A job that did not run in the previous round loses 20 s, if it then runs for more than a round minus 5
//   s, and not in the very first round.
// - A job that has run for 1.5 times its isolated time ends.
// - A job does nothing in a round if a change of the batch left it without steps to do. The fifth such
//   round in a row ends it.
//
// The simulator ends when no job is in the cluster, even if submissions are still to come. Here they
// follow. There is one GPU type. A second of a job's profile counts as an example. The batch
// grows a round later than the known profile says.

#include <algorithm>
#include <cmath>
#include <cstddef>
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
#include "goodput/sim/gavel_world.hpp"
#include "goodput/sim/world.hpp"
#include "goodput/sim/world_parts.hpp"
#include "peers/shockwave/shockwave_model.hpp"
#include "peers/shockwave/shockwave_profile.hpp"
#include "peers/shockwave/shockwave_training.hpp"

namespace goodput::peers {

/// Models by name.
using ShockwaveModels = std::map<std::string, ShockwaveModel>;

/// The jobs of a trace, for one replay.
class ShockwaveWorld {
public:
    /// `jobs` are in the order of their submission. The caller keeps `models` alive. `interval_seconds` is
    /// the length of a round. Throws std::invalid_argument for clusters with several GPU types, unknown
    /// models, and numbers out of range. replay() checks times and names.
    ShockwaveWorld(const Cluster& cluster, const ShockwaveModels& models, std::vector<ShockwaveJob> jobs,
                   double interval_seconds)
        : truth_(std::move(jobs)), interval_seconds_(interval_seconds), standings_(truth_.size()) {
        validate(cluster);
        if (cluster.gpu_types.size() != 1)
            bad_input("cluster", "number of GPU types", cluster.gpu_types.size(), "1");
        for (const Node& node : cluster.nodes) gpus_ += node.gpus;
        for (std::size_t j = 0; j < truth_.size(); ++j) {
            const ShockwaveJob& job = truth_[j];
            const auto subject = [&] { return "job '" + job.name + "'"; };
            const auto model = models.find(job.model);
            if (model == models.end()) bad_input(subject(), "model", "'" + job.model + "'", "a known one");
            require_between(subject, "gpus", job.gpus, 1, 1 << 20);
            require_between(subject, "batch", job.batch, 1, 1 << 24);
            require_at_least(subject, "steps", job.steps, 1);
            profiles_.push_back(shockwave_profile(job, model->second));
            trainings_.emplace_back(job, model->second);
            const double sure[]{1};
            Job known = rigid_job(job.name, job.model, job.submitted_seconds, job.gpus, sure);
            known.restart_cost_seconds = overhead_seconds;
            known.remaining_examples = profiles_.back().isolated_seconds;
            validate(known, cluster);
            jobs_.push_back(std::move(known));
        }
        names_ = JobNames(jobs_);
    }

    // The functions of a world (sim/world.hpp).

    /// The jobs as a scheduler knows them. A second of the profile counts as an example.
    [[nodiscard]] const std::vector<Job>& jobs() const { return jobs_; }
    /// When the last step that fits into the round is done.
    [[nodiscard]] double round_until(const RoundAhead& round) const {
        return round.until_last([this](std::size_t job, const Configuration&, double begin, double seconds) {
            return round_of(job, begin, seconds).end_seconds;
        });
    }
    /// Trains a job: whole steps, then perhaps another batch.
    std::optional<double> train(std::size_t job, const Configuration&, double begin, double seconds) {
        constexpr double spared = 5, rounding = 1e-6;
        ShockwaveTraining& training = trainings_[job];
        Standing& standing = standings_[job];
        const StepRound round = round_of(job, begin, seconds);
        RoundRun& run = standing.last_run;
        const bool resumes =
            begin > standing.round_end + rounding && begin > jobs_.front().submitted_seconds + rounding;
        standing.round_end = begin + seconds;
        run = {.end_seconds = round.end_seconds,
               .ran_seconds = round.end_seconds - starts_.start_of(begin, seconds),
               .steps = round.steps,
               .batch = training.batch()};
        if (resumes && run.ran_seconds > interval_seconds_ - spared) {
            run.steps = std::trunc(run.steps * ((run.ran_seconds - overhead_seconds) / run.ran_seconds));
            run.ran_seconds -= overhead_seconds;
        }
        run.empty = run.steps <= 0 && run.ran_seconds <= 0;
        bool ends = false;
        if (run.empty) {
            ends = ++standing.empty_rounds >= most_empty_rounds;
        } else {
            standing.empty_rounds = 0;
            standing.ran_seconds += run.ran_seconds;
            training.progress(run.steps);
            ends = training.steps_done() >= training.steps() || standing.ran_seconds > most_seconds(job);
        }
        standing.done = ends ? 1 : std::min(training.steps_done() / training.steps(), 1.0);
        training.fulfil_wish();
        return ends ? std::optional(run.end_seconds) : std::nullopt;
    }
    /// Returns the fraction of its steps that is done; 1 for a job that was ended.
    [[nodiscard]] double done(std::size_t job) const { return standings_[job].done; }
    /// Reports seconds of the profile, done and left. The job looks at its progress (make_wish), so call
    /// this once per round.
    void report(std::size_t job, Job& known, JobModel& model) {
        if (standings_[job].joined) trainings_[job].make_wish();
        standings_[job].joined = true;
        const ShockwaveProfile& profile = profiles_[job];
        known.remaining_examples = profile.seconds_left(trainings_[job].epochs_done());
        known.done_examples = profile.left.front() - *known.remaining_examples;
        model.types.clear();
    }
    /// Predicts seconds of the profile per second: 1.
    [[nodiscard]] auto predictor() const {
        return known_goodput([](const Job&, const Option&) { return 1.0; });
    }
    /// Returns the published measure: N times the profile's time. N is the number of jobs in the whole
    /// trace over the GPUs (at least 1), however many jobs there were during its life.
    [[nodiscard]] double isolated_seconds(std::size_t job, double) const {
        const double contention = static_cast<double>(truth_.size()) / gpus_;
        return profiles_[job].isolated_seconds * std::max(contention, 1.0);
    }
    /// Returns the GPU-seconds of its profile.
    [[nodiscard]] double one_gpu_seconds(std::size_t job) const {
        return profiles_[job].isolated_seconds * truth_[job].gpus;
    }

    // Functions for planners, in addition to a Snapshot. Jobs are indices into jobs().

    /// Returns the index of the job of that name. Throws std::invalid_argument for any other name.
    [[nodiscard]] std::size_t index_of(const std::string& name) const { return names_.index_of(name); }
    /// Returns the job as in the trace.
    [[nodiscard]] const ShockwaveJob& job(std::size_t job) const { return truth_[job]; }
    /// Returns the expected course of the job.
    [[nodiscard]] const ShockwaveProfile& profile(std::size_t job) const { return profiles_[job]; }
    /// Returns the job's progress, with batch and speed.
    [[nodiscard]] const ShockwaveTraining& training(std::size_t job) const { return trainings_[job]; }
    /// Returns the GPUs that it runs on.
    [[nodiscard]] int gpus(std::size_t job) const { return truth_[job].gpus; }
    /// Returns a weight; all are equal.
    [[nodiscard]] double weight(std::size_t) const { return 1; }
    /// Returns the steps per second with its present batch, on the one GPU type.
    [[nodiscard]] double rate(std::size_t job, std::size_t) const { return trainings_[job].rate(); }
    /// Returns the steps of its present batch that are left; may be below 0.
    [[nodiscard]] double steps_left(std::size_t job) const {
        return trainings_[job].steps() - trainings_[job].steps_done();
    }
    /// Returns the outcome of the last round in which it held GPUs.
    [[nodiscard]] const RoundRun& last_run(std::size_t job) const { return standings_[job].last_run; }
    /// Returns the seconds that it has run in total.
    [[nodiscard]] double ran_seconds(std::size_t job) const { return standings_[job].ran_seconds; }
    /// Returns the GPUs of the cluster.
    [[nodiscard]] int gpus_of_cluster() const { return gpus_; }

private:
    static constexpr int most_empty_rounds = 5;
    static constexpr double overhead_seconds = 20;

    struct Standing {
        double done = 0;
        double ran_seconds = 0;
        double round_end = -1;  ///< end of the last round that it was in
        int empty_rounds = 0;   ///< successive empty rounds up to now
        bool joined = false;    ///< it was present at a decision
        RoundRun last_run{};
    };

    [[nodiscard]] StepRound round_of(std::size_t job, double begin, double seconds) const {
        return step_round(begin, seconds, trainings_[job].rate(), steps_left(job));
    }
    [[nodiscard]] double most_seconds(std::size_t job) const {
        return std::floor(1.5 * std::floor(profiles_[job].isolated_seconds));
    }

    int gpus_ = 0;
    std::vector<ShockwaveJob> truth_;
    double interval_seconds_;
    std::vector<Standing> standings_;
    std::vector<ShockwaveProfile> profiles_;
    std::vector<ShockwaveTraining> trainings_;
    RoundStarts starts_;
    std::vector<Job> jobs_;
    JobNames names_;
};

}  // namespace goodput::peers

#endif
