#ifndef GOODPUT_PROOF_DETAIL_EXACT_NUMBERS_HPP
#define GOODPUT_PROOF_DETAIL_EXACT_NUMBERS_HPP

// Exact numbers for certificates. Every finite double is a whole number times a power of two. So a
// certificate has all given numbers exactly, as whole numbers of some unit 2^-bits. Prices are rounded to
// such a unit, and everything computed from them is exact again. In most problems all these numbers fit
// into 128 bits. For the other problems there are whole numbers of any size.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/multiprecision/cpp_int.hpp>

namespace goodput::inline v0_1::detail {

/// A whole number of any size. Numbers of up to 128 bits allocate no memory.
using WholeNumber =
    boost::multiprecision::number<boost::multiprecision::cpp_int_backend<128>, boost::multiprecision::et_off>;

/// A whole number of 127 bits and a sign. It does not check for overflow; ExactScale::narrow() says whether
/// it is wide enough.
__extension__ typedef __int128 NarrowNumber;
__extension__ typedef unsigned __int128 NarrowMagnitude;

template <class Whole>
[[nodiscard]] Whole absolute(const Whole& number) {
    return number < 0 ? Whole(-number) : number;
}
/// Returns how many times 2 divides a number that is not 0.
inline int twos_in(const WholeNumber& number) { return static_cast<int>(lsb(absolute(number))); }
inline int twos_in(NarrowNumber number) {
    const auto low = static_cast<std::uint64_t>(number);
    return low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<std::uint64_t>(number >> 64));
}
/// Returns the number of bits of a number that is not 0, without its sign.
inline int bits_of(const WholeNumber& number) { return static_cast<int>(msb(absolute(number))) + 1; }
inline int bits_of(NarrowNumber number) {
    const auto size = static_cast<NarrowMagnitude>(absolute(number));
    const auto high = static_cast<std::uint64_t>(size >> 64);
    return static_cast<int>(high != 0 ? 64 + std::bit_width(high)
                                      : std::bit_width(static_cast<std::uint64_t>(size)));
}
template <class Whole>
[[nodiscard]] Whole common_divisor(Whole a, Whole b) {
    while (b != 0) {
        Whole rest = a % b;
        a = std::move(b);
        b = std::move(rest);
    }
    return absolute(a);
}

/// A double as `whole` times 2^exponent.
struct BinaryParts {
    std::int64_t whole;
    int exponent;
};
inline BinaryParts binary_parts(double number) {
    const auto word = std::bit_cast<std::uint64_t>(number);
    const int exponent = static_cast<int>(word >> 52 & 0x7ff);
    auto whole = static_cast<std::int64_t>(word & ((std::uint64_t{1} << 52) - 1));
    if (exponent != 0) whole += std::int64_t{1} << 52;
    return {number < 0 ? -whole : whole, std::max(exponent, 1) - 1075};
}

/// Returns how many bits after the binary point `number` needs at least.
inline int fraction_bits(double number) {
    const BinaryParts parts = binary_parts(number);
    if (parts.exponent >= 0 || parts.whole == 0) return 0;
    return std::max(0, -parts.exponent - std::countr_zero(static_cast<std::uint64_t>(parts.whole)));
}

/// Returns `number` in units of 2^-bits, rounded to the nearest unit if it needs more bits.
template <class Whole>
[[nodiscard]] Whole scaled(double number, int bits) {
    const BinaryParts parts = binary_parts(number);
    const int shift = parts.exponent + bits;
    if (shift >= 0) return Whole(parts.whole) << static_cast<unsigned>(shift);
    if (shift < -60) return 0;
    return std::llround(std::ldexp(static_cast<double>(parts.whole), shift));
}

/// Returns `number` units of 2^-bits as a double, up to rounding.
template <class Whole>
[[nodiscard]] double to_double(const Whole& number, int bits) {
    if (number == 0) return 0;
    const int dropped = std::max(0, bits_of(number) - 101);
    return std::ldexp(static_cast<double>(Whole(number >> static_cast<unsigned>(dropped))), dropped - bits);
}

/// Returns the least double that is not below `number` units of 2^-bits.
inline double double_above(const WholeNumber& number, int bits) {
    double above = to_double(number, bits);
    if (!std::isfinite(above)) return above;
    const int common_bits = std::max(bits, fraction_bits(above));
    if (scaled<WholeNumber>(above, common_bits) < (number << static_cast<unsigned>(common_bits - bits)))
        above = std::nextafter(above, std::numeric_limits<double>::infinity());
    return above;
}

}  // namespace goodput::inline v0_1::detail

#endif
