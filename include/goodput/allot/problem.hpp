#ifndef GOODPUT_ALLOT_PROBLEM_HPP
#define GOODPUT_ALLOT_PROBLEM_HPP

// The allotment problem. Resources r = 0..R-1 have capacities C_r. Every job offers options. Option k has a
// value v_k and uses a_kr >= 0 units of each resource. x_k is 1 if option k is chosen, and otherwise 0.
// Choose at most one option per job (exactly one if the job must run) so that the sum of the values is
// largest and no capacity is exceeded:
//
//     max sum v_k x_k    s.t.   sum a_kr x_k <= C_r for every r,   sum of x over a job's options <= 1 (= 1),
//     x in {0, 1}
//
// This is the multiple-choice multidimensional knapsack problem. Resources may be GPUs of a type, CPU
// cores, memory, or a tenant's quota: the solver does not know which.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// Index that means "no option": the job gets nothing.
inline constexpr std::size_t no_option = std::numeric_limits<std::size_t>::max();

/// Values, capacities and units beyond this are refused, so that no product or sum of them is infinite.
inline constexpr double largest_number = 1e150;

class AllotmentProblem;

namespace detail {

/// The jobs of an AllotmentProblem. Only AllotmentProblem can read or change them.
class OfferingJobs {
    friend class goodput::AllotmentProblem;

    struct Job {
        std::vector<double> value;  ///< value of each option
        /// Start of each option's uses in `uses`, then the end of the last option's.
        std::vector<std::size_t> offset;
        std::vector<ResourceUse> uses;
        bool must;
    };

    std::vector<Job> jobs_;  ///< may hold more than count_ jobs: clear() keeps the memory of earlier ones
    std::size_t count_ = 0, options_ = 0, use_count_ = 0;
};

}  // namespace detail

/// An allotment problem. It is an aggregate: `AllotmentProblem problem{.capacity = {8, 4}}`. clear() keeps
/// the memory for the next round. Options may be added to any job at any time: the order makes no
/// difference. Values that are whole numbers (cents, for example) are added up exactly as long as sums stay
/// below 2^53.
class AllotmentProblem {
public:
    std::vector<double> capacity{};   ///< units of each resource
    detail::OfferingJobs offering{};  ///< the jobs; use the functions below

    /// Forgets all jobs. Keeps the capacities and the memory.
    void clear() { offering.count_ = offering.options_ = offering.use_count_ = 0; }

    /// Starts a job without options and returns its index. `must`: one of the job's options has to be
    /// chosen.
    std::size_t add_job(bool must = false) {
        if (offering.count_ == offering.jobs_.size()) offering.jobs_.emplace_back();
        auto& added = offering.jobs_[offering.count_];
        added.must = must;
        added.value.clear();
        added.uses.clear();
        added.offset.assign(1, 0);
        return offering.count_++;
    }

    /// Starts a job with the options of the job `other` and returns the new index. Throws
    /// std::invalid_argument for an unknown job.
    std::size_t add_job_like(std::size_t other) {
        require_job(other);
        const std::size_t job = add_job();
        offering.jobs_[job] = offering.jobs_[other];
        offering.options_ += offering.jobs_[job].value.size();
        offering.use_count_ += offering.jobs_[job].uses.size();
        return job;
    }

    /// Adds an option to a job and returns the option's index within that job. Takes constant time on
    /// average. Spans that values() and uses() returned for the job become invalid, and `uses` must not be
    /// one of them. Throws std::invalid_argument for an unknown job.
    std::size_t add_option(std::size_t job, double value, std::span<const ResourceUse> uses) {
        require_job(job);
        auto& owner = offering.jobs_[job];
        owner.value.push_back(value);
        owner.uses.insert(owner.uses.end(), uses.begin(), uses.end());
        owner.offset.push_back(owner.uses.size());
        ++offering.options_;
        offering.use_count_ += uses.size();
        return owner.value.size() - 1;
    }
    /// Adds an option to a job, with the uses as a braced list.
    std::size_t add_option(std::size_t job, double value, std::initializer_list<ResourceUse> uses) {
        return add_option(job, value, std::span<const ResourceUse>(uses.begin(), uses.size()));
    }
    /// Adds an option to the job started last and returns the option's index within that job. Throws
    /// std::invalid_argument if add_job() was never called.
    std::size_t add_option(double value, std::span<const ResourceUse> uses) {
        if (offering.count_ == 0)
            bad_input("allotment problem", "number of jobs", jobs(), "at least 1 when an option is added");
        return add_option(jobs() - 1, value, uses);
    }
    /// Adds an option to the job started last, with the uses as a braced list.
    std::size_t add_option(double value, std::initializer_list<ResourceUse> uses) {
        return add_option(value, std::span<const ResourceUse>(uses.begin(), uses.size()));
    }

