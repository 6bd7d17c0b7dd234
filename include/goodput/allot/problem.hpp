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

#include <algorithm>
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
#include "goodput/core/resource_use.hpp"

namespace goodput {

/// No option: the job gets nothing.
inline constexpr std::size_t no_option = std::numeric_limits<std::size_t>::max();

/// Larger values, capacities and units are refused, so that no product or sum of them is infinite.
inline constexpr double largest_number = 1e150;

/// What options can be worth: floating-point numbers, or integers (fixed point: the caller's unit), which are
/// added up exactly as long as sums stay below 2^53.
template <class V>
concept AllotmentValue = std::floating_point<V> ||(std::integral<V> && !std::same_as<V, bool>);

/// A problem in flat memory; clear() keeps the memory for the next round. Options may be added to any job at
/// any time: the order says nothing. It is quickest to fill it job by job, which leaves no gaps in memory.
template <AllotmentValue Value>
class BasicAllotmentProblem {
public:
    /// What options are worth.
    using value_type = Value;

    std::vector<double> capacity;  ///< by resource

    /// Forgets all jobs, keeps capacities and memory.
    void clear() {
        jobs_.clear();
        value_.clear();
        offset_.clear();
        uses_.clear();
        options_ = use_count_ = 0;
    }

    /// Starts a job without options and returns its index. `must`: one of its options has to be chosen.
    std::size_t add_job(bool must = false) {
        jobs_.push_back({value_.size(), 0, 1, uses_.size(), 0, 0, must});
        value_.push_back(Value{});
        offset_.push_back(0);
        return jobs_.size() - 1;
    }

    /// Starts a job with the options of another one and returns its index. An unknown job:
    /// std::invalid_argument.
    std::size_t add_job_like(std::size_t other) {
        require_job(other);
        const Job like = jobs_[other];
        jobs_.push_back(
            {value_.size(), like.options, like.options + 1, uses_.size(), like.uses, like.uses, like.must});
        append_copy(value_, like.first, like.options + 1);
        append_copy(offset_, like.first, like.options + 1);
        append_copy(uses_, like.first_use, like.uses);
        options_ += like.options;
        use_count_ += like.uses;
        return jobs_.size() - 1;
    }

    /// Adds an option to a job and returns its index within that job. Spans that values() and uses() gave end
    /// here, and `uses` must not be one of them. Constant time on average. An unknown job:
    /// std::invalid_argument.
    std::size_t add_option(std::size_t job, Value value, std::span<const ResourceUse> uses) {
        require_job(job);
        Job& its = jobs_[job];
        if (ends_arrays(its)) return append(its, value, uses);
        make_room(its.options + 2, its.first, its.room, value_, offset_);
        make_room(its.uses + uses.size(), its.first_use, its.use_room, uses_);
        std::ranges::copy(uses, uses_.begin() + static_cast<std::ptrdiff_t>(its.first_use + its.uses));
        its.uses += uses.size();
        value_[its.first + its.options++] = value;
        offset_[its.first + its.options] = its.uses;
        ++options_;
        use_count_ += uses.size();
        return its.options - 1;
    }
    /// Adds an option with its uses written out to a job.
    std::size_t add_option(std::size_t job, Value value, std::initializer_list<ResourceUse> uses) {
        return add_option(job, value, std::span<const ResourceUse>(uses.begin(), uses.size()));
    }
    /// Adds an option to the job started last and returns its index within that job. Before any add_job():
    /// std::invalid_argument.
    std::size_t add_option(Value value, std::span<const ResourceUse> uses) {
        if (jobs_.empty())
            bad_input("allotment problem", "number of jobs", jobs(), "at least 1 when an option is added");
        return add_option(jobs() - 1, value, uses);
    }
    /// Adds an option with its uses written out to the job started last.
    std::size_t add_option(Value value, std::initializer_list<ResourceUse> uses) {
        return add_option(value, std::span<const ResourceUse>(uses.begin(), uses.size()));
    }

    /// Changes what an option is worth. An unknown job or option: std::invalid_argument.
    void set_value(std::size_t job, std::size_t option, Value value) {
        require_job(job);
        if (option >= options_of(job))
            bad_input("allotment problem", "option", option,
                      "below the number of options of job " + text_of(job) + ", " + text_of(options_of(job)));
        value_[jobs_[job].first + option] = value;
    }
    /// Changes whether one of the job's options has to be chosen. An unknown job: std::invalid_argument.
    void set_must(std::size_t job, bool must) {
        require_job(job);
        jobs_[job].must = must;
    }

