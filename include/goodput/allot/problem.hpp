#ifndef GOODPUT_ALLOT_PROBLEM_HPP
#define GOODPUT_ALLOT_PROBLEM_HPP

// The allotment problem. Resources r = 0..R-1 have capacities C_r. Every job offers options; option k has a
// value v_k and uses a_kr >= 0 units of each resource. Choose at most one option a job (exactly one where the
// job must run) so that the sum of the values is largest and no capacity is exceeded:
//
//     max sum v_k x_k    s.t.   sum a_kr x_k <= C_r for every r,   sum of x over a job's options <= 1 (= 1),
//     x in {0, 1}
//
// This is the multiple-choice multidimensional knapsack problem. Resources may be GPUs of a type, CPU cores,
// memory, or a tenant's quota: the solver does not know.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// So many units of one resource.
struct Use {
    std::uint32_t resource = 0;  ///< index into the problem's capacities
    double units = 0;            ///< at least 0, in the unit of the capacity
};

/// No option: the job gets nothing.
inline constexpr std::size_t no_option = std::numeric_limits<std::size_t>::max();

/// Larger values, capacities and units are refused, so that no product or sum of them is infinite.
inline constexpr double largest_number = 1e150;

/// What options can be worth: floating-point numbers, or integers (fixed point: the caller's unit), which are
/// added up exactly as long as sums stay below 2^53.
template <class V>
concept AllotmentValue = std::floating_point<V> ||(std::integral<V> && !std::same_as<V, bool>);

/// A problem in flat memory, filled job by job; clear() keeps the memory for the next round.
template <AllotmentValue Value>
class BasicAllotmentProblem {
public:
    /// What options are worth.
    using value_type = Value;

    std::vector<double> capacity;  ///< by resource

    /// Forgets all jobs, keeps capacities and memory.
    void clear() {
        first_option_.assign(1, 0);
        must_.clear();
        value_.clear();
        first_use_.assign(1, 0);
        uses_.clear();
    }

    /// Starts a job without options and returns its index. `must`: one of its options has to be chosen.
    std::size_t add_job(bool must = false) {
        first_option_.push_back(first_option_.back());
        must_.push_back(must ? 1 : 0);
        return must_.size() - 1;
    }

    /// Adds an option to the job started last and returns its index within that job. Before any add_job():
    /// std::invalid_argument.
    std::size_t add_option(Value value, std::span<const Use> uses) {
        if (must_.empty())
            bad_input("allotment problem", "number of jobs", jobs(), "at least 1 when an option is added");
        value_.push_back(value);
        uses_.insert(uses_.end(), uses.begin(), uses.end());
        first_use_.push_back(uses_.size());
        return first_option_.back()++ - first_option_[first_option_.size() - 2];
    }
    /// The same with the uses written out.
    std::size_t add_option(Value value, std::initializer_list<Use> uses) {
        return add_option(value, std::span<const Use>(uses.begin(), uses.size()));
    }

    /// Number of jobs.
    [[nodiscard]] std::size_t jobs() const { return must_.size(); }
    /// Number of options of all jobs.
    [[nodiscard]] std::size_t options() const { return value_.size(); }
    /// Number of options of a job.
    [[nodiscard]] std::size_t options_of(std::size_t job) const {
        return first_option_[job + 1] - first_option_[job];
    }
    /// Whether one of the job's options has to be chosen.
    [[nodiscard]] bool must(std::size_t job) const { return must_[job] != 0; }
    /// What an option is worth.
    [[nodiscard]] Value value(std::size_t job, std::size_t option) const {
        return value_[first_option_[job] + option];
    }
    /// What an option takes of each resource, as it was added.
    [[nodiscard]] std::span<const Use> uses(std::size_t job, std::size_t option) const {
        const std::size_t index = first_option_[job] + option;
        return {uses_.data() + first_use_[index], uses_.data() + first_use_[index + 1]};
    }

    /// All options of a job one after the other: their values, their uses, and for every option (and one
    /// more at the end) where its uses begin, counted from the beginning of all uses.
    [[nodiscard]] std::span<const Value> values(std::size_t job) const {
        return std::span(value_).subspan(first_option_[job], options_of(job));
    }
    /// The uses of all options of a job, one option after the other.
    [[nodiscard]] std::span<const Use> uses(std::size_t job) const {
        return {uses_.data() + first_use_[first_option_[job]],
                uses_.data() + first_use_[first_option_[job + 1]]};
    }
    /// The uses of all options of all jobs.
    [[nodiscard]] std::span<const Use> uses() const { return uses_; }
    /// Where in uses() the uses of each option of a job begin, and where the last one's end.
    [[nodiscard]] std::span<const std::size_t> use_offsets(std::size_t job) const {
        return std::span(first_use_).subspan(first_option_[job], options_of(job) + 1);
    }

    /// Refuses values that are not finite or beyond largest_number, capacities and units that are negative or
    /// so, and unknown resources (std::invalid_argument naming job, option, field and value).
    void validate() const {
        validate_capacities();
        for (std::size_t job = 0; job < jobs(); ++job) validate_job(job);
    }
    /// The part of validate() that is about capacities.
    void validate_capacities() const {
        for (std::size_t r = 0; r < capacity.size(); ++r)
            if (!(capacity[r] >= 0 && capacity[r] <= largest_number))
                bad_input("allotment problem", "capacity[" + text_of(r) + "]", capacity[r],
                          amount_wanted(capacity[r]));
    }
    /// The part of validate() that is about one job.
    void validate_job(std::size_t job) const {
        bool good = true;
        if constexpr (std::floating_point<Value>)
            for (const Value value : values(job)) good = good && std::abs(value) <= largest_number;
        for (const Use& use : uses(job))
            good = good && use.resource < capacity.size() && use.units >= 0 && use.units <= largest_number;
        if (good) return;
        for (std::size_t option = 0; option < options_of(job); ++option) validate_option(job, option);
    }

private:
    /// What a capacity or a number of units that is `amount` should have been.
    static std::string amount_wanted(double amount) {
        return std::isfinite(amount) && amount > 0 ? "at most " + text_of(largest_number)
                                                   : "a finite number of at least 0";
    }
    void validate_option(std::size_t job, std::size_t option) const {
        const auto subject = [&] { return "job " + text_of(job) + ", option " + text_of(option); };
        if constexpr (std::floating_point<Value>)
            if (!(std::abs(value(job, option)) <= largest_number))
                bad_input(subject(), "value", value(job, option),
                          std::isfinite(value(job, option))
                              ? "at most " + text_of(largest_number) + " either way"
                              : "finite");
        for (const Use& use : uses(job, option)) {
            if (use.resource >= capacity.size())
                bad_input(subject(), "resource", use.resource,
                          "below the number of capacities, " + text_of(capacity.size()));
            if (!(use.units >= 0 && use.units <= largest_number))
                bad_input(subject(), "units", use.units, amount_wanted(use.units));
        }
    }

    std::vector<std::size_t> first_option_{0};
    std::vector<std::uint8_t> must_;
    std::vector<Value> value_;
    std::vector<std::size_t> first_use_{0};
    std::vector<Use> uses_;
};

/// The problem as nearly everybody has it: values in floating point.
using AllotmentProblem = BasicAllotmentProblem<double>;

}  // namespace goodput

#endif
