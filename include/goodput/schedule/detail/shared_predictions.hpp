#ifndef GOODPUT_SCHEDULE_DETAIL_SHARED_PREDICTIONS_HPP
#define GOODPUT_SCHEDULE_DETAIL_SHARED_PREDICTIONS_HPP

// The same question is not asked twice. Jobs of one kind that wait have the same limits and the same model,
// and a job of which nothing new was measured is what it was a round ago: their options are predicted once.
//
// A question is all that its answer depends on: allotments, gradient statistics, and what the predictor
// declares that it reads of job and model. Questions are equal if all their bits are, so that what is not a
// number, or zero with a sign, is no special case; a hash only says where to look. A question that the
// predictor throws at has no answer, and is asked again.

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"

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

/// A predictor whose answers depend on nothing but allotments, gradient statistics, and the numbers and lists
/// that Predictor::for_each_input(job, model, input) names. It has to say so itself: who derives from one
/// that does may read more.
template <class Predictor>
concept DeclaresInputs = std::same_as<typename Predictor::DeclaresInputsOf, Predictor> &&
    requires(const Job& job, const JobModel& model, Question& question) {
    Predictor::for_each_input(job, model, question);
};

/// The answers of this round and of the last one, for one predictor. Keeps its buffers from round to round.
class SharedPredictions {
public:
    /// Forgets what was not asked in the round that has passed. At most so many questions will come.
    void begin_round(std::size_t questions) {
        std::swap(now_, last_);
        now_.clear(questions);
    }

    /// Fills in the options as `ask(options)` does, which asks the predictor with these gradient statistics.
    template <DeclaresInputs Predictor, class Ask>
    void predict(const Job& job, const JobModel& model, const std::optional<GradientStatistics>& gradient,
                 std::span<Option> options, Ask ask) {
        question_.clear();
        question_(gradient.has_value());
        question_(gradient ? gradient->squared_norm : 0);
        question_(gradient ? gradient->variance : 0);
        Predictor::for_each_input(job, model, question_);
        const std::uint64_t hash = question_.hash();
        if (const Option* answer = now_.find(question_.numbers(), hash, options)) {
            copy(answer, options);
            return;
        }
        if (const Option* answer = last_.find(question_.numbers(), hash, options))
            copy(answer, options);
        else
            ask(options);
        now_.add(question_.numbers(), hash, options);
    }

private:
    /// Their configurations are equal already.
    static void copy(const Option* answer, std::span<Option> options) {
        for (Option& option : options) {
            option.plan = answer->plan;
            option.goodput = answer->goodput;
            option.knowledge = answer->knowledge;
            ++answer;
        }
    }

    /// Questions and answers of one round, in a table with open addressing.
    class Answers {
    public:
        void clear(std::size_t most) {
            numbers_.clear();
            options_.clear();
            entries_.clear();
            places_.assign(std::bit_ceil(2 * most + 1), free);
        }

        /// The answer for options of the same allotments; null if that was not asked.
        [[nodiscard]] const Option* find(std::span<const std::uint64_t> question, std::uint64_t hash,
                                         std::span<const Option> options) const {
            if (places_.empty()) return nullptr;
            for (std::size_t place = first_place(hash); places_[place] != free; place = next(place)) {
                const Entry& entry = entries_[places_[place]];
                const Option* answer = options_.data() + entry.first_option;
                if (entry.hash == hash && entry.numbers == question.size() &&
                    entry.options == options.size() &&
                    std::equal(question.begin(), question.end(), numbers_.data() + entry.first_number) &&
                    std::equal(options.begin(), options.end(), answer, same_configuration))
                    return answer;
            }
            return nullptr;
        }

        /// One that find() does not find.
        void add(std::span<const std::uint64_t> question, std::uint64_t hash,
                 std::span<const Option> options) {
            std::size_t place = first_place(hash);
            while (places_[place] != free) place = next(place);
            places_[place] = entries_.size();
            entries_.push_back({hash, numbers_.size(), question.size(), options_.size(), options.size()});
            numbers_.insert(numbers_.end(), question.begin(), question.end());
            options_.insert(options_.end(), options.begin(), options.end());
        }

    private:
        static constexpr std::size_t free = std::numeric_limits<std::size_t>::max();
        struct Entry {
            std::uint64_t hash = 0;
            std::size_t first_number = 0;
            std::size_t numbers = 0;
            std::size_t first_option = 0;
            std::size_t options = 0;
        };
        static bool same_configuration(const Option& a, const Option& b) {
            return a.configuration == b.configuration;
        }
        [[nodiscard]] std::size_t first_place(std::uint64_t hash) const {
            return hash & (places_.size() - 1);
        }
        [[nodiscard]] std::size_t next(std::size_t place) const { return (place + 1) & (places_.size() - 1); }

        std::vector<std::uint64_t> numbers_;
        std::vector<Option> options_;
        std::vector<Entry> entries_;
        std::vector<std::size_t> places_;  // by hash: an entry
    };

    Question question_;
    Answers now_, last_;
};

}  // namespace goodput::detail

#endif
