#ifndef GOODPUT_TESTS_SUPPORT_RANDOM_QUEUE_HPP
#define GOODPUT_TESTS_SUPPORT_RANDOM_QUEUE_HPP

// A random queue on one pool of 8-GPU nodes. Every job asks for one fixed number of GPUs.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"

namespace support {

struct RandomQueue {
    goodput::Cluster cluster{{"gpu"}, {}};
    std::vector<goodput::Pool> pools;
    std::vector<goodput::Job> jobs;
    std::vector<goodput::Option> options;  ///< the only option of each job
    std::vector<double> values;            ///< value of this option

    /// `keeping` is the fraction of running jobs that keep what they hold.
    explicit RandomQueue(Random& random, double keeping = 0) {
        const int nodes = random.integer(1, 4);
        for (int n = 0; n < nodes; ++n) cluster.nodes.push_back({"node-" + std::to_string(n), 0, 8});
        pools = goodput::pools_of(cluster);
        int held = 0;
        const int count = random.integer(1, 12);
        for (int j = 0; j < count; ++j) {
            goodput::Job job{.name = "job-" + std::to_string(j),
                             .submitted_seconds = random.integer(0, 50) * 1.0};
            const int gpus = random.integer(1, 8);
            if (random.chance(0.4) && held + 8 <= nodes * 8) {
                job.placement = {{static_cast<std::size_t>(held / 8), gpus}};
                held += 8;
                if (random.chance(keeping)) (random.chance(0.5) ? job.restarting : job.preemptible) ^= true;
            }
            if (random.chance(0.8)) job.remaining_examples = random.between(1, 100);
            job.attained_gpu_seconds = random.integer(0, 5) * 100.0;
            jobs.push_back(job);
            options.push_back(
                {{0, 8, {1, gpus}}, {1, 0}, random.between(0.1, 10), goodput::Knowledge::measured});
        }
        values.resize(jobs.size());
    }

    template <goodput::Policy P>
    void value(const P& policy) {
        std::vector<PoolUses> uses;
        for (const goodput::Option& option : options) uses.emplace_back(pools, std::span(&option, 1));
        std::vector<goodput::OptionRow> rows;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            rows.push_back({jobs[j], std::span<const goodput::Option>(options).subspan(j, 1),
                            std::span<double>(values).subspan(j, 1), uses[j].view()});
        const std::vector<double> capacity = capacity_of(pools);
        goodput::value_rows(policy, goodput::Round{100, cluster, pools, capacity},
                            std::span<const goodput::OptionRow>(rows));
    }
    [[nodiscard]] bool served(std::size_t j) const { return values[j] > 0; }
    [[nodiscard]] bool runs(std::size_t j) const { return !jobs[j].placement.empty(); }
    [[nodiscard]] bool keeps(std::size_t j) const {
        return runs(j) && (jobs[j].restarting || !jobs[j].preemptible);
    }
    [[nodiscard]] int gpus_of(std::size_t j) const { return options[j].configuration.gpus(); }
    [[nodiscard]] int served_gpus() const {
        int sum = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) sum += served(j) ? gpus_of(j) : 0;
        return sum;
    }
};

}  // namespace support

#endif
