#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_WORLD_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_WORLD_HPP

// What a control loop knows about its cluster and jobs, changed record by record.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/snapshot.hpp"

#include "fuzz/support/bytes.hpp"

namespace fuzz {

using namespace goodput;

/// A job with its model and its placement by names of nodes, which keep their meaning when nodes vanish.
struct Running {
    Job job;
    JobModel model;
    std::map<std::string, int> shares;
};

/// What a control loop would know. Records change it, and it hands a snapshot to the scheduler.
class World {
public:
    static constexpr std::size_t most_nodes = 16, most_jobs = 20;

    explicit World(fuzz::Bytes& head) : types_(1 + head.index(3)) {
        for (std::size_t t = 0; t < types_; ++t) gpu_types_.push_back("type-" + std::to_string(t));
    }

    /// Applies a record. Returns whether it asks for a plan.
    bool change(fuzz::Bytes record) {
        switch (record.index(16)) {
            case 0:
                return true;
            case 1:
                return advance(record, true);
            case 2:
            case 3:
                add_nodes(record);
                break;
            case 4:
                lose_node(record);
                break;
            case 5:
                if (!nodes_.empty()) nodes_[record.index(nodes_.size())].drained ^= !record.flag();
                break;
            case 6:
            case 7:
            case 8:
                add_job(record);
                break;
            case 9:
                if (!jobs_.empty()) erase(jobs_, record.index(jobs_.size()));
                break;
            case 10:
                set_limits(record);
                break;
            case 11:
                set_state(record);
                break;
            case 12:
                set_report(record);
                break;
            case 13:
                set_placement(record);
                break;
            default:
                set_model(record);
        }
        return false;
    }

    /// Lets time go on by a round.
    bool advance(fuzz::Bytes record, bool plan) {
        const double step = record.number(0, 600);
        now_ += record.integer(0, 7) == 7 ? -10 * step : step;
        return plan;
    }

    [[nodiscard]] Snapshot snapshot() const {
        Snapshot result{now_, {gpu_types_, nodes_}, {}, {}};
        for (const Running& running : jobs_) {
            Job job = running.job;
            job.placement.clear();
            for (const auto& held : running.shares) {
                const auto at = std::find_if(nodes_.begin(), nodes_.end(),
                                             [&](const Node& node) { return node.name == held.first; });
                // A job that lost a node has stopped. A loop that has not noticed reports nonsense.
                if (at == nodes_.end()) {
                    job.placement.clear();
                    break;
                }
                job.placement.push_back({static_cast<std::size_t>(at - nodes_.begin()), held.second});
            }
            std::sort(job.placement.begin(), job.placement.end());
            if (running.job.placement.size() == 1 && !job.placement.empty())  // see set_placement()
                job.placement.front().node = running.job.placement.front().node;
            result.jobs.push_back(std::move(job));
            result.models.push_back(running.model);
        }
        if (models_left_out_) result.models.clear();
        return result;
    }

    /// Moves every job to where the plan puts it.
    void carry_out(const Snapshot& snapshot, const Plan& plan) {
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            Running& running = jobs_[j];
            if (plan.decisions[j].starts && !snapshot.jobs[j].placement.empty()) ++running.job.restarts;
            running.job.placement.clear();
            running.shares.clear();
            for (const NodeShare& share : plan.decisions[j].placement) {
                running.shares[snapshot.cluster.nodes[share.node].name] = share.gpus;
                running.job.attained_gpu_seconds += 60.0 * share.gpus;
            }
        }
        now_ += 60;
    }

private:
    template <class T>
    static void erase(std::vector<T>& list, std::size_t index) {
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
    }

    Running& any_job(fuzz::Bytes& record) {
        if (jobs_.empty()) add_job(record);
        return jobs_[jobs_.size() - 1 - record.index(jobs_.size())];
    }

    void add_nodes(fuzz::Bytes& record) {
        const std::size_t type = record.index(types_), count = 1 + record.index(4), first = record.index(12);
        int gpus = record.pick(std::array{4, 8, 1, 2, 6, 3, 16});
        const bool drained = record.integer(0, 7) == 7, odd = record.integer(0, 15) == 15;
        if (odd) gpus = record.hostile_integer(0, 9);
        for (std::size_t n = first; n < first + count && nodes_.size() < most_nodes; ++n) {
            const Node node{"node-" + std::to_string(n), type, gpus, drained};
            const auto same = std::find_if(nodes_.begin(), nodes_.end(),
                                           [&](const Node& other) { return other.name == node.name; });
            if (same == nodes_.end() || odd)
                nodes_.push_back(node);
            else
                *same = node;  // the node returns, perhaps with other GPUs
        }
    }

    void lose_node(fuzz::Bytes& record) {
        for (std::size_t count = 1 + record.index(3); count > 0 && !nodes_.empty(); --count)
            erase(nodes_, record.index(nodes_.size()));
    }

