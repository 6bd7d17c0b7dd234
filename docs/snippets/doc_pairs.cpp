// Two jobs on one GPU: predicts how fast they run together if this was not measured.

#include <array>
#include <cstddef>
#include <goodput/pairs/pair_fit.hpp>
#include <iostream>
#include <vector>

int main() {
    // [pairs]
    // Steps/s alone on one GPU type, and of some pairs.
    const std::vector<goodput::PairKind> kinds{{.name = "resnet", .rates = {10}, .memory = {0.45}},
                                               {.name = "bert", .rates = {5}, .memory = {0.6}},
                                               {.name = "lm", .rates = {60}, .memory = {0.2}},
                                               {.name = "vae", .rates = {30}, .memory = {0.3}}};
    const std::vector<goodput::PairSample> samples{
        {{0, 2}, 0, {8, 24}}, {{1, 2}, 0, {4.2, 21}}, {{2, 2}, 0, {28, 28}}};
    const goodput::PairFit fit = goodput::fit_pair_model(kinds, 1, samples);
    std::cout.precision(2);
    for (const std::array<std::size_t, 2> pair : {std::array<std::size_t, 2>{1, 2}, {1, 3}, {0, 1}}) {
        const goodput::PairEstimate together = fit.model.estimate(pair, 0);
        std::cout << kinds[pair[0]].name << " beside " << kinds[pair[1]].name << ": ";
        if (together.fits)
            std::cout << together.parts[0] << " of its speed alone, from " << together.interval(0).low
                      << " to " << together.interval(0).high << "\n";
        else
            std::cout << "does not fit into memory\n";
    }
    // [/pairs]
    return 0;
}
