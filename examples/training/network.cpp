#include "network.hpp"

#include <torch/torch.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace training {

namespace {

constexpr std::int64_t sequence = 8, symbols = 10, width = 32, heads = 2;

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

struct Examples {
    torch::Tensor inputs, answers;
};

// Every fifth digit is kept for evaluating.
std::pair<Examples, Examples> read_digits(const std::string& path) {
    gzFile file = gzopen(path.c_str(), "rb");
    if (!file) throw std::runtime_error("cannot read " + path + " (Debian: python3-sklearn)");
    std::vector<float> pixels[2];
    std::vector<std::int64_t> labels[2];
    std::array<char, 4096> text{};
    for (int number = 0; gzgets(file, text.data(), static_cast<int>(text.size())); ++number) {
        const int kept = number % 5 == 0 ? 1 : 0;
        char* at = text.data();
        for (int i = 0; i < 64; ++i, ++at) pixels[kept].push_back(std::strtof(at, &at) / 8 - 1);
        labels[kept].push_back(std::strtol(at, nullptr, 10));
    }
    gzclose(file);
    const auto examples = [&](int kept) -> Examples {
        const auto count = static_cast<std::int64_t>(labels[kept].size());
        return {torch::tensor(pixels[kept]).view({count, 1, 8, 8}), torch::tensor(labels[kept])};
    };
    return {examples(0), examples(1)};
}

// Numbers in any order, and the same sorted.
Examples sequences(const std::vector<std::uint64_t>& seeds) {
    const auto count = static_cast<std::int64_t>(seeds.size());
    torch::Tensor inputs = torch::empty({count, sequence}, torch::kInt64);
    auto* values = inputs.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < seeds.size(); ++i)
        for (std::int64_t j = 0; j < sequence; ++j)
            *values++ =
                static_cast<std::int64_t>(mixed(seeds[i] * 64 + static_cast<std::uint64_t>(j)) % symbols);
    return {inputs, std::get<0>(inputs.sort(1))};
}

struct Model : torch::nn::Module {
    virtual torch::Tensor forward(const torch::Tensor& inputs) = 0;  // a row of scores an answer
};

struct Convolutions : Model {
    torch::nn::Conv2d first =
        register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 3).padding(1)));
    torch::nn::Conv2d second =
        register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 16, 3).padding(1)));
    torch::nn::Linear last = register_module("last", torch::nn::Linear(64, 10));
    torch::Tensor forward(const torch::Tensor& inputs) override {
        const torch::Tensor half = torch::max_pool2d(torch::relu(first(inputs)), 2);
        return last(torch::max_pool2d(torch::relu(second(half)), 2).flatten(1));
    }
};

struct Wide : Model {
    torch::nn::Linear first = register_module("first", torch::nn::Linear(64, 3125));
    torch::nn::Linear second = register_module("second", torch::nn::Linear(3125, 3125));
    torch::nn::Linear last = register_module("last", torch::nn::Linear(3125, 10));
    torch::Tensor forward(const torch::Tensor& inputs) override {
        return last(torch::relu(second(torch::relu(first(inputs.flatten(1))))));
    }
};

struct AttentionLayer : torch::nn::Module {
    torch::nn::LayerNorm before =
        register_module("before", torch::nn::LayerNorm(std::vector<std::int64_t>{width}));
    torch::nn::Linear three = register_module("three", torch::nn::Linear(width, 3 * width));
    torch::nn::Linear mix = register_module("mix", torch::nn::Linear(width, width));
    torch::nn::LayerNorm between =
        register_module("between", torch::nn::LayerNorm(std::vector<std::int64_t>{width}));
    torch::nn::Linear wide = register_module("wide", torch::nn::Linear(width, 2 * width));
    torch::nn::Linear narrow = register_module("narrow", torch::nn::Linear(2 * width, width));
    torch::Tensor forward(const torch::Tensor& inputs) {
        const std::int64_t count = inputs.size(0);
        const auto parts =
            three(before(inputs)).view({count, sequence, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
        const auto weights = torch::softmax(torch::matmul(parts[0], parts[1].transpose(-2, -1)) /
                                                std::sqrt(static_cast<double>(width / heads)),
                                            -1);
        const auto seen = torch::matmul(weights, parts[2]).transpose(1, 2).reshape({count, sequence, width});
        const auto mixed_in = inputs + mix(seen);
        return mixed_in + narrow(torch::relu(wide(between(mixed_in))));
    }
};

struct Transformer : Model {
    torch::nn::Embedding symbol = register_module("symbol", torch::nn::Embedding(symbols, width));
    torch::Tensor place = register_parameter("place", torch::randn({sequence, width}));
    std::shared_ptr<AttentionLayer> first = register_module("first", std::make_shared<AttentionLayer>());
    std::shared_ptr<AttentionLayer> second = register_module("second", std::make_shared<AttentionLayer>());
    torch::nn::Linear last = register_module("last", torch::nn::Linear(width, symbols));
    torch::Tensor forward(const torch::Tensor& inputs) override {
        return last(second->forward(first->forward(symbol(inputs) + place))).flatten(0, 1);
    }
};

std::unique_ptr<Model> model_of(Kind kind) {
    if (kind == Kind::cnn) return std::make_unique<Convolutions>();
    if (kind == Kind::wide) return std::make_unique<Wide>();
    return std::make_unique<Transformer>();
}

}  // namespace

struct Network::Parts {
    std::uint64_t seed;
    bool generated;
    Examples data, kept;
    std::unique_ptr<Model> model;
    torch::Tensor values, gradients;

