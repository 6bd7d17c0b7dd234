#ifndef GOODPUT_PLACE_DETAIL_NODE_CHOICE_HPP
#define GOODPUT_PLACE_DETAIL_NODE_CHOICE_HPP

// Chooses which of the available nodes a job over several nodes takes, so that they are close together.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/placement.hpp"
#include "goodput/place/topology.hpp"

namespace goodput::inline v0_1::detail {

/// Chooses nodes by topology. It keeps its buffers from call to call.
class NodeChoice {
public:
    /// Nodes in one domain of a level, such as a rack, as positions in nodes().
    struct Range {
        std::size_t begin = 0, end = 0, available = 0;
    };

    /// Starts with these nodes of a pool, all of them available. Nodes marked in `last` (by node) are taken
    /// only if the domain has too few others.
    void start(const Topology& topology, std::vector<std::size_t> nodes, std::vector<char> last) {
        topology_ = &topology;
        nodes_ = std::move(nodes);
        last_ = std::move(last);
        std::sort(nodes_.begin(), nodes_.end(), [&](std::size_t a, std::size_t b) {
            for (std::size_t l = topology.levels.size(); l-- > 0;) {
                const auto& domain_of = topology.levels[l].domain_of;
                if (domain_of[a] != domain_of[b]) return domain_of[a] < domain_of[b];
            }
            return a < b;
        });
        available_.assign(last_.size(), 0);
        make_all_available();
    }

    /// Returns all nodes that may be taken, domain by domain.
    [[nodiscard]] std::span<const std::size_t> nodes() const { return nodes_; }
    [[nodiscard]] bool is_available(std::size_t node) const { return available_[node] != 0; }
    [[nodiscard]] std::size_t number_available() const {
        return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(),
                                                      [&](std::size_t node) { return is_available(node); }));
    }
    void make_available(std::size_t node, bool available) { available_[node] = available ? 1 : 0; }
    void make_available(const Placement& placement, bool available) {
        for (const NodeShare& share : placement) make_available(share.node, available);
    }
    void make_all_available() {
        for (const std::size_t node : nodes_) available_[node] = 1;
    }

    /// Takes `nodes` available nodes of a range, for a job that runs on `home`. The range is a domain of
    /// that level with at least as many available nodes; if `level` is the number of levels, it is all
    /// nodes. Returns the nodes in ascending order.
    std::span<const std::size_t> take(std::size_t level, Range range, std::size_t nodes,
                                      const Placement& home) {
        chosen_.clear();
        choose(level, range, nodes, home, false);
        std::sort(chosen_.begin(), chosen_.end());
        for (const std::size_t node : chosen_) make_available(node, false);
        return chosen_;
    }

    /// Takes `nodes` available nodes from position `next` on. Returns them in ascending order.
    std::span<const std::size_t> take_next(std::size_t& next, std::size_t nodes) {
        chosen_.clear();
        for (; chosen_.size() < nodes; ++next)
            if (is_available(nodes_[next])) chosen_.push_back(nodes_[next]);
        std::sort(chosen_.begin(), chosen_.end());
        for (const std::size_t node : chosen_) make_available(node, false);
        return chosen_;
    }

    [[nodiscard]] Range everywhere() const { return {0, nodes_.size(), 0}; }

    /// Returns the domains of a level with at least `nodes` available nodes. Domains in which these nodes
    /// would be closest together come first, then those with the fewest nodes to spare.
    std::vector<Range> domains_for(std::size_t level, std::size_t nodes);

private:
    double choose(std::size_t level, Range range, std::size_t nodes, const Placement& home, bool dry);
    [[nodiscard]] std::vector<Range> split(std::size_t level, Range range) const;
    [[nodiscard]] static std::vector<Range> fullest_first(const std::vector<Range>& parts);

    const Topology* topology_ = nullptr;
    std::vector<std::size_t> nodes_, chosen_;
    std::vector<char> available_, last_;  // by node
};

