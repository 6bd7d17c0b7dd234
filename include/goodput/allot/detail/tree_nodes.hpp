#ifndef GOODPUT_ALLOT_DETAIL_TREE_NODES_HPP
#define GOODPUT_ALLOT_DETAIL_TREE_NODES_HPP

// The nodes of a PriceTree (price_tree.hpp): what each one decides, and in which order they are looked at.
// The search dives into one child of a node. Later it continues with the node of the largest bound among
// those not yet solved (the open ones).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace goodput::inline v0_1::detail {

class TreeNodes {
public:
    struct Node {
        std::size_t parent = 0, child = 0;  // first of its two children, 0 if there are none yet
        double bound = 0;                   // bound of its parent
        std::uint32_t group = 0;            // group, or resource, that its children decide
        std::uint32_t most = 0;  // most copies of the group that take one of the options in its first child
        std::size_t first = 0, end = 0;  // range of those options in options(); empty if units are decided
        double units = 0;  // if units are decided: the most that are left of the resource in its first child
    };

    /// Starts anew with a root of this bound.
    void begin(double bound) {
        nodes_.assign(1, Node{.bound = bound});
        options_.clear();
        open_.clear();
        next_ = 0;
        here_ = 0;
    }
    [[nodiscard]] bool only_root() const { return nodes_.size() == 1; }
    /// Returns the memory used, in states of the core.
    [[nodiscard]] std::size_t size() const { return nodes_.size() + options_.size() / 8; }
    /// Returns whether a node is left to look at.
    [[nodiscard]] bool any_open() const { return next_ != none || !open_.empty(); }
    /// Returns the largest bound of a node that is left, or -infinity.
    [[nodiscard]] double open_bound() const {
        double bound = next_ == none ? -std::numeric_limits<double>::infinity() : nodes_[next_].bound;
        if (!open_.empty()) bound = std::max(bound, nodes_[open_.front()].bound);
        return bound;
    }

    /// Makes the next node here(). Returns false if none is left.
    bool take_up() {
        if (next_ != none) {
            here_ = std::exchange(next_, none);
            return true;
        }
        if (open_.empty()) return false;
        std::pop_heap(open_.begin(), open_.end(), SmallerBound{nodes_});
        here_ = open_.back();
        open_.pop_back();
        return true;
    }
    /// Makes here() the next node again.
    void put_back() { next_ = here_; }
    /// Forgets the next node.
    void drop_next() { next_ = none; }

    [[nodiscard]] Node& here() { return nodes_[here_]; }
    [[nodiscard]] std::size_t index() const { return here_; }
    /// The options that nodes decide, node after node. Those of here() are appended before open_children().
    [[nodiscard]] std::vector<std::uint32_t>& options() { return options_; }
    [[nodiscard]] std::span<const std::uint32_t> options_of(const Node& node) const {
        return std::span(options_).subspan(node.first, node.end - node.first);
    }
    /// Calls visit(node, second) for each node above here(), from the nearest one to the root. `second`:
    /// whether the way to here() leads through its second child.
    template <class Visit>
    void for_each_above(Visit visit) const {
        for (std::size_t node = here_; node != 0; node = nodes_[node].parent) {
            const Node& above = nodes_[nodes_[node].parent];
            visit(above, node != above.child);
        }
    }
    /// Opens two children of here(), of which one is the next node. Returns the index of the first child.
    std::size_t open_children(double bound, bool second_first) {
        const std::size_t child = nodes_.size();
        here().end = options_.size();
        here().child = child;
        nodes_.push_back({.parent = here_, .bound = bound});
        nodes_.push_back({.parent = here_, .bound = bound});
        next_ = child + (second_first ? 1 : 0);
        open_.push_back(child + (second_first ? 0 : 1));
        std::push_heap(open_.begin(), open_.end(), SmallerBound{nodes_});
        return child;
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    /// The order of the heap open_.
    struct SmallerBound {
        const std::vector<Node>& nodes;
        bool operator()(std::size_t a, std::size_t b) const {
            return nodes[a].bound != nodes[b].bound ? nodes[a].bound < nodes[b].bound : a < b;
        }
    };

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> options_;
    std::vector<std::size_t> open_;  // heap in order of bound
    std::size_t next_ = none, here_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
