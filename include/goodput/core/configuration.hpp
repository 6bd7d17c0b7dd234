#ifndef GOODPUT_CORE_CONFIGURATION_HPP
#define GOODPUT_CORE_CONFIGURATION_HPP

// What one job holds or could hold (Sia's word): one or several parts, each of them GPUs of a pool in a
// shape, and the CPU cores and host memory that go with a GPU. Nearly every configuration has one part; such
// a one needs no memory but its own.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/shape.hpp"

namespace goodput {

/// What goes with every GPU of a configuration on its node. A 0 is "not counted", unless the share says that
/// it is an amount.
struct HostShare {
    double cores_per_gpu = 0;       ///< CPU cores
    double memory_gib_per_gpu = 0;  ///< host memory in GiB
    bool no_cores = false;          ///< 0 cores are an amount: it gets none
    bool no_memory = false;         ///< 0 GiB are an amount: it gets none

    /// Whether the cores are an amount.
    [[nodiscard]] constexpr bool counts_cores() const { return cores_per_gpu > 0 || no_cores; }
    /// Whether the memory is an amount.
    [[nodiscard]] constexpr bool counts_memory() const { return memory_gib_per_gpu > 0 || no_memory; }
    /// Whether nothing is counted.
    [[nodiscard]] constexpr bool empty() const { return !counts_cores() && !counts_memory(); }

    /// Makes the cores an amount, also where that is 0.
    constexpr void set_cores(double cores) {
        cores_per_gpu = cores;
        no_cores = cores == 0;
    }
    /// Makes the memory an amount, also where that is 0.
    constexpr void set_memory(double gib) {
        memory_gib_per_gpu = gib;
        no_memory = gib == 0;
    }

    /// By cores, then memory.
    friend constexpr auto operator<=>(const HostShare&, const HostShare&) = default;
};

/// GPUs of one or several pools for one job. A value: copies are cheap and never change one another.
class Configuration {
public:
    /// Nothing.
    Configuration() = default;
    /// GPUs of one pool.
    Configuration(const PoolShare& part, HostShare host = {}) : first_(part) {
        if (!host.empty()) rest_ = std::make_shared<const Rest>(Rest{{}, host});
    }
    /// GPUs of the pool of that GPU type and node size.
    Configuration(std::size_t gpu_type, int gpus_per_node, Shape shape)
        : first_{gpu_type, gpus_per_node, shape} {}
    /// GPUs of several pools. Parts without GPUs are left out, the others put in order; a pool may come once,
    /// or more often where a job has several groups of nodes in it.
    explicit Configuration(std::vector<PoolShare> parts, HostShare host = {}) {
        std::erase_if(parts, [](const PoolShare& part) { return part.empty(); });
        std::sort(parts.begin(), parts.end());
        if (!parts.empty()) first_ = parts.front();
        if (parts.size() < 2) parts.clear();
        if (!parts.empty() || !host.empty())
            rest_ = std::make_shared<const Rest>(Rest{std::move(parts), host});
    }

    /// Its parts, by GPU type, node size and shape; none where it gives nothing.
    [[nodiscard]] std::span<const PoolShare> parts() const {
        if (!is_single()) return rest_->parts;
        return {&first_, first_.empty() ? std::size_t{0} : std::size_t{1}};
    }
    /// The first part: all of it, if it has one. An empty part where it gives nothing.
    [[nodiscard]] const PoolShare& first() const { return first_; }
    /// Whether its GPUs are of one pool and in one part, or there are none.
    [[nodiscard]] bool is_single() const { return !rest_ || rest_->parts.empty(); }
    /// What goes with every GPU.
    [[nodiscard]] HostShare host() const { return rest_ ? rest_->host : HostShare{}; }

    /// Whether it gives the job nothing.
    [[nodiscard]] bool empty() const { return first_.empty(); }
    /// GPUs of all parts.
    [[nodiscard]] int gpus() const {
        return sum([](const PoolShare& part) { return part.shape.gpus; });
    }
    /// Nodes of all parts.
    [[nodiscard]] int nodes() const {
        return sum([](const PoolShare& part) { return part.shape.nodes; });
    }
    /// GPUs that nobody else can use while this is held.
    [[nodiscard]] int occupied_gpus() const {
        return sum([](const PoolShare& part) { return part.occupied_gpus(); });
    }
    /// Whether both hold the same GPUs. What goes with a GPU may differ: that changes without a restart.
    [[nodiscard]] bool same_gpus(const Configuration& other) const {
        return first_ == other.first_ && (rest_ == other.rest_ || same_parts(other));
    }
    /// Whether both hold GPUs of the same types in the same shapes, on nodes of whatever size, spot or not:
    /// from one to the other a job moves, but runs as before.
    [[nodiscard]] bool same_shapes(const Configuration& other) const {
        const auto mine = parts(), theirs = other.parts();
        return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                          [](const PoolShare& a, const PoolShare& b) {
                              return a.gpu_type == b.gpu_type && a.shape == b.shape;
                          });
    }

    /// Same GPUs, and the same that goes with them.
    friend bool operator==(const Configuration& a, const Configuration& b) {
        return a.first_ == b.first_ && (a.rest_ == b.rest_ || (a.same_parts(b) && a.host() == b.host()));
    }
    /// By parts, then by what goes with a GPU.
    friend std::partial_ordering operator<=>(const Configuration& a, const Configuration& b) {
        const auto mine = a.parts(), theirs = b.parts();
        const auto by_parts =
            std::lexicographical_compare_three_way(mine.begin(), mine.end(), theirs.begin(), theirs.end());
        return by_parts != 0 ? std::partial_ordering(by_parts) : a.host() <=> b.host();
    }

private:
    template <class Count>
    int sum(Count count) const {
        if (is_single()) return count(first_);
        int total = 0;
        for (const PoolShare& part : rest_->parts) total += count(part);
        return total;
    }
    [[nodiscard]] bool same_parts(const Configuration& other) const {
        const auto mine = parts(), theirs = other.parts();
        return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end());
    }

    struct Rest {
        std::vector<PoolShare> parts{};  ///< all of them, if there are several
        HostShare host{};
    };

    PoolShare first_{};
    std::shared_ptr<const Rest> rest_{};  // none for most: first_ is all
};

}  // namespace goodput

#endif
