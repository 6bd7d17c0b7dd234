#ifndef GOODPUT_MODEL_DETAIL_ELEMENTARY_HPP
#define GOODPUT_MODEL_DETAIL_ELEMENTARY_HPP

// What powers are made of, x^e = 2^(e log2 x), without branches, tables or calls, so that compilers make
// loops over them work on several numbers at once. Errors are a few units in the last place.

#include <bit>
#include <cmath>
#include <cstdint>

namespace goodput::detail {

// From 2^52 to 2^53 doubles are the integers: adding this to a number below 2^51 rounds it to the nearest
// integer, and leaves that in the last bits.
inline constexpr double integers = 0x1.8p52;

inline double nearest_integer(double x) { return (x + integers) - integers; }

// 1 / sqrt(x) of a normal number but for an error below 1e-5; finite and large for 0.
inline double rough_inverse_root(double x) {
    // Half the exponent, negated, and the mantissa along with it: within 4 %. Then Newton's method.
    double y = std::bit_cast<double>(0x5fe6eb50c7b537a9 - (std::bit_cast<std::uint64_t>(x) >> 1));
    y *= 1.5 - 0.5 * x * y * y;
    return y * (1.5 - 0.5 * x * y * y);
}

// log2 of a positive normal number; finite for all others. With x = 2^n m, m in [sqrt(1/2), sqrt(2)), and
// s = (m - 1) / (m + 1), it is n + s P(s^2): P interpolates 2 atanh(s) / (s ln 2) at Chebyshev's points.
inline double log2_of(double x) {
    constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    constexpr std::uint64_t mantissa = 0x000fffffffffffff;
    const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (one - root_half);
    const double m = std::bit_cast<double>((shifted & mantissa) + root_half);
    // 2^52 + biased exponent, as a number: integers become numbers without an instruction for it.
    const double n = std::bit_cast<double>((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    const double s = (m - 1) / (m + 1), z = s * s, z2 = z * z;
    const double low = (0x1.71547652b82ffp+1 + 0x1.ec709dc39ca40p-1 * z) +
                       (0x1.2776c516a083cp-1 + 0x1.a61756810b0f8p-2 * z) * z2;
    const double high = (0x1.484fa9965bc9cp-2 + 0x1.0bb80a92c80ccp-2 * z) + 0x1.f17dfd13ae0efp-3 * z2;
    return n + s * (low + high * (z2 * z2));
}

// 2^y for y from -2^50 to 1000, but not below 2^-1001; never above 1 for y <= 0. With n the integer next to y
// and z = y - n, it is 2^n (1 + z Q(z)): Q interpolates (2^z - 1) / z at Chebyshev's points.
inline double exp2_of(double y) {
    const double n = nearest_integer(y);
    const double z = y - n, z2 = z * z, z4 = z2 * z2;
    const double low = (0x1.62e42fefa39efp-1 + 0x1.ebfbdff82c598p-3 * z) +
                       (0x1.c6b08d704a0c2p-5 + 0x1.3b2ab6fba1ddap-7 * z) * z2;
    const double middle = (0x1.5d87fe78a5276p-10 + 0x1.430913096fd9fp-13 * z) +
                          (0x1.ffcbfc670dcd4p-17 + 0x1.62bfd47773353p-20 * z) * z2;
    const double high = (0x1.b524fae627834p-24 + 0x1.e6063f7217bc6p-28 * z) + 0x1.e9d3fe3952179p-32 * z2;
    const double fraction = 1 + z * (low + (middle + high * z4) * z4);
    const double shifted = 0.5 * ((n - 1000) + std::abs(n + 1000)) + integers;  // n, at least -1000
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(fraction) +
                                 (std::bit_cast<std::uint64_t>(shifted) << 52));
}

}  // namespace goodput::detail

#endif
