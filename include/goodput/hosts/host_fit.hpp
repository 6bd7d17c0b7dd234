#ifndef GOODPUT_HOSTS_HOST_FIT_HPP
#define GOODPUT_HOSTS_HOST_FIT_HPP

// Estimates how the speed depends on the CPU cores and memory per GPU, from a few measurements, and how
// certain the estimate is.
//
// The formula of hosts/host_speed.hpp (the form) and a prior give 256 equally likely surfaces, functions of
// cores and memory, that explain the measurements (hosts/detail/host_posterior.hpp). If even the best
// surface does not explain the measurements completely, the rest is added to the scatter. So if the form is
// wrong, the fit reports more uncertainty.
//
// Measurements count even if the form contradicts them. Let P(c) be the speed that c cores allow and Q(m)
// the speed that m GiB allow. The slower of both decides, f(c, m) = min(P(c), Q(m)), and more never harms.
// So with speed y_j measured at (c_j, m_j)
//
//     f(c, m) >= min( max_j y_j with c_j <= c,  max_j y_j with m_j <= m )
//     f(c, m) <= y_j    where c <= c_j and m <= m_j
//                       where c <= c_j alone, if as little memory was faster elsewhere: cores held j back
//                       where m <= m_j alone, if as few cores were
//
// Every surface is kept between these bounds. So it passes through the measurements, and where the bounds
// are equal, the speed is known without the form. Measurements that contradict "more never harms" are first
// moved half way towards those that they contradict.
//
// Cost: evaluating a grid of 10^5 points, O(measurements) per point, takes about 2 ms for ten measurements.
// A forecast takes O(256 + measurements).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/host.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/hosts/detail/host_posterior.hpp"
#include "goodput/hosts/host_speed.hpp"
#include "goodput/statistics/distributions.hpp"

namespace goodput::inline v0_1 {

/// The speed of a job measured with one share.
struct HostSample {
    HostShare share{};  ///< cores and GiB per GPU, both from 1e-6 to 1e6
    double speed = 1;   ///< in any unit, for example 1 / (seconds per step); from 1e-12 to 1e12
};

/// How inaccurate measurements and the form (hosts/host_speed.hpp) may be.
struct HostFitOptions {
    double deviation = 0.02;                   ///< relative standard deviation of a measurement; in (0, 1]
    double form_deviation = 0.03;              ///< relative standard deviation of the true speed from the
                                               ///< form; in (0, 1]
    std::string_view subject = "host shares";  ///< name of the subject in messages about bad measurements
};

/// The speed forecast for one share.
struct HostForecast {
    double speed = 1;                  ///< median, in the unit of the measurements
    double expected_error = 0;         ///< expected relative error of `speed`, apart from errors of the
                                       ///< measurements
    double form_deviation = 0;         ///< standard deviation in ln of the part that no parameter explains
    std::vector<double> logarithms{};  ///< ln of the speed by each surface

    /// Returns an interval that contains the speed with probability `coverage`, in (0, 1). Throws
    /// std::invalid_argument otherwise.
    [[nodiscard]] Interval interval(double coverage = 0.9) const;
    double deviation = 0.02;  ///< relative standard deviation of a measurement: HostFitOptions::deviation
};

/// The speed as a function of cores and memory, with its uncertainty.
class HostFit {
public:
    /// Fits these measurements. If there are none, the fit is the prior, in which the speed without limits
    /// by cores and memory is 1. Throws std::invalid_argument for numbers outside the ranges of HostSample
    /// and HostFitOptions.
    explicit HostFit(std::span<const HostSample> samples = {}, const HostFitOptions& options = {});

    /// Returns the speed with this share. It never falls with more cores or memory. Throws
    /// std::invalid_argument for shares outside the range of HostSample::share.
    [[nodiscard]] HostForecast forecast(const HostShare& share) const;
    /// Returns whether there is a measurement with exactly this share.
    [[nodiscard]] bool has_measured(const HostShare& share) const {
        return std::any_of(known_.begin(), known_.end(),
                           [&](const Known& one) { return one.share == share; });
    }
    /// Returns the number of measurements.
    [[nodiscard]] std::size_t samples() const { return known_.size(); }

private:
    /// A measurement, and whether cores or memory are known to have limited it.
    struct Known {
        HostShare share{};
        double speed = 1;
        bool by_cores = false, by_memory = false;
    };
    /// Returns two speeds: the largest one measured with no more cores than this share has, and the largest
    /// one measured with no more memory.
    [[nodiscard]] std::pair<double, double> reached(const HostShare& share) const;

