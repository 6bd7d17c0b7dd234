#ifndef GOODPUT_SIM_SYNERGY_WORLD_HPP
#define GOODPUT_SIM_SYNERGY_WORLD_HPP

// Synergy's world (OSDI'22): every job has the number of GPUs that its owner asked for, and a profile of
// its speed with more or fewer CPU cores and more or less host memory per GPU. The rules are those of
// Synergy's public simulator:
//
//   Nodes are equal. A job's proportional share is its GPUs' part of a node.
//   A job does whole iterations in a round, floor(seconds / (iteration seconds / factor)); what is left of
//   the round is lost. It completes at the end of the round in which it does the last one.
//   Starts, stops and moves cost nothing, and nothing is lost by a failure.
//   An iteration counts as an example.
//
// The factor is what the profile says about the cores and memory that the job holds: HostNeeds::factor,
// bilinear between measured points. No point counts less than another point with no more cores and no more
// memory. Published allocators sometimes compute it differently, for example for a demand that is cut to a
// node. To make a round progress by their factor, call credit().

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/host.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/sim/world_parts.hpp"

namespace goodput::inline v0_1 {

/// A job with a fixed number of GPUs, and its profile.
struct SynergyJob {
    std::string name{};              ///< unique name
    std::string model{};             ///< jobs of one model are of one kind
    double submitted_seconds = 0;    ///< from the start of the trace
    int gpus = 1;                    ///< GPUs that it always runs on
    double iterations = 1;           ///< iterations of its whole work, at least 1
    double iteration_seconds = 1;    ///< seconds of one iteration at factor 1, that of its proportional
                                     ///< share
    std::vector<HostSpeed> speed{};  ///< by cores and memory per GPU; if empty, they do not matter
    HostShare ideal{};               ///< share per GPU beyond which it gets no faster
    double ideal_factor = 1;         ///< factor with the ideal share
};

/// Returns the share per GPU on equal nodes. Throws std::invalid_argument for a cluster without nodes or
/// with different nodes, and for nodes that count no cores or no memory.
[[nodiscard]] inline HostShare proportional_share(const Cluster& cluster) {
    if (cluster.gpu_types.size() != 1)
        bad_input("cluster", "number of GPU types", cluster.gpu_types.size(), "1");
    if (cluster.nodes.empty()) bad_input("cluster", "number of nodes", 0, "at least 1");
    const Node& first = cluster.nodes.front();
    for (const Node& node : cluster.nodes) {
        const auto subject = [&] { return "node '" + node.name + "'"; };
        require_between(subject, "gpus", node.gpus, 1, 1 << 20);
        require_positive(subject, "cores", node.cores);
        require_positive(subject, "memory_gib", node.memory_gib);
        if (node.gpus != first.gpus) bad_input(subject(), "gpus", node.gpus, "that of the other nodes");
        if (node.cores != first.cores) bad_input(subject(), "cores", node.cores, "that of the other nodes");
        if (node.memory_gib != first.memory_gib)
            bad_input(subject(), "memory_gib", node.memory_gib, "that of the other nodes");
    }
    return {first.cores / first.gpus, first.memory_gib / first.gpus};
}

/// The jobs of a trace, for one replay.
class SynergyWorld {
public:
    /// Takes the jobs in the order of their submission. Throws std::invalid_argument for whatever
    /// proportional_share() rejects and, with job, field and value, for numbers that are out of range.
    /// replay() checks times and names.
    SynergyWorld(const Cluster& cluster, std::vector<SynergyJob> jobs)
        : share_(proportional_share(cluster)),
          gpus_(cluster.nodes.front().gpus * static_cast<int>(cluster.nodes.size())),
          truth_(std::move(jobs)),
          credited_(truth_.size()) {
        for (std::size_t j = 0; j < truth_.size(); ++j) {
            SynergyJob& job = truth_[j];
            const auto subject = [&] { return "job '" + job.name + "'"; };
            require_between(subject, "gpus", job.gpus, 1, 1 << 20);
            require_at_least(subject, "iterations", job.iterations, 1);
            require_positive(subject, "seconds an iteration", job.iteration_seconds);
            require_positive(subject, "ideal factor", job.ideal_factor);
            let_more_never_harm(job.speed);
            jobs_.push_back(known(job));
            validate(jobs_.back(), cluster);
            left_.push_back(job.iterations);
        }
        names_ = JobNames(jobs_);
    }

    // The functions of a world (world.hpp).

