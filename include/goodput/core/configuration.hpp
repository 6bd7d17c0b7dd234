#ifndef GOODPUT_CORE_CONFIGURATION_HPP
#define GOODPUT_CORE_CONFIGURATION_HPP

// The options of a job and their parts.
//
// A shape says how many GPUs on how many nodes. It names neither the nodes (a Placement does) nor the GPU
// type (a PoolShare does). A configuration (a term of the scheduler Sia) is what one job holds or could
// hold: one or more parts, each a number of GPUs of one pool in a shape, plus the CPU cores and host memory
// per GPU. Nearly every configuration has one part; such a configuration allocates no memory unless it
// counts cores or host memory.
//
// A batch plan says how many examples a GPU processes at once, and how often it does so before the GPUs
// synchronise. An option is a configuration with its best batch plan and the resulting goodput. The policy
// decides how much that goodput is worth (policy/concepts.hpp). Resource uses say how much an option takes
// of each limited resource.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// `gpus` GPUs in total on `nodes` nodes. A job that holds nothing has the shape {0, 0}.
struct Shape {
    int nodes = 0;  ///< at most `gpus`
    int gpus = 0;   ///< total, not per node

    /// Orders by nodes, then GPUs.
    friend constexpr auto operator<=>(const Shape&, const Shape&) = default;
};

/// The properties that the nodes of a pool (see Cluster) share. They identify the pool in every round.
struct PoolId {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of the pool's nodes
    bool spot = false;         ///< nodes that the provider may take back (Node::spot)
    int group = 0;             ///< Node::group

    /// The order of pools_of().
    friend constexpr auto operator<=>(const PoolId&, const PoolId&) = default;
};

/// GPUs of one pool in a shape. The placer chooses their nodes.
struct PoolShare {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of the pool's nodes
    Shape shape{};             ///< {0, 0} means no GPUs
    bool spot = false;         ///< nodes that the provider may take back (Node::spot)
    int group = 0;             ///< Node::group

    /// Whether the share has no GPUs.
    [[nodiscard]] constexpr bool empty() const { return shape.gpus == 0; }

    /// GPUs that no other job can use while this share is held. A job on several nodes takes whole nodes.
    [[nodiscard]] constexpr int occupied_gpus() const {
        return shape.nodes > 1 ? shape.nodes * gpus_per_node : shape.gpus;
    }
    /// The identity of the pool.
    [[nodiscard]] constexpr operator PoolId() const { return {gpu_type, gpus_per_node, spot, group}; }
    /// Whether the share belongs to pool `other`.
    [[nodiscard]] constexpr bool same_pool(const PoolId& other) const { return PoolId(*this) == other; }

    /// Equal pool and equal shape.
    friend constexpr bool operator==(const PoolShare&, const PoolShare&) = default;
    /// Orders by pool, then shape.
    friend constexpr auto operator<=>(const PoolShare& a, const PoolShare& b) {
        const auto order = PoolId(a) <=> PoolId(b);
        return order != 0 ? order : a.shape <=> b.shape;
    }
};

/// One training iteration. Every replica processes `atomic_batch` examples 1 + `accumulation_steps` times,
/// and synchronises in the last of these steps. {0, 0} means no plan.
struct BatchPlan {
    int atomic_batch = 0;        ///< examples per GPU and step (the local batch)
    int accumulation_steps = 0;  ///< additional steps before the one that synchronises

    /// The total batch size: examples per iteration on `replicas` replicas.
    [[nodiscard]] constexpr std::int64_t total(int replicas) const {
        return std::int64_t{replicas} * atomic_batch * (accumulation_steps + std::int64_t{1});
    }

    /// Orders by atomic batch, then accumulation steps.
    friend constexpr auto operator<=>(const BatchPlan&, const BatchPlan&) = default;
};

/// The limits of batch plans on one GPU type.
struct BatchLimits {
    /// Total batch size that the training script was written for; plans never go below it.
    int initial_batch = 0;
    int max_batch = 0;         ///< largest total batch size
    int min_atomic_batch = 1;  ///< fewest examples per GPU and step
    int max_atomic_batch = 0;  ///< most examples per GPU and step (the GPU's memory limits it)
    /// Whether a single GPU must accumulate above the initial batch size. Pollux's gradient statistics need
    /// two samples per iteration (section 2.3 of the released code). An estimator that compares successive
    /// gradients does not need this.
    bool single_gpu_accumulates = false;
};

