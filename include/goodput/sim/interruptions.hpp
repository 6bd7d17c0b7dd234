#ifndef GOODPUT_SIM_INTERRUPTIONS_HPP
#define GOODPUT_SIM_INTERRUPTIONS_HPP

// Generates random interruptions of nodes as events of a replay. The same seed gives the same events with
// every compiler: times are rounded to the millisecond, which is far more than the difference between
// standard libraries' powers.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/sim/events.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Generates random numbers by splitmix64 (Steele, Lea and Flood 2014).
class SplitMix {
public:
    /// Starts a separate stream for each seed and name.
    SplitMix(std::uint64_t seed, std::string_view name) : state_(mixed(seed + golden)) {
        for (const char letter : name) state_ = mixed(state_ ^ static_cast<unsigned char>(letter)) + golden;
    }
    /// Returns a uniform number in (0, 1).
    double unit() {
        state_ += golden;
        return (static_cast<double>(mixed(state_) >> 12) + 0.5) * 0x1p-52;
    }

private:
    static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    static constexpr std::uint64_t mixed(std::uint64_t bits) {
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
        return bits ^ (bits >> 31);
    }
    std::uint64_t state_;
};

}  // namespace detail

/// Returns the failures of each node of a cluster from second 0 to `until`, and their returns after
/// `interruptions.off_seconds`. Each node begins as good as new, and does so again with each return. If
/// `interruptions.per_hour` is 0, each node fails as often as it says (Node::interruptions_per_hour). The
/// events are ordered by node, not by time, and exact to the millisecond. Throws std::invalid_argument for
/// whatever validate(Interruptions) rejects, more than ten million failures, and an infinite `until`.
[[nodiscard]] inline std::vector<Event> interruption_events(const Cluster& cluster,
                                                            const Interruptions& interruptions,
                                                            std::uint64_t seed, double until) {
    validate(interruptions, "interruptions");
    require_at_least("interruptions", "end", until, 0);
    const auto to_milliseconds = [](double seconds) { return std::nearbyint(seconds * 1000) / 1000; };
    std::vector<Event> events;
    for (const Node& node : cluster.nodes) {
        const double per_hour =
            interruptions.per_hour > 0 ? interruptions.per_hour : node.interruptions_per_hour;
        if (per_hour == 0) continue;
        detail::SplitMix random(seed, node.name);
        double now = 0;
        while (true) {
            // A Weibull time of that shape k and mean is mean / Gamma(1 + 1/k) (-ln u)^(1/k).
            const double power = 1 / interruptions.shape;
            now = to_milliseconds(now + 3600 / per_hour / std::tgamma(1 + power) *
                                            std::pow(-std::log(random.unit()), power));
            if (now > until) break;
            if (events.size() >= 20'000'000)
                bad_input("interruptions", "number", "more than 10 million", "fewer: raise the time between");
            events.push_back({now, EventKind::node_fails, node.name});
            now = to_milliseconds(now + interruptions.off_seconds);
            events.push_back({now, EventKind::node_returns, node.name});
        }
    }
    return events;
}

}  // namespace goodput::inline v0_1

#endif
