#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_MARKET_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_MARKET_HPP

// Shockwave (NSDI'23), as in its public simulator: a market over the next 20 rounds. The plan is computed
// anew when a job has come or gone, and in every 8th round. Published, and kept, surprises included:
//
// - Epochs last whole seconds, at least one. The measured work of a job since the begin of the trace, as if
//   it had run at its next rate whenever it waited, is compared with its profile. If they differ by more
//   than 40 %, the profile's seconds are all scaled. This happens before every use, and a part of an epoch
//   counts by the seconds as last scaled. So the result depends on how often it is asked for (twice for the
//   fair time, and twice for the program).
// - The number of future epochs with each batch is a Dirichlet posterior. Its prior spreads all epochs
//   evenly over the batches of the profile, and its data is what the profile (not the job) has seen.
// - A job's fair end is the time at which it would finish with a share of min(1, GPUs / jobs) of the time,
//   however many GPUs it takes. It combines the mean of these times so far and a tenth of the last one.
// - If all jobs can still finish by then, the first program requires it. Otherwise, in the second program,
//   jobs weigh by how unfair their ends are. Then a third program puts heavy jobs early, and idle GPUs go
//   to the job with the most work left.
//
// Many answers are equally good. The published code leaves the choice to its solver; here window_market.hpp
// and window_layout.hpp choose.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "peers/shockwave/window_layout.hpp"
#include "peers/shockwave/window_market.hpp"

namespace goodput::peers {

/// Settings. lambda and k are those of the runs with 32 GPUs.
struct ShockwaveMarketRules {
    double round_seconds = 120;
    int rounds = 20;                    ///< rounds of the window
    int most_rounds_kept = 8;           ///< a plan is made anew in every round whose number this divides
    double longest_left_factor = 1e-3;  ///< k
    double unfair_power = 12;           ///< lambda: power of a job's unfairness in its weight
    double most_unfair = 1;             ///< rho_max of the first program
};

/// What the market learns about a job that joins.
struct ShockwaveBuyer {
    int gpus = 1;
    double joined_seconds = 0;            ///< begin of its first round
    std::vector<int> batches{};           ///< batches of its profile, by epoch
    std::vector<double> epoch_seconds{};  ///< seconds of its profile, by epoch; the same number
    double examples = 1;                  ///< examples per epoch
};

/// The work of a job in a round.
struct ShockwaveSale {
    double steps_per_second = 0;
    int batch = 1;
    int epochs_done = 0;  ///< whole epochs done after it
};

/// The planner's memory and its plan. Jobs have numbers from the caller, which break ties: lower numbers
/// come first.
class ShockwaveMarket {
public:
    explicit ShockwaveMarket(const ShockwaveMarketRules& rules = {}) : rules_(rules) {}

    /// Adds a job. Throws std::invalid_argument for a known job, or a profile without epochs.
    void join(std::size_t job, ShockwaveBuyer buyer) {
        const auto subject = [&] { return "job " + text_of(job); };
        if (jobs_.contains(job)) bad_input(subject(), "number", job, "new");
        if (buyer.batches.empty() || buyer.batches.size() != buyer.epoch_seconds.size())
            bad_input(subject(), "number of epochs", buyer.epoch_seconds.size(),
                      "that of batches, at least 1");
        Known known;
        for (const double seconds : buyer.epoch_seconds)
            known.profile.push_back(std::max(1.0, std::nearbyint(seconds)));
        known.seconds = known.profile;
        known.buyer = std::move(buyer);
        jobs_.emplace(job, std::move(known));
        changed_ = true;
    }
    /// Records that the job ran in the round before `round` (the number of finished rounds).
    void ran(std::size_t job, int round, const ShockwaveSale& sale) {
        Known& known = jobs_.at(job);
        // Waiting counts as running at the rate that follows it.
        known.measured_examples +=
            sale.steps_per_second * sale.batch * rules_.round_seconds * (round - known.last_round);
        known.last_round = round;
        known.done = sale.epochs_done;
    }
    /// Removes a job that has ended.
    void leave(std::size_t job) { changed_ |= jobs_.erase(job) > 0; }

