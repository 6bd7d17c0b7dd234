#ifndef GOODPUT_SCHEDULE_LIMITS_HPP
#define GOODPUT_SCHEDULE_LIMITS_HPP

// Limits restrict a plan besides the GPUs of each pool: a quota, a budget, licences. A limit adds rows to
// the allotment problem: constraints on the sum of what all chosen options take. It is a struct with two
// functions:
//
//   void rows(const Round& round, LimitRows& rows)        adds its rows of this round, with their capacities
//   void uses(const Round& round, const Job& job,         adds what an option of a job takes of these rows
//             const Option& option, LimitUses& uses)
//
// A limit that must look something up for every job also has void start_job(const Round& round, const Job&
// job), which is called before uses() is called for the job's options. A limit may keep buffers, but its
// answers must not depend on them. If no option can take anything of a limit, a name is probably mistyped
// or a number missing: void warn(const Round& round, std::vector<std::string>& warnings) const may add
// sentences to Plan::warnings. A limit on dollars has bool counts_dollars() const, which returns true. Then
// nodes with different prices are pools of their own (detail/price_groups.hpp).
//
// Jobs that keep what they hold may take more of a row than its capacity. Then no other job gets anything
// of that row, and the plan says so (Plan::conflicts). If rows() throws, there is no plan: the caller gets
// the exception. If uses() throws, the option is left out and the plan names the fault (Plan::faults).
//
// A limit sees only the present round. For a limit over several rounds (GPU-hours per month), rows()
// computes the capacity anew each round.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/resource_uses.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/policy/concepts.hpp"

namespace goodput::inline v0_1 {

/// A row of the allotment problem that is not a GPU pool.
struct LimitRow {
    std::string name{};   ///< the row in words, for explanations: "the quota of team vision"
    std::string unit{};   ///< unit of the capacity: "GPUs", "dollars an hour"
    double capacity = 0;  ///< units available, at least 0
};

/// Collects the rows of limits, one after the other.
class LimitRows {
public:
    /// Forgets all rows.
    void clear() { rows_.clear(); }
    /// Adds a row; a limit counts its own rows from 0. Throws std::invalid_argument if the capacity is
    /// negative or not finite.
    void add(std::string name, double capacity, std::string unit) {
        require_at_least(name, "capacity", capacity, 0);
        rows_.push_back({std::move(name), std::move(unit), capacity});
    }
    /// Returns all rows of all limits.
    [[nodiscard]] const std::vector<LimitRow>& all() const { return rows_; }

private:
    std::vector<LimitRow> rows_;
};

/// Collects what one option uses.
class LimitUses {
public:
    /// Collects an option's uses of the rows [first, end) of the allotment problem in `uses`.
    LimitUses(std::vector<ResourceUse>& uses, std::size_t first, std::size_t end)
        : uses_(uses), first_(first), end_(end) {}
    /// Adds units to a row of the limit; `row` is its index among the rows of this limit. Throws
    /// std::invalid_argument if the units are negative or not finite, or if the limit has no such row.
    void add(std::size_t row, double units) {
        require_at_least("limit", "units", units, 0);
        if (row >= end_ - first_)
            bad_input("limit", "row", row, "below the number of its rows, " + text_of(end_ - first_));
        if (units != 0) detail::add_use(uses_, 0, first_ + row, units);
    }

private:
    std::vector<ResourceUse>& uses_;
    std::size_t first_, end_;
};

/// A limit: adds rows to the problem, and says what options take of them.
template <class L>
concept Limit = requires(L& limit, const Round& round, const Job& job, const Option& option, LimitRows& rows,
                         LimitUses& uses) {
    limit.rows(round, rows);
    limit.uses(round, job, option, uses);
};

namespace detail {

/// A limit that says whether it limits dollars.
template <class L>
concept CountsDollars = requires(const L& limit) {
    { limit.counts_dollars() } -> std::convertible_to<bool>;
};

}  // namespace detail

/// Checks a limit. If it does not fit, compilation fails with one line that says which function is wrong,
/// and how.
template <class L>
consteval bool limit_fits() {
    static_assert(
        requires(L & limit, const Round& round, LimitRows& rows) { limit.rows(round, rows); },
        "Limit: rows is missing, or is not: void rows(const Round&, LimitRows&)");
    if constexpr (requires(L & limit, const Round& round, const LimitRows& rows) { limit.rows(round, rows); })
        static_assert(
            !requires { &L::rows; },
            "Limit: rows takes a copy of its rows, or const ones, and adds nothing: void rows(const Round&, "
            "LimitRows&)");
    static_assert(
        requires(L & limit, const Round& round, const Job& job, const Option& option, LimitUses& uses) {
            limit.uses(round, job, option, uses);
        },
        "Limit: uses is missing, or is not: void uses(const Round&, const Job&, const Option&, LimitUses&)");
    static_assert(
        !requires { &L::start_job; } ||
            requires(L & limit, const Round& round, const Job& job) { limit.start_job(round, job); },
        "Limit: start_job does not take these arguments: void start_job(const Round&, const Job&)");
    static_assert(
        detail::CountsDollars<L> || !requires { &L::counts_dollars; },
        "Limit: counts_dollars is not: bool counts_dollars() const");
    static_assert(
        !requires { &L::warn; } ||
            requires(const L& limit, const Round& round, std::vector<std::string>& warnings) {
                limit.warn(round, warnings);
            },
        "Limit: warn is not: void warn(const Round&, std::vector<std::string>& warnings) const");
    return true;
}

/// Several limits, in the order of their rows.
template <class... Ls>
class Limits {
    static_assert((true && ... && limit_fits<Ls>()));

public:
    static constexpr bool all_fit = (true && ... && Limit<Ls>);  ///< whether all of them are limits
    /// Whether any of them can limit dollars.
    static constexpr bool may_count_dollars = (false || ... || detail::CountsDollars<Ls>);

