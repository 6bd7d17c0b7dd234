#ifndef GOODPUT_MODEL_DETAIL_POLLUX_SEARCH_HPP
#define GOODPUT_MODEL_DETAIL_POLLUX_SEARCH_HPP

// The proven search for the cheapest batch plan under Pollux's model. batch_plan.hpp explains it; the points
// that are referred to here are listed there.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/core/batch.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/model/detail/batch_level.hpp"
#include "goodput/model/detail/elementary.hpp"
#include "goodput/model/detail/overlap.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/pollux.hpp"

namespace goodput::detail {

class PolluxSearch {
public:
    // cost = (noise / total batch + signal) seconds.
    PolluxSearch(const PolluxThroughput& model, const BatchLimits& limits, double noise, double signal)
        : model_(model),
          limits_(limits),
          noise_(noise),
          signal_(signal),
          line_{0, model.alpha_c, model.beta_c, model.gamma, signal} {}

    // Calls report(i, CheapestPlan) for each of `shapes`.
    template <class Report>
    void operator()(std::span<const Shape> shapes, const Report& report) const {
        in_blocks<32>(shapes, [&]<std::size_t Most>(std::span<const Shape> block, std::size_t first) {
            in_lock_step<Most>(block, first, report);
        });
    }

private:
    // Whether the tangent shows that no plan of k or more microbatches costs less than `least` (point 3): the
    // bound over all real loads at first, because it needs no root, then over the integers in range.
    [[nodiscard]] bool no_further_is_better(double least, int k, const PlanRange& range, double noise,
                                            double sync, const OverlappedStep& step) const {
        const double share = k - 1 + step.per_compute;
        const double intercept = share * model_.alpha_c + step.per_sync * sync;
        const double slope = share * model_.beta_c / k;
        const double above = least - noise * slope - signal_ * intercept;
        if (!(least < std::numeric_limits<double>::infinity())) return false;
        if (above <= 0 || 4 * noise * slope * signal_ * intercept >= above * above) return true;
        const double rounding = 1 - 4 * std::numeric_limits<double>::epsilon();
        const double load = least_at(noise * intercept, signal_ * slope,
                                     std::max(range.least_load, k * range.least_atomic), range.most_load);
        return cost_at(load, noise, signal_, intercept, slope) >= least * rounding;
    }

    // From the batch that were best if computing and synchronising took equally long, up to three of Newton's
    // steps together, each with the shapes that still need it; then every shape for itself (point 5).
    template <std::size_t Most, class Report>
    void in_lock_step(std::span<const Shape> shapes, std::size_t first, const Report& report) const {
        const std::size_t count = Most == 1 ? 1 : shapes.size();
        std::array<PlanRange, Most> ranges;
        std::array<BatchLevel, Most> levels;
        std::array<Tried, Most> tried;
        std::array<std::size_t, Most> open;  // shapes that are not settled, to which `steps` belongs
        OverlappedSteps<Most> steps;
        const auto evaluate_next = [&](std::size_t j, std::size_t i, double next) {
            open[j] = i;
            tried[i].atomic = next;
            steps.compute[j] = model_.compute_seconds(next);
            steps.sync[j] = levels[i].sync;
        };
        const double half = exp2_of(1 / model_.gamma - 1);
        for (std::size_t i = 0; i < count; ++i) {
            ranges[i] = PlanRange(shapes[i].gpus, limits_);
            levels[i] = level_of(ranges[i], ranges[i].fewest_microbatches, noise_ / shapes[i].gpus,
                                 model_.sync_seconds(shapes[i]));
            evaluate_next(i, i, line_.guess(levels[i], {0, half, half}));
        }
        std::size_t left = count;
        for (int round = 0; round < 3; ++round) {
            if (round > 0)
                for (std::size_t j = 0; j < left; ++j)
                    evaluate_next(j, open[j], line_.newton(levels[open[j]], tried[open[j]]));
            steps.evaluate(model_.gamma, left);
            std::size_t unsettled = 0;
            for (std::size_t j = 0; j < left; ++j) {
                const std::size_t i = open[j];
                tried[i].step = {steps.seconds[j], steps.per_compute[j], steps.per_sync[j]};
                open[unsettled] = i;
                unsettled += line_.falls(levels[i], tried[i]) != 0;
            }
            left = unsettled;
            if (left <= 2) break;
        }
        for (std::size_t i = 0; i < count; ++i) report(first + i, settle(ranges[i], levels[i], tried[i]));
    }