    /// Number of jobs.
    [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }
    /// Number of options of all jobs.
    [[nodiscard]] std::size_t options() const { return options_; }
    /// Number of uses of all options of all jobs.
    [[nodiscard]] std::size_t use_count() const { return use_count_; }
    /// Number of options of a job.
    [[nodiscard]] std::size_t options_of(std::size_t job) const { return jobs_[job].options; }
    /// Whether one of the job's options has to be chosen.
    [[nodiscard]] bool must(std::size_t job) const { return jobs_[job].must; }
    /// What an option is worth.
    [[nodiscard]] Value value(std::size_t job, std::size_t option) const {
        return value_[jobs_[job].first + option];
    }
    /// What an option takes of each resource, as it was added.
    [[nodiscard]] std::span<const ResourceUse> uses(std::size_t job, std::size_t option) const {
        const Job& its = jobs_[job];
        const std::size_t begin = offset_[its.first + option], end = offset_[its.first + option + 1];
        return {uses_.data() + its.first_use + begin, end - begin};
    }

    /// What all options of a job are worth, one after the other.
    [[nodiscard]] std::span<const Value> values(std::size_t job) const {
        return {value_.data() + jobs_[job].first, jobs_[job].options};
    }
    /// What all options of a job are worth, to be changed in place.
    [[nodiscard]] std::span<Value> values(std::size_t job) {
        return {value_.data() + jobs_[job].first, jobs_[job].options};
    }
    /// The uses of all options of a job, one option after the other.
    [[nodiscard]] std::span<const ResourceUse> uses(std::size_t job) const {
        return {uses_.data() + jobs_[job].first_use, jobs_[job].uses};
    }
    /// Where in uses(job) the uses of each option begin, and where those of the last one end.
    [[nodiscard]] std::span<const std::size_t> use_offsets(std::size_t job) const {
        return {offset_.data() + jobs_[job].first, jobs_[job].options + 1};
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
        for (const ResourceUse& use : uses(job))
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
        for (const ResourceUse& use : uses(job, option)) {
            if (use.resource >= capacity.size())
                bad_input(subject(), "resource", use.resource,
                          "below the number of capacities, " + text_of(capacity.size()));
            if (!(use.units >= 0 && use.units <= largest_number))
                bad_input(subject(), "units", use.units, amount_wanted(use.units));
        }
    }

    /// A job has a place in value_ and offset_, for one option less than its size, and one in uses_.
    struct Job {
        std::size_t first, options, room;
        std::size_t first_use, uses, use_room;
        bool must;
    };

    void require_job(std::size_t job) const {
        if (job >= jobs())
            bad_input("allotment problem", "job", job, "below the number of jobs, " + text_of(jobs()));
    }

    /// Its places are full and the last ones: what nearly every option is added to.
    [[nodiscard]] bool ends_arrays(const Job& its) const {
        return its.options + 1 == its.room && its.first + its.room == value_.size() &&
               its.uses == its.use_room && its.first_use + its.use_room == uses_.size();
    }
    std::size_t append(Job& its, Value value, std::span<const ResourceUse> uses) {
        uses_.insert(uses_.end(), uses.begin(), uses.end());
        its.uses = its.use_room += uses.size();
        value_.back() = value;
        value_.push_back(Value{});
        offset_.push_back(its.uses);
        ++its.room;
        ++options_;
        use_count_ += uses.size();
        return its.options++;
    }

    /// Copies elements of an array to its end.
    template <class Array>
    static void append_copy(Array& array, std::size_t first, std::size_t count) {
        const std::size_t end = array.size();
        array.resize(end + count);
        std::copy_n(array.begin() + static_cast<std::ptrdiff_t>(first), count,
                    array.begin() + static_cast<std::ptrdiff_t>(end));
    }

    /// Brings a place of equal extent in all `arrays` to at least `wanted` elements. The last one grows where
    /// it is. Any other moves to the end and doubles: an element moves a constant number of times on average.
    template <class... Arrays>
    static void make_room(std::size_t wanted, std::size_t& first, std::size_t& room, Arrays&... arrays) {
        if (wanted <= room) return;
        const std::size_t end = std::max({arrays.size()...});
        const std::size_t from = first;
        if (from + room < end) {
            first = end;
            wanted = std::max(wanted, 2 * room);
        }
        const auto place = [&](auto& array) {
            array.resize(first + wanted);
            if (first != from)
                std::copy_n(array.begin() + static_cast<std::ptrdiff_t>(from), room,
                            array.begin() + static_cast<std::ptrdiff_t>(first));
        };
        (place(arrays), ...);
        room = wanted;
    }

    std::vector<Job> jobs_;
    std::vector<Value> value_;
    std::vector<std::size_t>
        offset_;  ///< of an option: where its uses begin, from the beginning of its job's
    std::vector<ResourceUse> uses_;
    std::size_t options_ = 0, use_count_ = 0;
};

/// The problem as nearly everybody has it: values in floating point.
using AllotmentProblem = BasicAllotmentProblem<double>;

}  // namespace goodput

#endif
