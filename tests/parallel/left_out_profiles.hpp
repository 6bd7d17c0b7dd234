#ifndef GOODPUT_TESTS_PARALLEL_LEFT_OUT_PROFILES_HPP
#define GOODPUT_TESTS_PARALLEL_LEFT_OUT_PROFILES_HPP

// Measures how well gaps in profiles are filled: hides measurements, fills them in, and compares the two.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "goodput/parallel/layer_profile_fit.hpp"
#include "support/random.hpp"

namespace support {

/// A measurement of a model: GPU type, micro-batch and degree.
using Profiled = std::pair<std::size_t, goodput::LayerProfileKey>;

inline std::vector<Profiled> profiled_keys(const goodput::LayeredModel& model) {
    std::vector<Profiled> all;
    for (std::size_t type = 0; type < model.times.size(); ++type)
        for (const auto& [key, times] : model.times[type]) all.emplace_back(type, key);
    return all;
}

inline double computing_seconds(const std::vector<goodput::LayerTime>& times) {
    double sum = 0;
    for (const goodput::LayerTime& time : times) sum += time.forward_seconds + time.backward_seconds;
    return sum;
}

/// Relative errors of filled times, and how many measured times lie within the stated interval.
struct FillErrors {
    std::vector<double> whole{}, layer{};
    double whole_covered = 0, layer_covered = 0;

    void add(double filled, double measured, double deviation, std::vector<double>& errors, double& covered) {
        errors.push_back(std::abs(filled / measured - 1));
        covered += std::abs(std::log(filled / measured)) <= 1.645 * deviation ? 1 : 0;
    }

    /// Hides `hidden` of the model, fills the gaps again, and compares.
    void leave_out(const goodput::LayeredModel& model, const std::vector<Profiled>& hidden,
                   double most_deviation = std::numeric_limits<double>::infinity()) {
        goodput::LayeredModel partly = model;
        for (const auto& [type, key] : hidden) partly.times[type].erase(key);
        goodput::LayerProfileFitOptions options;
        options.most_deviation = most_deviation;
        for (const auto& [type, key] : hidden) {
            options.microbatches.push_back(key.microbatch);
            options.tensor_parallel.push_back(key.tensor_parallel);
        }
        const goodput::LayerProfileFit fit = goodput::fill_layer_times(partly, options);
        for (const goodput::FilledProfile& filled : fit.filled) {
            const auto* measured = model.times_of(filled.gpu_type, filled.key);
            if (measured == nullptr) continue;
            const auto& times = *fit.model.times_of(filled.gpu_type, filled.key);
            add(computing_seconds(times), computing_seconds(*measured), filled.deviation, whole,
                whole_covered);
            for (std::size_t l = 0; l < model.layers; ++l)
                if (l < 2 || l + 1 == model.layers)  // in between the published times are copies
                    add(computing_seconds({times[l]}), computing_seconds({(*measured)[l]}),
                        filled.layer_deviations[l], layer, layer_covered);
        }
    }

    [[nodiscard]] static double quantile(std::vector<double> errors, double part) {
        std::sort(errors.begin(), errors.end());
        return errors[static_cast<std::size_t>(part * static_cast<double>(errors.size() - 1))];
    }
    [[nodiscard]] double whole_cover() const { return whole_covered / static_cast<double>(whole.size()); }
    [[nodiscard]] double layer_cover() const { return layer_covered / static_cast<double>(layer.size()); }
};

inline std::vector<Profiled> shuffled(std::vector<Profiled> all, Random& random) {
    for (std::size_t i = all.size(); i > 1; --i)
        std::swap(all[i - 1], all[static_cast<std::size_t>(random.integer(0, static_cast<int>(i) - 1))]);
    return all;
}

/// The four ways in which measurements are hidden.
struct LeftOutProfiles {
    FillErrors sixth{};           ///< hides each sixth of the measurements in turn, in four random orders
    FillErrors half{};            ///< hides each half in turn, in the same orders
    FillErrors one_point{};       ///< hides all measurements of a GPU type except one, for each in turn
    FillErrors one_point_sure{};  ///< the cases of one_point that are filled under the default limit
};

inline LeftOutProfiles left_out_profiles(const std::map<std::string, goodput::LayeredModel>& models) {
    LeftOutProfiles errors;
    Random random(1);
    for (const auto& [name, model] : models) {
        for (int round = 0; round < 4; ++round) {
            const std::vector<Profiled> keys = shuffled(profiled_keys(model), random);
            const auto part = [&](std::size_t from, std::size_t to) {
                return std::vector<Profiled>(keys.begin() + static_cast<std::ptrdiff_t>(from),
                                             keys.begin() + static_cast<std::ptrdiff_t>(to));
            };
            for (std::size_t f = 0; f < 6; ++f)
                errors.sixth.leave_out(model, part(f * keys.size() / 6, (f + 1) * keys.size() / 6));
            errors.half.leave_out(model, part(0, keys.size() / 2));
            errors.half.leave_out(model, part(keys.size() / 2, keys.size()));
        }
        for (std::size_t type = 0; type < model.times.size(); ++type)
            for (const auto& [kept, times] : model.times[type]) {
                std::vector<Profiled> hidden;
                for (const auto& [key, list] : model.times[type])
                    if (key != kept) hidden.emplace_back(type, key);
                errors.one_point.leave_out(model, hidden);
                errors.one_point_sure.leave_out(model, hidden,
                                                goodput::LayerProfileFitOptions{}.most_deviation);
            }
    }
    return errors;
}

}  // namespace support

#endif
