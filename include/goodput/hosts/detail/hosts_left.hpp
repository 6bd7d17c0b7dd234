#ifndef GOODPUT_HOSTS_DETAIL_HOSTS_LEFT_HPP
#define GOODPUT_HOSTS_DETAIL_HOSTS_LEFT_HPP

// Computes the cores and memory that each node has left after its pinned jobs (jobs that keep what they
// hold), and how much each pinned job may have.
//
// A pinned job gets at least the minimum that it declares, or its share of the node if it declares none. If
// a node has too little for all its pinned jobs, those whose minimum exceeds their share are cut back to
// their share. A node can always provide all shares, because it has the GPUs that the shares go with.

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"

namespace goodput::inline v0_1::detail {

inline constexpr std::size_t host_resources = 2;  // cores, memory

/// Returns the cores or memory of a node; 0 if not counted.
inline double host_capacity(const Node& node, std::size_t resource) {
    return resource == 0 ? node.cores : node.memory_gib;
}
/// Returns the cores or memory of a share; 0 if not counted.
inline double a_gpu_of(const HostShare& share, std::size_t resource) {
    return resource == 0 ? share.cores_per_gpu : share.memory_gib_per_gpu;
}
/// Returns what `gpus` GPUs with this share take of a node: their part of the node if the share is empty.
inline double host_units(const Node& node, int gpus, const HostShare& share, std::size_t resource) {
    return gpus * (share.empty() ? host_capacity(node, resource) / node.gpus : a_gpu_of(share, resource));
}
/// Returns whether a share counts cores, or memory.
inline bool counts(const HostShare& share, std::size_t resource) {
    return resource == 0 ? share.counts_cores() : share.counts_memory();
}
/// Sets the cores, or memory, of a share.
inline void set_amount(HostShare& share, std::size_t resource, double amount) {
    if (resource == 0)
        share.set_cores(amount);
    else
        share.set_memory(amount);
}

/// The amounts of one node, by resource; infinity if not counted.
using HostAmounts = std::array<double, host_resources>;

/// Computes what pinned jobs leave of the nodes. Keeps its buffers from round to round.
class HostsLeft {
public:
    /// Computes the answers for these jobs on the nodes of this cluster.
    void find(const Cluster& cluster, std::span<const Job> jobs) {
        cluster_ = &cluster;
        nodes_.assign(cluster.nodes.size(), {});
        cut_.clear();
        for (const Job& job : jobs) add(job);
        std::vector<const Job*> cut;
        for (const Job& job : jobs)
            if (job.keeps_what_it_holds() && job.host && needs_more_than_there_is(job)) cut.push_back(&job);
        cut_ = std::move(cut);
        if (cut_.empty()) return;
        nodes_.assign(cluster.nodes.size(), {});
        for (const Job& job : jobs) add(job);
    }

    /// Returns the GPUs of a node that no pinned job holds.
    [[nodiscard]] int gpus(std::size_t node) const { return cluster_->nodes[node].gpus - nodes_[node].gpus; }
    /// Returns what pinned jobs leave of a node, which is the most that another job can get there.
    [[nodiscard]] HostAmounts left(std::size_t node) const { return left(node, nodes_[node].least); }
    /// Returns what goes with one of these GPUs: its part of the node's cores and memory, or less if pinned
    /// jobs have more than their shares.
    [[nodiscard]] HostAmounts share(std::size_t node) const {
        HostAmounts amounts = left(node, nodes_[node].fair);
        for (std::size_t r = 0; r < host_resources; ++r)
            amounts[r] = gpus(node) > 0 ? std::min(usual(node, r), amounts[r] / gpus(node)) : usual(node, r);
        return amounts;
    }
    /// Returns the part of a node's cores or memory that belongs to one of its GPUs; infinity if the node
    /// does not count them.
    [[nodiscard]] double usual(std::size_t node, std::size_t resource) const {
        const double all = host_capacity(cluster_->nodes[node], resource);
        return all > 0 ? all / cluster_->nodes[node].gpus : std::numeric_limits<double>::infinity();
    }
    /// Returns whether a pinned job's nodes have less than the job needs. The job then gets at least its
    /// share.
    [[nodiscard]] bool is_cut_back(const Job& job) const {
        return std::find(cut_.begin(), cut_.end(), &job) != cut_.end();
    }
    /// Returns whether all pinned jobs on the job's nodes can have both their shares and what they need.
    [[nodiscard]] bool has_its_share(const Job& job) const {
        for (const NodeShare& held : job.placement)
            for (std::size_t r = 0; r < host_resources; ++r) {
                const double all = host_capacity(cluster_->nodes[held.node], r);
                if (all > 0 && nodes_[held.node].fair[r] > all * (1 + 1e-9)) return false;
            }
        return true;
    }
    /// Returns the most per GPU that a pinned job can get on all its nodes, given what other pinned jobs
    /// hold.
    [[nodiscard]] HostAmounts most_beside_others(const Job& job) const {
        HostAmounts most;
        most.fill(std::numeric_limits<double>::infinity());
        for (const NodeShare& held : job.placement)
            for (std::size_t r = 0; r < host_resources; ++r)
                most[r] =
                    std::min(most[r], left(held.node)[r] / held.gpus + kept_least_of(job, held.node, r));
        return most;
    }

private:
    struct OfNode {
        int gpus = 0;
        HostAmounts least{}, fair{};  ///< sums over the node's pinned jobs
    };

