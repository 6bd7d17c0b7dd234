#ifndef GOODPUT_HOSTS_HOST_SHARES_HPP
#define GOODPUT_HOSTS_HOST_SHARES_HPP

// Variants of another maker's options: the same GPUs with more or fewer CPU cores and more or less host
// memory.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/core/host.hpp"
#include "goodput/hosts/detail/hosts_left.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput::inline v0_1 {

/// Offers the options of `Inner`, in several variants to jobs with Job::host. A variant has the same GPUs
/// with certain cores and memory per GPU (a host share). The candidates are the shares of a pool's nodes,
/// and each measured point that lies within the job's limits and that enough nodes can provide. A variant
/// is kept only if it is faster than every variant that takes no more, and no slower than the smallest
/// share within the job's limits; at most 16 are kept. GPUs are not offered if too few nodes can provide
/// the minimum that the job needs with them. A node that does not count cores, or memory, is assumed to
/// have enough. A job takes nothing of a resource that it does not count. Configurations of several parts,
/// and GPUs whose nodes count neither cores nor memory, are offered unchanged. A job that keeps what it
/// holds is offered its GPUs with the minimum that it needs and with more, as far as its nodes have it. A
/// maker that answers at prices gets no variants in this way: make it the outer one, as in
/// ParallelPlans(large, {}, HostShares<>()).
template <ListsAllOptions Inner = ListedShapes>
class HostShares : public MakerAround<Inner> {
public:
    /// Makes variants of what this maker offers.
    explicit HostShares(Inner inner = Inner()) : MakerAround<Inner>(std::move(inner)) {}

    /// If the inner maker declares its inputs, a Scheduler asks only once for all equal jobs.
    using DeclaresInputsOf = std::conditional_t<DeclaresJobInputs<Inner>, HostShares, void>;
    /// Calls input() with what the inner maker reads, and with Job::host.
    template <class Input>
    static void for_each_input(const Job& job, Input& input) {
        Inner::for_each_input(job, input);
        input(job.host.has_value());
        if (job.host) job.host->for_each_input(input);
    }

    /// Learns what pinned jobs (jobs that keep what they hold) leave of the nodes in this round. If this is
    /// not called, list() assumes that nodes have everything left.
    void begin_round(const Round& round) {
        MakerAround<Inner>::begin_round(round);
        learn(round);
        begun_ = &round.cluster;
    }

