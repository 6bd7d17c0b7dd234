#ifndef GOODPUT_SIM_SYNERGY_WORLD_HPP
#define GOODPUT_SIM_SYNERGY_WORLD_HPP

// Synergy's world (OSDI'22): every job has the number of GPUs that its owner asked for, and a profile that
// says how fast it is with more or fewer CPU cores and more or less host memory beside each GPU. The rules
// are those of Synergy's public simulator:
//
//   Nodes are equal. A job's proportional share is its GPUs' part of a node.
//   A job does whole iterations in a round, floor(seconds / (iteration seconds / factor)); what is left of
//   the round is lost. It completes at the end of the round in which it does the last one.
//   Starts, stops and moves cost nothing, and nothing is lost by a failure.
//
// The factor is what the profile says of the cores and memory that the job holds: HostNeeds::factor, between
// the measured points bilinear, where a point counts at least as much as every point with no more of either.
// Published allocators reckon otherwise here and there (a demand that is cut to a node, for example); who
// wants a round to count as they say calls credit().

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

namespace goodput {

/// A job of a fixed number of GPUs, and its profile.
struct SynergyJob {
    std::string name{};              ///< its own
    std::string model{};             ///< jobs of one model are of one kind
    double submitted_seconds = 0;    ///< from the start of the trace
    int gpus = 1;                    ///< that it runs on, never more or fewer
    double iterations = 1;           ///< of its whole work, at least 1
    double iteration_seconds = 1;    ///< of one iteration at factor 1, which is its proportional share's
    std::vector<HostSpeed> speed{};  ///< by cores and memory beside a GPU; none: they do not matter
    HostShare ideal{};               ///< beside a GPU: with more of either it is no faster
    double ideal_factor = 1;         ///< with that
};

/// What goes with a GPU on nodes that are all alike. Refuses a cluster without nodes or with several kinds of
/// them, and nodes that count no cores or no memory (std::invalid_argument).
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
    /// Jobs in the order of their submission. Refuses what proportional_share() does, and numbers that are
    /// out of range (std::invalid_argument with job, field and value); replay() looks at times and names.
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

    // What a world answers (world.hpp).

    /// The jobs as a scheduler knows them: an iteration is an example, Job::host has the profile.
    [[nodiscard]] const std::vector<Job>& jobs() const { return jobs_; }
    /// Lets a job train: whole iterations.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        const double factor = credited_[job] ? *credited_[job] : factor_of(job, held.host());
        left_[job] -= std::floor(seconds / (truth_[job].iteration_seconds / factor));
        left_[job] = std::max(left_[job], 0.0);
        return left_[job] == 0 ? std::optional(begin + seconds) : std::nullopt;
    }
    /// The part of its iterations that is done.
    [[nodiscard]] double done(std::size_t job) const { return 1 - left_[job] / truth_[job].iterations; }
    /// Its iterations, those done and those left.
    void report(std::size_t job, Job& known, JobModel& model) const {
        known.done_examples = truth_[job].iterations - left_[job];
        known.remaining_examples = left_[job];
        model.types.clear();
    }
    /// Iterations a second at the proportional share, as profiled. A Scheduler multiplies them by the factor
    /// of the host share that an option has.
    [[nodiscard]] auto predictor() const {
        return known_goodput([this](const Job& job, const Option&) {
            return 1 / truth_[index_of(job.name)].iteration_seconds;
        });
    }
    /// With the proportional share, at all times or, where its part of the cluster is smaller than that, in
    /// turns.
    [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
        const double turns = std::min(gpus_ / (sharers * truth_[job].gpus), 1.0);
        return truth_[job].iterations * truth_[job].iteration_seconds / turns;
    }
    /// With all cores and memory that it can use: the GPU seconds that it would take.
    [[nodiscard]] double one_gpu_seconds(std::size_t job) const {
        const SynergyJob& of = truth_[job];
        return of.iterations * of.iteration_seconds * of.gpus / of.ideal_factor;
    }

    // What planners may ask beside a Snapshot; jobs by their index in jobs().

    /// The index of the job of that name; refuses any other (std::invalid_argument).
    [[nodiscard]] std::size_t index_of(const std::string& name) const { return names_.index_of(name); }
    /// The job and its profile.
    [[nodiscard]] const SynergyJob& job(std::size_t job) const { return truth_[job]; }
    /// What it may be given beside a GPU, and how fast it is with that.
    [[nodiscard]] const HostNeeds& needs(std::size_t job) const { return *jobs_[job].host; }
    /// Iterations that it still has to do.
    [[nodiscard]] double iterations_left(std::size_t job) const { return left_[job]; }
    /// What goes with a GPU in proportion.
    [[nodiscard]] HostShare share() const { return share_; }

    /// From now on the job progresses by this factor (at least 0), whatever it holds; none: by its profile.
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

    /// Points that are slower than one with no more of either are measurements' noise.
    static void let_more_never_harm(std::vector<HostSpeed>& speed) {
        for (HostSpeed& point : speed)
            for (const HostSpeed& other : std::vector(speed))
                if (other.cores_per_gpu <= point.cores_per_gpu &&
                    other.memory_gib_per_gpu <= point.memory_gib_per_gpu)
                    point.factor = std::max(point.factor, other.factor);
    }

    /// Nobody gets less than the proportional share, or than what it can use: Synergy's guarantee.
    [[nodiscard]] Job known(const SynergyJob& truth) const {
        HostNeeds needs{share_, truth.ideal, truth.speed};
        if (!truth.speed.empty()) {  // below the least that was measured there is only guessing
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
    int gpus_;  // of the cluster
    std::vector<SynergyJob> truth_;
    std::vector<std::optional<double>> credited_;
    std::vector<Job> jobs_;
    std::vector<double> left_;  // iterations
    JobNames names_;
};

}  // namespace goodput

#endif
