#ifndef GOODPUT_AVAILABILITY_DETAIL_CHECKPOINT_REWARD_HPP
#define GOODPUT_AVAILABILITY_DETAIL_CHECKPOINT_REWARD_HPP

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "goodput/availability/live_periods.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the long-run distribution over a ring of states, as many as `moves` has entries. In each period,
/// the ring moves on by k states with probability stays * moves[k]. Otherwise it starts again in the first
/// state. `stays` is below 1. The entries of `moves` are at least 0 and add up to 1, up to rounding. Takes
/// O(states^2 log(1 / (1 - stays))).
inline std::vector<double> ring_occupancy(std::vector<double> moves, double stays) {
    const std::size_t states = moves.size();
    const auto one_after_the_other = [states](const std::vector<double>& a, const std::vector<double>& b) {
        std::vector<double> both(states, 0);
        for (std::size_t i = 0; i < states; ++i)
            for (std::size_t k = 0; k < states; ++k) both[(i + k) % states] += a[i] * b[k];
        return both;
    };
    // Uses (1 - stays) (1 + A + A^2 + ...) = (1 - stays) (1 + A) (1 + A^2) (1 + A^4) ..., where A is a
    // period that does not start again. No term is below 0, so nothing cancels.
    std::vector<double> occupancy(states, 0);
    occupancy[0] = 1 - stays;
    const double log_stays = std::log(stays);
    for (double periods = 1; periods * log_stays > -70; periods *= 2) {
        const double all = std::accumulate(moves.begin(), moves.end(), 0.0);
        for (double& move : moves) move /= all;
        const std::vector<double> later = one_after_the_other(occupancy, moves);
        for (std::size_t s = 0; s < states; ++s) occupancy[s] += std::exp(periods * log_stays) * later[s];
        moves = one_after_the_other(moves, moves);
    }
    return occupancy;
}

/// Returns the best interval as a fraction of the mean live period, if a checkpoint costs the fraction
/// `cost` of it. That is the u with log(1 - u) + u + cost = 0, which is 1 + W0(-e^(-cost - 1)) with
/// Lambert's W.
inline double best_interval_part(double cost) {
    const double p = std::sqrt(-2 * std::expm1(-cost)), most = 1 - std::exp(-cost - 1);  // both at least u
    if (p < 1e-3) return p - p * p / 3 + 11.0 / 72 * p * p * p;  // near the double root, W0's series
    if (cost > 30) return most;
    // Newton's method from above: there, the function is concave and falls.
    double u = std::min(p, most);
    for (int pass = 0; pass < 50; ++pass) {
        const double step = (std::log1p(-u) + u + cost) * (1 - u) / u;
        u += step;
        if (std::abs(step) <= 1e-14 * u) break;
    }
    return u;
}

/// Computes how much work a live period of a job leaves behind, for one mechanism and any interval.
class CheckpointReward {
public:
    CheckpointReward(const Interruptions& job, const CheckpointMechanism& mechanism)
        : job_(job), how_(mechanism) {}

    /// See goodput::useful_share().
    [[nodiscard]] double useful_share(double interval) const {
        const double cost = how_.saves ? how_.pause_seconds : 0;
        const double writing = how_.saves ? how_.write_seconds : 0;
        interval = std::max(interval, writing);
        const double gained = interval - how_.write_slowdown * writing, cycle = interval + cost;
        if (never()) return gained / cycle;
        const LivePeriods live(job_);
        const bool random = job_.shape == 1;
        const Turns turns{interval, gained, cycle, writing};
        double work = 0;
        if (how_.caught < 1)
            work += (1 - how_.caught) * (random ? saved(live, turns) : sum_saved(live, turns));
        if (how_.caught > 0) work += how_.caught * (random ? done(live, turns) : sum_done(live, turns));
        if (how_.saves && how_.stored_every > 1 && how_.kept < 1 && how_.caught < 1)
            work -= lost(live, turns);
        return std::clamp(work / (live.mean() + job_.off_seconds), 0.0, 1.0);
    }

