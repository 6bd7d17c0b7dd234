#ifndef GOODPUT_PARALLEL_LAYERED_MODEL_HPP
#define GOODPUT_PARALLEL_LAYERED_MODEL_HPP

// Describes a large model by measurements of its layers: how long each takes on a GPU type, and what it
// needs, by micro-batch and tensor-parallel degree. As in Sailor (SOSP'25), section 4.2, one node of each
// type is profiled.

#include <cmath>
#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// The time that one layer takes for one micro-batch, in seconds.
struct LayerTime {
    double forward_seconds = 0;   ///< forward pass
    double backward_seconds = 0;  ///< backward pass
    double update_seconds = 0;    ///< step of the optimiser, once per iteration
};

/// The data that one layer holds on each GPU of a tensor-parallel group.
struct LayerSize {
    double parameters = 0;         ///< numbers
    double output_floats = 0;      ///< numbers per sample that it passes on
    double activation_floats = 0;  ///< numbers per sample that it keeps until its backward pass
};

/// The micro-batch and the tensor-parallel degree of a measurement.
struct LayerProfileKey {
    int microbatch = 1;       ///< samples that a replica computes at once
    int tensor_parallel = 1;  ///< GPUs that compute each layer together
    /// Orders by micro-batch, then by degree.
    friend constexpr auto operator<=>(const LayerProfileKey&, const LayerProfileKey&) = default;
};

/// The layers of a model with their measurements.
struct LayeredModel {
    std::string name{};                             ///< name for messages
    std::size_t layers = 0;                         ///< at least 1
    std::map<int, std::vector<LayerSize>> sizes{};  ///< by tensor-parallel degree; 1 must be there
    /// By GPU type, then micro-batch and degree: one time per layer. A missing entry was not measured, and
    /// no plan uses it.
    std::vector<std::map<LayerProfileKey, std::vector<LayerTime>>> times{};
    double bytes_per_float = 4;  ///< bytes per number of activations and gradients
    double bytes_per_parameter =
        24;  ///< parameter, gradient, optimiser state and copies: 24 with Adam, 20 with SGD

    /// Returns the times of all layers, or nullptr if they were not measured.
    [[nodiscard]] const std::vector<LayerTime>* times_of(std::size_t gpu_type, LayerProfileKey key) const {
        if (gpu_type >= times.size()) return nullptr;
        const auto found = times[gpu_type].find(key);
        return found == times[gpu_type].end() ? nullptr : &found->second;
    }
    /// Returns the sizes of all layers at a tensor-parallel degree, or nullptr if they are unknown.
    [[nodiscard]] const std::vector<LayerSize>* sizes_of(int tensor_parallel) const {
        const auto found = sizes.find(tensor_parallel);
        return found == sizes.end() ? nullptr : &found->second;
    }

    /// Throws std::invalid_argument for a model without layers or without sizes at degree 1, lists whose
    /// length is not `layers`, micro-batches and degrees below 1, and numbers that are negative or not
    /// finite.
    void validate() const;
};

inline void LayeredModel::validate() const {
    const auto subject = [&] { return "model '" + name + "'"; };
    require_between(subject, "layers", static_cast<long long>(layers), 1, 1 << 16);
    require_positive(subject, "bytes_per_float", bytes_per_float);
    require_at_least(subject, "bytes_per_parameter", bytes_per_parameter, 0);
    if (sizes.find(1) == sizes.end()) bad_input(subject(), "sizes", "missing", "given for tensor_parallel 1");
    const auto check_length = [&](std::size_t length, const char* field) {
        if (length != layers)
            bad_input(subject(), field, length,
                      "a list of one entry for each of " + text_of(layers) + " layers");
    };
    for (const auto& [degree, list] : sizes) {
        require_between(subject, "tensor_parallel", degree, 1, 1 << 10);
        check_length(list.size(), "sizes");
        for (const LayerSize& size : list) {
            require_at_least(subject, "parameters", size.parameters, 0);
            require_at_least(subject, "output_floats", size.output_floats, 0);
            require_at_least(subject, "activation_floats", size.activation_floats, 0);
        }
    }
    for (const auto& type : times)
        for (const auto& [key, list] : type) {
            require_between(subject, "microbatch", key.microbatch, 1, 1 << 20);
            require_between(subject, "tensor_parallel", key.tensor_parallel, 1, 1 << 10);
            check_length(list.size(), "times");
            for (const LayerTime& time : list) {
                require_at_least(subject, "forward", time.forward_seconds, 0);
                require_at_least(subject, "backward", time.backward_seconds, 0);
                require_at_least(subject, "update", time.update_seconds, 0);
            }
        }
}

}  // namespace goodput::inline v0_1

#endif
