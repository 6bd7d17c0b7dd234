#ifndef GOODPUT_HOSTS_HOST_SHARES_HPP
#define GOODPUT_HOSTS_HOST_SHARES_HPP

// Variants of what another maker offers: the same GPUs with more or less CPU cores and host memory.

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

namespace goodput {

/// Offers what `Inner` offers, to jobs with Job::host in several variants: the shares of the nodes of a pool,
/// and each measured point that lies within the job's limits and that enough of the nodes can give. Of these
/// only variants that are faster than every one that takes no more, and none that is slower than with the
/// smallest share, brought within the job's limits; at most 16 of them. GPUs of which too few nodes can give
/// the least that the job needs are not offered. A node that does not count cores, or memory, has enough of
/// them; of what the job does not count it takes nothing. Configurations of several parts, and GPUs whose
/// nodes count no cores and no memory, are offered as they are. A job that keeps what it holds is offered
/// that with the least that it needs and with more, as far as its nodes have it. A maker that answers at
/// prices has no variants here: let it be the outer one, as in ParallelPlans(large, {}, HostShares<>()).
template <ListsAllOptions Inner = ListedShapes>
class HostShares : public MakerAround<Inner> {
public:
    /// Variants of what this maker offers.
    explicit HostShares(Inner inner = Inner()) : MakerAround<Inner>(std::move(inner)) {}

    /// A Scheduler asks once for all jobs that are alike, where it does so with the inner maker.
    using DeclaresInputsOf = std::conditional_t<DeclaresJobInputs<Inner>, HostShares, void>;
    /// What the inner maker reads, and Job::host.
    template <class Input>
    static void for_each_input(const Job& job, Input& input) {
        Inner::for_each_input(job, input);
        input(job.host.has_value());
        if (job.host) job.host->for_each_input(input);
    }

    /// Learns what the nodes of this round have beside the jobs that keep what they hold. Without it, list()
    /// takes them to have everything.
    void begin_round(const Round& round) {
        MakerAround<Inner>::begin_round(round);
        learn(round);
        begun_ = &round.cluster;
    }

    /// Appends variants side by side, by host share.
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
            const std::size_t its = find_pool(round.pools, part);
            if (option.configuration.empty() || !option.configuration.is_single() ||
                its == round.pools.size()) {
                options.push_back(option);
                continue;
            }
            // Options of one pool lie side by side.
            if (its != pool) {
                pool = its;
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

    /// What the inner maker says, or how many nodes have enough beside the GPUs that it offers.
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
        if (able == 0) return "no node has the cores and the memory that it needs beside each GPU";
        return text_of(able) + (able == 1 ? " node has" : " nodes have") +
               " the cores and the memory that it needs beside " + text_of(beside) +
               (beside == 1 ? " GPU" : " GPUs") + ", and it needs " + text_of(wanted) + " such nodes";
    }

    /// Appends what the job holds and keeps, with each variant that its nodes can give; of variants that take
    /// no less than others and are no faster, none.
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
    /// Nodes of the pool that have as much of both.
    struct Alike {
        detail::HostAmounts amounts{};
        int nodes = 0;
    };
    /// What is known of a pool in this round.
    struct OfPool {
        std::vector<Alike> alike{};                 ///< none: not found yet
        std::vector<detail::HostAmounts> shares{};  ///< of a GPU beside those who keep what they hold
        std::vector<detail::HostAmounts> usual{};   ///< and without them
    };
    using Shares = std::vector<detail::HostAmounts>;

    void learn(const Round& round) {
        left_.find(round.cluster, round.jobs);
        of_pool_.resize(round.pools.size());
        for (OfPool& of : of_pool_) of.alike.clear();
    }

    [[nodiscard]] static bool within(const HostShare& share, double gpus,
                                     const detail::HostAmounts& amounts) {
        return share.cores_per_gpu * gpus <= amounts[0] * (1 + tolerance) &&
               share.memory_gib_per_gpu * gpus <= amounts[1] * (1 + tolerance);
    }
    /// Calls visit(wanted, gpus, able): so many nodes have to give so much for each of at least that many
    /// GPUs, and so many can.
    template <class Visit>
    static void for_each_load(const OfPool& of, const HostShare& share, const PoolShare& part, Visit visit) {
        int wanted = 0;
        detail::NodeLoads(part).for_each([&](int nodes, int gpus) {
            wanted += nodes;
            int able = 0;
            for (const Alike& alike : of.alike)
                if (within(share, gpus, alike.amounts)) able += alike.nodes;
            visit(wanted, gpus, able);
        });
    }
    /// Whether the pool has nodes enough with so much for each of a job's GPUs.
    static bool can_give(const OfPool& of, const HostShare& share, const PoolShare& part) {
        bool enough = true;
        for_each_load(of, share, part, [&](int wanted, int, int able) { enough &= able >= wanted; });
        return enough;
    }