    // The cheapest plan, with one tried on the level of the fewest microbatches: nearly always proven by it.
    [[nodiscard]] CheapestPlan settle(const PlanRange& range, const BatchLevel& level,
                                      const Tried& tried) const {
        const int k = range.fewest_microbatches;
        CheapestPlan best;
        if (range.initial_without_accumulation)
            best.consider(cost_at(limits_.initial_batch, noise_, signal_, model_.alpha_c, model_.beta_c),
                          limits_.initial_batch, 1);
        if (!range.allows(k)) return best;
        if (level.low <= level.high && line_.falls(level, tried) == 0) {
            CheapestPlan both = best;
            both.consider(line_.cost(level, tried), tried.atomic, k);
            if (!range.allows(k + 1) ||
                no_further_is_better(both.cost, k + 1, range, level.noise * k, level.sync, tried.step))
                return both;
        }
        return search_on(range, level, tried, best);
    }

    // The same where it is not, with the best plan on other levels so far.
    [[nodiscard]] CheapestPlan search_on(const PlanRange& range, BatchLevel level, Tried tried,
                                         CheapestPlan best) const {
        const double replica_noise = level.noise * range.fewest_microbatches, sync = level.sync;
        bool limited = false;  // by memory, on the level before
        for (int k = range.fewest_microbatches; range.allows(k); ++k) {
            bool promising = level.low <= level.high;
            if (k > range.fewest_microbatches) {
                if (no_further_is_better(best.cost, k, range, replica_noise, sync, tried.step)) break;
                // Along the levels that memory limits, the cost at the largest batch is known.
                const int last = limited ? last_limited(k - 1, range, replica_noise, sync, tried.step) : 0;
                limited = false;
                if (last >= k) {
                    const double compute = model_.compute_seconds(range.most_atomic);
                    const double hidden =
                        std::max(0.0, tried.step.per_sync * sync - (1 - tried.step.per_compute) * compute);
                    const double noise = replica_noise / range.most_atomic;
                    const double along = least_at(noise * hidden, signal_ * compute, k, last);
                    best.consider(cost_at(along, noise, signal_, hidden, compute), range.most_atomic,
                                  static_cast<int>(along));
                    k = last;
                    continue;
                }
                level = level_of(range, k, replica_noise, sync);
                promising = line_.promises(level, tried.step, best.cost);
                if (promising) tried = line_.try_at(level, line_.least_on(level, tried.step));
            }
            if (!promising) continue;
            tried = line_.search(level, tried, best);
            if (!(best.cost < std::numeric_limits<double>::infinity())) return best;
            limited = tried.atomic == range.most_atomic &&
                      signal_ * line_.slope(level, tried.step) * tried.atomic * tried.atomic <=
                          level.noise * line_.intercept(level, tried.step);
        }
        return best;
    }

    // The last k >= from at which the best atomic batch is still the largest (point 4), from the sign of the
    // cost's derivative there, multiplied by k K: rising k (k - 1 + p) - noise ((k - 1 + p) alpha + q w).
    [[nodiscard]] int last_limited(int from, const PlanRange& range, double replica_noise, double sync,
                                   const OverlappedStep& step) const {
        const int last = range.most_load / range.most_atomic;
        const double most = range.most_atomic, behind = 1 - step.per_compute;
        const double square = signal_ * model_.beta_c * most * most;
        if (!(square > 0)) return last;
        const double linear = square * behind + replica_noise * model_.alpha_c;
        const double constant = replica_noise * (step.per_sync * sync - behind * model_.alpha_c);
        const double root =
            (linear + std::sqrt(std::max(0.0, linear * linear + 4 * square * constant))) / (2 * square);
        // A little less than the root: a k left out here is only searched as any other.
        const double safe = root * (1 - 1e-9);
        return safe >= last ? last : safe > from ? static_cast<int>(safe) : from;
    }

    PolluxThroughput model_;
    BatchLimits limits_;
    double noise_, signal_;
    LineCost line_;
};

}  // namespace goodput::detail

#endif
