#ifndef GOODPUT_EXAMPLES_TRAINING_OPTIMISER_HPP
#define GOODPUT_EXAMPLES_TRAINING_OPTIMISER_HPP

// SGD with momentum, and AdamW, on all parameters in one piece.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace training {

/// An optimiser and its moments.
struct Optimiser {
    bool adam = false;                     ///< AdamW; otherwise SGD with momentum 0.9
    double learning_rate = 0;              ///< at the initial batch size
    std::vector<float> first{}, second{};  ///< moments; `second` only for AdamW
    std::int64_t updates = 0;              ///< number of updates that the moments have seen

    /// Takes one step with `learning_rate` times `factor`.
    void step(std::span<float> parameters, std::span<const float> gradient, double factor) {
        const auto rate = static_cast<float>(learning_rate * factor);
        first.resize(parameters.size());
        ++updates;
        if (!adam) {
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                first[i] = 0.9F * first[i] + gradient[i];
                parameters[i] -= rate * first[i];
            }
            return;
        }
        second.resize(parameters.size());
        const auto correct1 = static_cast<float>(1 / (1 - std::pow(0.9, static_cast<double>(updates))));
        const auto correct2 = static_cast<float>(1 / (1 - std::pow(0.999, static_cast<double>(updates))));
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const float g = gradient[i];
            first[i] = 0.9F * first[i] + 0.1F * g;
            second[i] = 0.999F * second[i] + 0.001F * g * g;
            parameters[i] -= rate * (0.01F * parameters[i] +
                                     first[i] * correct1 / (std::sqrt(second[i] * correct2) + 1e-8F));
        }
    }
};

}  // namespace training

#endif
