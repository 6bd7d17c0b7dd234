#ifndef GOODPUT_PARALLEL_DETAIL_STAGE_TABLES_HPP
#define GOODPUT_PARALLEL_DETAIL_STAGE_TABLES_HPP

// Tables for one micro-batch that the search for a plan reads again and again: how long a stage takes, how
// many layers fit, and what a boundary costs, by the class of the stage's slowest replica. The stage's
// other replicas may be of any class that is as fast, in any zone. So no number here is larger than in any
// plan. It is exact if one class computes the whole stage in one zone.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "goodput/core/bytes.hpp"
#include "goodput/parallel/detail/stage_class.hpp"

namespace goodput::inline v0_1::detail {

/// All classes that have a profile for a micro-batch, with their boundaries.
class StageTables {
public:
    /// `mixed`: replicas of other classes may help in a stage.
    StageTables(const LayeredModel& model, const ParallelCluster& cluster, int microbatch, bool mixed,
                const ParallelConstants& constants)
        : microbatch_(microbatch), mixed_(mixed), layers_(model.layers) {
        for (std::size_t type = 0; type < cluster.types.size(); ++type) {
            if (type >= model.times.size()) break;
            for (const auto& [key, times] : model.times[type])
                if (key.microbatch == microbatch) add_class(model, cluster, type, key, times, constants);
        }
        for (std::size_t k = 0; k < size(); ++k) {
            as_fast_.emplace_back();
            for (std::size_t other = 0; other < size(); ++other)
                if (may_join(k, other)) as_fast_[k].push_back(other);
        }
        messages_.emplace(model, cluster, classes_, microbatch, constants,
                          [](std::size_t, std::size_t) { return true; });
        if (mixed) messages_->relax(as_fast_);
        add_room(model, cluster, constants);
        add_bytes(model);
        work_.assign(layers_ + 1, 0);
        for (const StageClass& stage_class : classes_)
            for (std::size_t l = 1; l <= layers_; ++l)
                work_[l] +=
                    stage_class.compute.back() > 0
                        ? stage_class.compute[l] / stage_class.compute.back() / static_cast<double>(size())
                        : static_cast<double>(l) / static_cast<double>(layers_ * size());
    }

    [[nodiscard]] int microbatch() const { return microbatch_; }
    [[nodiscard]] std::size_t layers() const { return layers_; }
    [[nodiscard]] const std::vector<StageClass>& classes() const { return classes_; }
    [[nodiscard]] std::size_t size() const { return classes_.size(); }

    /// Classes that may compute together with class k in a stage whose slowest class is k: k itself, and
    /// all that compute some layer at least as fast.
    [[nodiscard]] const std::vector<std::size_t>& as_fast(std::size_t k) const { return as_fast_[k]; }

    /// The bytes of gradients that stages may have, ascending, and the index of those of layers [begin,
    /// end). Layers of one kind have the same bytes.
    [[nodiscard]] const std::vector<double>& distinct_bytes() const { return distinct_bytes_; }
    [[nodiscard]] std::size_t bytes_number(std::size_t begin, std::size_t end) const {
        return bytes_number_[begin * (layers_ + 1) + end];
    }
    /// The part of the model's computing in the layers before each layer, averaged over the classes; 1 for
    /// all layers.
    [[nodiscard]] const std::vector<double>& work() const { return work_; }
    /// Seconds that a stage takes in addition to its layers.
    [[nodiscard]] double overhead() const { return overhead_; }
    /// Returns the seconds that layers [begin, end) take for a micro-batch.
    [[nodiscard]] double compute(std::size_t k, std::size_t begin, std::size_t end) const {
        return overhead_ + classes_[k].compute[end] - classes_[k].compute[begin];
    }
    /// Layers [begin, room) fit with `in_flight` micro-batches under way. Returns `begin` if no layer fits.
    [[nodiscard]] std::size_t room(std::size_t k, std::size_t in_flight, std::size_t begin) const {
        return room_[(k * layers_ + in_flight - 1) * layers_ + begin];
    }
    /// Messages over any links.
    [[nodiscard]] const ClassMessages& messages() const { return *messages_; }
    /// The least update time of any class.
    [[nodiscard]] double least_update() const { return least_update_; }

private:
    [[nodiscard]] bool may_join(std::size_t k, std::size_t other) const {
        if (!mixed_) return other == k;
        const std::vector<double>&slow = classes_[k].compute, &fast = classes_[other].compute;
        for (std::size_t l = 0; l < layers_; ++l)
            // These are differences of sums, so equal layers may differ in the last digits.
            if (fast[l + 1] - fast[l] <= (slow[l + 1] - slow[l]) * (1 + 1e-9) + 1e-15) return true;
        return other == k;
    }

