#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_BYTES_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_BYTES_HPP

// Reads the fuzzer's bytes as typed values.
//
// A field is four bytes, a record is eight fields. Every value takes one field, whatever its type, and
// unread fields of a record are skipped. So a mutator may change a field, or repeat, remove and swap
// records, and everything else keeps its meaning. Bytes past the end read as zero, and a field of zeros is
// the least value asked for: `low`, 0, false. No input makes this code read out of bounds.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace fuzz {

inline constexpr std::size_t field_bytes = 4;
inline constexpr std::size_t record_fields = 8;
inline constexpr std::size_t record_bytes = field_bytes * record_fields;

// Values that number(low, high) returns if the first byte of a field, its kind, is at least hostile_kind.
inline constexpr std::array<double, 24> hostile_numbers{
    0.0,
    -0.0,
    1.0,
    -1.0,
    std::numeric_limits<double>::quiet_NaN(),
    std::numeric_limits<double>::infinity(),
    -std::numeric_limits<double>::infinity(),
    std::numeric_limits<double>::denorm_min(),
    std::numeric_limits<double>::min(),
    std::numeric_limits<double>::max(),
    std::numeric_limits<double>::lowest(),
    1e300,
    -1e300,
    1e-300,
    1e154,  // its square overflows
    1e-154,
    1e18,
    1e9,
    1e-9,
    2147483648.0,
    9007199254740992.0,      // 2^53, after which whole numbers have gaps
    18446744073709551616.0,  // 2^64
    1.0 + std::numeric_limits<double>::epsilon(),
    1.0 - std::numeric_limits<double>::epsilon() / 2,
};
inline constexpr unsigned tie_kind =
    128;  // from here on: one of 17 values between low and high, so that ties arise
inline constexpr unsigned hostile_kind = 248;  // from here on: one of hostile_numbers, if they are allowed

class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

    std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
    bool empty() const { return next_ == end_; }

    // Sets whether number() may return hostile numbers. By default it may.
    void let_in_hostile(bool allowed) { hostile_ = allowed; }

    // Returns the next record, to be read on its own: zeros follow its eight fields.
    Bytes record() {
        const std::size_t size = std::min(left(), record_bytes);
        Bytes result(next_, size);
        result.hostile_ = hostile_;
        next_ += size;
        return result;
    }

    // Returns a field as it is, least significant byte first.
    std::uint32_t field() {
        std::uint32_t value = 0;
        for (unsigned byte = 0; byte < field_bytes && next_ != end_; ++byte) {
            value |= static_cast<std::uint32_t>(*next_++) << (8 * byte);
        }
        return value;
    }

    bool flag() { return (field() & 1U) != 0; }

    // Returns an index from 0 to below - 1, or 0 if below is 0.
    std::size_t index(std::size_t below) { return below == 0 ? 0 : field() % below; }
    std::size_t count(std::size_t most) { return field() % (most + 1); }

    // low <= result <= high.
    int integer(int low, int high) {
        const std::int64_t span = std::int64_t{high} - low + 1;
        return static_cast<int>(low + static_cast<std::int64_t>(field()) % span);
    }

    // Mostly like integer(), but every 32nd value is near a limit of int, or 0, or negative.
    int hostile_integer(int low, int high) {
        const std::uint32_t value = field();
        constexpr int most = std::numeric_limits<int>::max();
        constexpr std::array<int, 8> limits{0, -1, most, -most - 1, most - 1, 1 << 30, 65536, -65536};
        if (hostile_ && (value & 0xFFU) >= hostile_kind) {
            return limits[(value >> 8) % limits.size()];
        }
        const std::int64_t span = std::int64_t{high} - low + 1;
        return static_cast<int>(low + static_cast<std::int64_t>(value) % span);
    }

    // low <= result <= high, both finite.
    double ordinary(double low, double high) { return between(field(), low, high); }

    // Like ordinary(), or one of hostile_numbers.
    double number(double low, double high) {
        const std::uint32_t value = field();
        if (hostile_ && (value & 0xFFU) >= hostile_kind) {
            return hostile_numbers[(value >> 8) % hostile_numbers.size()];
        }
        return between(value, low, high);
    }

    // Like number(), but uniform in the logarithm: 0 < low <= high.
    double scale(double low, double high) {
        const std::uint32_t value = field();
        if (hostile_ && (value & 0xFFU) >= hostile_kind) {
            return hostile_numbers[(value >> 8) % hostile_numbers.size()];
        }
        return std::clamp(low * std::exp(between(value, 0, std::log(high / low))), low, high);
    }

    template <typename Values>
    auto pick(const Values& values) {
        return values[index(std::size(values))];
    }

    // Returns one of `most` names that start with the prefix: few enough that names repeat.
    std::string name(const char* prefix, std::size_t most) { return prefix + std::to_string(index(most)); }

private:
    static double between(std::uint32_t value, double low, double high) {
        const bool tie = (value & 0xFFU) >= tie_kind;
        const double share = tie ? (value >> 8) % 17 / 16.0 : (value >> 8) / 16777215.0;
        return std::clamp(low + (high - low) * share, low, high);
    }

    const std::uint8_t* next_;
    const std::uint8_t* end_;
    bool hostile_ = true;
};

}  // namespace fuzz

#endif
