#ifndef GOODPUT_CORE_DETAIL_CLOCK_HPP
#define GOODPUT_CORE_DETAIL_CLOCK_HPP

// The caller's deadline, checked after a certain amount of work instead of at many fixed places. A loop
// over options, moves or states announces the work that it is about to do, and the clock is read once every
// few microseconds of work. Without a deadline the clock is never read, so no result depends on time.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace goodput::inline v0_1::detail {

class Clock {
public:
    Clock() = default;
    /// Begins to count the time until the deadline now.
    explicit Clock(const std::optional<std::chrono::nanoseconds>& deadline) {
        if (!deadline) return;
        const auto now = Steady::now();
        // A deadline beyond the range of the clock is no deadline.
        limited_ = *deadline < Steady::time_point::max() - now;
        if (limited_) end_ = now + *deadline;
    }

    /// Whether the deadline had passed when the clock was last read. `work`: how many numbers the caller is
    /// about to read or compute.
    bool late(std::size_t work) {
        if (!limited_ || late_) return late_;
        work_ += work;
        return work_ >= work_between_looks && late();
    }
    /// Reads the clock now.
    bool late() {
        if (!limited_ || late_) return late_;
        work_ = 0;
        return late_ = Steady::now() >= end_;
    }

    /// The time left, as a deadline for a part of the work. Empty without a deadline.
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

}  // namespace goodput::inline v0_1::detail

#endif
