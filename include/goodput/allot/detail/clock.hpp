#ifndef GOODPUT_ALLOT_DETAIL_CLOCK_HPP
#define GOODPUT_ALLOT_DETAIL_CLOCK_HPP

// The caller's deadline, looked at after so much work rather than in so many places: whatever loops over
// options, moves or states says what it is about to do, and every some microseconds of it there is a look.
// Without a deadline nobody ever looks, so that nothing depends on time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>

#include "goodput/core/duration.hpp"

namespace goodput::detail {

/// Nanoseconds on a clock that only moves on. POSIX's, which is what std::chrono::steady_clock reads.
inline std::int64_t steady_nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class Clock {
public:
    Clock() = default;
    /// Begins now.
    explicit Clock(const std::optional<Duration>& deadline) : limited_(deadline.has_value()) {
        if (!limited_) return;
        const std::int64_t now = steady_nanoseconds();
        // A deadline beyond what the clock can count to is none.
        if (deadline->nanoseconds >= std::numeric_limits<std::int64_t>::max() - now)
            limited_ = false;
        else
            end_ = now + deadline->nanoseconds;
    }

    /// Whether the deadline has passed, as far as is known; `work`: numbers to be read or computed next.
    bool late(std::size_t work) {
        if (!limited_ || late_) return late_;
        work_ += work;
        return work_ >= work_between_looks && late();
    }
    /// Looks now.
    bool late() {
        if (!limited_ || late_) return late_;
        work_ = 0;
        return late_ = steady_nanoseconds() >= end_;
    }

    /// A deadline for a part of what has to be done by this one.
    [[nodiscard]] std::optional<Duration> left() const {
        if (!limited_) return std::nullopt;
        return Duration::of_nanoseconds(std::max<std::int64_t>(end_ - steady_nanoseconds(), 0));
    }

private:
    static constexpr std::size_t work_between_looks = 1 << 14;

    bool limited_ = false, late_ = false;
    std::size_t work_ = 0;
    std::int64_t end_ = 0;
};

}  // namespace goodput::detail

#endif