    /// Makes limits of these types with their defaults.
    Limits() = default;
    /// Makes a list of these limits.
    explicit Limits(Ls... limits) requires(sizeof...(Ls) > 0) : limits_(std::move(limits)...) {}

    /// Returns these limits followed by others.
    template <class... More>
    [[nodiscard]] Limits<Ls..., More...> with(More... more) const {
        return std::apply(
            [&](const auto&... present) { return Limits<Ls..., More...>(present..., std::move(more)...); },
            limits_);
    }

    /// Whether any of them limits dollars.
    [[nodiscard]] bool counts_dollars() const {
        const auto ask = []([[maybe_unused]] const auto& limit) {
            if constexpr (detail::CountsDollars<std::remove_cvref_t<decltype(limit)>>)
                return static_cast<bool>(limit.counts_dollars());
            else
                return false;
        };
        return std::apply([&](const auto&... limit) { return (false || ... || ask(limit)); }, limits_);
    }
    /// Collects all rows. `first` is the number of rows of the problem before them.
    void rows(const Round& round, std::size_t first, LimitRows& rows) {
        rows.clear();
        ends_.assign(1, first);
        const auto ask = [&](auto& limit) {
            limit.rows(round, rows);
            ends_.push_back(first + rows.all().size());
        };
        std::apply([&](auto&... limit) { (ask(limit), ...); }, limits_);
    }
    /// Appends warnings of probable mistakes in the limits, one sentence each, limit by limit.
    void warn(const Round& round, std::vector<std::string>& warnings) const requires(sizeof...(Ls) > 0) {
        const auto ask = [&](const auto& limit) {
            if constexpr (requires { limit.warn(round, warnings); }) limit.warn(round, warnings);
        };
        std::apply([&](const auto&... limit) { (ask(limit), ...); }, limits_);
    }
    /// Tells all limits to which job the next options belong.
    void start_job(const Round& round, const Job& job) {
        const auto tell = [&](auto& limit) {
            if constexpr (requires { limit.start_job(round, job); }) limit.start_job(round, job);
        };
        std::apply([&](auto&... limit) { (tell(limit), ...); }, limits_);
    }
    /// Appends what the option takes of all rows.
    void uses(const Round& round, const Job& job, const Option& option, std::vector<ResourceUse>& uses) {
        std::size_t at = 0;
        const auto ask = [&](auto& limit) {
            LimitUses limit_uses(uses, ends_[at], ends_[at + 1]);
            ++at;
            limit.uses(round, job, option, limit_uses);
        };
        std::apply([&](auto&... limit) { (ask(limit), ...); }, limits_);
    }

private:
    std::tuple<Ls...> limits_;
    std::vector<std::size_t> ends_;  // first row of each limit, and the end of the last one's rows
};

}  // namespace goodput::inline v0_1

#endif
