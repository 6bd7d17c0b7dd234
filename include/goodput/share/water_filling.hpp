#ifndef GOODPUT_SHARE_WATER_FILLING_HPP
#define GOODPUT_SHARE_WATER_FILLING_HPP

// Finds the lexicographically best levels: the largest minimum level of all jobs, then the largest minimum
// of the jobs that can still rise, and so on. No GPU idles that any job could use (Gavel, section 4.3;
// MaxMin in objectives.hpp stops at the first level). With entities, such as teams, the jobs of an entity
// share what it gets: by weight, or all of it goes to the first job that can still rise.
//
// The picture is water that rises in every job, at a speed that is the job's part of its entity's weight,
// until some jobs can rise no further. The height of a job is workers * rate / proportional rate. Prices
// say which jobs have stopped: an interior-point method ends at prices that are above 0 if any optimal
// answer has them above 0. Gavel's code finds these jobs by an integer program per level.
//
// Without pairs, the prices of the types suffice. A type with a price is closed: a job that gets more of it
// from now on takes it from a job that is no higher. A job stops once it runs all the time on the fastest
// type that is still open to it, and that height is known beforehand. Every level closes a type, so there
// are at most as many levels as types. With pairs (pairs/share_pairs.hpp), the time of one job may keep
// another from rising. Then the jobs whose rates have a price stop, and there may be as many levels as
// kinds of jobs.
//
// The programs ask for slightly less than the full rate of jobs that have stopped (WaterLevels::gives). If
// these jobs had to keep all that they have, they alone would use up everything that has a price, and the
// prices would prove the present shares best whatever the other jobs do. The level itself is computed from
// the prices with the full rates.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/share/detail/entity_water.hpp"
#include "goodput/share/detail/level_search.hpp"
#include "goodput/share/detail/share_program.hpp"
#include "goodput/share/objectives.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1 {

/// A group of jobs that share what they get together, such as a team.
struct ShareEntity {
    std::string name{};  ///< for messages
    double weight = 1;   ///< above 0
    /// True: all goes to the first job that can still rise. False: it is divided by the jobs' weights.
    bool in_order = false;
};

/// Which job belongs to which entity.
struct ShareHierarchy {
    std::vector<ShareEntity> entities{};   ///< if empty, every job is an entity with its own weight
    std::vector<std::size_t> entity_of{};  ///< by job: index of its entity
};

/// Refuses weights that are not above 0 and, if there are entities, jobs without one
/// (std::invalid_argument).
inline void validate(const ShareHierarchy& hierarchy, const ShareProblem& problem) {
    const std::size_t jobs = problem.jobs.size();
    for (const ShareEntity& entity : hierarchy.entities)
        require_positive([&] { return "entity '" + entity.name + "'"; }, "weight", entity.weight);
    if (hierarchy.entities.empty()) return;
    if (hierarchy.entity_of.size() != jobs)
        bad_input("hierarchy", "number of jobs with an entity", hierarchy.entity_of.size(), text_of(jobs));
    for (std::size_t j = 0; j < jobs; ++j)
        if (hierarchy.entity_of[j] >= hierarchy.entities.size())
            bad_input("job '" + problem.jobs[j].name + "'", "entity", hierarchy.entity_of[j],
                      "an index into the entities");
}

/// Returns shares by water filling. A job's level is workers * rate / (weight * proportional rate). The
/// objective is the lowest level of the jobs that can run, and prices prove its bound. With entities the
/// lowest level may be the last one found, so the status says whether every level was found. Throws
/// std::invalid_argument if ShareProblem::validate() or validate(ShareHierarchy) does.
[[nodiscard]] ShareResult fill_water(const ShareProblem& problem, const ShareHierarchy& hierarchy = {},
                                     const ShareOptions& options = {});

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Finds one level after another. `problem` has the rates that objectives compare
/// (ShareProgram::with_rates_to_compare).
class WaterLevels {
public:
    WaterLevels(const ShareProblem& problem, ShareProgram program, const ShareHierarchy& hierarchy,
                const ShareOptions& options)
        : problem_(problem),
          hierarchy_(hierarchy),
          options_(options),
          program_(std::move(program)),
          open_(problem.types(), 1),
          rising_(problem.jobs.size(), 0),
          one_(problem.jobs.size()),
          height_(problem.jobs.size(), 0),
          place_(problem.jobs.size()),
          result_(no_shares(problem)) {
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            rising_[j] = program_.top_rate(j) > 0;
            one_[j] = proportional_rate(problem, j) / problem.jobs[j].workers;
        }
    }

    ShareResult fill() && {
        while (pour()) {
            raise();
            if (result_.bound > 0) continue;
            result_.bound = lowest(height_);
            if (flat() && result_.bound < level_ * (1 - 1e-9)) price_lowest();
        }
        return finished();
    }