    /// See goodput::best_checkpointing().
    [[nodiscard]] Checkpointing best(double longest) const {
        const auto at = [&](double interval) { return Checkpointing{0, interval, useful_share(interval)}; };
        if (!how_.saves || never()) return at(longest);
        const double mean = 3600 / job_.per_hour;
        // Intervals below the second bound no longer change anything.
        const double least = std::min(longest, std::max(1e-8 * mean, how_.write_seconds));
        const bool plain =
            how_.write_slowdown == 0 && how_.caught == 0 && (how_.kept == 1 || how_.stored_every == 1);
        if (job_.shape == 1 && plain) {
            // The derivative of interval / (exp(cycle / mean) - 1) is zero at it. Safe times later, or a
            // restore first, only multiply it by a factor.
            const double best = mean * best_interval_part(how_.pause_seconds / mean);
            return at(std::clamp(best, least, longest));
        }
        if (std::isinf(job_.shape)) return best_fit(least, longest, mean);
        return search(least, longest, mean);
    }

private:
    /// One turn of training and saving.
    struct Turns {
        double interval = 0;  ///< seconds of training
        double gained = 0;   ///< work in it while the last checkpoint is written; the first turn gains all of
                             ///< it
        double cycle = 0;    ///< seconds, with the pause
        double writing = 0;  ///< seconds from the end of its pause until it is safe, during training
    };
    static constexpr int most_terms = 256;  // terms that are summed one by one; an integral covers the rest

    /// Whether interruptions are so rare that times would not be finite, or never happen.
    [[nodiscard]] bool never() const { return job_.per_hour < 1e-250; }

    /// Returns the work behind safe checkpoints if interruptions strike at random.
    [[nodiscard]] double saved(const LivePeriods& live, const Turns& turns) const {
        const double first = live.survival(how_.restore_seconds + turns.writing + turns.cycle);
        // The sum of all powers of e^(-cycle / mean), from the first on.
        const double all =
            live.survival(how_.restore_seconds + turns.writing) / std::expm1(turns.cycle / live.mean());
        return (turns.interval - turns.gained) * first + turns.gained * all;
    }
    /// Returns the work done by the end of a live period.
    [[nodiscard]] double done(const LivePeriods& live, const Turns& turns) const {
        const double written = live.within(turns.writing);
        const double later = (live.within(turns.interval) - how_.write_slowdown * written);
        return live.survival(how_.restore_seconds) *
               (live.within(turns.interval) + later / std::expm1(turns.cycle / live.mean()));
    }
    /// These two compute the same for any distribution.
    [[nodiscard]] double sum_saved(const LivePeriods& live, const Turns& turns) const {
        const double begin = how_.restore_seconds + turns.writing;
        double sum = 0, last = 1;
        int j = 1;
        for (; j <= most_terms && last > 1e-12; ++j) {
            last = live.survival(begin + j * turns.cycle);
            sum += (j == 1 ? turns.interval : turns.gained) * last;
        }
        if (last > 1e-12)
            sum += turns.gained / turns.cycle * (live.mean() - live.within(begin + (j - 0.5) * turns.cycle));
        return sum;
    }
    [[nodiscard]] double sum_done(const LivePeriods& live, const Turns& turns) const {
        double sum = 0, begin = how_.restore_seconds, before = live.within(begin);
        for (int j = 1; j <= most_terms && before < live.mean() * (1 - 1e-12); ++j) {
            const double written = j == 1 ? 0 : live.within(begin + turns.writing) - before;
            sum += live.within(begin + turns.interval) - before - how_.write_slowdown * written;
            begin += turns.cycle;
            before = live.within(begin);
        }
        return sum + turns.gained / turns.cycle * (live.mean() - before);
    }