    /// Returns the jobs that run in the next round, after `round` rounds, with that many GPUs in total.
    [[nodiscard]] const std::vector<std::size_t>& choose(int round, int gpus) {
        if (changed_ || gpus != gpus_ || round - planned_ >= rules_.rounds ||
            round % rules_.most_rounds_kept == 0)
            plan(round, gpus);
        return plan_[static_cast<std::size_t>(round - planned_)];
    }
    /// The program that the present plan comes from, with jobs in the order of their numbers.
    [[nodiscard]] const WindowProblem& program() const { return program_; }
    /// The seconds at which these jobs should have finished.
    [[nodiscard]] const std::vector<double>& fair_finishes() const { return fair_finishes_; }

    /// Sets weights and limits of a program that is otherwise complete, after `round` rounds: those of the
    /// first program, or of the second if `fair_is_possible` is false.
    static void weigh(WindowProblem& program, const std::vector<double>& fair_finishes, int round,
                      const ShockwaveMarketRules& rules, bool fair_is_possible) {
        const double share = share_of(program.gpus, program.jobs.size());
        for (std::size_t j = 0; j < program.jobs.size(); ++j) {
            WindowJob& job = program.jobs[j];
            const double end = rules.round_seconds * (round + program.rounds);
            job.weight = 1;
            job.most_left_seconds = std::numeric_limits<double>::infinity();
            if (fair_is_possible) {
                job.most_left_seconds = share * (rules.most_unfair * fair_finishes[j] - end);
                continue;
            }
            const double unfair = (rules.round_seconds * round + job.left_seconds / share) / fair_finishes[j];
            if (unfair > rules.most_unfair)
                job.weight =
                    std::pow(unfair, job.left_seconds < rules.round_seconds ? 100 : rules.unfair_power);
        }
    }

private:
    struct Known {
        ShockwaveBuyer buyer;
        std::vector<double> profile{};  // whole seconds
        std::vector<double> seconds{};  // the same, scaled
        double measured_examples = 0;
        int last_round = 0;                          // last round that it ran in
        int done = 0;                                // epochs done
        std::vector<std::pair<int, double>> fair{};  // since which round, and the fair end since then
    };

    static double share_of(int gpus, std::size_t jobs) {
        return std::min(1.0, static_cast<double>(gpus) / static_cast<double>(jobs));
    }
    /// Returns the epochs 0 to `count` - 1.
    static double sum_of(const Known& job, int count) {
        return std::accumulate(job.seconds.begin(), job.seconds.begin() + count, 0.0);
    }
    static int epochs_of(const Known& job) { return static_cast<int>(job.profile.size()); }

    void calibrate(Known& job) const {
        if (job.last_round == 0) return;
        double seconds = rules_.round_seconds * job.last_round, expected = 0;
        std::size_t epoch = 0;
        while (epoch < job.profile.size() && seconds >= job.profile[epoch]) {
            seconds -= job.profile[epoch++];
            expected += job.buyer.examples;
        }
        expected += job.buyer.examples * seconds / job.seconds[std::min(epoch, job.seconds.size() - 1)];
        if (job.measured_examples <= 0 || std::abs(job.measured_examples - expected) <= 0.4 * expected)
            return;
        for (std::size_t e = 0; e < job.profile.size(); ++e)
            job.seconds[e] = job.profile[e] * (expected / job.measured_examples);
    }

    /// Returns the seconds that a job is believed to need still.
    [[nodiscard]] static double left(const Known& job) {
        const int epochs = epochs_of(job), to_come = epochs - job.done;
        if (to_come <= 0) return 1;
        struct Mode {
            int batch = 0;
            double seconds = 0, epochs = 0, weight = 0;
        };
        // Add them in their order. The sum is a whole number up to rounding, and is rounded down.
        std::vector<Mode> modes;
        const auto mode_of = [&](std::size_t epoch) -> Mode& {
            const int batch = job.buyer.batches[epoch];
            const auto found = std::find_if(modes.begin(), modes.end(),
                                            [&](const Mode& mode) { return mode.batch == batch; });
            return found != modes.end() ? *found : modes.emplace_back(Mode{.batch = batch});
        };
        for (std::size_t e = 0; e < job.profile.size(); ++e) {
            Mode& mode = mode_of(e);
            mode.seconds += job.seconds[e];
            ++mode.epochs;
        }
        const auto seen = static_cast<std::size_t>(std::min(job.done + 1, epochs));
        for (Mode& mode : modes) mode.weight = epochs / static_cast<double>(modes.size());
        for (std::size_t e = 0; e < seen; ++e) ++mode_of(e).weight;
        double sum = 0;
        for (const Mode& mode : modes) sum += mode.weight;
        for (Mode& mode : modes) mode.weight = epochs * mode.weight / sum;
        for (std::size_t e = 0; e < seen; ++e) {
            double& weight = mode_of(e).weight;
            if (weight >= 1) --weight;
        }
        double expected = 0, seconds = 0;
        for (const Mode& mode : modes) {
            expected += mode.weight;
            seconds += mode.weight * (mode.seconds / mode.epochs);
        }
        return seconds * to_come / std::max(std::floor(expected + 1), static_cast<double>(to_come));
    }

