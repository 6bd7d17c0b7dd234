#ifndef GOODPUT_DEADLINES_DETAIL_PLAN_LAYOUT_HPP
#define GOODPUT_DEADLINES_DETAIL_PLAN_LAYOUT_HPP

// Turns the mixture of configurations in each interval (deadline_program.hpp) into pieces of time: which
// job has which GPUs from when to when.
//
// Within an interval, configurations may follow each other in any order. The next configuration is always
// the one in which the largest number of jobs keep their GPUs. With slots, each configuration gets the
// whole slots in its part. The remaining slots are filled one by one, the earliest first. Each is an
// allotment problem. In it, a job's value is how much of its missing work the slot can do, divided by the
// work that all remaining slots before its deadline could do (or by the missing work, if that is more).
// While a job lacks work, single slots are filled anew if that reduces the total lack.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"
#include "goodput/deadlines/detail/deadline_program.hpp"
#include "goodput/deadlines/detail/time_grid.hpp"

namespace goodput::inline v0_1::detail {

/// A configuration and how long it lasts.
struct LaidOut {
    std::vector<JobChoice> jobs{};
    double seconds = 0;
};

/// Lays out plans. Keeps its buffers between calls.
class DeadlineLayout {
public:
    DeadlineLayout(const TimeGrid& grid, std::span<const DeadlineJob> jobs, double slot_seconds)
        : grid_(grid), jobs_(jobs), slot_(slot_seconds) {}

    /// Returns the pieces of all jobs for the intervals' parts. `work` is the work that each job should do.
    DeadlinePlan operator()(const std::vector<Configured>& configurations, std::span<const double> parts,
                            std::span<const double> work);

private:
    void take_whole_slots(std::span<const double> work);
    [[nodiscard]] std::size_t slots_of(const GridInterval& interval) const {
        return static_cast<std::size_t>(std::llround(interval.seconds() / slot_));
    }
    std::vector<JobChoice> fill_slot(const GridInterval& interval);
    bool fill_anew();
    /// Adds slots of a configuration to the work done, or removes them if `slots` is negative.
    void count(const std::vector<JobChoice>& choices, double slots) {
        for (const JobChoice& choice : choices) lacks_[choice.job] -= choice.speed * slots * slot_;
    }
    /// Returns the total lack, each job's lack divided by its measure.
    [[nodiscard]] double lacking() const {
        double sum = 0;
        for (const std::size_t job : grid_.order) sum += std::max(0.0, lacks_[job]) / measure_[job];
        return sum;
    }
    void follow(const GridInterval& interval, std::vector<LaidOut>& items);
    [[nodiscard]] std::size_t in_common(const std::vector<JobChoice>& choices) const;

    const TimeGrid& grid_;
    std::span<const DeadlineJob> jobs_;
    double slot_;
    std::vector<std::vector<LaidOut>> items_;  // by interval
    std::vector<double> lacks_;                // by job: work that no slot does yet
    std::vector<double> could_;                // by job: work that the remaining slots could do
    std::vector<double> measure_;              // by job: the work that counts as 1 when lacks of jobs are
                                               // compared
    AllotmentProblem problem_;
    Allotter<> allotter_;
    std::vector<std::optional<HeldGpus>> held_;  // by job, at present
    std::vector<DeadlinePlan> pieces_;           // by job
};

inline void DeadlineLayout::take_whole_slots(std::span<const double> work) {
    lacks_.assign(work.begin(), work.end());
    could_.assign(work.size(), 0);
    std::vector<std::size_t> left(items_.size());
    const auto fastest = [&](std::size_t job) {
        double speed = 0;
        for (const DeadlineOption& option : grid_.options[job]) speed = std::max(speed, option.speed);
        return speed;
    };
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const GridInterval& interval = grid_.intervals[i];
        left[i] = slots_of(interval);
        for (LaidOut& item : items_[i]) {
            const double slots =
                std::min(std::floor(item.seconds / slot_ + 1e-6), static_cast<double>(left[i]));
            item.seconds = slots * slot_;
            left[i] -= static_cast<std::size_t>(slots);
            count(item.jobs, slots);
        }
        for (std::size_t k = 0; k < TimeGrid::users(interval); ++k) {
            const auto [job, part] = grid_.user(interval, k);
            could_[job] += static_cast<double>(left[i]) * part * slot_ * fastest(job);
        }
    }
    measure_.assign(work.size(), 1);
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const GridInterval& interval = grid_.intervals[i];
        for (; left[i] > 0; --left[i]) {
            for (const std::size_t job : grid_.order) measure_[job] = std::max(could_[job], lacks_[job]);
            LaidOut filled{fill_slot(interval), slot_};
            if (filled.jobs.empty()) break;
            items_[i].push_back(std::move(filled));
            count(items_[i].back().jobs, 1);
            for (std::size_t k = 0; k < TimeGrid::users(interval); ++k) {
                const auto [job, part] = grid_.user(interval, k);
                could_[job] -= part * slot_ * fastest(job);
            }
        }
    }
    for (const std::size_t job : grid_.order) measure_[job] = std::max(slot_ * fastest(job), 1e-300);
    for (int pass = 0; pass < 8 && lacking() > deadline_tolerance && fill_anew(); ++pass) {
    }
}

