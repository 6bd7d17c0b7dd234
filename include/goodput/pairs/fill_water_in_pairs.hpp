#ifndef GOODPUT_PAIRS_FILL_WATER_IN_PAIRS_HPP
#define GOODPUT_PAIRS_FILL_WATER_IN_PAIRS_HPP

// Water filling (water_filling.hpp) of jobs that may also run in pairs. With pairs the time of a job may be
// what keeps another from rising, so that the types' prices do not say who has stopped. The price of his rate
// does: an interior-point method ends at prices that are above 0 for everybody who cannot have more in any
// best answer, and for nobody else. So there may be as many levels as sorts of jobs. Published as an integer
// program a level (Gavel, OSDI'20, section 4.3).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"

namespace goodput {

/// Shares by water filling, of jobs alone and in pairs: levels, objective and status are those of
/// fill_water() without pairs; proportional rates are those of jobs alone, and a job that runs only with
/// others counts as one that could have the largest of its rates everywhere. Refuses what
/// PairedShareProblem::validate() does, and hierarchies that fill_water() refuses (std::invalid_argument).
[[nodiscard]] ShareResult fill_water(const PairedShareProblem& problem, const ShareHierarchy& hierarchy = {},
                                     const ShareOptions& options = {});

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// One level after the other.
class PairedWaterLevels {
public:
    PairedWaterLevels(const PairedShareProblem& problem, const ShareHierarchy& hierarchy,
                      const ShareOptions& options)
        : problem_(problem.alone),
          hierarchy_(hierarchy),
          options_(options),
          program_(problem.alone, problem.pairs),
          rises_(problem.alone.jobs.size()),
          one_(problem.alone.jobs.size()),
          height_(problem.alone.jobs.size(), 0),
          result_(no_shares(problem.alone)) {
        const ShareProblem compared = program_.with_rates_to_compare();
        for (std::size_t j = 0; j < one_.size(); ++j) {
            rises_[j] = program_.top_rate(j) > 0;
            one_[j] = proportional_rate(compared, j) / problem_.jobs[j].workers;
        }
    }

    ShareResult fill() && {
        while (deal()) raise();
        return finished();
    }

private:
    static constexpr double accuracy = 5e-11;  // of a program's worth
    static constexpr double trace = 1e-9;
    static constexpr double close = 1e-5;
    /// Parts of what they have that those who stand may miss. The smallest is best as long as rounding leaves
    /// room for it.
    static constexpr std::array gives{1e-7, 1e-6, 1e-5, 1e-4, 1e-3};

    /// How fast each of those rises who can; answers whether there is anybody.
    bool deal() {
        speed_.assign(rises_.size(), 0);
        if (hierarchy_.entities.empty()) {
            for (std::size_t j = 0; j < rises_.size(); ++j)
                if (rises_[j]) speed_[j] = problem_.jobs[j].weight;
        } else {
            std::vector<double> weights(hierarchy_.entities.size(), 0);
            for (std::size_t j = 0; j < rises_.size(); ++j) {
                const std::size_t of = hierarchy_.entity_of[j];
                if (!rises_[j] || (hierarchy_.entities[of].in_order && weights[of] > 0)) continue;
                weights[of] += problem_.jobs[j].weight;
                speed_[j] = problem_.jobs[j].weight;
            }
            for (std::size_t j = 0; j < rises_.size(); ++j)
                if (speed_[j] > 0) {
                    const std::size_t of = hierarchy_.entity_of[j];
                    speed_[j] *= hierarchy_.entities[of].weight / weights[of];
                }
        }
        return std::any_of(speed_.begin(), speed_.end(), [](double speed) { return speed > 0; });
    }

    /// As high as it goes; who cannot go on stands from now on.
    void raise() {
        Rise best;
        for (const double give : gives)
            if (raise_by(give, best)) break;
        if (std::ranges::none_of(result_.prices, [](double price) { return price != 0; }))
            result_.prices = best.gpu_prices;
        std::size_t dearest = rises_.size();
        bool any = false;
        for (std::size_t j = 0; j < rises_.size(); ++j) {
            if (!(speed_[j] > 0)) continue;
            height_[j] += speed_[j] * best.level;
            if (dearest == rises_.size() || best.parts[j] > best.parts[dearest]) dearest = j;
            if (!best.stops[j]) continue;
            rises_[j] = false;
            any = true;
        }
        if (!any) rises_[dearest] = false;
    }

    /// What prices say of a level.
    struct Rise {
        double level = 0;             ///< above where all stand now
        std::vector<double> parts{};  ///< by job: of the price of the level
        std::vector<char> stops{};    ///< by job: it cannot have more
        std::vector<double> gpu_prices{};
    };

