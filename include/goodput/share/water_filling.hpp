#ifndef GOODPUT_SHARE_WATER_FILLING_HPP
#define GOODPUT_SHARE_WATER_FILLING_HPP

// Largest minimum, and then the largest minimum of all who can still rise, and so on: the lexicographic best,
// which leaves nothing idle that anybody could use (Gavel, section 4.3; MaxMin in objectives.hpp stops at
// the first level). With entities, what an entity has is split among its jobs: by weight, or all to the first
// that can still rise.
//
// Water rises in every job at a speed that is its part of its entity's weight, until the types that somebody
// needs are full. Those are the types with a price: they are closed, since whoever has more of one from now
// on takes it from somebody who is no higher. A job stops where it runs all the time on the fastest type that
// is still open to it, which its entity knows beforehand. So it is a few prices that decide who has stopped,
// not one of each job, most of which are nearly 0 whether they are 0 or not. Every level closes a type, so
// that there are no more levels than types. Gavel's code finds who has stopped by an integer program a level.
//
// Where all who have stopped must keep all of what they have, they alone fill the closed types, and prices
// of those types prove that nothing better exists whatever the others do. So they are asked for a trace less
// (WaterLevels::give): then only prices that say something of the others are best. The level itself is
// computed from these prices with all of what they have, and has no trace of that.

#include <algorithm>
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

namespace goodput {

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

/// One level after the other.
class WaterLevels {
public:
    WaterLevels(const ShareProblem& problem, const ShareHierarchy& hierarchy, const ShareOptions& options)
        : problem_(problem),
          hierarchy_(hierarchy),
          options_(options),
          program_(problem),
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
            const double end = raise();
            if (result_.bound == 0) {
                result_.bound = lowest();
                if (flat() && result_.bound < level_ * (1 - 1e-9)) price_lowest();
            }
            if (level_ >= end) break;
            close();
        }
        return finished();
    }

