#ifndef GOODPUT_PARALLEL_DETAIL_STAGE_CLASS_HPP
#define GOODPUT_PARALLEL_DETAIL_STAGE_CLASS_HPP

// A class of replicas is a GPU type and a tensor-parallel degree. This header has sums over its layers, and
// the messages between classes.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/plan_terms.hpp"

namespace goodput::inline v0_1::detail {

inline constexpr double never = std::numeric_limits<double>::infinity();

/// How many times the seconds count in which the last of several stages sends gradients back.
inline constexpr double last_weight = backward_weight(1, 2);

/// Replicas of one GPU type and tensor-parallel degree.
struct StageClass {
    std::size_t gpu_type = 0;
    int tensor_parallel = 1;
    std::vector<double> compute{};      ///< by layer: seconds of all earlier layers, then of all layers
    std::vector<double> parameters{};   ///< the same for parameters on each GPU
    std::vector<double> activations{};  ///< the same for activations per sample
    std::vector<double> update{};       ///< by layer: seconds of the optimiser for a stage that begins there
};

/// Lower bounds on the seconds of a micro-batch's messages between stages of two classes, over links
/// between some zones.
class ClassMessages {
public:
    /// `over(from, to)` says whether messages from one zone to another count.
    template <class Over>
    ClassMessages(const LayeredModel& model, const ParallelCluster& cluster,
                  const std::vector<StageClass>& classes, int microbatch, const ParallelConstants& constants,
                  Over over)
        : classes_(classes.size()), boundaries_(model.layers * classes_ * classes_) {
        for (std::size_t k = 0; k < classes_; ++k)
            for (std::size_t next = 0; next < classes_; ++next) {
                const auto links = links_between(cluster, classes[k], classes[next], over);
                double known = -1, known_back = -1;
                for (std::size_t layer = 1; layer < model.layers; ++layer) {
                    Boundary& here = boundaries_[at(layer, k, next)];
                    const double there = message_bytes(model, layer - 1, microbatch),
                                 back = message_bytes(model, layer, microbatch);
                    if (there == known && back == known_back) {
                        here = boundaries_[at(layer - 1, k, next)];  // layers of one kind send the same
                        continue;
                    }
                    known = there;
                    known_back = back;
                    for (const auto& [forth, returning] : links) {
                        here.forward = std::min(here.forward, message_seconds(there, &forth, constants));
                        here.backward = std::min(here.backward, message_seconds(back, &returning, constants));
                    }
                }
            }
        sum_up();
    }

    /// Lowers all bounds for stages in which classes `as_fast[k]` may compute together with class k. The
    /// slowest replica of either stage then has a partner in the other stage, perhaps of another class.
    void relax(const std::vector<std::vector<std::size_t>>& as_fast) {
        const std::vector<Boundary> own = boundaries_;
        for (std::size_t first = 0; first < own.size(); first += classes_ * classes_)
            for (std::size_t k = 0; k < classes_; ++k)
                for (std::size_t next = 0; next < classes_; ++next) {
                    Boundary forth, back;
                    for (const std::size_t other : as_fast[next])
                        forth.lower(own[first + k * classes_ + other]);
                    for (const std::size_t other : as_fast[k])
                        back.lower(own[first + other * classes_ + next]);
                    boundaries_[first + k * classes_ + next] = {std::max(forth.forward, back.forward),
                                                                std::max(forth.backward, back.backward)};
                }
        sum_up();
    }

