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
// Every maker's options and every policy's are changed alike. Answers must hang on the round alone.

#include <concepts>
#include <tuple>
#include <utility>

#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/policy/concepts.hpp"

namespace goodput {

/// Changes the goodput of options.
template <class F>
concept GoodputFactor = requires(F& factor, const Round& round, const Job& job, Option& option) {
    { factor.begin_round(round) } -> std::convertible_to<bool>;
    factor(job, option);
};

/// Several factors, one after the other. None by default: then the goodput is what the predictor says.
template <GoodputFactor... Fs>
class Factors {
public:
    /// The factors of these types, each as it is by default.
    Factors() = default;
    /// These factors.
    explicit Factors(Fs... factors) requires(sizeof...(Fs) > 0) : factors_(std::move(factors)...) {}

    /// These factors, and others behind them.
    template <GoodputFactor... More>
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

private:
    std::tuple<Fs...> factors_;
};

static_assert(GoodputFactor<Factors<>>);

}  // namespace goodput

#endif