private:
    static constexpr double accuracy = 5e-11;  // relative to a program's worth
    // From this fraction of the worth on, a type's price counts as above 0.
    static constexpr double clear = 1e-6;
    static constexpr double close = 1e-5;  // fraction of a level by which a program's shares may miss it
    static constexpr double trace = 1e-9;  // fraction of a top rate that may be left by rounding
    /// Fractions of their rates that stopped jobs may miss while others rise. The smallest is best if
    /// rounding leaves room for it.
    static constexpr std::array gives{1e-7, 1e-6, 1e-5, 1e-4, 1e-3};

    [[nodiscard]] bool flat() const { return hierarchy_.entities.empty(); }

    /// Returns the height that a job cannot exceed, as far as it is known beforehand.
    [[nodiscard]] double highest(std::size_t job) const {
        if (program_.has_pairs()) return program_.top_rate(job) / one_[job];
        double fastest = 0;
        for (std::size_t t = 0; t < problem_.types(); ++t)
            if (open_[t] && problem_.can_run(job, t))
                fastest = std::max(fastest, problem_.jobs[job].rates[t]);
        return fastest / one_[job];
    }
    /// Finds the jobs that can still rise, and divides the water of entities among them. Returns whether
    /// there are any.
    bool pour() {
        waters_.clear();
        for (const ShareEntity& entity : hierarchy_.entities)
            waters_.emplace_back(entity.weight, entity.in_order);
        bool any = false;
        for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
            if (!rising_[j]) continue;
            const double high = highest(j);
            rising_[j] = height_[j] < high * (1 - 1e-9);
            if (!rising_[j]) continue;
            for (std::size_t t = 0; t < problem_.types(); ++t)
                if (!open_[t]) program_.bar(j, t);
            if (flat()) waters_.emplace_back(problem_.jobs[j].weight, false);
            const std::size_t water = flat() ? waters_.size() - 1 : hierarchy_.entity_of[j];
            place_[j] = {water, waters_[water].members().size()};
            waters_[water].add(problem_.jobs[j].weight, height_[j], high);
            any = true;
        }
        for (EntityWater& water : waters_) water.begin();
        return any;
    }

    [[nodiscard]] const EntityWater::Member& member(std::size_t job) const {
        return waters_[place_[job].first].members()[place_[job].second];
    }
    /// Returns the height of a job when entities have got `got` in this level.
    [[nodiscard]] double height_at(std::size_t job, double got) const {
        return rising_[job] ? waters_[place_[job].first].height(member(job), got) : height_[job];
    }
    /// Returns whether a job at this height in a trial has stopped or has not begun to rise.
    [[nodiscard]] bool stands(std::size_t job, double height) const {
        return !rising_[job] || height <= height_[job] || height >= member(job).high * (1 - 1e-9);
    }
    /// Returns the row of a job's rate in the program. At the program's level 1, the job has its height at
    /// level_. With pairs, the program's level 0 is where the job is now. Until the first job is full, such
    /// a program finds the level at once.
    [[nodiscard]] ProgramRow asked(std::size_t job, double give) const {
        const double rate = one_[job] / program_.top_rate(job), height = height_at(job, level_);
        const double high = height * (stands(job, height) ? 1 - give : 1);
        const double low = program_.has_pairs() ? std::min(height_[job] * (1 - give), high) : 0;
        return {rate * (high - low), rate * low};
    }

    /// Raises the water as high as possible, by Newton's method as in level_search.hpp. level_ is the
    /// result.
    void raise() {
        double end = 0, first_end = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < height_.size(); ++j)
            if (rising_[j]) {
                end = std::max(end, member(j).full);
                first_end = std::min(first_end, member(j).full);
            }
        double bound = end;
        if (!program_.has_pairs()) {
            // A job uses at least the time that its rate takes on its fastest type.
            const auto least_use = [&](double at) {
                double sum = 0;
                for (std::size_t j = 0; j < height_.size(); ++j)
                    if (program_.top_rate(j) > 0)
                        sum += problem_.jobs[j].workers * one_[j] * height_at(j, at) / program_.top_rate(j);
                return sum;
            };
            bound = highest_where(least_use, problem_.all_gpus() * (1 + 1e-9), 0.0, end);
        }
        level_ = program_.has_pairs() ? first_end : bound;
        for (std::size_t step = 0, give = 0; step < 40; ++step) {
            const auto row = [&](std::size_t j) { return asked(j, gives[give]); };
            const LevelTrial trial(program_, height_.size(), row, accuracy);
            result_.iterations += trial.iterations();
            const auto needed = [&](double at) {
                return trial.cost([&](std::size_t j) { return one_[j] * height_at(j, at); });
            };
            const double worth = (1 + 1e-14) * (trial.worth() + trial.cost([&](std::size_t j) {
                                     return row(j).floor * program_.top_rate(j);
                                 }));
            const double found = highest_where(needed, worth, 0.0, end);
            const double rise = trial.worth() / trial.price_of_level();
            const bool exact = program_.has_pairs() && level_ == first_end && found <= first_end;
            const bool stays = exact || found >= level_ * (1 - 3e-8);
            // If only jobs that do not rise are in the way, prices say nothing about the others.
            if (step > 0 && stays && rise >= 1 + (1 - 1e-3) * gives[give]) break;
            if (step == 0 || give == 0 || found < bound) {
                bound = std::min(bound, found);
                note(trial, needed, bound);
            }
            const bool far = program_.has_pairs() && level_ * std::abs(rise - trial.level()) > close * bound;
            if (far && give + 1 < gives.size()) {
                ++give;
                continue;
            }
            if (exact || (stays && bound <= level_)) break;
            level_ = program_.has_pairs() ? std::max(bound, first_end) : bound;
        }
        level_ = bound;
        for (std::size_t j = 0; j < height_.size(); ++j)
            height_[j] = std::max(height_[j], height_at(j, level_));
        if (level_ < end) stop();
    }

    void keep(ShareResult&& found) {
        result_.shares = std::move(found.shares);
        result_.pair_shares = std::move(found.pair_shares);
        result_.rates = std::move(found.rates);
    }
    /// Keeps what a program found: shares, prices, and which jobs cannot have more. An interior-point
    /// method ends at prices that are above 0 if any optimal answer has them above 0.
    template <class Needed>
    void note(const LevelTrial& trial, Needed needed, double level) {
        keep(trial.shares(options_.least_part));
        if (result_.bound == 0) result_.prices = level_prices(trial, needed, level);
        const double worth = needed(level), rise = worth - needed(0);
        type_parts_.assign(problem_.types(), 0);
        for (std::size_t t = 0; t < problem_.types(); ++t) type_parts_[t] = trial.price(t) / worth;
        job_parts_.assign(height_.size(), 0);
        stops_.assign(height_.size(), 0);
        for (std::size_t j = 0; j < height_.size() && program_.has_pairs(); ++j) {
            const double height = height_at(j, level);
            if (height <= height_[j]) continue;
            job_parts_[j] = trial.rate_price(j) * one_[j] * (height - height_[j]) / rise;
            stops_[j] = stands(j, height) || trial.keeps_back(j, job_parts_[j], one_[j] * height);
        }
    }
    /// Stops what has a price. Without pairs, these are types, which have nothing more to give to jobs that
    /// rise. With pairs, these are the jobs whose rates have a price.
    void stop() {
        std::vector<double>& parts = program_.has_pairs() ? job_parts_ : type_parts_;
        std::vector<char>& going = program_.has_pairs() ? rising_ : open_;
        std::size_t dearest = parts.size();
        bool any = false;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!going[i]) continue;
            if (dearest == parts.size() || parts[i] > parts[dearest]) dearest = i;
            if (program_.has_pairs() ? !stops_[i] : parts[i] < clear) continue;
            going[i] = 0;
            any = true;
        }
        if (!any && dearest < parts.size()) going[dearest] = 0;
    }

    /// Computes the prices anew: if the lowest level is that of a job that has stopped, more GPUs for the
    /// other jobs do not raise it.
    void price_lowest() {
        const MaxMin levels;
        HighestLevel best = highest_level(
            problem_, program_, [&](std::size_t j, double at) { return levels.rate_for(problem_, j, at); },
            [&](std::size_t j, double rate) { return levels.level_at(problem_, j, rate); }, result_.bound,
            options_);
        result_.iterations += best.result.iterations;
        result_.prices = std::move(best.prices);
    }

    /// Returns the lowest level of jobs at these heights.
    [[nodiscard]] double lowest(const std::vector<double>& heights) const {
        double lowest = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < height_.size(); ++j)
            if (program_.top_rate(j) > 0) lowest = std::min(lowest, heights[j] / problem_.jobs[j].weight);
        return std::isfinite(lowest) ? lowest : 0;
    }

    /// Returns a job's rate at its height, in steps/s. A tiny part of its top rate is due to rounding, and
    /// counts as 0.
    [[nodiscard]] double rate_at_height(std::size_t job) const {
        const double rate = one_[job] * height_[job];
        return rate > trace * program_.top_rate(job) ? rate : 0;
    }
    /// Returns the largest fraction that a job misses of the rate at its height.
    [[nodiscard]] double missed(const std::vector<double>& rates) const {
        double missed = 0;
        for (std::size_t j = 0; j < height_.size(); ++j)
            if (const double rate = rate_at_height(j); rate > 0)
                missed = std::max(missed, 1 - rates[j] / rate);
        return missed;
    }
    ShareResult finished() {
        double missing = missed(result_.rates);
        if (missing > std::min(options_.gap, gives[0])) {
            // All levels are known now: find the shares that come closest to giving every job its rate.
            const LevelTrial trial(
                program_, height_.size(),
                [&](std::size_t j) -> ProgramRow {
                    return {rate_at_height(j) / program_.top_rate(j), 0};
                },
                accuracy);
            result_.iterations += trial.iterations();
            ShareResult found = trial.shares(options_.least_part);
            if (const double then = missed(found.rates); then < missing) {
                missing = then;
                keep(std::move(found));
            }
        }
        for (std::size_t j = 0; j < height_.size(); ++j)
            result_.levels.push_back(height_[j] / problem_.jobs[j].weight);
        result_.objective = lowest(height_) * (1 - std::max(missing, 0.0));
        result_.bound = lowest(height_);
        result_.status = missing <= options_.gap ? ShareStatus::optimal : ShareStatus::feasible;
        return std::move(result_);
    }

    const ShareProblem& problem_;
    const ShareHierarchy& hierarchy_;
    const ShareOptions& options_;
    ShareProgram program_;
    std::vector<char> open_;    // by type
    std::vector<char> rising_;  // by job
    std::vector<double> one_;   // by job: rate at a height of 1
    std::vector<double> height_;
    std::vector<EntityWater> waters_;
    // By rising job: index of its water, and its index there.
    std::vector<std::pair<std::size_t, std::size_t>> place_;
    double level_ = 0;                            // what entities have got in this level
    std::vector<double> type_parts_, job_parts_;  // prices of a whole type and of a job's rise, as fractions
    std::vector<char> stops_;                     // by job: it cannot have more
    ShareResult result_;
};

}  // namespace detail

inline ShareResult fill_water(const ShareProblem& problem, const ShareHierarchy& hierarchy,
                              const ShareOptions& options) {
    problem.validate();
    validate(hierarchy, problem);
    require_positive("share options", "gap", options.gap);
    return detail::WaterLevels(problem, detail::ShareProgram(problem), hierarchy, options).fill();
}

}  // namespace goodput::inline v0_1

#endif