    /// Appends the variants of each option next to each other, ordered by host share.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const std::size_t first = options.size();
        this->inner_.list(round, job, most_gpus, options);
        if (!job.host) return;
        if (begun_ != &round.cluster) learn(round);
        plain_.assign(options.begin() + static_cast<std::ptrdiff_t>(first), options.end());
        options.resize(first);
        std::size_t pool = no_index;
        for (const Option& option : plain_) {
            const PoolShare& part = option.configuration.first();
            const std::size_t part_pool = find_pool(round.pools, part);
            if (option.configuration.empty() || !option.configuration.is_single() ||
                part_pool == round.pools.size()) {
                options.push_back(option);
                continue;
            }
            // Options of one pool are adjacent.
            if (part_pool != pool) {
                pool = part_pool;
                find_variants(round.cluster, *job.host, round.pools[pool], of_pool_[pool]);
            }
            if (!counted_) options.push_back(option);
            for (const Variant& variant : variants_) {
                if (!can_give(of_pool_[pool], variant.share, part)) continue;
                options.push_back(option);
                options.back().configuration = Configuration(part, variant.share);
            }
        }
    }

    /// Returns the inner maker's reason. If that is empty, says how many nodes have enough cores and memory
    /// for the GPUs that the inner maker offers.
    [[nodiscard]] std::string why_none(const Round& round, const Job& job) {
        if constexpr (ReasonMaker<Inner>)
            if (std::string why = this->inner_.why_none(round, job); !why.empty()) return why;
        plain_.clear();
        const std::vector<int> any(round.cluster.gpu_types.size(), std::numeric_limits<int>::max());
        this->inner_.list(round, job, any, plain_);
        if (!job.host || plain_.empty()) return {};
        if (begun_ != &round.cluster) learn(round);
        int able = 0, wanted = 0, beside = 0;
        for (const Option& option : plain_) {
            const PoolShare& part = option.configuration.first();
            const std::size_t pool = find_pool(round.pools, part);
            if (!option.configuration.is_single() || pool == round.pools.size()) continue;
            find_variants(round.cluster, *job.host, round.pools[pool], of_pool_[pool]);
            for (const Variant& variant : variants_)
                for_each_load(of_pool_[pool], variant.share, part, [&](int nodes, int gpus, int have) {
                    if (have >= nodes || have <= able) return;
                    able = have, wanted = nodes, beside = gpus;
                });
        }
        if (able == 0) return "no node has the cores and the memory that it needs for each GPU";
        return text_of(able) + (able == 1 ? " node has" : " nodes have") +
               " the cores and the memory that it needs for " + text_of(beside) +
               (beside == 1 ? " GPU" : " GPUs") + ", and it needs " + text_of(wanted) + " such nodes";
    }

    /// Appends what the job holds and keeps, with each variant that its nodes can provide. A variant that
    /// takes no less than another one and is no faster is left out.
    void list_kept(const Round& round, const Job& job, std::vector<Option>& options) {
        const Configuration held = round.held_by(job);
        variants_.clear();
        counted_ = false;
        if (job.host && !job.placement.empty()) {
            if (begun_ != &round.cluster) learn(round);
            find_kept_variants(job);
        }
        const std::vector<PoolShare> parts(held.parts().begin(), held.parts().end());
        for (const Variant& variant : variants_)
            options.push_back({Configuration(parts, variant.share), {}, 0, Knowledge::unknown});
        if (variants_.empty()) options.push_back({held, {}, 0, Knowledge::unknown});
    }

