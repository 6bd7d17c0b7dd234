#ifndef GOODPUT_CORE_DETAIL_CLOCK_HPP
#define GOODPUT_CORE_DETAIL_CLOCK_HPP

// The caller's deadline, looked at after so much work rather than in so many places: whatever loops over
// options, moves or states says what it is about to do, and every some microseconds of it there is a look.
// Without a deadline nobody ever looks, so that nothing depends on time.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace goodput::detail {

class Clock {
public:
    Clock() = default;
    /// Begins now.
    explicit Clock(const std::optional<std::chrono::nanoseconds>& deadline) {
        if (!deadline) return;
        const auto now = Steady::now();
        // A deadline beyond what the clock can count to is none.
        limited_ = *deadline < Steady::time_point::max() - now;
        if (limited_) end_ = now + *deadline;
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
        return late_ = Steady::now() >= end_;
    }

    /// A deadline for a part of what has to be done by this one.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> left() const {
        if (!limited_) return std::nullopt;
        return std::max(std::chrono::nanoseconds(end_ - Steady::now()), std::chrono::nanoseconds(0));
    }

private:
    using Steady = std::chrono::steady_clock;
    static constexpr std::size_t work_between_looks = 1 << 14;

    bool limited_ = false, late_ = false;
    std::size_t work_ = 0;
    Steady::time_point end_{};
};

}  // namespace goodput::detail

#endif
