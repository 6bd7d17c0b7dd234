#ifndef GOODPUT_SCHEDULE_HOST_SHARES_HPP
#define GOODPUT_SCHEDULE_HOST_SHARES_HPP

// Variants of what another maker offers: the same GPUs with more or less CPU cores and host memory.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/core/host.hpp"
#include "goodput/schedule/detail/shared_offers.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput {

/// Offers what `Inner` offers, to jobs with Job::host in several variants: their share of the node, and each
/// measured point that lies within the job's limits and that the node can give. Of these only variants that
/// are faster than every one that takes no more, and none that is slower than with the job's share of the
/// node, brought within its limits; at most 16 of them. GPUs whose nodes cannot give the least that the job
/// needs are not offered. A node that does not count cores, or memory, has enough of them. Configurations of
/// several parts, and GPUs whose nodes count no cores and no memory,
/// are offered as they are. A maker that answers at prices has no variants here: let it be the outer one, as
/// in ParallelPlans(large, {}, HostShares<>()).
template <ListsAllOptions Inner = ListedShapes>
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
        std::size_t pool = no_index;
        for (const Option& option : plain_) {
            const PoolShare& part = option.configuration.first();
            const std::size_t its = find_pool(round.pools, part);
            if (option.configuration.empty() || !option.configuration.is_single() ||
                its == round.pools.size()) {
                options.push_back(option);
                continue;
            }
            // Options of one pool lie side by side.
            if (its != pool) {
                pool = its;
                find_variants(round, *job.host, round.pools[pool]);
            }
            if (node_.empty()) options.push_back(option);
            const int gpus_on_node = (part.shape.gpus + part.shape.nodes - 1) / part.shape.nodes;
            for (const Variant& variant : variants_) {
                if (!can_give(variant.share, gpus_on_node)) continue;
                options.push_back(option);
                options.back().configuration = Configuration(part, variant.share);
            }
        }
    }

    /// What the inner maker says.
    [[nodiscard]] std::string why_none(const Job& job) const requires ReasonMaker<Inner> {
        return inner_.why_none(job);
    }

private:
    static constexpr std::size_t most_variants = 16;

    struct Variant {
        HostShare share{};
        double factor = 1;
    };

    /// Whether a node of the pool has so much for each of so many GPUs.
    [[nodiscard]] bool can_give(const HostShare& share, int gpus) const {
        return share.cores_per_gpu * gpus <= node_.cores_per_gpu * (1 + 1e-9) &&
               share.memory_gib_per_gpu * gpus <= node_.memory_gib_per_gpu * (1 + 1e-9);
    }

    /// Those that a GPU of the pool may be given; none where its nodes count neither cores nor memory.
    void find_variants(const Round& round, const HostNeeds& needs, const Pool& pool) {
        variants_.clear();
        node_ = {};
        if (pool.nodes.empty()) return;
        const auto least_counted = [&](double Node::*amount) {
            double least = 0;
            for (const std::size_t index : pool.nodes)
                if (const double its = round.cluster.nodes[index].*amount; its > 0)
                    least = least > 0 ? std::min(least, its) : its;
            return least;
        };
        node_ = {least_counted(&Node::cores), least_counted(&Node::memory_gib)};
        if (node_.empty()) return;
        const auto offer = [&](HostShare share) {
            share.cores_per_gpu =
                node_.cores_per_gpu == 0
                    ? 0
                    : std::clamp(share.cores_per_gpu, needs.least.cores_per_gpu, needs.most.cores_per_gpu);
            share.memory_gib_per_gpu =
                node_.memory_gib_per_gpu == 0
                    ? 0
                    : std::clamp(share.memory_gib_per_gpu, needs.least.memory_gib_per_gpu,
                                 needs.most.memory_gib_per_gpu);
            if (can_give(share, 1)) variants_.push_back({share, needs.factor(share)});
        };
        offer({node_.cores_per_gpu / pool.gpus_per_node, node_.memory_gib_per_gpu / pool.gpus_per_node});
        const double least = variants_.empty() ? 0 : variants_.front().factor * (1 - 1e-9);
        offer(needs.least);
        for (const HostSpeed& speed : needs.speed) offer({speed.cores_per_gpu, speed.memory_gib_per_gpu});
        std::sort(variants_.begin(), variants_.end(),
                  [](const Variant& a, const Variant& b) { return a.share < b.share; });
        std::erase_if(variants_, [&](const Variant& one) { return one.factor < least; });
        // In this order none takes less than one before it of both.
        std::size_t kept = 0;
        for (const Variant& one : variants_) {
            const bool needless =
                std::any_of(variants_.begin(), variants_.begin() + static_cast<std::ptrdiff_t>(kept),
                            [&](const Variant& other) {
                                return other.share.memory_gib_per_gpu <= one.share.memory_gib_per_gpu &&
                                       other.factor >= one.factor;
                            });
            if (!needless) variants_[kept++] = one;
        }
        variants_.resize(kept);
        if (kept > most_variants) thin(pool.gpus_per_node);
    }
    /// Leaves one that takes no more than the share, the fastest, and every so many of the others.
    void thin(int gpus_per_node) {
        const auto within = std::find_if(variants_.begin(), variants_.end(), [&](const Variant& variant) {
            return can_give(variant.share, gpus_per_node);
        });
        const auto fastest =
            std::max_element(variants_.begin(), variants_.end(),
                             [](const Variant& a, const Variant& b) { return a.factor < b.factor; });
        const std::size_t size = variants_.size(), others = most_variants - 2;
        const auto first = variants_.begin();
        std::vector<Variant> left;
        for (auto at = first; at != variants_.end(); ++at) {
            const auto index = static_cast<std::size_t>(at - first);
            if (at == within || at == fastest || index * others / size != (index + 1) * others / size)
                left.push_back(*at);
        }
        variants_ = std::move(left);
    }

    Inner inner_;
    std::vector<Option> plain_;
    HostShare node_{};  // what every node of a pool has that counts it, all of it
    std::vector<Variant> variants_;
};

static_assert(OptionMaker<HostShares<>>);

}  // namespace goodput

#endif