/// CPU cores and host memory that come with every GPU of a configuration. An amount of 0 means "not
/// counted", unless no_cores or no_memory says that it is a real amount.
struct HostShare {
    double cores_per_gpu = 0;       ///< CPU cores
    double memory_gib_per_gpu = 0;  ///< host memory in GiB
    bool no_cores = false;          ///< 0 cores is a real amount: the job gets none
    bool no_memory = false;         ///< 0 GiB is a real amount: the job gets none

    /// Whether cores are counted.
    [[nodiscard]] constexpr bool counts_cores() const { return cores_per_gpu > 0 || no_cores; }
    /// Whether memory is counted.
    [[nodiscard]] constexpr bool counts_memory() const { return memory_gib_per_gpu > 0 || no_memory; }
    /// Whether neither is counted.
    [[nodiscard]] constexpr bool empty() const { return !counts_cores() && !counts_memory(); }

    /// Sets the cores and counts them, even if they are 0.
    constexpr void set_cores(double cores) {
        cores_per_gpu = cores;
        no_cores = cores == 0;
    }
    /// Sets the memory and counts it, even if it is 0.
    constexpr void set_memory(double gib) {
        memory_gib_per_gpu = gib;
        no_memory = gib == 0;
    }

    /// Orders by cores, then memory.
    friend constexpr auto operator<=>(const HostShare&, const HostShare&) = default;
};

/// GPUs of one or several pools for one job. A value type: copies are cheap and independent.
class Configuration {
public:
    /// An empty configuration.
    Configuration() = default;
    /// GPUs of one pool.
    Configuration(const PoolShare& part, HostShare host = {}) : first_(part) {
        if (!host.empty()) rest_ = std::make_shared<const Rest>(Rest{{}, host});
    }
    /// GPUs of the pool with this GPU type and node size.
    Configuration(std::size_t gpu_type, int gpus_per_node, Shape shape)
        : first_{gpu_type, gpus_per_node, shape} {}
    /// GPUs of several pools. Parts without GPUs are dropped, and the others are sorted. A pool may occur
    /// more than once if the job has several groups of nodes in it.
    explicit Configuration(std::vector<PoolShare> parts, HostShare host = {}) {
        std::erase_if(parts, [](const PoolShare& part) { return part.empty(); });
        std::sort(parts.begin(), parts.end());
        if (!parts.empty()) first_ = parts.front();
        if (parts.size() < 2) parts.clear();
        if (!parts.empty() || !host.empty())
            rest_ = std::make_shared<const Rest>(Rest{std::move(parts), host});
    }

    /// The parts, ordered by pool and shape. An empty configuration has none.
    [[nodiscard]] std::span<const PoolShare> parts() const {
        if (!is_single()) return rest_->parts;
        return {&first_, first_.empty() ? std::size_t{0} : std::size_t{1}};
    }
    /// The first part, which is the only one if is_single(). It is empty if the configuration is empty.
    [[nodiscard]] const PoolShare& first() const { return first_; }
    /// Whether the configuration has at most one part.
    [[nodiscard]] bool is_single() const { return !rest_ || rest_->parts.empty(); }
    /// Cores and memory that come with every GPU.
    [[nodiscard]] HostShare host() const { return rest_ ? rest_->host : HostShare{}; }

    /// Whether the configuration has no GPUs.
    [[nodiscard]] bool empty() const { return first_.empty(); }
    /// GPUs of all parts.
    [[nodiscard]] int gpus() const {
        return sum([](const PoolShare& part) { return part.shape.gpus; });
    }
    /// Nodes of all parts.
    [[nodiscard]] int nodes() const {
        return sum([](const PoolShare& part) { return part.shape.nodes; });
    }
    /// GPUs that no other job can use while this configuration is held.
    [[nodiscard]] int occupied_gpus() const {
        return sum([](const PoolShare& part) { return part.occupied_gpus(); });
    }
    /// Whether both have the same GPUs. Cores and memory may differ, because they change without a restart.
    [[nodiscard]] bool same_gpus(const Configuration& other) const {
        return first_ == other.first_ && (rest_ == other.rest_ || same_parts(other));
    }
    /// Whether both have GPUs of the same types in the same shapes. Node sizes and spot flags may differ. A
    /// job that changes from one to the other moves, but runs as before.
    [[nodiscard]] bool same_shapes(const Configuration& other) const {
        const auto own = parts(), others = other.parts();
        return std::equal(own.begin(), own.end(), others.begin(), others.end(),
                          [](const PoolShare& a, const PoolShare& b) {
                              return a.gpu_type == b.gpu_type && a.shape == b.shape;
                          });
    }

