// Rates of pairs that nobody has measured, from some that were.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/pairs/pair_fit.hpp"
#include "goodput/pairs/pair_model.hpp"
#include "pairs/gavel_pairs.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

double normal(Random& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.unit();
    return sum;
}

/// Kinds of jobs on one GPU type, all of whose numbers are known, and how they would be measured.
struct KnownKinds {
    std::vector<PairKind> kinds{};
    std::vector<double> memory{};
    PairModel truth{.types = 1, .scatter = {0}};

    /// Half of what a kind loses and makes others lose follows from its speed alone.
    KnownKinds(Random& random, std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) {
            const double speed = random.between(-1.5, 1.5);
            kinds.push_back({.name = "kind-" + std::to_string(k), .rates = {10 * std::exp(speed)}});
            memory.push_back(random.between(0.1, 0.7));
            truth.uses.push_back(
                {.mean_log = {-0.3 + 0.4 * speed + 0.3 * normal(random),
                              -0.3 - 0.4 * speed + 0.3 * normal(random), -1 + 0.5 * normal(random)},
                 .memory = memory.back()});
        }
    }
    [[nodiscard]] PairSample measure(std::array<std::size_t, 2> pair, double noise, Random& random) const {
        PairSample sample{pair, 0, {0, 0}};
        const PairEstimate together = truth.estimate(pair, 0);
        for (std::size_t i = 0; i < 2 && together.fits; ++i)
            sample.rates[i] =
                kinds[pair[i]].rates[0] * std::clamp(together.parts[i] + noise * normal(random), 0.01, 1.0);
        return sample;
    }
    /// All pairs but those of kinds from `until` on, each with the given chance.
    [[nodiscard]] std::vector<PairSample> measured(Random& random, double chance, double noise,
                                                   std::size_t until) const {
        std::vector<PairSample> samples;
        for (std::size_t a = 0; a < until; ++a)
            for (std::size_t b = a; b < until; ++b)
                if (random.chance(chance)) samples.push_back(measure({a, b}, noise, random));
        return samples;
    }
};

}  // namespace

TEST_CASE("pairs that were not measured follow from pairs that were, and lie in their intervals") {
    double squares = 0;
    int asked = 0, inside = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Random random(seed);
        const KnownKinds known(random, 14);
        const std::vector<PairSample> samples = known.measured(random, 0.6, 0.02, 14);
        const PairFit fit = fit_pair_model(known.kinds, 1, samples);
        CHECK(is_fitted(fit.by_type[0].status));
        for (std::size_t a = 0; a < 14; ++a)
            for (std::size_t b = a + 1; b < 14; ++b) {
                const bool seen = std::any_of(samples.begin(), samples.end(), [&](const PairSample& sample) {
                    return sample.kinds == std::array{a, b};
                });
                const PairSample truth = known.measure({a, b}, 0.02, random);
                const PairEstimate estimate = fit.model.estimate({a, b}, 0);
                if (seen || truth.rates[0] == 0 || !estimate.fits) continue;
                for (std::size_t i = 0; i < 2; ++i) {
                    const double part = truth.rates[i] / known.kinds[truth.kinds[i]].rates[0];
                    squares += (estimate.parts[i] - part) * (estimate.parts[i] - part);
                    ++asked;
                    inside += estimate.interval(i).low <= part && part <= estimate.interval(i).high;
                }
            }
    }
    REQUIRE(asked > 100);
    CHECK(std::sqrt(squares / asked) < 0.04);  // of which 0.02 is the noise of what it is compared with
    CHECK(inside > 0.83 * asked);
    CHECK(inside < 0.97 * asked);
}

TEST_CASE("it does not matter which of a pair is named first") {
    Random random(1);
    const KnownKinds known(random, 8);
    std::vector<PairSample> samples = known.measured(random, 0.7, 0.02, 8);
    const PairModel model = fit_pair_model(known.kinds, 1, samples).model;
    for (PairSample& sample : samples) {
        std::swap(sample.kinds[0], sample.kinds[1]);
        std::swap(sample.rates[0], sample.rates[1]);
    }
    std::reverse(samples.begin(), samples.end());
    const PairModel swapped = fit_pair_model(known.kinds, 1, samples).model;
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < 8; ++b) {
            const PairEstimate ab = model.estimate({a, b}, 0), ba = model.estimate({b, a}, 0);
            CHECK(ab.fits == ba.fits);
            CHECK(ab.parts[0] == ba.parts[1]);
            CHECK(ab.deviations[1] == ba.deviations[0]);
            CHECK(swapped.estimate({a, b}, 0).parts[0] == doctest::Approx(ab.parts[0]).epsilon(1e-3));
        }
}