/// Fills single slots anew if that reduces the total lack. Returns whether it did for any slot.
inline bool DeadlineLayout::fill_anew() {
    bool better = false;
    for (std::size_t i = 0; i < items_.size(); ++i)
        for (std::size_t k = 0, before = items_[i].size(); k < before; ++k) {
            if (!(items_[i][k].seconds > 0)) continue;
            const double lacked = lacking();
            if (lacked <= deadline_tolerance) return better;
            count(items_[i][k].jobs, -1);
            std::vector<JobChoice> choices = fill_slot(grid_.intervals[i]);
            count(choices, 1);
            if (lacking() < lacked - deadline_tolerance) {
                items_[i][k].seconds -= slot_;
                items_[i].push_back({std::move(choices), slot_});
                better = true;
            } else {
                count(choices, -1);
                count(items_[i][k].jobs, 1);
            }
        }
    return better;
}

inline std::vector<JobChoice> DeadlineLayout::fill_slot(const GridInterval& interval) {
    problem_.clear();
    problem_.capacity = interval.capacity;
    std::vector<PartialJob> who;
    for (std::size_t k = 0; k < TimeGrid::users(interval); ++k) {
        const PartialJob asking = grid_.user(interval, k);
        const double lacks = lacks_[asking.job];
        if (!(lacks > 0)) continue;
        who.push_back(asking);
        grid_.add_to(problem_, asking.job, [&](const DeadlineOption& option) {
            return std::min(option.speed * asking.part * slot_, lacks) / measure_[asking.job];
        });
    }
    std::vector<JobChoice> choices;
    if (who.empty()) return choices;
    const AllotResult& result = allotter_(problem_, {.gap = 1e-3, .most_states = std::size_t{1} << 12});
    for (std::size_t k = 0; k < who.size(); ++k)
        if (result.choice[k] != no_option)
            choices.push_back({who[k].job, result.choice[k],
                               who[k].part * grid_.options[who[k].job][result.choice[k]].speed});
    return choices;
}

inline std::size_t DeadlineLayout::in_common(const std::vector<JobChoice>& choices) const {
    return static_cast<std::size_t>(
        std::count_if(choices.begin(), choices.end(), [&](const JobChoice& choice) {
            return held_[choice.job] == grid_.options[choice.job][choice.option].held;
        }));
}

/// Appends the items of an interval to the pieces, in an order with few changes of GPUs.
inline void DeadlineLayout::follow(const GridInterval& interval, std::vector<LaidOut>& items) {
    const double rounding = 1e-12 * interval.until;
    std::erase_if(items, [&](const LaidOut& item) { return !(item.seconds > rounding); });
    double now = interval.from;
    while (!items.empty() && now < interval.until) {
        std::size_t next = 0, most = 0;
        for (std::size_t k = 0; k < items.size(); ++k)
            if (const std::size_t common = in_common(items[k].jobs); common > most) {
                most = common;
                next = k;
            }
        double until = now + items[next].seconds;
        if (until > interval.until - rounding) until = interval.until;
        std::fill(held_.begin(), held_.end(), std::nullopt);
        for (const JobChoice& choice : items[next].jobs) {
            const HeldGpus& held = grid_.options[choice.job][choice.option].held;
            held_[choice.job] = held;
            DeadlinePlan& pieces = pieces_[choice.job];
            if (!pieces.empty() && pieces.back().held == held && pieces.back().until_seconds >= now)
                pieces.back().until_seconds = until;
            else
                pieces.push_back({choice.job, held, now, until});
        }
        now = until;
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(next));
    }
    if (now < interval.until) std::fill(held_.begin(), held_.end(), std::nullopt);
}

inline DeadlinePlan DeadlineLayout::operator()(const std::vector<Configured>& configurations,
                                               std::span<const double> parts, std::span<const double> work) {
    items_.assign(grid_.intervals.size(), {});
    for (std::size_t c = 0; c < configurations.size(); ++c) {
        const Configured& configured = configurations[c];
        const double seconds = parts[c] * grid_.intervals[configured.interval].seconds();
        if (seconds > 0) items_[configured.interval].push_back({configured.jobs, seconds});
    }
    if (slot_ > 0) take_whole_slots(work);
    pieces_.assign(jobs_.size(), {});
    held_.assign(jobs_.size(), std::nullopt);
    for (const std::size_t job : grid_.order) held_[job] = jobs_[job].holds;
    for (std::size_t i = 0; i < items_.size(); ++i) follow(grid_.intervals[i], items_[i]);

    DeadlinePlan plan;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
        DeadlinePlan& pieces = pieces_[job];
        end_with_work(jobs_[job], pieces, slot_);
        plan.insert(plan.end(), pieces.begin(), pieces.end());
    }
    return plan;
}

}  // namespace goodput::inline v0_1::detail

#endif