    std::vector<Known> known_{};
    detail::HostPosterior posterior_{};
    double deviation_ = 0;
};

/// Returns the fit as HostNeeds::speed: at most 6 core counts times 6 memory sizes from `least` to `most`.
/// They include those of `reference` and the values with which linear interpolation is most accurate.
/// Factor 1 is the speed with `reference`, the share that the job's throughput was measured with. Throws
/// std::invalid_argument if `least` exceeds `most`.
[[nodiscard]] std::vector<HostSpeed> host_speed_points(const HostFit& fit, const HostShare& least,
                                                       const HostShare& most, const HostShare& reference);

namespace detail {

inline void require_share(std::string_view subject, const HostShare& share) {
    for (const auto& [field, value] :
         {std::pair{"cores", share.cores_per_gpu}, std::pair{"memory_gib", share.memory_gib_per_gpu}})
        require_between(subject, field, value, 1e-6, 1e6);
}

inline bool has_no_more(const HostShare& a, const HostShare& b) {
    return a.cores_per_gpu <= b.cores_per_gpu && a.memory_gib_per_gpu <= b.memory_gib_per_gpu;
}

/// Returns both ends and `always`, then repeatedly adds the whole number at which linear interpolation
/// differs most from `curve`. Stops once the difference is at most 0.5 % or six numbers are chosen.
template <class Curve>
std::vector<double> bends(Curve curve, double least, double most, double always) {
    constexpr std::size_t steps = 64;
    std::vector<std::pair<double, double>> all, chosen;  // numbers and the curve's values there
    for (std::size_t i = 0; i <= steps; ++i) {
        const double at = least * std::pow(most / least, static_cast<double>(i) / steps);
        const double whole = std::clamp(at < 1 ? at : std::round(at), least, most);
        all.emplace_back(whole, curve(whole));
    }
    for (const double at : {least, std::clamp(always, least, most), most})
        if (chosen.empty() || at > chosen.back().first) chosen.emplace_back(at, curve(at));
    while (chosen.size() < 6) {
        double largest = 0.005;
        auto next = chosen.end();
        std::pair<double, double> farthest;
        for (const auto& [at, value] : all) {
            const auto above = std::lower_bound(chosen.begin(), chosen.end(), std::pair{at, 0.0});
            if (above == chosen.begin() || above == chosen.end()) continue;
            const auto [from, low] = *(above - 1);
            const double part = (at - from) / (above->first - from);
            const double off = std::abs((low + (above->second - low) * part) / value - 1);
            if (off > largest) largest = off, next = above, farthest = {at, value};
        }
        if (next == chosen.end()) break;
        chosen.insert(next, farthest);
    }
    std::vector<double> points;
    for (const auto& [at, value] : chosen) points.push_back(at);
    return points;
}

}  // namespace detail

inline HostFit::HostFit(std::span<const HostSample> samples, const HostFitOptions& options)
    : deviation_(options.deviation) {
    constexpr std::size_t surfaces = 256;
    for (const auto& [field, value] :
         {std::pair{"deviation", options.deviation}, std::pair{"form_deviation", options.form_deviation}})
        require_factor(options.subject, field, value);
    for (const HostSample& sample : samples) {
        detail::require_share(options.subject, sample.share);
        require_between(options.subject, "speed", sample.speed, 1e-12, 1e12);
    }
    std::vector<HostShare> shares;
    std::vector<double> y;
    for (const HostSample& sample : samples) {
        double low = sample.speed, high = low;
        for (const HostSample& other : samples) {
            if (detail::has_no_more(other.share, sample.share)) low = std::max(low, other.speed);
            if (detail::has_no_more(sample.share, other.share)) high = std::min(high, other.speed);
        }
        known_.push_back({sample.share, std::sqrt(low * high)});
        shares.push_back(sample.share);
        y.push_back(std::log(known_.back().speed));
    }
    for (Known& one : known_) {
        const auto [cores, memory] = reached(one.share);
        const double clearly_more = one.speed * std::exp(3 * deviation_);
        one.by_cores = memory > clearly_more && !(cores > clearly_more);
        one.by_memory = cores > clearly_more && !(memory > clearly_more);
    }
    posterior_ = detail::host_posterior(shares, y, deviation_, options.form_deviation, surfaces);
}

inline std::pair<double, double> HostFit::reached(const HostShare& share) const {
    std::pair<double, double> speeds{0, 0};
    for (const Known& one : known_) {
        if (one.share.cores_per_gpu <= share.cores_per_gpu) speeds.first = std::max(speeds.first, one.speed);
        if (one.share.memory_gib_per_gpu <= share.memory_gib_per_gpu)
            speeds.second = std::max(speeds.second, one.speed);
    }
    return speeds;
}

inline HostForecast HostFit::forecast(const HostShare& share) const {
    detail::require_share("host fit", share);
    const auto [cores, memory] = reached(share);
    const double low = std::min(cores, memory);
    double high = std::numeric_limits<double>::infinity();
    for (const Known& one : known_) {
        const bool fewer_cores = share.cores_per_gpu <= one.share.cores_per_gpu;
        const bool less_memory = share.memory_gib_per_gpu <= one.share.memory_gib_per_gpu;
        if ((fewer_cores && (less_memory || one.by_cores)) || (less_memory && one.by_memory))
            high = std::min(high, one.speed);
    }
    HostForecast forecast{.deviation = deviation_};
    // Not std::clamp: within the scatter of measurements, the upper bound may be below the lower one.
    for (const HostSpeedModel& surface : posterior_.surfaces)
        forecast.logarithms.push_back(std::log(std::min(std::max(surface.speed(share), low), high)));
    std::vector<double> values = forecast.logarithms;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    forecast.speed = std::exp(*middle);
    forecast.form_deviation = high > low ? std::min(std::log(high / low) / 2, posterior_.form_deviation) : 0;
    double squares = forecast.form_deviation * forecast.form_deviation;
    for (const double value : values)
        squares += (value - *middle) * (value - *middle) / static_cast<double>(values.size());
    forecast.expected_error = std::sqrt(2 / std::numbers::pi * squares);  // if errors are normally
                                                                          // distributed
    return forecast;
}

inline Interval HostForecast::interval(double coverage) const {
    require_fraction("host fit", "coverage", coverage);
    std::vector<double> values = logarithms;
    std::sort(values.begin(), values.end());
    const double wider = detail::normal_quantile(coverage) * std::hypot(deviation, form_deviation);
    const auto tail = static_cast<std::size_t>(static_cast<double>(values.size() - 1) * (1 - coverage) / 2);
    return {detail::bounded_exp(values[tail] - wider),
            detail::bounded_exp(values[values.size() - 1 - tail] + wider)};
}

inline std::vector<HostSpeed> host_speed_points(const HostFit& fit, const HostShare& least,
                                                const HostShare& most, const HostShare& reference) {
    const double one = fit.forecast(reference).speed;
    if (!(least.cores_per_gpu <= most.cores_per_gpu))
        bad_input("host fit", "most cores", most.cores_per_gpu, "at least " + text_of(least.cores_per_gpu));
    if (!(least.memory_gib_per_gpu <= most.memory_gib_per_gpu))
        bad_input("host fit", "most memory_gib", most.memory_gib_per_gpu,
                  "at least " + text_of(least.memory_gib_per_gpu));
    const auto speed = [&](double cores, double gib) { return fit.forecast({cores, gib}).speed; };
    const auto memories =
        detail::bends([&](double gib) { return speed(most.cores_per_gpu, gib); }, least.memory_gib_per_gpu,
                      most.memory_gib_per_gpu, reference.memory_gib_per_gpu);
    std::vector<HostSpeed> points;
    for (const double cores :
         detail::bends([&](double count) { return speed(count, most.memory_gib_per_gpu); },
                       least.cores_per_gpu, most.cores_per_gpu, reference.cores_per_gpu))
        for (const double gib : memories) points.push_back({cores, gib, speed(cores, gib) / one});
    return points;
}

}  // namespace goodput::inline v0_1

#endif
