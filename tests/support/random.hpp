#ifndef GOODPUT_TESTS_SUPPORT_RANDOM_HPP
#define GOODPUT_TESTS_SUPPORT_RANDOM_HPP

// Random numbers that are the same with every standard library.

#include <cstdint>
#include <random>

namespace support {

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    /// Uniform in [0, 1).
    double unit() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
    double between(double low, double high) { return low + (high - low) * unit(); }
    /// Uniform over the integers from low to high, both included.
    int integer(int low, int high) { return low + static_cast<int>(unit() * (high - low + 1)); }
    bool chance(double probability) { return unit() < probability; }

private:
    std::mt19937_64 engine_;
};

}  // namespace support

#endif