TEST_CASE("nobody is faster beside another than alone, and the less is known the wider the interval") {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const KnownKinds known(random, 10);
        // The last kind was never measured; without samples nothing was.
        const PairModel model = fit_pair_model(known.kinds, 1, known.measured(random, 0.8, 0.02, 9)).model;
        const PairModel nothing = fit_pair_model(known.kinds, 1, {}).model;
        double measured = 0, never = 0;
        for (std::size_t a = 0; a < 10; ++a)
            for (std::size_t b = 0; b < 10; ++b)
                for (const PairModel* of : {&model, &nothing}) {
                    PairModel any_memory = *of;
                    for (PairUse& use : any_memory.uses) use.memory = 0;
                    const PairEstimate estimate = any_memory.estimate({a, b}, 0);
                    REQUIRE(estimate.fits);
                    for (std::size_t i = 0; i < 2; ++i) {
                        CHECK(estimate.parts[i] > 0);
                        CHECK(estimate.parts[i] < 1);
                        const Interval interval = estimate.interval(i);
                        CHECK(0 <= interval.low);
                        CHECK(interval.low < estimate.parts[i]);
                        CHECK(estimate.parts[i] < interval.high);
                        CHECK(interval.high <= 1);
                    }
                    if (of == &model && b < 9) (a == 9 ? never : measured) += estimate.deviations[0];
                }
        CHECK(never / 9 > 1.5 * measured / 81);
    }
}

TEST_CASE("speeds alone say something of a kind that was never measured beside another") {
    double model_error = 0, mean_error = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        Random random(seed);
        KnownKinds known(random, 16);
        for (PairUse& use : known.truth.uses) use.memory = 0;
        const std::vector<PairSample> samples = known.measured(random, 1, 0.01, 15);
        const PairModel model = fit_pair_model(known.kinds, 1, samples).model;
        for (std::size_t other = 0; other < 15; ++other) {
            double mean = 0, count = 0;
            for (const PairSample& sample : samples)
                for (std::size_t i = 0; i < 2; ++i)
                    if (sample.kinds[1 - i] == other) {
                        mean += sample.rates[i] / known.kinds[sample.kinds[i]].rates[0];
                        count += 1;
                    }
            const double truth = known.truth.estimate({15, other}, 0).parts[0];
            model_error += std::abs(model.estimate({15, other}, 0).parts[0] - truth);
            mean_error += std::abs(mean / count - truth);
        }
    }
    CHECK(model_error < 0.8 * mean_error);
}

TEST_CASE("a kind that was never measured is known better where its family was") {
    double with = 0, without = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Random random(seed);
        KnownKinds known(random, 16);
        for (std::size_t k = 0; k < 16; ++k) {
            known.kinds[k].family = "family-" + std::to_string(k % 4);
            PairUse& use = known.truth.uses[k];
            use.memory = 0;
            for (double& number : use.mean_log)
                number = k < 4 ? 2 * number : known.truth.uses[k % 4].mean_log[0] / 2 + 0.2 * number;
        }
        const std::vector<PairSample> samples = known.measured(random, 1, 0.01, 15);
        const PairModel families = fit_pair_model(known.kinds, 1, samples).model;
        for (PairKind& kind : known.kinds) kind.family.clear();
        const PairModel none = fit_pair_model(known.kinds, 1, samples).model;
        for (std::size_t other = 0; other < 15; ++other) {
            const double truth = known.truth.estimate({15, other}, 0).parts[0];
            with += std::abs(families.estimate({15, other}, 0).parts[0] - truth);
            without += std::abs(none.estimate({15, other}, 0).parts[0] - truth);
        }
    }
    CHECK(with < 0.8 * without);
}

TEST_CASE("a pair whose memory does not fit is never offered") {
    int misjudged = 0, pairs = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        KnownKinds known(random, 9);
        const std::vector<PairSample> samples = known.measured(random, 1, 0.02, 9);
        const PairFit guessed = fit_pair_model(known.kinds, 1, samples);
        misjudged += guessed.by_type[0].misjudged;
        pairs += static_cast<int>(samples.size());
        for (std::size_t k = 0; k < 9; ++k) known.kinds[k].memory = {known.memory[k]};
        // Where memory was measured it decides, whatever else was.
        const PairModel model = fit_pair_model(known.kinds, 1, {samples.data(), 3}).model;
        ShareProblem problem{.gpus = {4}};
        for (std::size_t k = 0; k < 9; ++k)
            problem.jobs.push_back({.name = known.kinds[k].name, .rates = known.kinds[k].rates});
        PairedShareProblem paired{.alone = problem};
        for (std::size_t a = 0; a < 9; ++a)
            for (std::size_t b = a + 1; b < 9; ++b) {
                const bool fits = known.memory[a] + known.memory[b] <= 1;
                CHECK(model.fits({a, b}, 0) == fits);
                const PairEstimate estimate = model.estimate({a, b}, 0);
                const auto pair = offered_pair(problem, {a, b}, model, {a, b});
                if (pair) paired.pairs.push_back(*pair);
                const bool gains = estimate.parts[0] + estimate.parts[1] > 1;
                CHECK(pair.has_value() == (fits && gains));
                if (pair)
                    CHECK(pair->rates[0][1] == doctest::Approx(estimate.parts[1] * problem.jobs[b].rates[0]));
            }
        paired.validate();
    }
    CHECK(misjudged < 0.03 * pairs);
}

