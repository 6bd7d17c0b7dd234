#ifndef GOODPUT_SCHEDULE_DETAIL_SHARED_OFFERS_HPP
#define GOODPUT_SCHEDULE_DETAIL_SHARED_OFFERS_HPP

// The same question is not asked twice. Jobs of one kind that wait have the same limits and the same model:
// they share one list of options, made and predicted once. A job of which nothing new was measured is what it
// was a round ago: its options get the predictions of that round.
//
// A question is all that its answer depends on: gradient statistics, what the predictor declares that it
// reads of job and model, and either what the maker of options declares or the configurations themselves.
// Questions are equal if all their bits are, so that what is not a number, or zero with a sign, is no special
// case; a hash only says where to look. A question that somebody throws at has no answer, and is asked again.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/schedule/detail/question.hpp"

namespace goodput::detail {

/// Some of a round's options, one after the other.
struct OptionRange {
    std::size_t first = 0;
    std::size_t size = 0;
};

/// The questions of a round, and where their options lie: a table with open addressing.
class AskedQuestions {
public:
    /// At most so many questions will come.
    void clear(std::size_t most) {
        numbers_.clear();
        entries_.clear();
        places_.assign(std::bit_ceil(2 * most + 1), free);
    }

    /// The options of a question that was asked and whose options `fit(range)`; none if there is no such.
    template <class Fit>
    [[nodiscard]] std::optional<OptionRange> find(std::span<const std::uint64_t> question, std::uint64_t hash,
                                                  Fit fit) const {
        if (places_.empty()) return std::nullopt;
        for (std::size_t place = first_place(hash); places_[place] != free; place = next(place)) {
            const Entry& entry = entries_[places_[place]];
            if (entry.hash == hash && entry.numbers == question.size() &&
                std::equal(question.begin(), question.end(), numbers_.data() + entry.first_number) &&
                fit(entry.options))
                return entry.options;
        }
        return std::nullopt;
    }

    /// One that find() does not find.
    void add(std::span<const std::uint64_t> question, std::uint64_t hash, OptionRange options) {
        std::size_t place = first_place(hash);
        while (places_[place] != free) place = next(place);
        places_[place] = entries_.size();
        entries_.push_back({hash, numbers_.size(), question.size(), options});
        numbers_.insert(numbers_.end(), question.begin(), question.end());
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
    std::vector<std::size_t> places_;  // by hash: an entry
};

/// The options of this round and of the last one, and the questions that they answer. Keeps its buffers.
class SharedOffers {
public:
    /// Forgets what was not asked in the round that has passed. At most so many questions will come.
    void begin_round(std::size_t questions) {
        std::swap(now_, last_);
        std::swap(options, last_options_);
        now_.clear(questions);
        options.clear();
    }

    /// The options of one job: those of an earlier one of this round of which all the same is known, or what
    /// `list(options)` appends and `ask(options)` fills in. `input(question)` names all that these two read
    /// of the job; `complete`: the configurations, too, depend on nothing else.
    template <class Input, class List, class Ask>
    OptionRange offer(bool complete, Input input, List list, Ask ask) {
        question_.clear();
        question_(complete);
        input(question_);
        const std::uint64_t hash = question_.hash();
        if (complete)
            if (const auto same = now_.find(question_.numbers(), hash, [](OptionRange) { return true; }))
                return *same;
        OptionRange made{options.size(), 0};
        list(options);
        made.size = options.size() - made.first;
        const auto found = [&](const AskedQuestions& asked, const std::vector<Option>& answers) {
            const auto same = asked.find(question_.numbers(), hash, [&](OptionRange range) {
                return range.size == made.size &&
                       std::equal(part(answers, range).begin(), part(answers, range).end(),
                                  part(options, made).begin(), [](const Option& a, const Option& b) {
                                      return a.configuration == b.configuration;
                                  });
            });
            // The configurations are equal already.
            for (std::size_t k = 0; same && k < made.size; ++k) {
                const Option& answer = answers[same->first + k];
                Option& option = options[made.first + k];
                option.plan = answer.plan;
                option.goodput = answer.goodput;
                option.knowledge = answer.knowledge;
            }
            return same.has_value();
        };
        if (!complete && found(now_, options)) return made;
        if (!found(last_, last_options_) && !ask(std::span<Option>(options).subspan(made.first))) return made;
        now_.add(question_.numbers(), hash, made);
        return made;
    }

    std::vector<Option> options;  ///< of this round

private:
    static std::span<const Option> part(const std::vector<Option>& options, OptionRange range) {
        return std::span<const Option>(options).subspan(range.first, range.size);
    }

    Question question_;
    AskedQuestions now_, last_;
    std::vector<Option> last_options_;
};

}  // namespace goodput::detail

#endif
