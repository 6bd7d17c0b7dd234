// Measures how well the speeds of two jobs on the same GPU are predicted if one of them was never measured
// with others, or only with three. Prints by GPU type errors of the two rates as fractions of those alone,
// next to those of simpler answers, how many measurements lie in the 90 % intervals, and which pairs were
// said to fit into memory.
//
//     pair_model_check simulation_throughputs.json.gz          as published with Gavel

#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "pairs/gavel_pairs.hpp"
#include "support/validation.hpp"

namespace {

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

void print_errors(const char* name, const std::vector<double>& errors) {
    std::printf("  %-28s %6.3f %6.3f %6.3f\n", name, mean(errors), support::median(errors),
                support::quantile(errors, 0.9));
}

void print_left_out(const support::GavelPairs& pairs, const support::LeftOut& what) {
    std::printf("\nLeft out: all pairs of a kind but %zu%s\n", what.known,
                what.family ? ", and all of that model's other batch sizes" : "");
    support::Random random(1);
    const std::vector<support::PairErrors> errors = support::left_out_errors(pairs, what, random);
    for (std::size_t t = 0; t < errors.size(); ++t) {
        const support::PairErrors& of = errors[t];
        std::printf("%s: %zu rates %*s mean median   90 %%\n", pairs.types[t].c_str(), of.model.size(), 13,
                    "");
        print_errors("half of the speed alone", of.half);
        print_errors("mean of the others", of.others);
        if (what.known > 0) print_errors("the job most like it", of.alike);
        print_errors("model", of.model);
        std::printf("  in the 90 %% interval %13.1f %%\n", 100 * of.covered());
        for (const std::size_t careful : {0U, 1U})
            std::printf("  memory%s: refused %zu of %zu pairs that fit, %zu of %zu that do not\n",
                        careful == 0 ? "" : ", careful 1", of.fit_refused[careful], of.fit,
                        of.unfit_refused[careful], of.unfit);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: pair_model_check simulation_throughputs.json.gz\n");
        return 2;
    }
    try {
        const support::GavelPairs pairs = support::read_gavel_pairs(argv[1]);
        const goodput::PairFit fit = goodput::fit_pair_model(pairs.kinds, pairs.types.size(), pairs.samples);
        std::printf("%s\n", fit.report().c_str());
        std::printf("pairs of more than one worker: %d measured, %d not\n", pairs.measured, pairs.unmeasured);
        for (const bool family : {false, true})
            for (const std::size_t known : {0U, 3U})
                print_left_out(pairs, {.known = known, .family = family});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