    /// Sets the value of an option. Throws std::invalid_argument for an unknown job or option.
    void set_value(std::size_t job, std::size_t option, double value) {
        require_job(job);
        if (option >= options_of(job))
            bad_input("allotment problem", "option", option,
                      "below the number of options of job " + text_of(job) + ", " + text_of(options_of(job)));
        offering.jobs_[job].value[option] = value;
    }
    /// Sets whether one of the job's options has to be chosen. Throws std::invalid_argument for an unknown
    /// job.
    void set_must(std::size_t job, bool must) {
        require_job(job);
        offering.jobs_[job].must = must;
    }

    /// Returns the number of jobs.
    [[nodiscard]] std::size_t jobs() const { return offering.count_; }
    /// Returns the number of options of all jobs together.
    [[nodiscard]] std::size_t options() const { return offering.options_; }
    /// Returns the number of uses of all options of all jobs together.
    [[nodiscard]] std::size_t use_count() const { return offering.use_count_; }
    /// Returns the number of options of a job.
    [[nodiscard]] std::size_t options_of(std::size_t job) const { return offering.jobs_[job].value.size(); }
    /// Returns whether one of the job's options has to be chosen.
    [[nodiscard]] bool must(std::size_t job) const { return offering.jobs_[job].must; }
    /// Returns the value of an option.
    [[nodiscard]] double value(std::size_t job, std::size_t option) const {
        return offering.jobs_[job].value[option];
    }
    /// Returns the resources and units that an option uses, as they were added.
    [[nodiscard]] std::span<const ResourceUse> uses(std::size_t job, std::size_t option) const {
        const auto& owner = offering.jobs_[job];
        return {owner.uses.data() + owner.offset[option], owner.uses.data() + owner.offset[option + 1]};
    }

    /// Returns the values of all options of a job, in their order.
    [[nodiscard]] std::span<const double> values(std::size_t job) const { return offering.jobs_[job].value; }
    /// Returns the values of all options of a job, which the caller may change in place.
    [[nodiscard]] std::span<double> values(std::size_t job) { return offering.jobs_[job].value; }
    /// Returns the uses of all options of a job, one option after the other.
    [[nodiscard]] std::span<const ResourceUse> uses(std::size_t job) const {
        return offering.jobs_[job].uses;
    }
    /// Returns where in uses(job) the uses of each option begin, then where those of the last option end.
    [[nodiscard]] std::span<const std::size_t> use_offsets(std::size_t job) const {
        return offering.jobs_[job].offset;
    }

    /// Checks all numbers. Refuses values that are not finite or beyond largest_number, capacities and
    /// units that are negative, not finite or beyond largest_number, and unknown resources. The
    /// std::invalid_argument names job, option, field and value.
    void validate() const {
        validate_capacities();
        for (std::size_t job = 0; job < jobs(); ++job) validate_job(job);
    }
    /// Checks the capacities, as validate() does.
    void validate_capacities() const {
        for (std::size_t r = 0; r < capacity.size(); ++r)
            if (!(capacity[r] >= 0 && capacity[r] <= largest_number))
                bad_input("allotment problem", "capacity[" + text_of(r) + "]", capacity[r],
                          amount_wanted(capacity[r]));
    }
    /// Checks the options of one job, as validate() does.
    void validate_job(std::size_t job) const {
        bool good = true;
        for (const double value : values(job)) good = good && std::abs(value) <= largest_number;
        for (const ResourceUse& use : uses(job))
            good = good && use.resource < capacity.size() && use.units >= 0 && use.units <= largest_number;
        if (good) return;
        for (std::size_t option = 0; option < options_of(job); ++option) validate_option(job, option);
    }

private:
    /// Returns the end of a message about `amount`, a bad capacity or number of units: it says which
    /// numbers are allowed.
    static std::string amount_wanted(double amount) {
        return std::isfinite(amount) && amount > 0 ? "at most " + text_of(largest_number)
                                                   : "a finite number of at least 0";
    }
    void validate_option(std::size_t job, std::size_t option) const {
        const auto subject = [&] { return "job " + text_of(job) + ", option " + text_of(option); };
        if (!(std::abs(value(job, option)) <= largest_number))
            bad_input(subject(), "value", value(job, option),
                      std::isfinite(value(job, option)) ? "at most " + text_of(largest_number) + " either way"
                                                        : "finite");
        for (const ResourceUse& use : uses(job, option)) {
            if (use.resource >= capacity.size())
                bad_input(subject(), "resource", use.resource,
                          "below the number of capacities, " + text_of(capacity.size()));
            if (!(use.units >= 0 && use.units <= largest_number))
                bad_input(subject(), "units", use.units, amount_wanted(use.units));
        }
    }

    void require_job(std::size_t job) const {
        if (job >= jobs())
            bad_input("allotment problem", "job", job, "below the number of jobs, " + text_of(jobs()));
    }
};

}  // namespace goodput::inline v0_1

#endif
