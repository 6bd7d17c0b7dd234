#ifndef GOODPUT_EXAMPLES_TRAINING_NETWORK_HPP
#define GOODPUT_EXAMPLES_TRAINING_NETWORK_HPP

// The networks that goodput-training trains, with all parameters and gradients in one piece of memory each.
// Only network.cpp includes libtorch, which takes long to compile.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace training {

/// What is trained, and on what.
enum class Kind {
    cnn,          ///< two convolutions and a linear layer on scikit-learn's digits
    transformer,  ///< two layers of attention that sort eight numbers
    wide          ///< three linear layers on the digits, 10 million parameters: for measuring overhead
};

/// Mean loss, and share of correct answers, on examples that are never trained on.
struct Evaluation {
    double loss = 0;
    double accuracy = 0;  ///< of digits, or of numbers in a sequence
};

/// A network and its data. Examples have numbers: which one comes at place n of the training depends on the
/// seed and on n only, not on how many processes share the work.
class Network {
public:
    /// The same parameters for the same seed. `digits`: scikit-learn's digits.csv, gzipped or not.
    Network(Kind kind, std::uint64_t seed, const std::string& digits);
    ~Network();

    /// All parameters, to be changed by an optimiser.
    [[nodiscard]] std::span<float> parameters();
    /// Places of the training data that are examples of their own: 0 where they are generated without end.
    [[nodiscard]] std::size_t training_examples() const;

    /// Mean gradient of the loss over the examples at the places first ... first + count - 1 of the training;
    /// valid until the next call. Adds their mean loss to `loss`.
    std::span<const float> gradient(std::uint64_t first, int count, double& loss);
    /// Mean gradient of the examples first, first + stride, ... (`count` of them) of the training set, or of
    /// generated ones that the training does not meet; valid until the next call.
    std::span<const float> gradient_of(std::uint64_t first, std::uint64_t stride, int count);

    /// On all examples that are kept for it.
    [[nodiscard]] Evaluation evaluate();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace training

#endif
