#ifndef GOODPUT_PROGRAM_PLAN_STOPWATCH_HPP
#define GOODPUT_PROGRAM_PLAN_STOPWATCH_HPP

#include <chrono>

namespace cli {

class Stopwatch {
public:
    [[nodiscard]] double milliseconds() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }
    /// Returns the milliseconds since the start or the last lap.
    double lap() {
        const double elapsed = milliseconds();
        start_ = std::chrono::steady_clock::now();
        return elapsed;
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace cli

#endif
