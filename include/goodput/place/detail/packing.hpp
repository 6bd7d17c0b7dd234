#ifndef GOODPUT_PLACE_DETAIL_PACKING_HPP
#define GOODPUT_PLACE_DETAIL_PACKING_HPP

// Decides whether blocks fit into the free GPUs of the nodes of a pool. A block is a number of GPUs on one
// node. For this question, only the number of free GPUs of a node matters.
//
// A node with f free GPUs holds floor(f/s) blocks of s GPUs, and a job of t GPUs uses at least floor(t/s)
// of them (because floor(a) + floor(b) <= floor(a + b)). So for every size s the condition
//
//     sum_jobs floor(t/s) <= sum_nodes floor(f/s)
//
// is necessary. Suppose that the sizes below a whole node form a divisor chain, which means that each
// divides the next. (The whole node is not part of the chain, and need not be a multiple.) Then a job of t
// >= s GPUs uses exactly t/s blocks of any node, and the conditions are also sufficient: placing the
// largest blocks first, anywhere, never fails. Best fit then also uses the fewest wholly free nodes.
//
// Without a chain this is bin packing: best fit decreasing, followed by depth-first search over the counts
// of nodes by free GPUs, with a limited number of steps.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput::inline v0_1::detail {

/// For each number f of free GPUs, the number of nodes with f free GPUs. The last entry counts the wholly
/// free nodes.
using FreeCounts = std::vector<int>;

/// The blocks to be placed: a number of whole nodes, and a number of blocks of each size in Packer::sizes().
struct Blocks {
    int whole_nodes = 0;
    std::vector<int> count;
};

/// Whether every size divides the next larger one. `sizes` must be ascending without repeats.
inline bool is_divisor_chain(std::span<const int> sizes) {
    for (std::size_t i = 1; i < sizes.size(); ++i)
        if (sizes[i] % sizes[i - 1] != 0) return false;
    return true;
}

/// The search recurses once per block. If there are more blocks than this, only best fit is tried.
inline constexpr std::size_t search_depth = 2000;

enum class Packing { found, impossible, gave_up };

/// Packs blocks into free GPUs. It keeps its buffers from call to call.
class Packer {
public:
    /// Sets the possible sizes below a node, ascending, and the limit on the steps of a search.
    void prepare(std::span<const int> sizes, std::size_t step_limit) {
        sizes_.assign(sizes.begin(), sizes.end());
        chain_ = is_divisor_chain(sizes);
        step_limit_ = step_limit;
    }

    [[nodiscard]] bool chain() const { return chain_; }
    [[nodiscard]] std::span<const int> sizes() const { return sizes_; }

    /// Returns the shortage of blocks of `size` GPUs: the number that the blocks use minus the number that
    /// is free. A positive shortage proves that the blocks do not fit.
    [[nodiscard]] std::int64_t shortage(const FreeCounts& free, const Blocks& blocks, int size) const {
        const int node = static_cast<int>(free.size()) - 1;
        std::int64_t shortage = std::int64_t{blocks.whole_nodes} * (node / size);
        for (std::size_t i = 0; i < sizes_.size(); ++i)
            shortage += std::int64_t{blocks.count[i]} * (sizes_[i] / size);
        for (int f = size; f <= node; ++f)
            shortage -= std::int64_t{free[static_cast<std::size_t>(f)]} * (f / size);
        return shortage;
    }

    /// Whether no size has a shortage. This is necessary, and sufficient for a divisor chain.
    [[nodiscard]] bool levels_hold(const FreeCounts& free, const Blocks& blocks) const {
        if (blocks.whole_nodes > free.back()) return false;
        return std::none_of(sizes_.begin(), sizes_.end(),
                            [&](int size) { return shortage(free, blocks, size) > 0; });
    }

    /// Looks for a packing. If it finds one, hosts() contains, for each block from the largest on, how many
    /// GPUs its node has free before the block is placed there.
    Packing find(const FreeCounts& free, const Blocks& blocks) {
        steps_ = 0;
        if (!levels_hold(free, blocks)) return Packing::impossible;
        start(free, blocks);
        for (const int size : largest_first_) {
            std::size_t host = static_cast<std::size_t>(size);
            while (host < count_.size() && count_[host] == 0) ++host;
            if (host == count_.size()) break;
            take(host, size);
        }
        if (hosts_.size() == largest_first_.size()) return Packing::found;
        if (largest_first_.size() > search_depth) return Packing::gave_up;
        start(free, blocks);
        // Compute how many free GPUs may remain unused. A remainder smaller than the smallest block can
        // never be used.
        const int smallest = largest_first_.back();
        std::int64_t spare = 0;
        for (std::size_t f = static_cast<std::size_t>(smallest); f < count_.size(); ++f)
            spare += std::int64_t{count_[f]} * static_cast<std::int64_t>(f);
        for (const int size : largest_first_) spare -= size;
        if (descend(spare)) return Packing::found;
        return steps_ > step_limit_ ? Packing::gave_up : Packing::impossible;
    }

    [[nodiscard]] std::span<const int> hosts() const { return hosts_; }

    /// The number of blocks in the last find(). After a successful one also what it left: wholly free
    /// nodes, and the largest number of free GPUs on one node.
    [[nodiscard]] std::size_t blocks() const { return largest_first_.size(); }
    [[nodiscard]] int whole_left() const { return count_.back(); }
    [[nodiscard]] int largest_left() const {
        std::size_t f = count_.size() - 1;
        while (f > 0 && count_[f] == 0) --f;
        return static_cast<int>(f);
    }

    /// Returns the steps that the last find() spent on searching.
    [[nodiscard]] std::size_t steps() const { return steps_; }

private:
    void start(const FreeCounts& free, const Blocks& blocks) {
        count_ = free;
        count_.back() -= blocks.whole_nodes;
        hosts_.clear();
        largest_first_.clear();
        for (std::size_t i = sizes_.size(); i-- > 0;)
            largest_first_.insert(largest_first_.end(), static_cast<std::size_t>(blocks.count[i]), sizes_[i]);
    }

    void take(std::size_t host, int size) {
        --count_[host];
        ++count_[host - static_cast<std::size_t>(size)];
        hosts_.push_back(static_cast<int>(host));
    }

    bool descend(std::int64_t spare) {
        const std::size_t next = hosts_.size();
        if (next == largest_first_.size()) return true;
        if (spare < 0 || ++steps_ > step_limit_) return false;
        const int size = largest_first_[next];
        // Equal blocks are interchangeable, so their hosts must not increase.
        const bool again = next > 0 && size == largest_first_[next - 1];
        const std::size_t most = again ? static_cast<std::size_t>(hosts_[next - 1]) : count_.size() - 1;
        for (std::size_t host = static_cast<std::size_t>(size); host <= most; ++host) {
            if (count_[host] == 0) continue;
            const int rest = static_cast<int>(host) - size;
            const std::int64_t lost = rest < largest_first_.back() ? rest : 0;
            if (lost > spare) continue;
            take(host, size);
            if (descend(spare - lost)) return true;
            hosts_.pop_back();
            ++count_[host];
            --count_[static_cast<std::size_t>(rest)];
            if (steps_ > step_limit_) return false;
        }
        return false;
    }

    std::vector<int> sizes_;
    bool chain_ = true;
    std::size_t step_limit_ = 0, steps_ = 0;
    FreeCounts count_;
    std::vector<int> largest_first_, hosts_;
};

}  // namespace goodput::inline v0_1::detail

#endif