    /// Says which amounts count: those that the job counts and that some of the nodes count. Whether any
    /// does.
    template <class Nodes, class NodeOf>
    bool find_counted(const HostNeeds& needs, const Nodes& nodes, NodeOf node_of) {
        for (std::size_t r = 0; r < detail::host_resources; ++r)
            counts_[r] = detail::counts(needs.most, r) && std::ranges::any_of(nodes, [&](const auto& node) {
                             return left_.usual(node_of(node), r) < std::numeric_limits<double>::infinity();
                         });
        variants_.clear();
        return counted_ = counts_[0] || counts_[1];
    }
    /// Adds a variant: of these amounts what counts, within the job's limits. How fast it is.
    double offer(const HostNeeds& needs, const detail::HostAmounts& amounts) {
        HostShare share;
        for (std::size_t r = 0; r < detail::host_resources; ++r)
            if (counts_[r])
                detail::set_amount(share, r,
                                   std::clamp(amounts[r], detail::a_gpu_of(needs.least, r),
                                              detail::a_gpu_of(needs.most, r)));
        return variants_.emplace_back(Variant{share, needs.factor(share)}).factor;
    }
    /// Finds variants with these shares, other amounts, the least and what was measured, of those that
    /// `gives(share)`. `floor`: none that is slower than with every share.
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

    /// Those that a GPU of the pool may be given; none where its nodes count neither cores nor memory, or the
    /// job counts nothing of it.
    void find_variants(const Cluster& cluster, const HostNeeds& needs, const Pool& pool, OfPool& of) {
        if (of.alike.empty()) find_alike(cluster, pool, of);
        if (!find_counted(needs, pool.nodes, [](std::size_t node) { return node; })) return;
        find_useful(needs, of.shares, of.usual, true, [&](const HostShare& share) {
            return std::ranges::any_of(of.alike,
                                       [&](const Alike& alike) { return within(share, 1, alike.amounts); });
        });
    }
    /// Those of what it keeps.
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
    void find_alike(const Cluster& cluster, const Pool& pool, OfPool& of) const {
        of = {};
        const bool nobody_comes = std::none_of(pool.nodes.begin(), pool.nodes.end(),
                                               [&](std::size_t node) { return left_.gpus(node) > 0; });
        Shares all;
        for (const std::size_t node : pool.nodes) {
            const int gpus = cluster.nodes[node].gpus;
            all.push_back({left_.usual(node, 0) * gpus, left_.usual(node, 1) * gpus});
            // Where all is kept by others, the job waits for what is usual.
            if (left_.gpus(node) > 0 || nobody_comes) of.shares.push_back(left_.share(node));
        }
        std::sort(all.begin(), all.end());
        for (const detail::HostAmounts& amounts : all) {
            if (of.alike.empty() || of.alike.back().amounts != amounts) {
                of.alike.push_back({amounts, 0});
                of.usual.push_back({amounts[0] / pool.gpus_per_node, amounts[1] / pool.gpus_per_node});
            }
            ++of.alike.back().nodes;
        }
        thin_shares(of.shares);
        thin_shares(of.usual);
    }
    /// Leaves few shares: of neighbours that are too many, the least of each.
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

    /// In order, without those that are no faster than one that takes no more, and not too many.
    void keep_useful(const Shares& shares) {
        std::sort(variants_.begin(), variants_.end(),
                  [](const Variant& a, const Variant& b) { return a.share < b.share; });
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
        if (kept > most_variants) thin(shares);
    }
    /// Leaves the first, the fastest, of each share the fastest that takes no more, and every so many of the
    /// others.
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
    // Of a job on a pool, or of what it keeps:
    bool counts_[detail::host_resources] = {false, false};
    bool counted_ = false;
    std::vector<Variant> variants_;
};

static_assert(OptionMaker<HostShares<>>);

}  // namespace goodput

#endif
