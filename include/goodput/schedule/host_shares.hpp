#ifndef GOODPUT_SCHEDULE_HOST_SHARES_HPP
#define GOODPUT_SCHEDULE_HOST_SHARES_HPP

// Variants of what another maker offers: the same GPUs with more or less CPU cores and host memory.

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/core/host.hpp"
#include "goodput/schedule/detail/shared_offers.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput {

/// Offers what `Inner` offers, to jobs with Job::host in several variants: their share of the node, and each
/// measured point that lies within the job's limits and that the node can give; of these only variants that
/// are faster than every one that takes no more, and none that is slower than with the job's share of the
/// node, brought within its limits. GPUs whose nodes cannot give the least that the job needs are not
/// offered; those whose nodes count no cores and no memory are offered as they are.
template <OptionMaker Inner = ListedShapes>
class HostShares {
public:
    /// Variants of what this maker offers.
    explicit HostShares(Inner inner = {}) : inner_(std::move(inner)) {}

    /// A Scheduler asks once for all jobs that are alike, where it does so with the inner maker.
    using DeclaresInputsOf = std::conditional_t<detail::DeclaresJobInputs<Inner>, HostShares, void>;
    /// What the inner maker reads.
    template <class Input>
    static void for_each_input(const Job& job, Input& input) {
        Inner::for_each_input(job, input);
    }

    /// Appends variants side by side, by host share.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const std::size_t first = options.size();
        inner_.list(round, job, most_gpus, options);
        if (!job.host) return;
        plain_.assign(options.begin() + static_cast<std::ptrdiff_t>(first), options.end());
        options.resize(first);
        for (const Option& option : plain_) {
            const bool counted = option.configuration.is_single() &&
                                 find_variants(round, *job.host, option.configuration.first());
            if (!counted)
                options.push_back(option);
            else
                for (const HostShare& share : variants_) {
                    options.push_back(option);
                    options.back().configuration = Configuration(option.configuration.first(), share);
                }
        }
    }

private:
    /// False if the pool's nodes count neither cores nor memory.
    bool find_variants(const Round& round, const HostNeeds& needs, const PoolShare& part) {
        variants_.clear();
        const Pool& pool = round.pools[find_pool(round.pools, part.gpu_type, part.gpus_per_node)];
        if (pool.nodes.empty()) return false;
        // What every node of the pool has.
        HostShare node{round.cluster.nodes[pool.nodes.front()].cores,
                       round.cluster.nodes[pool.nodes.front()].memory_gib};
        for (const std::size_t index : pool.nodes) {
            node.cores_per_gpu = std::min(node.cores_per_gpu, round.cluster.nodes[index].cores);
            node.memory_gib_per_gpu =
                std::min(node.memory_gib_per_gpu, round.cluster.nodes[index].memory_gib);
        }
        if (node.empty()) return false;
        const int gpus_on_node = (part.shape.gpus + part.shape.nodes - 1) / part.shape.nodes;
        const auto within_limits = [&](HostShare variant) {
            variant.cores_per_gpu =
                node.cores_per_gpu == 0
                    ? 0
                    : std::clamp(variant.cores_per_gpu, needs.least.cores_per_gpu, needs.most.cores_per_gpu);
            variant.memory_gib_per_gpu =
                node.memory_gib_per_gpu == 0
                    ? 0
                    : std::clamp(variant.memory_gib_per_gpu, needs.least.memory_gib_per_gpu,
                                 needs.most.memory_gib_per_gpu);
            return variant;
        };
        const auto offer = [&](HostShare variant) {
            variant = within_limits(variant);
            if (variant.cores_per_gpu * gpus_on_node > node.cores_per_gpu * (1 + 1e-9) ||
                variant.memory_gib_per_gpu * gpus_on_node > node.memory_gib_per_gpu * (1 + 1e-9))
                return;
            variants_.push_back(variant);
        };
        const HostShare share = within_limits(
            {node.cores_per_gpu / part.gpus_per_node, node.memory_gib_per_gpu / part.gpus_per_node});
        offer(share);
        offer(needs.least);
        for (const HostSpeed& speed : needs.speed) offer({speed.cores_per_gpu, speed.memory_gib_per_gpu});
        std::sort(variants_.begin(), variants_.end());
        variants_.erase(std::unique(variants_.begin(), variants_.end()), variants_.end());
        if (std::find(variants_.begin(), variants_.end(), share) != variants_.end())
            std::erase_if(variants_, [&](const HostShare& other) {
                return needs.factor(other) < needs.factor(share) * (1 - 1e-9);
            });
        std::erase_if(variants_, [&, all = variants_](const HostShare& one) {
            return std::any_of(all.begin(), all.end(), [&](const HostShare& other) {
                return other != one && other.cores_per_gpu <= one.cores_per_gpu &&
                       other.memory_gib_per_gpu <= one.memory_gib_per_gpu &&
                       needs.factor(other) >= needs.factor(one);
            });
        });
        return true;
    }

    Inner inner_;
    std::vector<Option> plain_;
    std::vector<HostShare> variants_;
};

static_assert(OptionMaker<HostShares<>>);

}  // namespace goodput

#endif
