#ifndef GOODPUT_SIM_SIA_WORLD_HPP
#define GOODPUT_SIM_SIA_WORLD_HPP

// Sia's world: jobs are runs of applications with measured or modelled step times and gradient statistics
// (application.hpp). They choose their batch, and learn their speed as a modelling says (modelling.hpp).

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/sim/application.hpp"
#include "goodput/sim/modelling.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/sim/sia_job.hpp"
#include "goodput/sim/world.hpp"

namespace goodput {

/// The jobs of a trace, for one replay.
template <class Modelling = SeparateModels>
class SiaWorld {
public:
    /// The applications have to outlive it, with as many GPU types as the cluster. Refuses unknown
    /// applications and numbers that are out of range (std::invalid_argument); replay() looks at times and
    /// names.
    SiaWorld(const Cluster& cluster, std::span<const Application> applications,
             std::span<const Submission> submissions, const SiaRules& rules = {});
    // Its jobs point into it.
    SiaWorld(const SiaWorld&) = delete;
    SiaWorld& operator=(const SiaWorld&) = delete;

    // What a world answers (world.hpp):
    [[nodiscard]] const std::vector<Job>& jobs() const { return known_; }
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        return jobs_[job].train(held, begin, seconds);
    }
    [[nodiscard]] double done(std::size_t job) const { return jobs_[job].done(); }
    void report(std::size_t job, Job& known, JobModel& model) const { jobs_[job].report(known, model); }
    [[nodiscard]] auto predictor() const { return typename Modelling::Predictor(); }
    double start(std::size_t job, const Configuration& held) { return jobs_[job].start(held); }
    void save(std::size_t job) { jobs_[job].save(); }
    void fail(std::size_t job) { jobs_[job].fail(); }

    /// What the job does and has learned.
    [[nodiscard]] const SiaJob<Modelling>& job(std::size_t job) const { return jobs_[job]; }

private:
    SiaRules rules_;
    Modelling modelling_;
    std::vector<Job> known_;
    std::vector<SiaJob<Modelling>> jobs_;
};

/// Replays a trace (submissions in the order of their times) in Sia's world under a policy: with rigid jobs
/// if the policy wants them, otherwise as SiaRules has them. See replay() of a world.
template <class Modelling = SeparateModels, Policy P, class Observe = decltype(unobserved)>
ReplayResult replay(const Cluster& cluster, std::span<const Application> applications,
                    std::span<const Submission> submissions, P policy, const ReplayOptions& options = {},
                    Observe observe = unobserved) {
    SiaWorld<Modelling> world(cluster, applications, submissions, {.rigid = runs_rigid_jobs<P>});
    return replay(cluster, world, std::move(policy), options, std::move(observe));
}

// ---------------------------------------------------------------------------------------------------------

template <class Modelling>
SiaWorld<Modelling>::SiaWorld(const Cluster& cluster, std::span<const Application> applications,
                              std::span<const Submission> submissions, const SiaRules& rules)
    : rules_(rules) {
    require_between("world", "most GPUs a job", rules.most_gpus_per_job, 1, std::numeric_limits<int>::max());
    if (!(rules.checkpoint_seconds > 0))
        bad_input("world", "seconds from checkpoint to checkpoint", rules.checkpoint_seconds, "above 0");
    for (const Application& application : applications) {
        const auto subject = [&] { return "application '" + application.name + "'"; };
        if (application.types.size() != cluster.gpu_types.size())
            bad_input(subject(), "GPU types", application.types.size(),
                      "as many as the cluster's, " + text_of(cluster.gpu_types.size()));
        require_at_least(subject, "restart", application.restart_seconds, 0);
        require_positive(subject, "slowdown", application.slowdown);
    }
    known_.reserve(submissions.size());
    jobs_.reserve(submissions.size());
    for (const Submission& submission : submissions) {
        const auto subject = [&] { return "job '" + submission.name + "'"; };
        if (submission.application >= applications.size())
            bad_input(subject(), "application", submission.application, "one of those given");
        require_between(subject, "num_replicas", submission.gpus, 1, 1 << 20);
        require_between(subject, "batch_size", submission.batch, 1, 1 << 30);
        const Application& application = applications[submission.application];
        known_.push_back(detail::sia_job(submission, application, rules));
        jobs_.emplace_back(known_.back(), application, modelling_, rules_);
    }
}

}  // namespace goodput

#endif