    /// The rise where those who stand may miss this part of what they have; replaces `best` if it is lower,
    /// because prices prove that no rise is higher, whatever they are. Answers whether the method's own
    /// shares rise as high.
    bool raise_by(double give, Rise& best) {
        program_.build(
            [&](std::size_t j) -> ProgramRow {
                return {one_[j] * speed_[j] / program_.top_rate(j),
                        one_[j] * height_[j] * (1 - give) / program_.top_rate(j)};
            },
            no_value, false);
        program_.program().reward = 1;
        ShareProgram::Method<> method(program_);
        method.solve(accuracy);
        result_.iterations += method.iterations();
        // At these prices the level cannot be higher, with all of what those have who stand.
        double given = 0, worth = program_.dual_value(method, method.rate_prices()), price_of_level = 0;
        Rise rise{.parts = std::vector<double>(rises_.size(), 0),
                  .stops = std::vector<char>(rises_.size(), 0)};
        double highest = std::numeric_limits<double>::infinity(), gap = highest;
        for (std::size_t j = 0; j < rises_.size(); ++j) {
            const std::size_t g = program_.group_of(j);
            if (g == ShareProgram::no_group) continue;
            const double price = method.rate_price(g) / program_.top_rate(j);
            given += price * one_[j] * height_[j] * give;
            rise.parts[j] = price * one_[j] * speed_[j];
            price_of_level += rise.parts[j];
            // No prices say that a job may have more than its top rate.
            if (speed_[j] > 0)
                highest =
                    std::min(highest, std::max(program_.top_rate(j) / one_[j] - height_[j], 0.0) / speed_[j]);
        }
        if (price_of_level > 0) {
            rise.level = std::clamp((worth - given) / price_of_level, 0.0, highest);
            gap = std::abs(worth / price_of_level - method.level());
            rise.gpu_prices = program_.gpu_prices(method, method.rate_prices(), no_value);
            for (double& price : rise.gpu_prices) price /= price_of_level;
        }
        for (std::size_t j = 0; j < rises_.size(); ++j) {
            const std::size_t g = program_.group_of(j);
            if (!(speed_[j] > 0)) continue;
            const double asked = one_[j] * (height_[j] + speed_[j] * rise.level) / program_.top_rate(j);
            const double of_group = rise.parts[j] / price_of_level * program_.copies(g);
            rise.stops[j] = !(of_group * asked < method.rate_slack(g) && price_of_level > 0);
        }
        const bool near = gap <= close * rise.level;
        if (best.parts.empty() || rise.level < best.level) best = std::move(rise);
        return near;
    }

    ShareResult finished() {
        // All levels are known now: the shares that are nearest to giving everybody his.
        const LevelTrial trial(
            program_, height_.size(), [&](std::size_t j) { return rate_at_height(j); }, accuracy);
        ShareResult found = trial.shares(options_.least_part);
        found.iterations = result_.iterations + trial.iterations();
        found.prices = std::move(result_.prices);
        double lowest = std::numeric_limits<double>::infinity(), reached = lowest, missing = 0;
        for (std::size_t j = 0; j < height_.size(); ++j) {
            const bool counts = program_.top_rate(j) > 0;
            found.levels.push_back(counts ? found.rates[j] / (one_[j] * problem_.jobs[j].weight) : 0);
            if (!counts) continue;
            lowest = std::min(lowest, height_[j] / problem_.jobs[j].weight);
            reached = std::min(reached, found.levels.back());
            if (const double asked = rate_at_height(j); asked > 0)
                missing = std::max(missing, 1 - found.rates[j] / asked);
        }
        found.objective = std::isfinite(reached) ? reached : 0;
        found.bound = std::max(std::isfinite(lowest) ? lowest : 0, found.objective);
        found.status = missing <= options_.gap ? ShareStatus::optimal : ShareStatus::feasible;
        return found;
    }

    /// Steps/s of a job where it stands; a trace of its top rate is what rounding has left of nothing.
    [[nodiscard]] double rate_at_height(std::size_t job) const {
        const double rate = one_[job] * height_[job];
        return rate > trace * program_.top_rate(job) ? rate : 0;
    }

    const ShareProblem& problem_;
    const ShareHierarchy& hierarchy_;
    const ShareOptions& options_;
    ShareProgram program_;
    std::vector<char> rises_;  // by job
    std::vector<double> one_;  // by job: rate of a height of 1
    std::vector<double> height_, speed_;
    ShareResult result_;
};

}  // namespace detail

inline ShareResult fill_water(const PairedShareProblem& problem, const ShareHierarchy& hierarchy,
                              const ShareOptions& options) {
    problem.validate();
    validate(hierarchy, problem.alone);
    require_positive("share options", "gap", options.gap);
    return detail::PairedWaterLevels(problem, hierarchy, options).fill();
}

}  // namespace goodput

#endif