    void add_class(const LayeredModel& model, const ParallelCluster& cluster, std::size_t type,
                   const LayerProfileKey& key, const std::vector<LayerTime>& times,
                   const ParallelConstants& constants) {
        const std::vector<LayerSize>* sizes = model.sizes_of(key.tensor_parallel);
        if (sizes == nullptr || key.tensor_parallel > cluster.types[type].gpus_per_node) return;
        bool any = false;
        for (const auto& zone : cluster.gpus) any |= zone[type] >= key.tensor_parallel;
        if (!any) return;
        StageClass added{type, key.tensor_parallel, {0}, {0}, {0}, {}};
        for (std::size_t l = 0; l < layers_; ++l) {
            added.compute.push_back(added.compute.back() + layer_seconds(times[l], constants));
            added.parameters.push_back(added.parameters.back() + (*sizes)[l].parameters);
            added.activations.push_back(added.activations.back() + (*sizes)[l].activation_floats);
            added.update.push_back(times[l].update_seconds);
            least_update_ = std::min(least_update_, times[l].update_seconds);
        }
        overhead_ = constants.stage_seconds;
        classes_.push_back(std::move(added));
    }

    void add_room(const LayeredModel& model, const ParallelCluster& cluster,
                  const ParallelConstants& constants) {
        room_.resize(size() * layers_ * layers_);
        for (std::size_t k = 0; k < size(); ++k) {
            const StageClass& stage_class = classes_[k];
            const double most = cluster.types[stage_class.gpu_type].memory_gib * bytes_per_gib;
            for (std::size_t in_flight = 1; in_flight <= layers_; ++in_flight) {
                std::size_t end = 0;
                for (std::size_t begin = 0; begin < layers_; ++begin) {
                    end = std::max(end, begin);
                    while (end < layers_ &&
                           stage_bytes(stage_class.parameters[end + 1] - stage_class.parameters[begin],
                                       stage_class.activations[end + 1] - stage_class.activations[begin],
                                       stage_class.tensor_parallel, microbatch_, in_flight, model,
                                       constants) <= most)
                        ++end;
                    room_[(k * layers_ + in_flight - 1) * layers_ + begin] = end;
                }
            }
        }
    }

    void add_bytes(const LayeredModel& model) {
        std::vector<double> whole{0};
        for (const LayerSize& size : model.sizes.at(1))
            whole.push_back(whole.back() + size.parameters * model.bytes_per_float);
        for (std::size_t begin = 0; begin < layers_; ++begin)
            for (std::size_t end = begin + 1; end <= layers_; ++end)
                distinct_bytes_.push_back(whole[end] - whole[begin]);
        std::sort(distinct_bytes_.begin(), distinct_bytes_.end());
        distinct_bytes_.erase(std::unique(distinct_bytes_.begin(), distinct_bytes_.end()),
                              distinct_bytes_.end());
        bytes_number_.assign(layers_ * (layers_ + 1), 0);
        for (std::size_t begin = 0; begin < layers_; ++begin)
            for (std::size_t end = begin + 1; end <= layers_; ++end)
                bytes_number_[begin * (layers_ + 1) + end] =
                    static_cast<std::size_t>(std::lower_bound(distinct_bytes_.begin(), distinct_bytes_.end(),
                                                              whole[end] - whole[begin]) -
                                             distinct_bytes_.begin());
    }

    int microbatch_;
    bool mixed_;
    std::size_t layers_;
    std::vector<double> distinct_bytes_{};
    std::vector<std::size_t> bytes_number_{};
    std::vector<StageClass> classes_{};
    std::vector<std::vector<std::size_t>> as_fast_{};
    std::optional<ClassMessages> messages_{};
    std::vector<double> work_{};
    std::vector<std::size_t> room_{};
    double overhead_ = 0;
    double least_update_ = never;
};

/// Returns the least mean charge per replica of a stage, by the class of its slowest replicas. One replica
/// is of that class, and the others are of the cheapest class that may compute together with it.
template <class Charge>
std::vector<double> stage_charges(const StageTables& tables, int replicas, Charge charge_of) {
    std::vector<double> charges;
    for (std::size_t k = 0; k < tables.size(); ++k) {
        double cheapest = never;
        for (const std::size_t joining : tables.as_fast(k))
            cheapest = std::min(cheapest, charge_of(tables.classes()[joining]));
        charges.push_back(cheapest + (charge_of(tables.classes()[k]) - cheapest) / replicas);
    }
    return charges;
}

/// Returns what the prices of all existing GPUs take off a sum. Both arguments are by type.
[[nodiscard]] inline double refund(const std::vector<double>& gpus, const std::vector<double>& price) {
    double sum = 0;
    for (std::size_t t = 0; t < gpus.size(); ++t) sum += price[t] * gpus[t];
    return sum;
}

}  // namespace goodput::inline v0_1::detail

#endif
