#ifndef GOODPUT_SHARE_WATER_FILLING_HPP
#define GOODPUT_SHARE_WATER_FILLING_HPP

// The lexicographic best of levels: the largest minimum, then the largest minimum of all jobs that can still
// rise, and so on. It leaves nothing idle that any job could use (Gavel, section 4.3; MaxMin in
// objectives.hpp stops at the first level). With entities, jobs of an entity share what it has: by weight, or
// all of it goes to the first job that can still rise.
//
// Water rises in every job at a speed that is its part of its entity's weight, until some jobs can rise no
// further. Prices say which: an interior-point method ends at prices that are above 0 wherever they are so in
// any optimal answer. Gavel's code finds these jobs by an integer program per level.
//
// Without pairs, prices of types are enough. A type with a price is closed: a job that has more of it from
// now on takes it from another job that is no higher. A job stops where it runs all the time on the fastest
// type that is still open to it, and its entity knows that height beforehand. Every level closes a type, so
// there are no more levels than types. With pairs (pairs/share_pairs.hpp) the time of a job may be what keeps
// another from rising. Then jobs stop whose rates have a price, and there may be as many levels as kinds of
// jobs.
//
// Jobs that have stopped would fill what has a price by themselves if they had to keep all of what they have,
// and their prices would prove that nothing better exists whatever the others do. So programs ask them for a
// trace less (WaterLevels::gives). The level itself is computed from the prices with all of what they have.

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

/// Some jobs that share what is theirs.
struct ShareEntity {
    std::string name{};     ///< for messages
    double weight = 1;      ///< above 0
    bool in_order = false;  ///< the first job that can rise has all of its weight; otherwise all by weight
};

/// Who belongs to which entity.
struct ShareHierarchy {
    std::vector<ShareEntity> entities{};   ///< none: every job is one, with its own weight
    std::vector<std::size_t> entity_of{};  ///< by job: index of its entity
};

/// Refuses entities of weights that are not above 0, and jobs without one where there are entities
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

/// Shares by water filling. A job's level is workers * rate / (weight * proportional rate); the objective is
/// the lowest level of those that can run. Its bound is proven by prices; with entities, where the lowest
/// level may come last, the status says whether every level was found. Refuses what ShareProblem::validate()
/// and validate(ShareHierarchy) do (std::invalid_argument).
[[nodiscard]] ShareResult fill_water(const ShareProblem& problem, const ShareHierarchy& hierarchy = {},
                                     const ShareOptions& options = {});

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Finds one level after the other. `problem` has the rates to compare (ShareProgram::with_rates_to_compare).
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
    static constexpr double accuracy = 5e-11;  // of a program's worth
    static constexpr double clear = 1e-6;  // part of the worth from which a type's price is clearly above 0
    static constexpr double close = 1e-5;  // part of a level by which a program's shares may miss it
    static constexpr double trace = 1e-9;  // part of a top rate that rounding may leave of nothing
    /// Parts of their rates that jobs may miss while others rise. The smallest is best as long as rounding
    /// leaves room for it.
    static constexpr std::array gives{1e-7, 1e-6, 1e-5, 1e-4, 1e-3};

    [[nodiscard]] bool flat() const { return hierarchy_.entities.empty(); }

    /// The height that a job cannot pass, as far as that is known beforehand.
    [[nodiscard]] double highest(std::size_t job) const {
        if (program_.has_pairs()) return program_.top_rate(job) / one_[job];
        double fastest = 0;
        for (std::size_t t = 0; t < problem_.types(); ++t)
            if (open_[t] && problem_.can_run(job, t))
                fastest = std::max(fastest, problem_.jobs[job].rates[t]);
        return fastest / one_[job];
    }
    /// Finds the jobs that can still rise, and deals the water of entities to them; answers whether there are
    /// any.
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
    /// Height of a job when entities have got so much in this level.
    [[nodiscard]] double height_at(std::size_t job, double got) const {
        return rising_[job] ? waters_[place_[job].first].height(member(job), got) : height_[job];
    }
    /// Whether a job of that height at the level of the trial has stopped or is yet to begin.
    [[nodiscard]] bool stands(std::size_t job, double height) const {
        return !rising_[job] || height <= height_[job] || height >= member(job).high * (1 - 1e-9);
    }
    /// What a program asks of a job. At a level of 1, that is its height at level_. With pairs, the way there
    /// begins where the job is: up to the first job's end, such a program tells the level at once.
    [[nodiscard]] ProgramRow asked(std::size_t job, double give) const {
        const double rate = one_[job] / program_.top_rate(job), height = height_at(job, level_);
        const double high = height * (stands(job, height) ? 1 - give : 1);
        const double low = program_.has_pairs() ? std::min(height_[job] * (1 - give), high) : 0;
        return {rate * (high - low), rate * low};
    }

    /// Raises the water as high as it goes, which is level_ then: by Newton's method, as in level_search.hpp.
    void raise() {
        double end = 0, first_end = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < height_.size(); ++j)
            if (rising_[j]) {
                end = std::max(end, member(j).full);
                first_end = std::min(first_end, member(j).full);
            }
        double bound = end;
        if (!program_.has_pairs()) {
            // A job needs its part of the time where it is fastest, at least.
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
            // Where only jobs that stand are in the way, prices say nothing of the others.
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
    /// Keeps what a program says: shares, prices, and which jobs cannot have more. An interior-point method
    /// ends at prices that are above 0 wherever they are so in any optimal answer.
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
    /// Without pairs, types with a price have nothing more for the jobs that rise. With pairs, jobs stop
    /// whose rates have a price.
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

    /// Where the lowest level is that of a job at its end, more GPUs for the others do not raise it.
    void price_lowest() {
        const MaxMin levels;
        HighestLevel best = highest_level(
            problem_, program_, [&](std::size_t j, double at) { return levels.rate_for(problem_, j, at); },
            [&](std::size_t j, double rate) { return levels.level_at(problem_, j, rate); }, result_.bound,
            options_);
        result_.iterations += best.result.iterations;
        result_.prices = std::move(best.prices);
    }

    /// The lowest level of jobs at these heights.
    [[nodiscard]] double lowest(const std::vector<double>& heights) const {
        double lowest = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < height_.size(); ++j)
            if (program_.top_rate(j) > 0) lowest = std::min(lowest, heights[j] / problem_.jobs[j].weight);
        return std::isfinite(lowest) ? lowest : 0;
    }

    /// Steps/s of a job where it stands; a trace of its top rate is what rounding has left of nothing.
    [[nodiscard]] double rate_at_height(std::size_t job) const {
        const double rate = one_[job] * height_[job];
        return rate > trace * program_.top_rate(job) ? rate : 0;
    }
    /// The largest part that a job misses of what it is said to have.
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
            // All levels are known now: the shares that are nearest to giving every job its rate.
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
    std::vector<double> one_;   // by job: rate of a height of 1
    std::vector<double> height_;
    std::vector<EntityWater> waters_;
    std::vector<std::pair<std::size_t, std::size_t>> place_;  // by job that rises: its water, its place there
    double level_ = 0;                                        // what entities have got in this level
    std::vector<double> type_parts_, job_parts_;  // prices of all of a type, and of a job's rise, as parts
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
