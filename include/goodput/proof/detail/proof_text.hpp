#ifndef GOODPUT_PROOF_DETAIL_PROOF_TEXT_HPP
#define GOODPUT_PROOF_DETAIL_PROOF_TEXT_HPP

// The text of a certificate. A certificate consists mostly of numbers, and writing them takes most of its
// time. So digits are written directly into the text's memory.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/proof/detail/exact_numbers.hpp"

namespace goodput::inline v0_1::detail {

class ProofText {
public:
    [[nodiscard]] std::size_t size() const { return used_; }
    [[nodiscard]] std::string_view view() const { return {text_.data(), used_}; }
    void reserve(std::size_t characters) { text_.reserve(characters); }
    /// Moves the text out and leaves this object empty.
    [[nodiscard]] std::string take() {
        text_.resize(std::exchange(used_, 0));
        return std::exchange(text_, {});
    }

    void add(std::string_view words) {
        char* to = room(words.size());
        std::memcpy(to, words.data(), words.size());
        used_ += words.size();
    }
    void add(char c) {
        *room(1) = c;
        ++used_;
    }
    template <class Whole>
    void whole(const Whole& number) {
        end(write(room(most_digits), number));
    }
    void whole(const WholeNumber& number) {
        constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
        if (absolute(number) <= largest)
            end(write(room(most_digits), number.convert_to<std::int64_t>()));
        else
            add(number.str());
    }
    /// Adds a blank and an index.
    void index(std::size_t index) {
        char* to = room(most_digits);
        *to = ' ';
        end(write(to + 1, index));
    }
    /// Adds `number` units of 2^-bits as a reduced fraction.
    template <class Whole>
    void fraction(Whole number, int bits) {
        if (number == 0) bits = 0;
        if (bits > 0) {
            const int twos = std::min(bits, twos_in(number));
            number >>= static_cast<unsigned>(twos);
            bits -= twos;
        }
        whole(number);
        if (bits > 0) add(below(bits));
    }
    /// Adds the index of a variable or a row, and a number for it.
    template <class Whole>
    void entry(std::size_t number_of, const Whole& number, int bits) {
        index(number_of);
        add(' ');
        fraction(number, bits);
    }
    /// Adds the index of a variable or a row, and 1 or -1 for it.
    void entry(std::size_t number_of, bool positive = true) {
        index(number_of);
        add(positive ? " 1" : " -1");
    }

private:
    static constexpr std::size_t most_digits = 48;

    /// Returns memory for this many more characters.
    char* room(std::size_t characters) {
        constexpr std::size_t block = std::size_t{1} << 12;  // not larger, because it is cleared first
        if (text_.size() - used_ < characters) text_.resize(used_ + std::max(characters, block));
        return text_.data() + used_;
    }
    void end(const char* at) { used_ = static_cast<std::size_t>(at - text_.data()); }

    template <class Whole>
    static char* write(char* to, Whole number) {
        return std::to_chars(to, to + most_digits, number).ptr;
    }
    static char* write(char* to, NarrowNumber number) {
        if (number < 0) *to++ = '-';
        return write_large(to, static_cast<NarrowMagnitude>(absolute(number)));
    }
    static char* write_large(char* to, NarrowMagnitude number) {
        constexpr int digits = 19;
        constexpr std::uint64_t block = 10'000'000'000'000'000'000u;
        if (number >> 64 == 0) return write(to, static_cast<std::uint64_t>(number));
        to = write_large(to, number / block);
        char* const end = write(to, static_cast<std::uint64_t>(number % block));
        std::rotate(to, end, std::fill_n(end, digits - (end - to), '0'));  // zeros go first
        return to + digits;
    }
    /// Returns "/" and a power of two.
    const std::string& below(int bits) {
        const auto at = static_cast<std::size_t>(bits);
        if (powers_.size() <= at) powers_.resize(at + 1);
        if (powers_[at].empty()) powers_[at] = '/' + (WholeNumber(1) << static_cast<unsigned>(bits)).str();
        return powers_[at];
    }

    std::string text_;
    std::size_t used_ = 0;
    std::vector<std::string> powers_;
};

}  // namespace goodput::inline v0_1::detail

#endif
