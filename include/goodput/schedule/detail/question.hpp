#ifndef GOODPUT_SCHEDULE_DETAIL_QUESTION_HPP
#define GOODPUT_SCHEDULE_DETAIL_QUESTION_HPP

// Avoids asking the maker and the predictor the same question twice in a round. Waiting jobs of one kind
// have the same limits and the same model, so they share one list of options, which is listed and predicted
// once.
//
// A question contains everything on which its answer depends: gradient statistics, the parts of job and
// model that the predictor declares to read, and those that the maker of options declares. Two questions
// are equal if all their bits are equal, so NaN and signed zeros need no special treatment. The hash only
// says where in the table to look. If a part throws for a question, the question has no answer, and is
// asked again for the next job.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace goodput::inline v0_1::detail {

/// The numbers of a question, in order.
class Question {
public:
    void clear() { numbers_.clear(); }

    /// Appends a number.
    template <class Number>
    requires std::is_arithmetic_v<Number>
    void operator()(Number number) {
        if constexpr (std::is_floating_point_v<Number>)
            numbers_.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(number)));
        else
            numbers_.push_back(static_cast<std::uint64_t>(number));
    }
    /// Appends the length and the elements of a list. The elements are structs of numbers without padding.
    /// They are copied and compared as a whole, because the lists of measured shapes are most of a
    /// question.
    template <class Element>
    void operator()(std::span<const Element> list) {
        static_assert(std::is_trivially_copyable_v<Element> && sizeof(Element) % sizeof(std::uint64_t) == 0);
        const std::size_t size = numbers_.size();
        numbers_.resize(size + 1 + list.size_bytes() / sizeof(std::uint64_t));
        numbers_[size] = list.size();
        if (!list.empty()) std::memcpy(numbers_.data() + size + 1, list.data(), list.size_bytes());
    }

    [[nodiscard]] std::span<const std::uint64_t> numbers() const { return numbers_; }

    /// Hashes numbers in four independent lanes, so that a step of one lane need not wait for the others.
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

/// A range of a round's options.
struct OptionRange {
    std::size_t first = 0;
    std::size_t size = 0;
};

/// The questions of a round and the ranges of their options, in a hash table with open addressing. It keeps
/// its buffers.
class AskedQuestions {
public:
    /// Forgets all questions. At most `most` may be added afterwards.
    void clear(std::size_t most) {
        numbers_.clear();
        entries_.clear();
        places_.assign(std::bit_ceil(2 * most + 1), free);
    }

    /// Returns the options of a question that was asked before.
    [[nodiscard]] std::optional<OptionRange> find(const Question& question) const {
        const std::span<const std::uint64_t> asked = question.numbers();
        const std::uint64_t hash = question.hash();
        for (std::size_t place = first_place(hash); places_[place] != free; place = next(place)) {
            const Entry& entry = entries_[places_[place]];
            if (entry.hash == hash && entry.numbers == asked.size() &&
                std::equal(asked.begin(), asked.end(), numbers_.data() + entry.first_number))
                return entry.options;
        }
        return std::nullopt;
    }

    /// Adds a question that find() does not find.
    void add(const Question& question, OptionRange options) {
        const std::span<const std::uint64_t> asked = question.numbers();
        const std::uint64_t hash = question.hash();
        std::size_t place = first_place(hash);
        while (places_[place] != free) place = next(place);
        places_[place] = entries_.size();
        entries_.push_back({hash, numbers_.size(), asked.size(), options});
        numbers_.insert(numbers_.end(), asked.begin(), asked.end());
    }

private:
    static constexpr std::size_t free = std::numeric_limits<std::size_t>::max();
    struct Entry {
        std::uint64_t hash = 0;
        std::size_t first_number = 0;
        std::size_t numbers = 0;
        OptionRange options{};
    };
    [[nodiscard]] std::size_t first_place(std::uint64_t hash) const { return hash & (places_.size() - 1); }
    [[nodiscard]] std::size_t next(std::size_t place) const { return (place + 1) & (places_.size() - 1); }

    std::vector<std::uint64_t> numbers_;
    std::vector<Entry> entries_;
    std::vector<std::size_t> places_;  // index of the entry at each place of the hash table
};

}  // namespace goodput::inline v0_1::detail

#endif