    [[nodiscard]] Examples chosen(const std::vector<std::uint64_t>& which) const {
        const torch::Tensor index = torch::tensor(std::vector<std::int64_t>(which.begin(), which.end()));
        return {data.inputs.index_select(0, index), data.answers.index_select(0, index)};
    }

    std::span<const float> backward(const Examples& batch, double& loss) {
        gradients.zero_();
        const torch::Tensor mean =
            torch::nn::functional::cross_entropy(model->forward(batch.inputs), batch.answers.flatten());
        mean.backward();
        loss += mean.item<double>();
        return {gradients.data_ptr<float>(), static_cast<std::size_t>(gradients.numel())};
    }
};

Network::Network(Kind kind, std::uint64_t seed, const std::string& digits)
    : parts_(std::make_unique<Parts>()) {
    torch::set_num_threads(1);
    torch::manual_seed(seed);
    Parts& parts = *parts_;
    parts.seed = mixed(seed);
    parts.generated = kind == Kind::transformer;
    if (parts.generated) {
        std::vector<std::uint64_t> seeds;
        for (std::uint64_t i = 0; i < 500; ++i) seeds.push_back(mixed(~i));
        parts.kept = sequences(seeds);
    } else {
        std::tie(parts.data, parts.kept) = read_digits(digits);
    }
    parts.model = model_of(kind);
    std::int64_t count = 0;
    for (const torch::Tensor& parameter : parts.model->parameters()) count += parameter.numel();
    parts.values = torch::empty({count});
    parts.gradients = torch::zeros({count});
    std::int64_t at = 0;
    const torch::NoGradGuard no_gradient;
    for (torch::Tensor parameter : parts.model->parameters()) {
        const auto part = [&](const torch::Tensor& all) {
            return all.narrow(0, at, parameter.numel()).view_as(parameter);
        };
        part(parts.values).copy_(parameter);
        parameter.set_data(part(parts.values));
        parameter.mutable_grad() = part(parts.gradients);  // backward() adds to it in place
        at += parameter.numel();
    }
}

Network::~Network() = default;

std::span<float> Network::parameters() {
    return {parts_->values.data_ptr<float>(), static_cast<std::size_t>(parts_->values.numel())};
}

std::size_t Network::training_examples() const {
    return parts_->generated ? 0 : static_cast<std::size_t>(parts_->data.answers.size(0));
}

std::span<const float> Network::gradient(std::uint64_t first, int count, double& loss) {
    std::vector<std::uint64_t> seeds;
    for (int i = 0; i < count; ++i)
        seeds.push_back(mixed(parts_->seed + first + static_cast<std::uint64_t>(i)));
    if (parts_->generated) return parts_->backward(sequences(seeds), loss);
    // Drawn with replacement: the covariance of a batch then is that of an example over its size, at any
    // size.
    for (std::uint64_t& seed : seeds) seed %= training_examples();
    return parts_->backward(parts_->chosen(seeds), loss);
}

std::span<const float> Network::gradient_of(std::uint64_t first, std::uint64_t stride, int count) {
    std::vector<std::uint64_t> which;
    for (int i = 0; i < count; ++i) which.push_back(first + stride * static_cast<std::uint64_t>(i));
    double loss = 0;
    if (!parts_->generated) return parts_->backward(parts_->chosen(which), loss);
    for (std::uint64_t& seed : which) seed = mixed(mixed(seed));
    return parts_->backward(sequences(which), loss);
}

Evaluation Network::evaluate() {
    const torch::NoGradGuard no_gradient;
    const torch::Tensor scores = parts_->model->forward(parts_->kept.inputs),
                        answers = parts_->kept.answers.flatten();
    return {torch::nn::functional::cross_entropy(scores, answers).item<double>(),
            scores.argmax(1).eq(answers).to(torch::kFloat64).mean().item<double>()};
}

}  // namespace training
