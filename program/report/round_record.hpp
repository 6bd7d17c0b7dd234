#ifndef GOODPUT_PROGRAM_REPORT_ROUND_RECORD_HPP
#define GOODPUT_PROGRAM_REPORT_ROUND_RECORD_HPP

// Records what a replay's result does not keep of its rounds: prices, GPUs by type, and the time of every
// restart.

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/replay_result.hpp"

namespace cli {

/// A change of price: from `seconds` on, one more GPU of the pool is worth that much.
struct PriceStep {
    double seconds = 0;
    double price = 0;
};

/// The price of one pool over time. Equal successive prices make one step.
struct PoolPrices {
    std::size_t gpu_type = 0;
    int gpus_per_node = 0;
    std::vector<PriceStep> steps{};
    bool spot = false;
};

/// A restart of a job. If a job failed without losing its GPUs, its restart is recorded with the next
/// decision.
struct Restart {
    std::size_t job = 0;  ///< by submission
    double seconds = 0;
};

struct RoundRecord {
    std::vector<PoolPrices> prices{};                        ///< by pool, in the order of their first round
    std::vector<std::vector<goodput::Capacity>> capacity{};  ///< by GPU type
    std::vector<Restart> restarts{};                         ///< by time
};

/// Returns the GPUs of each type.
inline std::vector<int> gpus_by_type(const goodput::Cluster& cluster) {
    std::vector<int> gpus(cluster.gpu_types.size());
    for (const goodput::Node& node : cluster.nodes) gpus[node.gpu_type] += node.gpus;
    return gpus;
}

/// Records every round of one replay of `jobs`, whose names differ. `moves_restart` is as in
/// goodput::ReplayOptions.
class RoundRecorder {
public:
    RoundRecorder(std::span<const goodput::Job> jobs, bool moves_restart)
        : moves_restart_(moves_restart), starts_(jobs.size()) {
        for (std::size_t job = 0; job < jobs.size(); ++job) index_of_[jobs[job].name] = job;
    }

    void note(const goodput::Snapshot& snapshot, const goodput::Plan& plan) {
        note_capacity(snapshot);
        note_prices(snapshot.time_seconds, plan.prices);
        for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
            const goodput::Job& job = snapshot.jobs[i];
            const std::size_t index = index_of_.find(job.name)->second;
            // A job with more restarts than its decisions caused has failed since the last decision.
            for (; starts_[index] > 0 && starts_[index] <= job.restarts; ++starts_[index])
                record_.restarts.push_back({index, snapshot.time_seconds});
            if (starts(snapshot, job, plan.decisions[i]) && ++starts_[index] > 1)
                record_.restarts.push_back({index, snapshot.time_seconds});
        }
    }

    [[nodiscard]] const RoundRecord& record() const { return record_; }

private:
    [[nodiscard]] bool starts(const goodput::Snapshot& snapshot, const goodput::Job& job,
                              const goodput::Decision& decision) const {
        return decision.starts &&
               (moves_restart_ || !decision.option.configuration.same_gpus(
                                      goodput::configuration_of(job.placement, snapshot.cluster)));
    }

    void note_capacity(const goodput::Snapshot& snapshot) {
        const std::vector<int> gpus = gpus_by_type(snapshot.cluster);
        record_.capacity.resize(gpus.size());
        for (std::size_t type = 0; type < gpus.size(); ++type) {
            std::vector<goodput::Capacity>& steps = record_.capacity[type];
            const double since = steps.empty() ? 0 : snapshot.time_seconds;
            if (steps.empty() || steps.back().gpus != gpus[type]) steps.push_back({since, gpus[type]});
        }
    }

    void note_prices(double now, std::span<const goodput::PoolPrice> prices) {
        for (const goodput::PoolPrice& price : prices) {
            std::size_t pool = 0;
            while (pool < record_.prices.size() &&
                   (record_.prices[pool].gpu_type != price.gpu_type ||
                    record_.prices[pool].gpus_per_node != price.gpus_per_node ||
                    record_.prices[pool].spot != price.spot))
                ++pool;
            if (pool == record_.prices.size())
                record_.prices.push_back({price.gpu_type, price.gpus_per_node, {}, price.spot});
            std::vector<PriceStep>& steps = record_.prices[pool].steps;
            if (steps.empty() || steps.back().price != price.price) steps.push_back({now, price.price});
        }
    }

    bool moves_restart_;
    RoundRecord record_;
    std::map<std::string, std::size_t, std::less<>> index_of_;
    std::vector<int> starts_;  ///< by submission
};

}  // namespace cli

#endif