private:
    static constexpr std::size_t most_variants = 16, most_shares = 8;
    static constexpr double tolerance = 1e-9;

    struct Variant {
        HostShare share{};
        double factor = 1;
    };
    /// The nodes of a pool that have the same amounts of both resources.
    struct Alike {
        detail::HostAmounts amounts{};
        int nodes = 0;
    };
    /// What is known about a pool in this round.
    struct OfPool {
        std::vector<Alike> alike{};                 ///< empty if not found yet
        std::vector<detail::HostAmounts> shares{};  ///< amounts per GPU that are left by the jobs that keep
                                                    ///< what they hold
        std::vector<detail::HostAmounts> usual{};   ///< amounts per GPU on empty nodes
    };
    using Shares = std::vector<detail::HostAmounts>;

    void learn(const Round& round) {
        left_.find(round.cluster, round.jobs);
        of_pool_.resize(round.pools.size());
        for (OfPool& pool : of_pool_) pool.alike.clear();
    }

    [[nodiscard]] static bool within(const HostShare& share, double gpus,
                                     const detail::HostAmounts& amounts) {
        return share.cores_per_gpu * gpus <= amounts[0] * (1 + tolerance) &&
               share.memory_gib_per_gpu * gpus <= amounts[1] * (1 + tolerance);
    }
    /// Calls visit(wanted, gpus, able). It means that `wanted` nodes must provide the share for each of at
    /// least `gpus` GPUs, and that `able` nodes can.
    template <class Visit>
    static void for_each_load(const OfPool& pool, const HostShare& share, const PoolShare& part,
                              Visit visit) {
        int wanted = 0;
        detail::NodeLoads(part).for_each([&](int nodes, int gpus) {
            wanted += nodes;
            int able = 0;
            for (const Alike& alike : pool.alike)
                if (within(share, gpus, alike.amounts)) able += alike.nodes;
            visit(wanted, gpus, able);
        });
    }
    /// Returns whether enough nodes of the pool can provide the share for each of a job's GPUs.
    static bool can_give(const OfPool& pool, const HostShare& share, const PoolShare& part) {
        bool enough = true;
        for_each_load(pool, share, part, [&](int wanted, int, int able) { enough &= able >= wanted; });
        return enough;
    }

    /// Finds which resources count: those that the job counts and that some of the nodes count. Returns
    /// whether any does.
    template <class Nodes, class NodeOf>
    bool find_counted(const HostNeeds& needs, const Nodes& nodes, NodeOf node_of) {
        for (std::size_t r = 0; r < detail::host_resources; ++r)
            counts_[r] = detail::counts(needs.most, r) && std::ranges::any_of(nodes, [&](const auto& node) {
                             return left_.usual(node_of(node), r) < std::numeric_limits<double>::infinity();
                         });
        variants_.clear();
        return counted_ = counts_[0] || counts_[1];
    }
    /// Adds a variant with the amounts of the resources that count, brought within the job's limits.
    /// Returns its speed factor.
    double offer(const HostNeeds& needs, const detail::HostAmounts& amounts) {
        HostShare share;
        for (std::size_t r = 0; r < detail::host_resources; ++r)
            if (counts_[r])
                detail::set_amount(share, r,
                                   std::clamp(amounts[r], detail::a_gpu_of(needs.least, r),
                                              detail::a_gpu_of(needs.most, r)));
        return variants_.emplace_back(Variant{share, needs.factor(share)}).factor;
    }
    /// Finds useful variants among `shares`, `others`, the minimum and the measured points, if gives(share)
    /// is true for them. `floor` means that variants slower than every one of `shares` are left out.
    template <class Gives>
    void find_useful(const HostNeeds& needs, const Shares& shares, const Shares& others, bool floor,
                     Gives gives) {
        double least = std::numeric_limits<double>::infinity();
        for (const detail::HostAmounts& share : shares) least = std::min(least, offer(needs, share));
        for (const detail::HostAmounts& other : others) offer(needs, other);
        offer(needs, {needs.least.cores_per_gpu, needs.least.memory_gib_per_gpu});
        for (const HostSpeed& speed : needs.speed)
            offer(needs, {speed.cores_per_gpu, speed.memory_gib_per_gpu});
        std::erase_if(variants_, [&](const Variant& one) {
            return (floor && one.factor < least * (1 - tolerance)) || !gives(one.share);
        });
        keep_useful(shares);
    }

    /// Finds the variants that a GPU of the pool may be given. There are none if the pool's nodes count
    /// neither cores nor memory, or if the job counts nothing that they count.
    void find_variants(const Cluster& cluster, const HostNeeds& needs, const Pool& pool, OfPool& known) {
        if (known.alike.empty()) find_alike(cluster, pool, known);
        if (!find_counted(needs, pool.nodes, [](std::size_t node) { return node; })) return;
        find_useful(needs, known.shares, known.usual, true, [&](const HostShare& share) {
            return std::ranges::any_of(known.alike,
                                       [&](const Alike& alike) { return within(share, 1, alike.amounts); });
        });
    }
    /// Finds the variants of what the job keeps.
    void find_kept_variants(const Job& job) {
        HostNeeds needs = *job.host;
        if (!find_counted(needs, job.placement, [](const NodeShare& held) { return held.node; })) return;
        Shares shares;
        for (const NodeShare& held : job.placement) {
            shares.push_back({left_.usual(held.node, 0), left_.usual(held.node, 1)});
            if (left_.is_cut_back(job))
                for (std::size_t r = 0; r < detail::host_resources; ++r)
                    detail::set_amount(needs.least, r,
                                       std::min(detail::a_gpu_of(needs.least, r), shares.back()[r]));
        }
        thin_shares(shares);
        const HostShare& least = job.host->least;
        const detail::HostAmounts most = left_.most_beside_others(job);
        find_useful(needs, shares, {{least.cores_per_gpu, least.memory_gib_per_gpu}},
                    left_.has_its_share(job), [&](const HostShare& share) { return within(share, 1, most); });
    }

    /// Groups the nodes of a pool by what they have, and finds the shares of their GPUs.
    void find_alike(const Cluster& cluster, const Pool& pool, OfPool& known) const {
        known = {};
        const bool no_room_for_jobs = std::none_of(pool.nodes.begin(), pool.nodes.end(),
                                                   [&](std::size_t node) { return left_.gpus(node) > 0; });
        Shares all;
        for (const std::size_t node : pool.nodes) {
            const int gpus = cluster.nodes[node].gpus;
            all.push_back({left_.usual(node, 0) * gpus, left_.usual(node, 1) * gpus});
            // If pinned jobs hold GPUs on all nodes, use the usual share, for which the job waits.
            if (left_.gpus(node) > 0 || no_room_for_jobs) known.shares.push_back(left_.share(node));
        }
        std::sort(all.begin(), all.end());
        for (const detail::HostAmounts& amounts : all) {
            if (known.alike.empty() || known.alike.back().amounts != amounts) {
                known.alike.push_back({amounts, 0});
                known.usual.push_back({amounts[0] / pool.gpus_per_node, amounts[1] / pool.gpus_per_node});
            }
            ++known.alike.back().nodes;
        }
        thin_shares(known.shares);
        thin_shares(known.usual);
    }
    /// Shortens a long list of shares: groups neighbours, and keeps the minimum of each group.
    static void thin_shares(std::vector<detail::HostAmounts>& shares) {
        std::sort(shares.begin(), shares.end());
        shares.erase(std::unique(shares.begin(), shares.end()), shares.end());
        const std::size_t size = shares.size();
        if (size <= most_shares) return;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size; ++i)
            if (i == 0 || i * most_shares / size != (i - 1) * most_shares / size)
                shares[kept++] = shares[i];
            else
                for (std::size_t r = 0; r < detail::host_resources; ++r)
                    shares[kept - 1][r] = std::min(shares[kept - 1][r], shares[i][r]);
        shares.resize(kept);
    }

    /// Sorts the variants, drops those that are no faster than one that takes no more, and thins the rest.
    void keep_useful(const Shares& shares) {
        std::sort(variants_.begin(), variants_.end(),
                  [](const Variant& a, const Variant& b) { return a.share < b.share; });
        // In this order, no variant takes less of both resources than an earlier one.
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
        if (kept > most_variants) thin(shares);
    }
    /// Reduces the variants to `most_variants`. Keeps the first, the fastest, and for each of `shares` the
    /// fastest variant that takes no more than it; the others are evenly spaced.
    void thin(const Shares& shares) {
        std::vector<char> stays(variants_.size(), 0);
        const auto keep_fastest = [&](auto fits) {
            std::size_t best = no_index;
            for (std::size_t i = 0; i < variants_.size(); ++i)
                if (fits(variants_[i].share) &&
                    (best == no_index || variants_[i].factor > variants_[best].factor))
                    best = i;
            if (best != no_index) stays[best] = 1;
        };
        stays.front() = 1;
        keep_fastest([](const HostShare&) { return true; });
        for (const detail::HostAmounts& amounts : shares)
            keep_fastest([&](const HostShare& share) { return within(share, 1, amounts); });
        const auto must = static_cast<std::size_t>(std::count(stays.begin(), stays.end(), 1));
        const std::size_t size = variants_.size(), others = most_variants - must;
        std::size_t next = 0;
        std::erase_if(variants_, [&](const Variant&) {
            const std::size_t i = next++;
            return !stays[i] && i * others / size == (i + 1) * others / size;
        });
    }

    detail::HostsLeft left_;
    const Cluster* begun_ = nullptr;
    std::vector<Option> plain_;
    std::vector<OfPool> of_pool_;
    // for a job on a pool, or for what it keeps:
    bool counts_[detail::host_resources] = {false, false};
    bool counted_ = false;
    std::vector<Variant> variants_;
};

static_assert(OptionMaker<HostShares<>>);

}  // namespace goodput::inline v0_1

#endif