    void add_job(fuzz::Bytes& record) {
        const std::uint32_t drawn = record.field();
        Running running;
        Job& job = running.job;
        job.min_gpus = record.hostile_integer(1, 4);
        job.max_gpus = record.hostile_integer(std::clamp(job.min_gpus, 1, 64), 64);
        job.adaptivity = static_cast<Adaptivity>(record.index(3));
        job.initial_batch = record.hostile_integer(16, 256);
        job.max_batch = std::clamp(job.initial_batch, 1, 4096) << record.index(6);
        job.target_batch = std::clamp(job.initial_batch, 1, 4096) << record.index(4);
        job.submitted_seconds = now_;
        job.types.assign(types_, {.max_atomic_batch = 128});
        // Adds several jobs of a kind, and now and then one whose name is taken.
        for (std::uint32_t n = 0; n <= drawn / 65536 % 4 && jobs_.size() < most_jobs; ++n) {
            job.name = "job-" + std::to_string((drawn + n) % 32);
            const bool known = std::any_of(jobs_.begin(), jobs_.end(),
                                           [&](const Running& other) { return other.job.name == job.name; });
            if (known && drawn / 4096 % 16 != 15) job.name += "'" + std::to_string(jobs_.size());
            jobs_.push_back(running);
        }
    }

    void set_limits(fuzz::Bytes& record) {
        Job& job = any_job(record).job;
        TypeLimits& limits = job.types[record.index(job.types.size())];
        limits.min_atomic_batch = record.hostile_integer(1, 16);
        limits.max_atomic_batch = record.hostile_integer(0, 512);
        limits.gpus_per_replica = record.pick(std::array{1, 1, 2, 4, 3});
        limits.max_nodes = record.hostile_integer(1, 4);
        limits.reference_rate = record.number(0, 100);
    }

    void set_state(fuzz::Bytes& record) {
        Job& job = any_job(record).job;
        job.preemptible = record.integer(0, 3) != 3;
        job.restarting = record.integer(0, 7) == 7;
        job.restart_cost_seconds = record.number(0, 300);
        job.restarts = record.hostile_integer(0, 9);
        job.attained_gpu_seconds = record.number(0, 1e6);
        job.submitted_seconds = now_ - record.number(0, 1e4);
    }

    void set_report(fuzz::Bytes& record) {
        Job& job = any_job(record).job;
        job.gradient.reset();
        job.remaining_examples.reset();
        if (!record.flag()) job.gradient = GradientStatistics{record.number(0, 4), record.scale(1e-3, 1e4)};
        if (!record.flag()) job.remaining_examples = record.scale(1, 1e8);
        job.single_gpu_accumulates = record.flag();
        models_left_out_ = record.integer(0, 31) == 31;
    }

    /// Places a job where it says that it runs, whatever the plan said; sometimes on a node that does not
    /// exist.
    void set_placement(fuzz::Bytes& record) {
        Running& running = any_job(record);
        running.shares.clear();
        running.job.placement.clear();
        if (nodes_.empty()) return;
        const std::size_t first = record.index(nodes_.size()), count = 1 + record.index(3);
        const bool whole = record.flag();
        const int gpus = record.hostile_integer(1, 8);
        for (std::size_t n = first; n < first + count && n < nodes_.size(); ++n)
            running.shares[nodes_[n].name] = whole ? nodes_[n].gpus : gpus;
        if (record.integer(0, 15) == 15) running.job.placement = {{record.index(32), 1}};
    }

    void set_model(fuzz::Bytes& record) {
        Running& running = any_job(record);
        running.model.types.resize(record.integer(0, 31) == 31 ? types_ + 1 : types_);
        TypeModel& model = running.model.types[record.index(running.model.types.size())];
        model.most_replicas =
            record.integer(0, 15) == 15 ? record.hostile_integer(0, 64) : record.integer(0, 8);
        const double constant = record.number(0, 0.3), each = record.scale(1e-5, 0.01);
        const double sync = record.number(0, 0.3), gamma = record.number(1, 10);
        if (record.index(3) != 2) {  // all eight fields are used up
            model.throughput = PolluxThroughput{constant, each, sync, sync / 16, sync / 4, sync / 64, gamma};
            return;
        }
        RefinedThroughput refined{.alpha_c = constant, .beta_c = each, .gamma = gamma};
        refined.node_seconds = sync / 4;
        refined.network_seconds = sync;
        refined.batches = {{8, 1.1}, {32, 1 + constant}, {256, 0.9}};
        model.throughput = refined;
        model.fitted = true;
    }

    std::size_t types_;
    std::vector<std::string> gpu_types_;
    std::vector<Node> nodes_;
    std::vector<Running> jobs_;
    double now_ = 0;
    bool models_left_out_ = false;
};

}  // namespace fuzz

#endif