    /// Equal GPUs, and equal cores and memory per GPU.
    friend bool operator==(const Configuration& a, const Configuration& b) {
        return a.first_ == b.first_ && (a.rest_ == b.rest_ || (a.same_parts(b) && a.host() == b.host()));
    }
    /// Orders by parts, then by cores and memory per GPU.
    friend std::partial_ordering operator<=>(const Configuration& a, const Configuration& b) {
        const auto first = a.parts(), second = b.parts();
        const auto by_parts =
            std::lexicographical_compare_three_way(first.begin(), first.end(), second.begin(), second.end());
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
        const auto own = parts(), others = other.parts();
        return std::equal(own.begin(), own.end(), others.begin(), others.end());
    }

    struct Rest {
        std::vector<PoolShare> parts{};  ///< all parts if there are several, else empty
        HostShare host{};
    };

    PoolShare first_{};
    std::shared_ptr<const Rest> rest_{};  // null for most configurations, which first_ describes completely
};

/// How well the models know the goodput of an option.
enum class Knowledge {
    /// The job's own model of this GPU type predicts it. With a refined model (fit/refined_fit.hpp) this
    /// holds up to the largest number of replicas that was measured.
    measured,
    /// It comes from a refined model beyond the measured number of replicas, or was scaled from the model
    /// of another GPU type.
    projected,
    unknown  ///< the job has no measurement at all
};

/// One thing that a job could get: a configuration, its best batch plan, and the resulting goodput.
struct Option {
    Configuration configuration{};  ///< GPUs, by pool and shape
    BatchPlan plan{};  ///< plan with the largest goodput there; {0, 0} if no plan respects the job's limits
    /// Useful examples per second: the throughput times the statistical efficiency relative to the initial
    /// batch size. It is 1 per replica if the knowledge is `unknown`. Goodput compares options of one job.
    /// To compare jobs, divide by best_goodput(), because examples of different jobs differ, and a job of
    /// unknown speed is not a slow one.
    double goodput = 0;
    Knowledge knowledge = Knowledge::unknown;  ///< source of the goodput
    /// How the job saves its state there, and the useful fraction of its time, which the goodput includes.
    /// The mechanism is an index into Job::checkpoints; an index equal to their number means
    /// assumed_checkpoint(). If nothing is interrupted, all time is useful.
    Checkpointing checkpointing{};
};

/// Returns the largest goodput among a job's options, or 0 if no option has any.
[[nodiscard]] inline double best_goodput(std::span<const Option> options) {
    double best = 0;
    for (const Option& option : options) best = std::max(best, option.goodput);
    return best;
}

/// An amount of one resource.
struct ResourceUse {
    std::uint32_t resource = 0;  ///< index into the problem's capacities
    double units = 0;            ///< at least 0, in the unit of the capacity
};

/// A view of the resources that each option of a job uses.
class OptionUses {
public:
    /// No options.
    OptionUses() = default;
    /// `uses` holds the uses of all options, one option after the other. `offsets` holds where each option
    /// begins, plus the end of the last one.
    OptionUses(std::span<const ResourceUse> uses, std::span<const std::size_t> offsets)
        : uses_(uses), offsets_(offsets) {}
    /// Returns the uses of the option with this index.
    [[nodiscard]] std::span<const ResourceUse> operator()(std::size_t option) const {
        return uses_.subspan(offsets_[option], offsets_[option + 1] - offsets_[option]);
    }

private:
    std::span<const ResourceUse> uses_{};
    std::span<const std::size_t> offsets_{};
};

}  // namespace goodput::inline v0_1

#endif
