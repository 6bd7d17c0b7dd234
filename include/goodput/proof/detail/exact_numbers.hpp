#ifndef GOODPUT_PROOF_DETAIL_EXACT_NUMBERS_HPP
#define GOODPUT_PROOF_DETAIL_EXACT_NUMBERS_HPP

// Exact numbers for certificates. Every finite double is a whole number times a power of two, so a
// certificate counts everything in whole numbers of some unit 2^-bits and never rounds.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>

namespace goodput::detail {

/// A whole number of any size; the first 128 bits need no memory of their own.
using WholeNumber =
    boost::multiprecision::number<boost::multiprecision::cpp_int_backend<128>, boost::multiprecision::et_off>;

/// The fewest bits after the binary point that `number` needs.
inline int fraction_bits(double number) {
    if (number == 0 || std::floor(number) == number) return 0;
    int exponent = 0;
    auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(number), &exponent), 53));
    for (exponent -= 53; mantissa % 2 == 0; ++exponent) mantissa /= 2;
    return std::max(0, -exponent);
}

/// `number` in units of 2^-bits, rounded to the nearest where that needs more bits.
inline WholeNumber scaled(double number, int bits) {
    int exponent = 0;
    const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(number, &exponent), 53));
    const int shift = exponent - 53 + bits;
    if (shift >= 0) return WholeNumber(mantissa) << static_cast<unsigned>(shift);
    if (shift < -60) return 0;
    return WholeNumber(std::llround(std::ldexp(static_cast<double>(mantissa), shift)));
}

/// `number` units of 2^-bits as a double, but for rounding.
inline double to_double(const WholeNumber& number, int bits) {
    if (number == 0) return 0;
    const int dropped = std::max(0, static_cast<int>(msb(abs(number))) - 100);
    return std::ldexp((number >> static_cast<unsigned>(dropped)).convert_to<double>(), dropped - bits);
}

/// The least double that is not below `number` units of 2^-bits.
inline double double_above(const WholeNumber& number, int bits) {
    double above = to_double(number, bits);
    if (!std::isfinite(above)) return above;
    const int its_bits = std::max(bits, fraction_bits(above));
    if (scaled(above, its_bits) < (number << static_cast<unsigned>(its_bits - bits)))
        above = std::nextafter(above, std::numeric_limits<double>::infinity());
    return above;
}

/// Appends a whole number to a text.
template <class Whole>
void append_whole(std::string& text, Whole number) {
    char digits[24];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
    text.append(digits, end.ptr);
}

/// Writes numbers as reduced fractions.
class FractionText {
public:
    /// Appends `number` units of 2^-bits to a text.
    void append(std::string& text, WholeNumber number, int bits) {
        if (number == 0) bits = 0;
        if (bits > 0) {
            const int zeros = std::min(bits, static_cast<int>(lsb(abs(number))));
            number >>= static_cast<unsigned>(zeros);
            bits -= zeros;
        }
        if (number <= largest && number >= -largest)
            append_whole(text, number.convert_to<std::int64_t>());
        else
            text += number.str();
        if (bits == 0) return;
        text += '/';
        text += power_of_two(bits);
    }

private:
    const std::string& power_of_two(int bits) {
        const auto at = static_cast<std::size_t>(bits);
        if (powers_.size() <= at) powers_.resize(at + 1);
        if (powers_[at].empty()) powers_[at] = (WholeNumber(1) << static_cast<unsigned>(bits)).str();
        return powers_[at];
    }

    static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    std::vector<std::string> powers_;
};

}  // namespace goodput::detail

#endif
