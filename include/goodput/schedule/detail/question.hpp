#ifndef GOODPUT_SCHEDULE_DETAIL_QUESTION_HPP
#define GOODPUT_SCHEDULE_DETAIL_QUESTION_HPP

// All that an answer about a job depends on, as a list of numbers (shared_offers.hpp).

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace goodput::detail {

/// The numbers of a question, one after the other.
class Question {
public:
    void clear() { numbers_.clear(); }

    /// One more number.
    template <class Number>
    requires std::is_arithmetic_v<Number>
    void operator()(Number number) {
        if constexpr (std::is_floating_point_v<Number>)
            numbers_.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(number)));
        else
            numbers_.push_back(static_cast<std::uint64_t>(number));
    }
    /// A list, and its length: structs of numbers that leave no gaps. They are copied and compared whole,
    /// because the lists of measured shapes are most of a question.
    template <class Element>
    void operator()(std::span<const Element> list) {
        static_assert(std::is_trivially_copyable_v<Element> && sizeof(Element) % sizeof(std::uint64_t) == 0);
        const std::size_t size = numbers_.size();
        numbers_.resize(size + 1 + list.size_bytes() / sizeof(std::uint64_t));
        numbers_[size] = list.size();
        if (!list.empty()) std::memcpy(numbers_.data() + size + 1, list.data(), list.size_bytes());
    }

    [[nodiscard]] std::span<const std::uint64_t> numbers() const { return numbers_; }

    /// Four numbers side by side, because each step waits for the one before.
    [[nodiscard]] std::uint64_t hash() const {
        constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
        std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
        const auto mix = [](std::uint64_t& lane, std::uint64_t number) {
            lane = (lane ^ number) * factor;
            lane ^= lane >> 32;
        };
        std::size_t i = 0;
        for (; i + 4 <= numbers_.size(); i += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) mix(lanes[lane], numbers_[i + lane]);
        for (; i < numbers_.size(); ++i) mix(lanes[0], numbers_[i]);
        for (std::size_t lane = 1; lane < 4; ++lane) mix(lanes[0], lanes[lane]);
        return lanes[0];
    }

private:
    std::vector<std::uint64_t> numbers_;
};

}  // namespace goodput::detail

#endif