TEST_CASE("care refuses pairs that may not fit, and none that was measured") {
    Random random(2);
    KnownKinds known(random, 8);
    known.kinds[0].memory = {0.4};
    known.kinds[1].memory = {0.6};
    PairModel model = fit_pair_model(known.kinds, 1, known.measured(random, 0.5, 0.02, 6)).model;
    int offered = 0, with_care = 0;
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = a; b < 8; ++b) {
            model.careful = 0;
            const bool fits = model.fits({a, b}, 0);
            model.careful = 2;
            CHECK((fits || !model.fits({a, b}, 0)));
            offered += fits;
            with_care += model.fits({a, b}, 0);
        }
    CHECK(with_care < offered);
    CHECK(model.fits({0, 1}, 0));
}

TEST_CASE("only two different jobs of as many workers are a pair") {
    const PairModel model{.types = 1, .uses = {{.mean_log = {-2, -2, -3}}}, .scatter = {0}};
    ShareProblem problem{.gpus = {4}};
    problem.jobs = {
        {.name = "a", .rates = {2}}, {.name = "b", .rates = {3}}, {.name = "c", .workers = 2, .rates = {3}}};
    CHECK(offered_pair(problem, {0, 1}, model, {0, 0}));
    CHECK(!offered_pair(problem, {0, 0}, model, {0, 0}));
    CHECK(!offered_pair(problem, {0, 2}, model, {0, 0}));
}

TEST_CASE("bad pairs are named") {
    const std::vector<PairKind> kinds{{.name = "bert", .rates = {2}}, {.name = "new", .rates = {0}}};
    const auto refused = [&](const PairSample& sample, const std::string& sentence) {
        CHECK_THROWS_WITH_AS((void)fit_pair_model(kinds, 1, std::array{sample}), sentence.c_str(),
                             std::invalid_argument);
    };
    refused({{0, 2}, 0, {1, 1}}, "pair sample 0: kind is 2, but must be an index into the kinds");
    refused({{0, 0}, 1, {1, 1}}, "pair sample 0: type is 1, but must be an index into the GPU types");
    refused({{0, 0}, 0, {1, 0}}, "pair sample 0: rate is 0, but must be from 1e-12 to 1e15, or 0 of both");
    refused({{0, 0}, 0, {NAN, 1}},
            "pair sample 0: rate is nan, but must be from 1e-12 to 1e15, or 0 of both");
    refused({{0, 1}, 0, {1, 1}},
            "pair sample 0: rate of kind 'new' alone is 0, but must be known where it was measured "
            "while sharing with another");
    CHECK_THROWS_WITH_AS((void)fit_pair_model(kinds, 2, {}),
                         "kind 'bert': number of rates is 1, but must be that of GPU types, 2",
                         std::invalid_argument);
    CHECK_THROWS_AS(
        (void)fit_pair_model(std::array{PairKind{.name = "x", .rates = {1}, .memory = {1.5}}}, 1, {}),
        std::invalid_argument);
}

TEST_SUITE("data") {
    TEST_CASE("Gavel's pairs that are left out are predicted better than by means, with honest intervals") {
        const support::GavelPairs pairs =
            support::read_gavel_pairs(GOODPUT_DATA_DIR "/gavel/simulation_throughputs.json.gz");
        REQUIRE(pairs.kinds.size() == 26);
        REQUIRE(pairs.samples.size() == 3 * 26 * 27 / 2);
        CHECK(pairs.measured == 0);  // of more than one worker
        const PairFit all = fit_pair_model(pairs.kinds, 3, pairs.samples);
        for (const PairTypeFit& of : all.by_type) {
            CHECK(is_fitted(of.status));
            CHECK(of.misjudged < 0.02 * (of.samples + of.did_not_fit));
        }
        double inside = 0, asked = 0;
        for (const std::size_t known : {0U, 3U}) {
            Random random(7);
            for (const support::PairErrors& of :
                 support::left_out_errors(pairs, {.known = known, .every = 6}, random)) {
                const auto sum = [](const std::vector<double>& errors) {
                    double all_errors = 0;
                    for (const double error : errors) all_errors += error;
                    return all_errors;
                };
                CHECK(sum(of.model) < (known == 0 ? 0.92 : 0.75) * sum(of.others));
                CHECK(of.covered() > 0.8);  // a few kinds on one GPU type
                inside += static_cast<double>(of.inside);
                asked += static_cast<double>(of.model.size());
                CHECK(of.fit_refused[0] < 0.05 * static_cast<double>(of.fit));
            }
        }
        CHECK(inside > 0.85 * asked);
        CHECK(inside < 0.96 * asked);
    }
}
