#ifndef GOODPUT_SCHEDULE_LIMITS_HPP
#define GOODPUT_SCHEDULE_LIMITS_HPP

// What limits a plan besides the GPUs of each pool: a quota, a budget, licences. A limit is a struct with two
// functions:
//
//   void rows(const Round& round, LimitRows& rows)              which rows it adds this round, and how large
//   void uses(const Round& round, const Job& job,               what an option of a job takes of them
//             const Option& option, LimitUses& uses)
//
// and, if it has to look something up for every job, void start_job(const Round& round, const Job& job),
// which is called before the options of the job are asked about. A limit may keep buffers, but its answers
// must not depend on them. One that nothing can count against, because somebody probably mistyped a name or
// forgot a number, says so by void warn(const Round& round, std::vector<std::string>& warnings) const, which
// adds sentences to Plan::warnings. One that limits dollars says so by bool counts_dollars() const: then
// nodes that cost unlike are pools of their own (detail/price_groups.hpp).
//
// Jobs that keep what they hold may take more of a row than there is. Nobody else gets anything of it then,
// and the plan says so (Plan::conflicts). If rows() throws, there is no plan: the exception passes through.
// If uses() throws, the option is left out and the plan names the fault (Plan::faults).
//
// A limit sees only the present round. What would hold over several rounds (GPU-hours a month) is a row whose
// capacity the limit works out anew in rows().

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/policy/concepts.hpp"

namespace goodput {

/// One row of the allotment problem that is no GPU pool.
struct LimitRow {
    std::string name{};   ///< in words, for explanations: "the quota of team vision"
    std::string unit{};   ///< of the capacity: "GPUs", "dollars an hour"
    double capacity = 0;  ///< at least 0
};

/// Takes the rows of a limit, one after the other.
class LimitRows {
public:
    /// Forgets all rows.
    void clear() { rows_.clear(); }
    /// Adds a row; a limit counts its own rows from 0. A capacity that is negative or not finite:
    /// std::invalid_argument.
    void add(std::string name, double capacity, std::string unit) {
        require_at_least(name, "capacity", capacity, 0);
        rows_.push_back({std::move(name), std::move(unit), capacity});
    }
    /// All rows of all limits.
    [[nodiscard]] const std::vector<LimitRow>& all() const { return rows_; }

private:
    std::vector<LimitRow> rows_;
};

/// Takes what one option uses.
class LimitUses {
public:
    /// Starts an option's uses of the rows [first, end) of the allotment problem, in `uses`.
    LimitUses(std::vector<ResourceUse>& uses, std::size_t first, std::size_t end)
        : uses_(uses), first_(first), end_(end) {}
    /// Adds units of the row of that index within the limit. Units that are negative or not finite, and rows
    /// that the limit does not have: std::invalid_argument.
    void add(std::size_t row, double units) {
        require_at_least("limit", "units", units, 0);
        if (row >= end_ - first_)
            bad_input("limit", "row", row, "below the number of its rows, " + text_of(end_ - first_));
        if (units == 0) return;
        const auto resource = static_cast<std::uint32_t>(first_ + row);
        for (ResourceUse& use : uses_)
            if (use.resource == resource) {
                use.units += units;
                return;
            }
        uses_.push_back({resource, units});
    }

private:
    std::vector<ResourceUse>& uses_;
    std::size_t first_, end_;
};

/// Adds rows to the problem and says what options take of them.
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

/// Does not compile for what is not quite a limit, and says in one line which function is wrong in which way.
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

/// Several limits, in the order in which their rows come.
template <class... Ls>
class Limits {
    static_assert((true && ... && limit_fits<Ls>()));

public:
    static constexpr bool all_fit = (true && ... && Limit<Ls>);  ///< they are limits
    /// Whether any of them can limit dollars.
    static constexpr bool may_count_dollars = (false || ... || detail::CountsDollars<Ls>);

    /// The limits of these types, each as it is by default.
    Limits() = default;
    /// These limits.
    explicit Limits(Ls... limits) requires(sizeof...(Ls) > 0) : limits_(std::move(limits)...) {}

    /// These limits, and others behind them.
    template <class... More>
    [[nodiscard]] Limits<Ls..., More...> with(More... more) const {
        return std::apply(
            [&](const auto&... mine) { return Limits<Ls..., More...>(mine..., std::move(more)...); },
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
    /// Collects all rows, which follow `first` others in the problem.
    void rows(const Round& round, std::size_t first, LimitRows& rows) {
        rows.clear();
        ends_.assign(1, first);
        const auto ask = [&](auto& limit) {
            limit.rows(round, rows);
            ends_.push_back(first + rows.all().size());
        };
        std::apply([&](auto&... limit) { (ask(limit), ...); }, limits_);
    }
    /// What of the limits probably is a slip, one sentence each, limit by limit.
    void warn(const Round& round, std::vector<std::string>& warnings) const requires(sizeof...(Ls) > 0) {
        const auto ask = [&](const auto& limit) {
            if constexpr (requires { limit.warn(round, warnings); }) limit.warn(round, warnings);
        };
        std::apply([&](const auto&... limit) { (ask(limit), ...); }, limits_);
    }
    /// Tells all limits which job the next options are of.
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
            LimitUses of_limit(uses, ends_[at], ends_[at + 1]);
            ++at;
            limit.uses(round, job, option, of_limit);
        };
        std::apply([&](auto&... limit) { (ask(limit), ...); }, limits_);
    }

private:
    std::tuple<Ls...> limits_;
    std::vector<std::size_t> ends_;  // by limit: where its rows begin, and where the last one's end
};

}  // namespace goodput

#endif