private:
    static constexpr double accuracy = 5e-11;  // of a program's worth
    static constexpr double give = 1e-7;       // the part of what they have that those who stand may miss
    static constexpr double clear = 1e-6;      // the part of the worth from where a price is clearly above 0

    [[nodiscard]] bool flat() const { return hierarchy_.entities.empty(); }

    /// Finds who can rise still, and deals the water of entities to them; answers whether there is anybody.
    bool pour() {
        waters_.clear();
        for (const ShareEntity& entity : hierarchy_.entities)
            waters_.emplace_back(entity.weight, entity.in_order);
        bool any = false;
        for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
            if (!rising_[j]) continue;
            double fastest = 0;
            for (std::size_t t = 0; t < problem_.types(); ++t)
                if (open_[t] && problem_.can_run(j, t))
                    fastest = std::max(fastest, problem_.jobs[j].rates[t]);
            const double high = fastest / one_[j];
            if (height_[j] >= high * (1 - 1e-9)) {
                rising_[j] = 0;
                continue;
            }
            for (std::size_t t = 0; t < problem_.types(); ++t)
                if (!open_[t]) program_.bar(j, t);
            if (flat()) waters_.emplace_back(problem_.jobs[j].weight, false);
            const std::size_t water = flat() ? waters_.size() - 1 : hierarchy_.entity_of[j];
            place_[j] = {water, waters_[water].members().size()};
            waters_[water].add(j, problem_.jobs[j].weight, height_[j], high);
            any = true;
        }
        for (EntityWater& water : waters_) water.begin();
        return any;
    }

    /// Height of a job when entities have got so much in this level.
    [[nodiscard]] double height_at(std::size_t job, double got) const {
        if (!rising_[job]) return height_[job];
        const EntityWater& water = waters_[place_[job].first];
        return water.height(water.members()[place_[job].second], got);
    }
    /// Whether it has no more there than it could have.
    [[nodiscard]] bool stands(std::size_t job, double height) const {
        return !rising_[job] ||
               height >= waters_[place_[job].first].members()[place_[job].second].high * (1 - 1e-9);
    }

    /// As high as it goes, which is level_; answers where everybody who rises would be at his end.
    double raise() {
        double end = 0;
        for (const EntityWater& water : waters_) end = std::max(end, water.end());
        parts_.assign(problem_.types(), 0);
        level_ = end;
        for (int step = 0;; ++step) {
            const LevelTrial trial(
                program_, problem_.jobs.size(),
                [&](std::size_t j) {
                    const double height = height_at(j, level_);
                    return one_[j] * height * (stands(j, height) ? 1 - give : 1);
                },
                accuracy);
            result_.iterations += trial.iterations();
            ShareResult found = trial.shares(options_.least_part);
            result_.shares = std::move(found.shares);
            result_.rates = std::move(found.rates);
            // Nobody but those who have stopped is in the way.
            if (trial.worth() >= 1 + (1 - 1e-3) * give) break;
            const auto needed = [&](double at) {
                return trial.cost([&](std::size_t j) { return one_[j] * height_at(j, at); });
            };
            const double bound = highest_where(needed, trial.worth() + 1e-14, 0.0, level_);
            for (std::size_t t = 0; t < parts_.size(); ++t) parts_[t] = trial.price(t);
            if (result_.bound == 0) result_.prices = level_prices(trial, needed, bound);
            const bool stays = bound >= level_ * (1 - 3e-8);
            level_ = bound;
            if (stays) break;
            if (step < 40) continue;
            found_ = false;
            break;
        }
        for (std::size_t j = 0; j < height_.size(); ++j)
            height_[j] = std::max(height_[j], height_at(j, level_));
        return end;
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

    /// Types with a price have nothing more for those who rise.
    void close() {
        std::size_t dearest = parts_.size();
        bool any = false;
        for (std::size_t t = 0; t < parts_.size(); ++t) {
            if (!open_[t]) continue;
            if (dearest == parts_.size() || parts_[t] > parts_[dearest]) dearest = t;
            if (parts_[t] < clear) continue;
            open_[t] = 0;
            any = true;
        }
        if (!any && dearest < parts_.size()) open_[dearest] = 0;
    }

    [[nodiscard]] double level_of(std::size_t job) const { return height_[job] / problem_.jobs[job].weight; }
    [[nodiscard]] double lowest() const {
        double lowest = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < height_.size(); ++j)
            if (program_.top_rate(j) > 0) lowest = std::min(lowest, level_of(j));
        return std::isfinite(lowest) ? lowest : 0;
    }

    /// The largest part that a job misses of what it is said to have.
    [[nodiscard]] double missed(const std::vector<double>& rates) const {
        double missed = 0;
        for (std::size_t j = 0; j < height_.size(); ++j)
            if (height_[j] > 0) missed = std::max(missed, 1 - rates[j] / (one_[j] * height_[j]));
        return missed;
    }
    ShareResult finished() {
        const double allowed = std::min(options_.gap, give);
        double missing = missed(result_.rates);
        if (missing > allowed) {
            // All levels are known now: the shares that are nearest to giving everybody his.
            const LevelTrial trial(
                program_, problem_.jobs.size(), [&](std::size_t j) { return one_[j] * height_[j]; },
                accuracy);
            result_.iterations += trial.iterations();
            ShareResult found = trial.shares(options_.least_part);
            if (const double then = missed(found.rates); then < missing) {
                missing = then;
                result_.shares = std::move(found.shares);
                result_.rates = std::move(found.rates);
            }
        }
        for (std::size_t j = 0; j < height_.size(); ++j) result_.levels.push_back(level_of(j));
        result_.objective = lowest() * (1 - std::max(missing, 0.0));
        result_.bound = std::max(result_.bound, result_.objective);
        if (flat()) set_status(result_, options_.gap);
        if (!found_ || missing > options_.gap) result_.status = ShareStatus::feasible;
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
    std::vector<double> parts_;                               // by type: the price of all of its GPUs
    ShareResult result_;
    bool found_ = true;
};

}  // namespace detail

inline ShareResult fill_water(const ShareProblem& problem, const ShareHierarchy& hierarchy,
                              const ShareOptions& options) {
    problem.validate();
    validate(hierarchy, problem);
    require_positive("share options", "gap", options.gap);
    return detail::WaterLevels(problem, hierarchy, options).fill();
}

}  // namespace goodput

#endif