    /// Returns the jobs as a scheduler knows them. An iteration counts as an example, and Job::host has the
    /// profile.
    [[nodiscard]] const std::vector<Job>& jobs() const { return jobs_; }
    /// Trains a job in whole iterations.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        const double factor = credited_[job] ? *credited_[job] : factor_of(job, held.host());
        left_[job] -= std::floor(seconds / (truth_[job].iteration_seconds / factor));
        left_[job] = std::max(left_[job], 0.0);
        return left_[job] == 0 ? std::optional(begin + seconds) : std::nullopt;
    }
    /// Returns the fraction of its iterations that is done.
    [[nodiscard]] double done(std::size_t job) const { return 1 - left_[job] / truth_[job].iterations; }
    /// Reports its iterations, those done and those left.
    void report(std::size_t job, Job& known, JobModel& model) const {
        known.done_examples = truth_[job].iterations - left_[job];
        known.remaining_examples = left_[job];
        model.types.clear();
    }
    /// Returns the predictor of the profiled iterations per second at the proportional share. A Scheduler
    /// multiplies them by the factor of an option's host share.
    [[nodiscard]] auto predictor() const {
        return known_goodput([this](const Job& job, const Option&) {
            return 1 / truth_[index_of(job.name)].iteration_seconds;
        });
    }
    /// Returns the time with the proportional share. If the job's part of the cluster is smaller than that,
    /// it runs in turns.
    [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
        const double turns = std::min(gpus_ / (sharers * truth_[job].gpus), 1.0);
        return truth_[job].iterations * truth_[job].iteration_seconds / turns;
    }
    /// Returns the GPU seconds that it would take with all cores and memory that it can use.
    [[nodiscard]] double one_gpu_seconds(std::size_t job) const {
        const SynergyJob& truth = truth_[job];
        return truth.iterations * truth.iteration_seconds * truth.gpus / truth.ideal_factor;
    }

    // Further information for planners, in addition to a Snapshot. Jobs are indices into jobs().

    /// Returns the index of the job of that name. Throws std::invalid_argument for other names.
    [[nodiscard]] std::size_t index_of(const std::string& name) const { return names_.index_of(name); }
    /// Returns the job and its profile.
    [[nodiscard]] const SynergyJob& job(std::size_t job) const { return truth_[job]; }
    /// Returns what it may be given per GPU, and how fast it is with that.
    [[nodiscard]] const HostNeeds& needs(std::size_t job) const { return *jobs_[job].host; }
    /// Returns the iterations that it still has to do.
    [[nodiscard]] double iterations_left(std::size_t job) const { return left_[job]; }
    /// Returns the proportional share per GPU.
    [[nodiscard]] HostShare share() const { return share_; }

    /// Makes the job progress by this factor (at least 0) from now on, whatever it holds. Without a factor,
    /// its profile counts.
    void credit(std::size_t job, std::optional<double> factor) {
        if (factor)
            require_at_least([&] { return "job '" + truth_[job].name + "'"; }, "credited factor", *factor, 0);
        credited_[job] = factor;
    }

private:
    [[nodiscard]] double factor_of(std::size_t job, HostShare held) const {
        if (!held.counts_cores()) held.cores_per_gpu = share_.cores_per_gpu;
        if (!held.counts_memory()) held.memory_gib_per_gpu = share_.memory_gib_per_gpu;
        return needs(job).factor(held);
    }

    /// Raises points that are slower than a point with no more cores and no more memory, because that is
    /// measurement noise.
    static void let_more_never_harm(std::vector<HostSpeed>& speed) {
        for (HostSpeed& point : speed)
            for (const HostSpeed& other : std::vector(speed))
                if (other.cores_per_gpu <= point.cores_per_gpu &&
                    other.memory_gib_per_gpu <= point.memory_gib_per_gpu)
                    point.factor = std::max(point.factor, other.factor);
    }

    /// Returns the job as schedulers know it. No job gets less than the proportional share, or than what it
    /// can use if that is less: Synergy's guarantee.
    [[nodiscard]] Job known(const SynergyJob& truth) const {
        HostNeeds needs{share_, truth.ideal, truth.speed};
        if (!truth.speed.empty()) {  // speeds below the smallest measured point would only be guesses
            HostShare measured{truth.speed.front().cores_per_gpu, truth.speed.front().memory_gib_per_gpu};
            for (const HostSpeed& point : truth.speed) {
                measured.cores_per_gpu = std::min(measured.cores_per_gpu, point.cores_per_gpu);
                measured.memory_gib_per_gpu = std::min(measured.memory_gib_per_gpu, point.memory_gib_per_gpu);
            }
            needs.most = {std::max(needs.most.cores_per_gpu, measured.cores_per_gpu),
                          std::max(needs.most.memory_gib_per_gpu, measured.memory_gib_per_gpu)};
        }
        needs.least = {std::min(share_.cores_per_gpu, needs.most.cores_per_gpu),
                       std::min(share_.memory_gib_per_gpu, needs.most.memory_gib_per_gpu)};
        const double sure[]{1};  // an iteration counts as an example
        Job job = rigid_job(truth.name, truth.model, truth.submitted_seconds, truth.gpus, sure);
        job.remaining_examples = truth.iterations;
        job.host = std::move(needs);
        return job;
    }

    HostShare share_;
    int gpus_;  // GPUs of the cluster
    std::vector<SynergyJob> truth_;
    std::vector<std::optional<double>> credited_;
    std::vector<Job> jobs_;
    std::vector<double> left_;  // iterations
    JobNames names_;
};

}  // namespace goodput::inline v0_1

#endif