    [[nodiscard]] static double fair_finish(const Known& job, int round) {
        double sum = 0, rounds = 0;
        for (std::size_t i = 0; i < job.fair.size(); ++i) {
            const int end = i + 1 < job.fair.size() ? job.fair[i + 1].first : round;
            sum += job.fair[i].second * (end - job.fair[i].first);
            rounds += end - job.fair[i].first;
        }
        return rounds > 0 ? 0.9 * (sum / rounds) + 0.1 * job.fair.back().second : job.fair.back().second;
    }

    void plan(int round, int gpus) {
        program_ = {.gpus = gpus,
                    .rounds = rules_.rounds,
                    .round_seconds = rules_.round_seconds,
                    .longest_left_factor = rules_.longest_left_factor};
        fair_finishes_.clear();
        std::vector<std::size_t> numbers;
        for (auto& [number, job] : jobs_) {
            numbers.push_back(number);
            const int past = std::min(job.done, epochs_of(job));
            if (changed_) {
                calibrate(job);
                const double past_seconds = sum_of(job, past);
                calibrate(job);
                job.fair.emplace_back(round, job.buyer.joined_seconds +
                                                 (past_seconds + left(job)) / share_of(gpus, jobs_.size()));
            }
            calibrate(job);
            const int begun = std::min(job.done + 1, epochs_of(job));
            const double epoch_seconds = sum_of(job, begun) / begun;
            calibrate(job);
            program_.jobs.push_back({.name = text_of(number),
                                     .gpus = job.buyer.gpus,
                                     .epochs = static_cast<double>(epochs_of(job)),
                                     .done_epochs = static_cast<double>(job.done),
                                     .epoch_seconds = epoch_seconds,
                                     .left_seconds = left(job)});
            fair_finishes_.push_back(fair_finish(job, round));
        }
        weigh(program_, fair_finishes_, round, rules_, true);
        WindowShares shares;
        if (std::all_of(program_.jobs.begin(), program_.jobs.end(),
                        [](const WindowJob& job) { return job.most_left_seconds >= 0; }))
            shares = market_.solve(program_);
        weigh(program_, fair_finishes_, round, rules_, false);
        if (!shares.feasible) shares = market_.solve(program_);

        std::vector<LayoutJob> jobs;
        for (std::size_t j = 0; j < numbers.size(); ++j)
            jobs.push_back({program_.jobs[j].gpus, shares.rounds[j], program_.jobs[j].weight});
        WindowLayout layout = lay_out_window(gpus, rules_.rounds, jobs);
        std::vector<std::size_t> order(numbers.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return program_.jobs[a].left_seconds > program_.jobs[b].left_seconds;
        });
        fill_window(layout, gpus, jobs, order);
        plan_ = std::move(layout.runs);
        for (std::vector<std::size_t>& runs : plan_)
            for (std::size_t& job : runs) job = numbers[job];
        planned_ = round;
        gpus_ = gpus;
        changed_ = false;
    }

    ShockwaveMarketRules rules_;
    std::map<std::size_t, Known> jobs_;
    bool changed_ = false;
    int planned_ = 0, gpus_ = -1;                 // round and GPUs of the plan
    std::vector<std::vector<std::size_t>> plan_;  // by round since the plan was made
    WindowProblem program_;
    std::vector<double> fair_finishes_;
    WindowMarket market_;
};

}  // namespace goodput::peers

#endif