    [[nodiscard]] HostAmounts left(std::size_t node, const HostAmounts& taken) const {
        HostAmounts amounts;
        for (std::size_t r = 0; r < host_resources; ++r) {
            const double all = host_capacity(cluster_->nodes[node], r);
            amounts[r] = all > 0 ? std::max(all - taken[r], 0.0) : std::numeric_limits<double>::infinity();
        }
        return amounts;
    }
    /// Returns the minimum per GPU that a pinned job needs on a node that counts the resource.
    [[nodiscard]] double least_of(const Job& job, std::size_t node, std::size_t resource) const {
        if (!job.host || job.host->most.empty()) return usual(node, resource);
        return a_gpu_of(job.host->least, resource);
    }
    /// Returns the same minimum, or the job's share if the job is cut back to it.
    [[nodiscard]] double kept_least_of(const Job& job, std::size_t node, std::size_t resource) const {
        const double least = least_of(job, node, resource);
        return is_cut_back(job) ? std::min(least, usual(node, resource)) : least;
    }
    void add(const Job& job) {
        if (!job.keeps_what_it_holds()) return;
        for (const NodeShare& held : job.placement) {
            OfNode& totals = nodes_[held.node];
            totals.gpus += held.gpus;
            for (std::size_t r = 0; r < host_resources; ++r) {
                if (host_capacity(cluster_->nodes[held.node], r) <= 0) continue;
                const double share = usual(held.node, r);
                const double least = kept_least_of(job, held.node, r);
                const double most = job.host && !job.host->most.empty() ? a_gpu_of(job.host->most, r) : share;
                totals.least[r] += held.gpus * least;
                totals.fair[r] += held.gpus * std::max(std::min(share, most), least);
            }
        }
    }
    /// Returns whether on some node the job needs more than its share and too little is left for that.
    [[nodiscard]] bool needs_more_than_there_is(const Job& job) const {
        for (const NodeShare& held : job.placement)
            for (std::size_t r = 0; r < host_resources; ++r) {
                const double all = host_capacity(cluster_->nodes[held.node], r);
                if (all > 0 && nodes_[held.node].least[r] > all * (1 + 1e-9) &&
                    least_of(job, held.node, r) > usual(held.node, r))
                    return true;
            }
        return false;
    }

    const Cluster* cluster_ = nullptr;
    std::vector<OfNode> nodes_;
    std::vector<const Job*> cut_;
};

/// The GPUs on the nodes of a configuration's part, as placers lay them out: several full nodes, one node
/// with the rest, and the other nodes with one GPU each.
struct NodeLoads {
    int full_nodes = 0, full = 0, rest = 0, single_nodes = 0;

    explicit NodeLoads(const PoolShare& part) {
        const auto [nodes, gpus] = part.shape;
        full = part.gpus_per_node;
        if (nodes == 1) full = gpus;
        if (full <= 1 || nodes * full == gpus) {
            full_nodes = nodes;
            return;
        }
        full_nodes = (gpus - nodes) / (full - 1);
        rest = 1 + (gpus - nodes) % (full - 1);
        single_nodes = nodes - full_nodes - 1;
    }
    /// Calls visit(nodes, GPUs on each of them).
    template <class Visit>
    void for_each(Visit visit) const {
        if (full_nodes > 0) visit(full_nodes, full);
        if (rest > 0) visit(1, rest);
        if (single_nodes > 0) visit(single_nodes, 1);
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
