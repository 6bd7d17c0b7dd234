#ifndef GOODPUT_PROGRAM_PEERS_SIA_FIXED_SIA_WORLD_HPP
#define GOODPUT_PROGRAM_PEERS_SIA_FIXED_SIA_WORLD_HPP

// Sia's world (sim/sia_world.hpp) for policies such as Gavel's, for jobs of a fixed size with known speeds.
// Every job runs with the GPUs and the batch that its owner asked for. Its speed on each GPU type is the
// true one of its present epoch, on as few nodes as hold its GPUs. Everything else, including the cost of
// starts, is as in Sia's world. A step counts as a useful example.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/sim/sia_world.hpp"
#include "goodput/sim/world_parts.hpp"

namespace goodput::peers {

/// Jobs learn nothing, because the policy knows their speeds.
struct KnownSpeeds : ExactPlans {
    static JobHistory* begin(const Job&) { return nullptr; }
    static JobHistory* add(const Job&, JobHistory&, std::size_t, const ThroughputSample&) { return nullptr; }
};

/// The jobs of a trace, for one replay.
class FixedSiaWorld {
public:
    /// Takes the arguments of SiaWorld; `rules.rigid` is always true. The caller keeps them all alive.
    FixedSiaWorld(const Cluster& cluster, std::span<const Application> applications,
                  std::span<const Submission> submissions, SiaRules rules)
        : world_(cluster, applications, submissions, rigid(std::move(rules))),
          names_(world_.jobs()),
          node_gpus_(cluster.gpu_types.size()),
          last_run_(submissions.size()) {
        for (const Submission& submission : submissions) gpus_.push_back(submission.gpus);
        for (const Node& node : cluster.nodes)
            node_gpus_[node.gpu_type] = std::max(node_gpus_[node.gpu_type], node.gpus);
    }

    // The functions of a world (world.hpp).

    [[nodiscard]] const std::vector<Job>& jobs() const { return world_.jobs(); }
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        const std::optional<double> completed = world_.train(job, held, begin, seconds);
        const double end = std::min(completed.value_or(begin + seconds), begin + seconds);
        last_run_[job] = {.end_seconds = end, .ran_seconds = end - begin};
        return completed;
    }
    [[nodiscard]] double done(std::size_t job) const { return world_.done(job); }
    void report(std::size_t job, Job& known, JobModel& model) const { world_.report(job, known, model); }
    [[nodiscard]] auto predictor() const {
        return known_goodput([this](const Job& job, const Option& option) {
            return world_.fixed_rate(index_of(job.name), option.configuration.first());
        });
    }
    double start(std::size_t job, const Configuration& held) {
        last_run_[job] = {};  // it may not get beyond its start
        return world_.start(job, held);
    }
    void save(std::size_t job) { world_.save(job); }
    void fail(std::size_t job) { world_.fail(job); }
    void save_like(std::size_t job, const Checkpointing& chosen) { world_.save_like(job, chosen); }
    [[nodiscard]] double lost_gpu_seconds(std::size_t job) const { return world_.lost_gpu_seconds(job); }

    // Functions for planners, in addition to a Snapshot (TimeSharedWorld).

    [[nodiscard]] std::size_t index_of(const std::string& name) const { return names_.index_of(name); }
    [[nodiscard]] int gpus(std::size_t job) const { return gpus_[job]; }
    [[nodiscard]] double weight(std::size_t job) const { return world_.jobs()[job].weight; }
    /// Also 0 if the cluster had no node of that type at first.
    [[nodiscard]] double rate(std::size_t job, std::size_t gpu_type) const {
        const int of_node = node_gpus_[gpu_type], gpus = gpus_[job];
        if (of_node == 0) return 0;
        return world_.fixed_rate(job, {gpu_type, of_node, {(gpus + of_node - 1) / of_node, gpus}});
    }
    [[nodiscard]] double steps_left(std::size_t job) const {
        return world_.remaining_examples(job).value_or(0);
    }
    [[nodiscard]] const RoundRun& last_run(std::size_t job) const { return last_run_[job]; }

private:
    static SiaRules rigid(SiaRules rules) {
        rules.rigid = true;
        return rules;
    }

    SiaWorld<KnownSpeeds> world_;
    JobNames names_;
    std::vector<int> gpus_, node_gpus_;  // by job; largest node by GPU type
    std::vector<RoundRun> last_run_;
};

}  // namespace goodput::peers

#endif