    /// Returns the seconds in which a stage of class k sends activations to a stage of class `next`, which
    /// begins with `layer`.
    [[nodiscard]] double forward(std::size_t layer, std::size_t k, std::size_t next) const {
        return boundaries_[at(layer, k, next)].forward;
    }
    /// Returns the seconds in which that next stage sends gradients back.
    [[nodiscard]] double backward(std::size_t layer, std::size_t k, std::size_t next) const {
        return boundaries_[at(layer, k, next)].backward;
    }
    /// Returns the sum of both, by the class before. The gradients count twice if `last`: `next` is the
    /// last stage.
    [[nodiscard]] const double* crossing_into(std::size_t layer, std::size_t next, bool last) const {
        return &(last ? last_crossing_ : crossing_)[(layer * classes_ + next) * classes_];
    }
    /// Returns the least forward() over the next class, for a stage of class k that ends before `layer`.
    [[nodiscard]] double least_forward(std::size_t layer, std::size_t k) const {
        return least_forward_[layer * classes_ + k];
    }
    /// Returns the least of it over that layer and all later ones.
    [[nodiscard]] double least_forward_from(std::size_t layer, std::size_t k) const {
        return least_forward_from_[layer * classes_ + k];
    }
    /// Returns the least backward() over the class before, for a stage of class k that begins with `layer`.
    [[nodiscard]] double least_backward(std::size_t layer, std::size_t k) const {
        return least_backward_[layer * classes_ + k];
    }
    /// Returns the most that such messages can add to a stage, without those that never arrive.
    [[nodiscard]] double most() const { return most_; }

private:
    struct Boundary {
        double forward = never, backward = never;

        void lower(const Boundary& other) {
            forward = std::min(forward, other.forward);
            backward = std::min(backward, other.backward);
        }
    };
    using Link = std::pair<BandwidthCurve, BandwidthCurve>;  // there and back

    /// Returns the links between two classes in all zones that have GPUs for them.
    template <class Over>
    static std::vector<Link> links_between(const ParallelCluster& cluster, const StageClass& from,
                                           const StageClass& to, Over over) {
        std::vector<Link> links;
        for (std::size_t a = 0; a < cluster.zones.size(); ++a) {
            if (cluster.gpus[a][from.gpu_type] < from.tensor_parallel) continue;
            for (std::size_t b = 0; b < cluster.zones.size(); ++b) {
                if (!over(a, b) || cluster.gpus[b][to.gpu_type] < to.tensor_parallel) continue;
                const LinkEnd sender{a, from.gpu_type, from.tensor_parallel};
                const LinkEnd receiver{b, to.gpu_type, to.tensor_parallel};
                const BandwidthCurve *there = cluster.link(sender, receiver),
                                     *back = cluster.link(receiver, sender);
                if (there == nullptr || back == nullptr) continue;
                if (const Link link{*there, *back};
                    std::find(links.begin(), links.end(), link) == links.end())
                    links.push_back(link);
            }
        }
        return links;
    }

    [[nodiscard]] std::size_t at(std::size_t layer, std::size_t k, std::size_t next) const {
        return (layer * classes_ + k) * classes_ + next;
    }
    void sum_up() {
        const std::size_t layers = boundaries_.size() / std::max<std::size_t>(classes_ * classes_, 1);
        crossing_.assign(boundaries_.size(), never);
        last_crossing_ = crossing_;
        least_forward_.assign((layers + 1) * classes_, never);
        least_backward_ = least_forward_;
        most_ = 0;
        for (std::size_t layer = 1; layer < layers; ++layer)
            for (std::size_t k = 0; k < classes_; ++k)
                for (std::size_t next = 0; next < classes_; ++next) {
                    const auto [forward, backward] = boundaries_[at(layer, k, next)];
                    const std::size_t into = (layer * classes_ + next) * classes_ + k;
                    crossing_[into] = forward + backward;
                    last_crossing_[into] = forward + last_weight * backward;
                    double& least = least_forward_[layer * classes_ + k];
                    least = std::min(least, forward);
                    double& least_back = least_backward_[layer * classes_ + next];
                    least_back = std::min(least_back, backward);
                    for (const double seconds : {forward, backward})
                        if (seconds < never) most_ = std::max(most_, 4 * seconds);
                }
        least_forward_from_ = least_forward_;
        for (std::size_t i = least_forward_from_.size() - classes_; i-- > 0;)
            least_forward_from_[i] = std::min(least_forward_from_[i], least_forward_from_[i + classes_]);
    }

    std::size_t classes_;
    std::vector<Boundary> boundaries_{};                // by layer, class, next class
    std::vector<double> crossing_{}, last_crossing_{};  // by layer, next class, class
    std::vector<double> least_forward_{}, least_backward_{}, least_forward_from_{};  // by layer, class
    double most_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
