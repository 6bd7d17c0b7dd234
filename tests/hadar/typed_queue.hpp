#ifndef GOODPUT_TESTS_HADAR_TYPED_QUEUE_HPP
#define GOODPUT_TESTS_HADAR_TYPED_QUEUE_HPP

// Jobs of fixed sizes that may run on one node of several GPU types, at a rate for each type, with the values
// that a policy gives them.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"

namespace support {

struct TypedQueue {
    double time_seconds = 10000;
    goodput::Cluster cluster;
    std::vector<goodput::Pool> pools;
    std::vector<goodput::Job> jobs;
    std::vector<std::vector<goodput::Option>> options;  ///< options of each job
    std::vector<std::vector<double>> values;            ///< values of each job's options

    /// `nodes` is the number of nodes of each GPU type; each has `gpus_per_node` GPUs.
    explicit TypedQueue(const std::vector<int>& nodes, int gpus_per_node = 1) {
        for (std::size_t t = 0; t < nodes.size(); ++t) {
            cluster.gpu_types.push_back("type-" + std::to_string(t));
            for (int n = 0; n < nodes[t]; ++n)
                cluster.nodes.push_back(
                    {"node-" + std::to_string(t) + "-" + std::to_string(n), t, gpus_per_node});
        }
        pools = goodput::pools_of(cluster);
    }

    /// `rate` has an entry for each GPU type, 0 if the job cannot run there. Every type needs nodes.
    goodput::Job& add(const std::vector<double>& rate, double examples_left, int gpus = 1) {
        goodput::Job job{.name = "job-" + std::to_string(jobs.size()),
                         .min_gpus = gpus,
                         .max_gpus = gpus,
                         .adaptivity = goodput::Adaptivity::none};
        job.remaining_examples = examples_left;
        jobs.push_back(job);
        options.emplace_back();
        for (const goodput::Pool& pool : pools)
            if (rate[pool.gpu_type] > 0)
                options.back().push_back({{pool.gpu_type, pool.gpus_per_node, {1, gpus}},
                                          {1, 0},
                                          rate[pool.gpu_type],
                                          goodput::Knowledge::measured});
        return jobs.back();
    }
    /// `most_gpus` is the largest size of a job.
    void add_random(Random& random, int count, int most_gpus = 1) {
        for (int j = 0; j < count; ++j) {
            std::vector<double> rate;
            for (std::size_t t = 0; t < cluster.gpu_types.size(); ++t)
                rate.push_back(random.chance(0.1) ? 0 : random.between(1, 10));
            if (std::all_of(rate.begin(), rate.end(), [](double r) { return r == 0; })) rate.back() = 1;
            goodput::Job& job = add(rate, random.between(100, 100000), random.integer(1, most_gpus));
            job.submitted_seconds = random.integer(0, 20) * 500.0;
            job.done_examples = random.between(0, 100000);
        }
    }

    template <goodput::Policy P>
    void value(const P& policy) {
        values.clear();
        std::vector<PoolUses> uses;
        for (const auto& its : options) {
            uses.emplace_back(pools, its);
            values.emplace_back(its.size(), -1.0);
        }
        std::vector<goodput::OptionRow> rows;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            rows.push_back({jobs[j], options[j], values[j], uses[j].view()});
        const std::vector<double> capacity = capacity_of(pools);
        goodput::value_rows(policy, goodput::Round{time_seconds, cluster, pools, capacity},
                            std::span<const goodput::OptionRow>(rows));
    }
    /// Puts a job on the node with that index.
    void hold(std::size_t j, std::size_t node) { jobs[j].placement = {{node, jobs[j].max_gpus}}; }
};

}  // namespace support

#endif
