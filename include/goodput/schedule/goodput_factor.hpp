#ifndef GOODPUT_SCHEDULE_GOODPUT_FACTOR_HPP
#define GOODPUT_SCHEDULE_GOODPUT_FACTOR_HPP

// What a predictor does not know of an option's goodput: what interruptions leave of it, what the cores
// beside the GPUs make of it. A factor is a struct with
//
//   bool begin_round(const Round& round)              whether it changes anything in this round; where none
//                                                     does, no option is looked at
//   void operator()(const Job& job, Option& option)   changes the goodput that was predicted, and whatever
//                                                     else the option says of it
//
// Every maker's options and every policy's are changed alike. Answers must hang on the round alone. One that
// has something to say to the owner of a job says it in a sentence (explain_plan.hpp):
//
//   std::string note(const GivenOption& given) const  of what the job was given; empty: nothing

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput {

/// Changes the goodput of options.
template <class F>
concept GoodputFactor = requires(F& factor, const Round& round, const Job& job, Option& option) {
    { factor.begin_round(round) } -> std::convertible_to<bool>;
    factor(job, option);
};

/// What a job was given in a plan, and beside what.
struct GivenOption {
    const Job& job;                            ///< whose it is
    const Option& given;                       ///< as the plan has it
    std::span<const Option> options;           ///< that the job was offered
    std::size_t index = 0;                     ///< of what it was given, among the options
    std::span<const double> values;            ///< of the options
    OptionUses uses;                           ///< by option: what it takes of the rows of the allotment
    std::span<const double> capacity;          ///< by row: what there is
    std::span<const double> taken;             ///< by row: what all jobs together take
    std::span<const double> prices;            ///< by row: of a unit
    std::size_t pools = 0;                     ///< how many rows are GPUs of pools: the first
    std::function<LimitRow(std::size_t)> row;  ///< any other row in words
};

/// A factor that has something to say of what a job was given.
template <class F>
concept NotingFactor = GoodputFactor<F> && requires(const F& factor, const GivenOption& given) {
    { factor.note(given) } -> std::convertible_to<std::string>;
};

/// Does not compile for what is not quite a factor, and says in one line which function is wrong.
template <class F>
consteval bool factor_fits() {
    static_assert(
        requires(F & factor, const Round& round) {
            { factor.begin_round(round) } -> std::convertible_to<bool>;
        },
        "GoodputFactor: begin_round is missing, or is not: bool begin_round(const Round&)");
    static_assert(
        requires(F & factor, const Job& job, Option& option) { factor(job, option); },
        "GoodputFactor: operator() is missing, or does not take these arguments: void operator()(const Job&, "
        "Option&)");
    return true;
}

/// Several factors, one after the other. None by default: then the goodput is what the predictor says.
template <class... Fs>
class Factors {
    static_assert((true && ... && factor_fits<Fs>()));

public:
    static constexpr bool all_fit = (true && ... && GoodputFactor<Fs>);  ///< they are factors

    /// The factors of these types, each as it is by default.
    Factors() = default;
    /// These factors.
    explicit Factors(Fs... factors) requires(sizeof...(Fs) > 0) : factors_(std::move(factors)...) {}

    /// These factors, and others behind them.
    template <class... More>
    [[nodiscard]] Factors<Fs..., More...> with(More... more) const {
        return std::apply(
            [&](const auto&... mine) { return Factors<Fs..., More...>(mine..., std::move(more)...); },
            factors_);
    }

    /// Whether any of them changes anything in this round. All are told of it.
    bool begin_round(const Round& round) {
        bool any = false;
        std::apply([&](auto&... factor) { ((any = factor.begin_round(round) || any), ...); }, factors_);
        return any;
    }
    /// Applies all of them.
    void operator()(const Job& job, Option& option) {
        std::apply([&](auto&... factor) { (factor(job, option), ...); }, factors_);
    }

    /// What they have to say of what a job was given.
    [[nodiscard]] std::vector<std::string> notes(const GivenOption& given) const {
        std::vector<std::string> all;
        const auto ask = [&]([[maybe_unused]] const auto& factor) {
            if constexpr (NotingFactor<std::remove_cvref_t<decltype(factor)>>)
                if (std::string note = factor.note(given); !note.empty()) all.push_back(std::move(note));
        };
        std::apply([&](const auto&... factor) { (ask(factor), ...); }, factors_);
        return all;
    }

private:
    std::tuple<Fs...> factors_;
};

static_assert(GoodputFactor<Factors<>>);

}  // namespace goodput

#endif
