#ifndef GOODPUT_CORE_DURATION_HPP
#define GOODPUT_CORE_DURATION_HPP

// How long something may take. A type of our own, because <chrono> takes longer to compile than the headers
// that would need it; who writes std::chrono::milliseconds(5) includes that header anyway.

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

namespace goodput {

/// One of std::chrono's durations, or a type that looks like them.
template <class Time>
concept ChronoDuration = requires(const Time& time) {
    { Time::period::num } -> std::convertible_to<double>;
    { Time::period::den } -> std::convertible_to<double>;
    { time.count() } -> std::convertible_to<double>;
};

/// A length of time in whole nanoseconds; about 290 years, where it would be more.
struct Duration {
    std::int64_t nanoseconds = 0;  ///< of any sign

    /// No time.
    constexpr Duration() = default;
    /// From any of std::chrono's durations, rounded towards zero. NaN counts as no time.
    template <ChronoDuration Time>
    constexpr Duration(const Time& time) {  // as they convert among each other, too
        constexpr double unit =
            1e9 * static_cast<double>(Time::period::num) / static_cast<double>(Time::period::den);
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        const double number = static_cast<double>(time.count()) * unit;
        if (number >= 9.2e18)
            nanoseconds = most;
        else if (number <= -9.2e18)
            nanoseconds = -most;
        else if constexpr (std::integral<decltype(time.count())> && unit >= 1)
            nanoseconds = static_cast<std::int64_t>(time.count()) * static_cast<std::int64_t>(unit);
        else if (number == number)
            nanoseconds = static_cast<std::int64_t>(number);
    }
    /// So many nanoseconds.
    [[nodiscard]] static constexpr Duration of_nanoseconds(std::int64_t nanoseconds) {
        Duration made;
        made.nanoseconds = nanoseconds;
        return made;
    }

    /// Shorter ones first.
    friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
};

}  // namespace goodput

#endif
