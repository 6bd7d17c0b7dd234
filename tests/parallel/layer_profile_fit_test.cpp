// Tests how gaps in profiles by layer are filled, and with which certainty.

#include "goodput/parallel/layer_profile_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "parallel/left_out_profiles.hpp"
#include "parallel/sailor_data.hpp"
#include "support/random.hpp"
#include "support/random_parallel_run.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::computing_seconds;
using support::Profiled;
using support::profiled_keys;
using support::shuffled;

TEST_CASE("Filling gaps keeps measurements, bit for bit, and fills every gap with known sizes") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        support::Random random(seed);
        LayeredModel model = support::random_layered_model(random);
        const std::vector<Profiled> keys = shuffled(profiled_keys(model), random);
        for (std::size_t i = 0; i < keys.size() / 2; ++i) model.times[keys[i].first].erase(keys[i].second);
        model.sizes.erase(4);
        LayerProfileFitOptions options;
        options.most_deviation = std::numeric_limits<double>::infinity();
        options.microbatches = {1, 3, 16};
        const LayerProfileFit fit = fill_layer_times(model, options);
        CHECK_NOTHROW(fit.model.validate());
        CHECK(fit.too_uncertain.empty());
        std::size_t count = fit.filled.size();
        for (const auto& [type, key] : profiled_keys(model)) {
            ++count;
            const auto &before = *model.times_of(type, key), &after = *fit.model.times_of(type, key);
            bool same = true;
            for (std::size_t l = 0; l < model.layers; ++l)
                same = same && before[l].forward_seconds == after[l].forward_seconds &&
                       before[l].backward_seconds == after[l].backward_seconds &&
                       before[l].update_seconds == after[l].update_seconds;
            CHECK(same);
        }
        CHECK(count == profiled_keys(fit.model).size());
        CHECK(fit.model.sizes.size() == 2);
        for (const FilledProfile& filled : fit.filled) {
            CHECK(filled.key.tensor_parallel != 4);
            CHECK(filled.deviation > 0);
            CHECK(filled.layer_deviations.size() == model.layers);
        }
        for (std::size_t type = 0; type < 2; ++type)
            for (const int microbatch : {1, 3, 16})
                for (const int degree : {1, 2})
                    CHECK(fit.model.times_of(type, {microbatch, degree}) != nullptr);
    }
}

TEST_CASE("Values more uncertain than the limit stay gaps; filled values do not depend on the limit") {
    support::Random random(7);
    LayeredModel model = support::random_layered_model(random);
    model.times[1] = {{{2, 1}, model.times[1].at({2, 1})}};
    LayerProfileFitOptions options;
    options.most_deviation = std::numeric_limits<double>::infinity();
    const LayerProfileFit all = fill_layer_times(model, options);
    for (const double limit : {0.0, 0.05, 0.1, 0.3, 1.0}) {
        options.most_deviation = limit;
        const LayerProfileFit fit = fill_layer_times(model, options);
        CHECK(fit.filled.size() + fit.too_uncertain.size() == all.filled.size());
        for (const FilledProfile& filled : fit.filled) {
            CHECK(filled.deviation <= limit);
            CHECK(computing_seconds(*fit.model.times_of(filled.gpu_type, filled.key)) ==
                  computing_seconds(*all.model.times_of(filled.gpu_type, filled.key)));
        }
        for (const FilledProfile& left : fit.too_uncertain) {
            CHECK(left.deviation > limit);
            CHECK(fit.model.times_of(left.gpu_type, left.key) == nullptr);
        }
    }
}

TEST_CASE("A type slower by a factor, measured once, gets the other type's curve to 15 %, less certainly") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        support::Random random(seed);
        const LayeredModel model = support::random_layered_model(random);  // type 1: three times as slow
        LayeredModel one = model;
        one.times[1] = {{{4, 2}, model.times[1].at({4, 2})}};
        LayerProfileFitOptions options;
        options.most_deviation = std::numeric_limits<double>::infinity();
        const LayerProfileFit fit = fill_layer_times(one, options);
        for (const FilledProfile& filled : fit.filled) {
            REQUIRE(filled.gpu_type == 1);
            const double truth = computing_seconds(*model.times_of(1, filled.key));
            CHECK(computing_seconds(*fit.model.times_of(1, filled.key)) ==
                  doctest::Approx(truth).epsilon(0.15));
        }
        // Certainty falls with the distance from measurements and grows with their number.
        const auto deviation = [](const LayerProfileFit& of, LayerProfileKey key) {
            for (const FilledProfile& filled : of.filled)
                if (filled.key == key) return filled.deviation;
            return 0.0;
        };
        CHECK(deviation(fit, {8, 2}) < deviation(fit, {8, 4}));
        CHECK(deviation(fit, {2, 2}) < deviation(fit, {1, 2}));
        one.times[1][{1, 4}] = model.times[1].at({1, 4});
        CHECK(deviation(fill_layer_times(one, options), {2, 4}) < deviation(fit, {2, 4}));
    }
}

TEST_CASE("Parts that take no time keep taking none, unmeasured types stay empty, bad limits are refused") {
    support::Random random(2);
    LayeredModel model = support::random_layered_model(random);
    for (auto& [key, times] : model.times[0])
        for (LayerTime& time : times) time.update_seconds = 0;
    model.times[1].clear();
    model.times[0].erase({2, 2});
    const LayerProfileFit fit = fill_layer_times(model);
    REQUIRE(fit.filled.size() == 1);
    for (const LayerTime& time : *fit.model.times_of(0, {2, 2})) CHECK(time.update_seconds == 0);
    CHECK(fit.model.times[1].empty());

    model.times.clear();
    CHECK(fill_layer_times(model).filled.empty());
    LayerProfileFitOptions options;
    options.most_deviation = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS((void)fill_layer_times(model, options), std::invalid_argument);
    options = {};
    options.microbatches = {0};
    CHECK_THROWS_AS((void)fill_layer_times(model, options), std::invalid_argument);
    options = {};
    options.tensor_parallel = {0};
    CHECK_THROWS_AS((void)fill_layer_times(model, options), std::invalid_argument);
}

TEST_SUITE("data") {
    TEST_CASE("Published profiles left out are filled in with the stated accuracy") {
        const support::LeftOutProfiles errors =
            support::left_out_profiles(support::read_sailor_models(GOODPUT_DATA_DIR "/sailor"));
        const auto check = [](const support::FillErrors& of, double median, double nine_tenths) {
            CAPTURE(of.whole.size());
            CHECK(of.quantile(of.whole, 0.5) < median);
            CHECK(of.quantile(of.whole, 0.9) < nine_tenths);
            // The 90 % intervals of whole models and of single layers.
            for (const double cover : {of.whole_cover(), of.layer_cover()}) {
                CHECK(cover > 0.88);
                CHECK(cover < 0.97);
            }
        };
        check(errors.sixth, 0.02, 0.095);
        check(errors.half, 0.035, 0.175);
        check(errors.one_point, 0.16, 0.75);
        check(errors.one_point_sure, 0.025, 0.13);
        CHECK(errors.one_point_sure.whole.size() > 250);
    }
}
