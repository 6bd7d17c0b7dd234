#ifndef GOODPUT_PARALLEL_LAYERED_MODEL_HPP
#define GOODPUT_PARALLEL_LAYERED_MODEL_HPP

// A large model as its layers were measured: how long each takes on a GPU type, and what it needs, by
// micro-batch and tensor-parallel degree. Sailor (SOSP'25), section 4.2: one node of each type is profiled.

#include <cmath>
#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// How long one layer takes for one micro-batch, in seconds.
struct LayerTime {
    double forward_seconds = 0;   ///< of the forward pass
    double backward_seconds = 0;  ///< of the backward pass
    double update_seconds = 0;    ///< the optimiser's step, once an iteration
};

/// What one layer holds on each GPU of a tensor-parallel group.
struct LayerSize {
    double parameters = 0;         ///< numbers
    double output_floats = 0;      ///< what it hands on, numbers a sample
    double activation_floats = 0;  ///< what it keeps until its backward pass, numbers a sample
};

/// Micro-batch and tensor-parallel degree, which a measurement was made with.
struct LayerProfileKey {
    int microbatch = 1;       ///< samples that a replica computes at once
    int tensor_parallel = 1;  ///< GPUs that compute each layer together
    /// By micro-batch, then degree.
    friend constexpr auto operator<=>(const LayerProfileKey&, const LayerProfileKey&) = default;
};

/// Layers of a model with what was measured of them.
struct LayeredModel {
    std::string name{};                             ///< for messages
    std::size_t layers = 0;                         ///< at least 1
    std::map<int, std::vector<LayerSize>> sizes{};  ///< by tensor-parallel degree; 1 must be there
    /// By GPU type, then micro-batch and degree: one time a layer. What is missing was not measured, and no
    /// plan uses it.
    std::vector<std::map<LayerProfileKey, std::vector<LayerTime>>> times{};
    double bytes_per_float = 4;  ///< of activations and gradients
    double bytes_per_parameter =
        24;  ///< parameter, gradient, optimiser and copies: 24 with Adam, 20 with SGD

    /// Times of all layers, or nullptr where nothing was measured.
    [[nodiscard]] const std::vector<LayerTime>* times_of(std::size_t gpu_type, LayerProfileKey key) const {
        if (gpu_type >= times.size()) return nullptr;
        const auto found = times[gpu_type].find(key);
        return found == times[gpu_type].end() ? nullptr : &found->second;
    }
    /// Sizes of all layers at a tensor-parallel degree, or nullptr where they are not known.
    [[nodiscard]] const std::vector<LayerSize>* sizes_of(int tensor_parallel) const {
        const auto found = sizes.find(tensor_parallel);
        return found == sizes.end() ? nullptr : &found->second;
    }

    /// Refuses a model without layers or without sizes at degree 1, lists of another length than `layers`,
    /// micro-batches and degrees below 1, and numbers that are negative or not finite
    /// (std::invalid_argument).
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

}  // namespace goodput

#endif
