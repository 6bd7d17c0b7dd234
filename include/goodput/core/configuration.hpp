#ifndef GOODPUT_CORE_CONFIGURATION_HPP
#define GOODPUT_CORE_CONFIGURATION_HPP

// What a job could get. A shape is how many GPUs, over how many nodes: it says nothing of which nodes (that
// is a Placement) and nothing of the GPU type (that is a PoolShare). A configuration (Sia's word) is what one
// job holds or could hold: one or several parts, each of them GPUs of a pool in a shape, and the CPU cores
// and host memory that go with a GPU. Nearly every configuration has one part; such a one needs no memory but
// its own. A batch plan says how many examples a GPU handles at once, and how often before the GPUs
// synchronise; an option is a configuration with the best of them and what that is worth to the job's
// progress. What it is worth under a policy is the policy's to say (policy/concepts.hpp). What an option
// takes of what is limited, resource uses say.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/interruptions.hpp"

namespace goodput {

/// `gpus` GPUs in all, spread over `nodes` nodes; {0, 0} is the shape of a job that holds nothing.
struct Shape {
    int nodes = 0;  ///< at most `gpus`
    int gpus = 0;   ///< in all, not per node

    /// By nodes, then GPUs.
    friend constexpr auto operator<=>(const Shape&, const Shape&) = default;
};

/// What the nodes of a pool (see Cluster) have in common, which names it in every round.
struct PoolId {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of its nodes
    bool spot = false;         ///< nodes that the provider may take back (Node::spot)
    int group = 0;             ///< Node::group

    /// In the order of pools_of().
    friend constexpr auto operator<=>(const PoolId&, const PoolId&) = default;
};

/// GPUs of a pool in a shape: what a placement lays out on nodes.
struct PoolShare {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of the pool's nodes
    Shape shape{};             ///< {0, 0}: nothing
    bool spot = false;         ///< nodes that the provider may take back (Node::spot)
    int group = 0;             ///< Node::group

    /// Whether it gives the job nothing.
    [[nodiscard]] constexpr bool empty() const { return shape.gpus == 0; }

    /// GPUs that nobody else can use while this is held: a job over several nodes takes whole nodes.
    [[nodiscard]] constexpr int occupied_gpus() const {
        return shape.nodes > 1 ? shape.nodes * gpus_per_node : shape.gpus;
    }
    /// The pool.
    [[nodiscard]] constexpr operator PoolId() const { return {gpu_type, gpus_per_node, spot, group}; }
    /// Whether both are of one pool.
    [[nodiscard]] constexpr bool same_pool(const PoolId& other) const { return PoolId(*this) == other; }

    /// Same pool, same shape.
    friend constexpr bool operator==(const PoolShare&, const PoolShare&) = default;
    /// By pool, then shape.
    friend constexpr auto operator<=>(const PoolShare& a, const PoolShare& b) {
        const auto order = PoolId(a) <=> PoolId(b);
        return order != 0 ? order : a.shape <=> b.shape;
    }
};

/// One training iteration: every replica handles `atomic_batch` examples, 1 + `accumulation_steps` times, and
/// synchronises in the last of these steps. {0, 0} is no plan.
struct BatchPlan {
    int atomic_batch = 0;        ///< examples per GPU and step (also called local batch)
    int accumulation_steps = 0;  ///< further steps before the one that synchronises

    /// Examples of one iteration on `replicas` replicas (total batch size).
    [[nodiscard]] constexpr std::int64_t total(int replicas) const {
        return std::int64_t{replicas} * atomic_batch * (accumulation_steps + std::int64_t{1});
    }

    /// By atomic batch, then accumulation steps.
    friend constexpr auto operator<=>(const BatchPlan&, const BatchPlan&) = default;
};

/// What a batch plan has to respect on one GPU type.
struct BatchLimits {
    int initial_batch = 0;     ///< total batch size that the training script was written for: the least
    int max_batch = 0;         ///< largest total batch size
    int min_atomic_batch = 1;  ///< least examples per GPU and step
    int max_atomic_batch = 0;  ///< most examples per GPU and step (memory)
    /// Above the initial batch size a single GPU must accumulate, because gradient statistics need two
    /// samples an iteration (Pollux, section 2.3 of the released code). Not needed with the differenced
    /// estimator.
    bool single_gpu_accumulates = false;
};

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

/// How sure the models are of an option's goodput.
enum class Knowledge {
    measured,   ///< the job's own model of this GPU type; a refined one up to the replicas that were measured
    projected,  ///< beyond those, or another GPU type's model, scaled to this one
    unknown     ///< no measurement of the job at all
};

/// One thing that a job could get: a configuration, with the best batch plan for it and what that is worth in
/// useful examples a second.
struct Option {
    Configuration configuration{};  ///< GPUs, by pool and shape
    BatchPlan plan{};               ///< of largest goodput there; {0, 0}: none respects the job's limits
    /// Examples/s at the initial batch size's efficiency, or 1 per replica where the knowledge is unknown. It
    /// compares options of one job. To compare jobs, divide by best_goodput(): an example of one job is not
    /// an example of another, and a job of unknown speed is not a slow one.
    double goodput = 0;
    Knowledge knowledge = Knowledge::unknown;  ///< where the goodput comes from
    /// How the job saves its state there, as an index into Job::checkpoints (their number: the assumed one),
    /// and what is useful of its time: the goodput is that of this part. Where nothing is interrupted: all.
    Checkpointing checkpointing{};
};

/// The largest goodput among a job's options; 0 if no option has any.
[[nodiscard]] inline double best_goodput(std::span<const Option> options) {
    double best = 0;
    for (const Option& option : options) best = std::max(best, option.goodput);
    return best;
}

/// So many units of one resource.
struct ResourceUse {
    std::uint32_t resource = 0;  ///< index into the problem's capacities
    double units = 0;            ///< at least 0, in the unit of the capacity
};

/// What each of a job's options takes: a view.
class OptionUses {
public:
    /// Of no options.
    OptionUses() = default;
    /// `uses` of all options, one after the other; `offsets` says where those of each begin, and where those
    /// of the last one end.
    OptionUses(std::span<const ResourceUse> uses, std::span<const std::size_t> offsets)
        : uses_(uses), offsets_(offsets) {}
    /// What the option of that index takes.
    [[nodiscard]] std::span<const ResourceUse> operator()(std::size_t option) const {
        return uses_.subspan(offsets_[option], offsets_[option + 1] - offsets_[option]);
    }

private:
    std::span<const ResourceUse> uses_{};
    std::span<const std::size_t> offsets_{};
};

}  // namespace goodput

#endif