    /// Returns the mean work that falls back to the last checkpoint in storage. The number of checkpoints
    /// since that one is a Markov chain over the live periods. The work of a period adds to it. A
    /// checkpoint in storage, or a state saved just in time, resets it to 0.
    [[nodiscard]] double lost(const LivePeriods& live, const Turns& turns) const {
        const auto m = static_cast<std::size_t>(how_.stored_every);
        const double stays = (1 - how_.caught) * how_.kept;
        // The probabilities of exactly k checkpoints in a period, for k < m, and of k modulo m.
        std::vector<double> exactly(m, 0), modulo(m, 0);
        const double begin = how_.restore_seconds + turns.writing;
        const auto at_least = [&](std::size_t k) {
            return k == 0 ? 1 : live.survival(begin + static_cast<double>(k) * turns.cycle);
        };
        if (job_.shape == 1) {
            // From the first checkpoint on, the next one is always reached with the same probability.
            const double after_m = -std::expm1(-static_cast<double>(m) * turns.cycle / live.mean());
            for (std::size_t k = 0; k < m; ++k) {
                exactly[k] = at_least(k) - at_least(k + 1);
                modulo[k] =
                    k == 0 ? exactly[0] + (at_least(m) - at_least(m + 1)) / after_m : exactly[k] / after_m;
            }
        } else {
            double last = 1;
            for (std::size_t k = 0; k < 16 * most_terms && last > 1e-15; ++k) {
                const double next = at_least(k + 1);
                if (k < m) exactly[k] = last - next;
                modulo[k % m] += last - next;
                last = next;
            }
            for (double& part : modulo) part += last / static_cast<double>(m);
        }
        // The distribution of their number at the beginning of a period.
        const std::vector<double> present = ring_occupancy(modulo, stays);
        // The number of them that are the first of a period, in which nothing was written during the
        // training.
        std::vector<double> firsts(m, 0);
        double checkpoints = 0, first_ones = 0;
        for (std::size_t to = 0; to < m; ++to) {
            double arrive = 0, with_first = 0;
            for (std::size_t from = 0; from < m; ++from)
                arrive += modulo[(to + m - from) % m] * present[from];
            for (std::size_t from = 0; from < to; ++from)
                with_first += exactly[to - from] * (firsts[from] + present[from]);
            firsts[to] = stays * with_first / (1 - stays * exactly[0]);
            checkpoints += static_cast<double>(to) * arrive;
            first_ones += with_first + exactly[0] * firsts[to];
        }
        return (1 - how_.caught) * (1 - how_.kept) *
               (turns.gained * checkpoints + (turns.interval - turns.gained) * first_ones);
    }

    /// Searches if live periods are equally long. Tries the fewest checkpoints that the longest interval
    /// allows, and a few more that match those in storage. The last one is safe just before the end, or
    /// about to begin then.
    [[nodiscard]] Checkpointing best_fit(double least, double longest, double mean) const {
        Checkpointing best{0, longest, useful_share(longest)};
        const auto consider = [&](double interval) {
            interval = std::clamp(interval, least, longest);
            if (const double share = useful_share(interval); share > best.availability)
                best = {0, interval, share};
        };
        const double room = mean - how_.restore_seconds;
        const double fewest =
            std::max(std::ceil((room - how_.write_seconds) / (longest + how_.pause_seconds) - 1e-9), 1.0);
        for (int more = 0; more <= (how_.kept < 1 ? 2 * how_.stored_every : 1); ++more) {
            const double count = fewest + more;
            consider((room - how_.write_seconds) / count - how_.pause_seconds);
            consider((room + how_.pause_seconds) / count - how_.pause_seconds);
        }
        return best;
    }

    /// Tries many intervals on a logarithmic grid, then searches between the best one's neighbours with
    /// Brent's method. The share may have several peaks if live periods are nearly equally long.
    [[nodiscard]] Checkpointing search(double least, double longest, double mean) const {
        // The grid has logarithms of fractions of the longest interval, so the unit of time does not
        // matter.
        const auto at = [&](double log_part) {
            const double interval = longest * std::exp(log_part);
            return Checkpointing{0, interval, useful_share(interval)};
        };
        const double shortest = std::log(least / longest);
        const double young = std::sqrt(2 * std::max(how_.pause_seconds, 1e-6 * mean) * mean);
        const double low = std::max(shortest, std::min(std::log(young / longest) - 7, -1.0));
        const int cells = job_.shape == 1 ? 12 : 96;
        Checkpointing best = at(0);
        double centre = 0;
        const auto consider = [&](double log_part) {
            const Checkpointing here = at(log_part);
            if (here.availability > best.availability) best = here, centre = log_part;
        };
        for (int i = 0; i < cells; ++i) consider(low - low * i / cells);
        consider(boost::math::tools::brent_find_minima(
                     [&](double log_part) { return -at(log_part).availability; },
                     std::max(centre + low / cells, low), std::min(centre - low / cells, 0.0), 20)
                     .first);
        consider(shortest);  // the best if saving costs nothing
        return best;
    }

    const Interruptions& job_;
    const CheckpointMechanism& how_;
};

}  // namespace goodput::inline v0_1::detail

#endif
