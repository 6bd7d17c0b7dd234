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

/// The network and its data.
enum class Kind {
    cnn,          ///< two convolutions and a linear layer on scikit-learn's digits
    transformer,  ///< two layers of attention that sort eight numbers
    wide          ///< three linear layers on the digits, 10 million parameters: for measuring overhead
};

/// The mean loss and the fraction of correct answers, on examples that are never trained on.
struct Evaluation {
    double loss = 0;
    double accuracy = 0;  ///< fraction of digits, or of numbers in a sequence
};

/// A network and its data. Examples have numbers. The example at place n of the training depends only on
/// the seed and n, not on the number of processes that share the work.
class Network {
public:
    /// Equal seeds give equal parameters. `digits` is scikit-learn's digits.csv, gzipped or not.
    Network(Kind kind, std::uint64_t seed, const std::string& digits);
    ~Network();

    /// All parameters, for an optimiser to change.
    [[nodiscard]] std::span<float> parameters();
    /// The number of different examples in the training data; 0 if they are generated without end.
    [[nodiscard]] std::size_t training_examples() const;

    /// Returns the mean gradient of the loss over the examples at the places first ... first + count - 1 of
    /// the training. It is valid until the next call. Adds their mean loss to `loss`.
    std::span<const float> gradient(std::uint64_t first, int count, double& loss);
    /// Returns the mean gradient of the examples first, first + stride, ... (`count` of them) of the
    /// training set, or of generated examples that the training does not meet. It is valid until the next
    /// call.
    std::span<const float> gradient_of(std::uint64_t first, std::uint64_t stride, int count);

    /// Evaluates on all examples that are reserved for it.
    [[nodiscard]] Evaluation evaluate();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace training

#endif
