#ifndef GOODPUT_PROOF_DETAIL_RECORDED_TREE_HPP
#define GOODPUT_PROOF_DETAIL_RECORDED_TREE_HPP

// A record of what a PriceTree (allot/detail/price_tree.hpp) did, so that it can be written in another
// order. The search often goes on with the node of the largest bound among those that are still open (not
// solved yet), but a certificate goes through the tree depth first. The root is the node before any
// decision.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/cover_rows.hpp"

namespace goodput::inline v0_1::detail {

/// The log of a PriceTree.
class RecordedTree {
public:
    static constexpr bool writes = true;

    void cut(const Cover& cover) { cuts_.push_back(cover); }
    /// Records prices of the root that may rule options out.
    void fix(std::span<const double> prices) { fixings_.emplace_back(prices.begin(), prices.end()); }
    void branch(std::size_t node, std::size_t child, std::size_t group,
                std::span<const std::uint32_t> options, double most) {
        Node& here = at(node);
        here.child = child;
        here.group = group;
        here.most = static_cast<std::size_t>(most);
        here.options.assign(options.begin(), options.end());
    }
    void close(std::size_t node, std::span<const double> prices) {
        at(node).prices.assign(prices.begin(), prices.end());
    }

    /// Returns an upper limit on what all capacities together, or any one option, cost at any prices of the
    /// search.
    [[nodiscard]] double most_paid(const CompactProblem& problem) const {
        std::vector<double> largest = problem.capacity;
        for (const Cover& cover : cuts_) largest.push_back(static_cast<double>(cover.most));
        for (const ResourceUse& use : problem.uses)
            largest[use.resource] = std::max(largest[use.resource], use.units);
        double most = 0;
        for (const std::vector<double>& prices : fixings_)
            most = std::max(most, detail::most_paid(prices, largest));
        for (const Node& node : nodes_) most = std::max(most, detail::most_paid(node.prices, largest));
        return most;
    }

    /// Tells a ProofLog the whole search, or as much of it as the log can take. Nodes that were left open,
    /// and nodes beyond the log's limit, are closed by the last prices of the root.
    template <class Log>
    void tell(const CompactProblem& problem, Log& log) const {
        for (const Cover& cover : cuts_) log.cut(cover.resource, cover.threshold, cover.most);
        log.expect_payments(most_paid(problem));
        for (const std::vector<double>& prices : fixings_) log.fix(prices);
        tell_node(0, log);
    }

private:
    struct Node {
        std::size_t child = 0, group = 0, most = 0;  // child: the first of two children, 0 if there are none
        std::vector<std::uint32_t> options{};
        std::vector<double> prices{};
    };

    Node& at(std::size_t node) {
        if (nodes_.size() <= node) nodes_.resize(node + 1);
        return nodes_[node];
    }

    template <class Log>
    void tell_node(std::size_t node, Log& log) const {
        static const Node untouched;
        const Node& here = node < nodes_.size() ? nodes_[node] : untouched;
        if (here.child == 0 || log.full()) {
            const bool open = here.prices.empty() && !fixings_.empty();
            return log.close(open ? fixings_.back() : here.prices);
        }
        log.branch(here.group, here.options, here.most);
        tell_node(here.child, log);
        log.turn();
        tell_node(here.child + 1, log);
        log.join();
    }

    std::vector<Cover> cuts_;
    std::vector<std::vector<double>> fixings_;
    std::vector<Node> nodes_;
};

}  // namespace goodput::inline v0_1::detail

#endif