// ---------------------------------------------------------------------------------------------------------

inline auto NodeChoice::domains_for(std::size_t level, std::size_t nodes) -> std::vector<Range> {
    std::vector<std::pair<double, Range>> fitting;
    for (const Range& range : split(level + 1, {0, nodes_.size(), 0}))
        if (range.available >= nodes) fitting.push_back({choose(level, range, nodes, {}, true), range});
    std::stable_sort(fitting.begin(), fitting.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second.available < b.second.available;
    });
    std::vector<Range> ranges;
    for (const auto& [cost, range] : fitting) ranges.push_back(range);
    return ranges;
}

// Splits a range of nodes_ into domains of the level below `level`, and counts their available nodes.
inline auto NodeChoice::split(std::size_t level, Range range) const -> std::vector<Range> {
    std::vector<Range> parts;
    const auto& domain_of = topology_->levels[level - 1].domain_of;
    for (std::size_t i = range.begin; i < range.end; ++i) {
        if (i == range.begin || domain_of[nodes_[i]] != domain_of[nodes_[i - 1]]) parts.push_back({i, i, 0});
        parts.back().end = i + 1;
        parts.back().available += available_[nodes_[i]] ? 1U : 0U;
    }
    return parts;
}

// Sorts by the number of available nodes, keeping the order of equal ones. The numbers are small, so this
// is a counting sort.
inline auto NodeChoice::fullest_first(const std::vector<Range>& parts) -> std::vector<Range> {
    std::vector<std::size_t> place(2, 0);  // by available nodes: position of the next part with that many
    for (const Range& part : parts) {
        if (place.size() < part.available + 2) place.resize(part.available + 2, 0);
        ++place[part.available];
    }
    for (std::size_t available = place.size(), before = 0; available-- > 0;)
        before += std::exchange(place[available], before);
    std::vector<Range> sorted(parts.size());
    for (const Range& part : parts) sorted[place[part.available]++] = part;
    return sorted;
}

// Chooses available nodes in a range, within domains of the levels below. Returns the cost. If `dry`, only
// computes the cost and takes no nodes.
inline double NodeChoice::choose(std::size_t level, Range range, std::size_t nodes, const Placement& home,
                                 bool dry) {
    if (level == 0) {
        if (dry) return 0;
        // First take nodes on which the job runs, and last those whose present job would have to leave.
        const auto rank = [&](std::size_t node) {
            if (std::any_of(home.begin(), home.end(), [&](NodeShare s) { return s.node == node; })) return 0;
            return last_[node] == 0 ? 1 : 2;
        };
        for (int wanted = 0; wanted <= 2; ++wanted)
            for (std::size_t i = range.begin; i < range.end && nodes > 0; ++i) {
                if (!available_[nodes_[i]] || rank(nodes_[i]) != wanted) continue;
                chosen_.push_back(nodes_[i]);
                --nodes;
            }
        return 0;
    }
    const std::vector<Range> parts = fullest_first(split(level, range));
    double cost = 0;
    for (std::size_t next = 0; nodes > 0; ++next) {
        if (next > 0) cost += topology_->levels[level - 1].cost;
        if (parts[next].available < nodes) {
            cost += choose(level - 1, parts[next], parts[next].available, home, dry);
            nodes -= parts[next].available;
            continue;
        }
        // The job fits into one domain: take the one with the least cost inside, and among these the
        // one with the fewest nodes to spare.
        std::size_t best = next;
        double least = choose(level - 1, parts[next], nodes, home, true);
        for (std::size_t i = next + 1; i < parts.size() && parts[i].available >= nodes; ++i) {
            const double inside = choose(level - 1, parts[i], nodes, home, true);
            if (inside <= least) least = inside, best = i;
        }
        cost += dry ? least : choose(level - 1, parts[best], nodes, home, false);
        nodes = 0;
    }
    return cost;
}

}  // namespace goodput::inline v0_1::detail

#endif
