// Measures how well the speeds of two trainings on the same H100 are predicted if one of them was never seen
// with others, or only in one or three pairs. Prints by mode, for several answers, mean absolute errors of
// the fractions of the speeds alone, how many lie in the 90 % intervals, and which gains are promised.
//
//     h100_pairs_check DATA/h100/pairs.csv

#include <array>
#include <cstdio>
#include <exception>

#include "pairs/h100_pairs.hpp"

namespace {

using goodput::GpuSharing;
using support::PairAnswer;

void print_row(const char* name, const support::H100Pairs& all, GpuSharing sharing, PairAnswer answer,
               std::size_t known, bool others = true) {
    const support::H100Errors of = support::h100_left_out(all, sharing, answer, known, others);
    if (of.errors.empty()) return;
    std::printf("  %-58s %5.3f  %3.0f %%  %zu of %zu  %zu of %zu\n", name, of.mean(), 100 * of.covered(),
                of.promised_in_vain, of.lose, of.missed, of.gain);
}

void print_mode(const char* path, GpuSharing sharing) {
    const support::H100Pairs all = support::read_h100_pairs(path, sharing);
    std::printf("%s: %zu jobs, %zu pairs\n  %-58s error inside promised in vain, missed\n",
                sharing == GpuSharing::mps ? "mps" : "time_slicing", all.jobs.size(), all.pairs.size(), "");
    const auto print = [&](const char* name, auto... how) { print_row(name, all, sharing, how...); };
    print("half each", PairAnswer::half, 0U);
    print("mean of the partner", PairAnswer::mean_of_partner, 0U);
    print("fitted model, no pair known", PairAnswer::fitted, 0U);
    print("fitted model, one pair known", PairAnswer::fitted, 1U);
    print("fitted model, three pairs known", PairAnswer::fitted, 3U);
    print("utilisation, no pair of any job known", PairAnswer::utilisation, 0U, false);
    print("utilisation, no pair of the job known", PairAnswer::utilisation, 0U);
    print("utilisation, only one pair of the job known", PairAnswer::utilisation, 1U, false);
    print("utilisation, one pair of the job known", PairAnswer::utilisation, 1U);
    print("utilisation, three pairs of the job known", PairAnswer::utilisation, 3U);
    print("the job's utilisation not known, no pair known", PairAnswer::utilisation_hidden, 0U);
    print("the job's utilisation not known, one pair known", PairAnswer::utilisation_hidden, 1U);

    // A check of the constant in use: which one fits the other pairs best if a job is left out?
    std::printf("  done together, of one job, that fits best without");
    for (std::size_t out = 0; out < all.jobs.size(); ++out) {
        double best = 0, least = 1e300;
        for (int hundredths = 70; hundredths <= 180; ++hundredths) {
            const double together = hundredths / 100.0;
            double sum = 0;
            for (const goodput::SeenPair& pair : all.pairs) {
                if (pair.jobs[0] == out || pair.jobs[1] == out) continue;
                for (std::size_t i = 0; i < 2; ++i) {
                    const double own = *all.jobs[pair.jobs[i]].utilisation;
                    const double other = *all.jobs[pair.jobs[1 - i]].utilisation;
                    const double part = (goodput::detail::part_with_slack(own, other, together) +
                                         goodput::detail::part_without_slack(own, other, together)) /
                                        2;
                    sum += (part - pair.parts[i]) * (part - pair.parts[i]);
                }
            }
            if (sum < least) best = together, least = sum;
        }
        std::printf("%s %s: %.2f", out > 0 ? "," : "", all.jobs[out].name.c_str(), best);
    }
    std::printf("\n");
    // Two jobs that are busy almost all the time show without any model what the GPU does together.
    for (const goodput::SeenPair& pair : all.pairs) {
        const double a = *all.jobs[pair.jobs[0]].utilisation, b = *all.jobs[pair.jobs[1]].utilisation;
        if (a + b > 1.9)
            std::printf("  %s and %s: busy %.2f and %.2f, together %.3f of one job\n",
                        all.jobs[pair.jobs[0]].name.c_str(), all.jobs[pair.jobs[1]].name.c_str(), a, b,
                        a * pair.parts[0] + b * pair.parts[1]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: h100_pairs_check DATA/h100/pairs.csv\n");
        return 2;
    }
    try {
        for (const GpuSharing sharing : {GpuSharing::time_slicing, GpuSharing::mps})
            print_mode(argv[1], sharing);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
