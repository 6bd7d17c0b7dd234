#ifndef GOODPUT_SCHEDULE_DETAIL_ASKED_OPTIONS_HPP
#define GOODPUT_SCHEDULE_DETAIL_ASKED_OPTIONS_HPP

// Asks makers (parts that list options, makers.hpp) for options at prices, because there are too many to
// list (column generation).
//
// Let pi be prices of the rows of the allotment problem, r_j the largest value minus price of the listed
// options of job j (at least 0 if the job may go without), and s_j the maker's bound on this difference for
// all options that it has not listed. Then no allotment, of listed options or not, is worth more than
//
//     L = pi . capacity + sum over j of max(r_j, s_j)
//
// and an allotment with an unlisted option of job j is worth at most L - (max(r_j, s_j) - s_j).
//
// 1. Solve the linear relaxation of the listed options, ask for options of all jobs above r_j, add them,
//    and repeat until there are none. Then L is the bound of the relaxation over all options.
// 2. Solve the allotment of the listed options. If its value is z, a better allotment can only use options
//    whose value minus price is at most L - z below the best of their job. Ask for such options, the
//    nearest to the best first because they may raise z, and solve again. The bound for the listed options
//    then holds for all options, unless a maker still holds some back: then the bound is the largest L -
//    (max(r_j, s_j) - s_j).
//
// The caller's deadline covers both steps: half of it is for the first one, and the rest for the second.
// Each step asks at least once, so that there is a bound.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/detail/worth.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// A round whose maker is asked for more options.
struct AskedRound {
    const Snapshot& snapshot;
    const Round& round;
    const OpenNodes& open;
    const Joints& joints;
    Offers& offers;
    Rows& rows;
    std::vector<PlanFault>& faults;
};

/// Asks a maker for more options and solves the allotment. It keeps its buffers.
class AskedOptions {
public:
    /// Adds options to `asked.offers` and `asked.rows`, and returns the solver's answer, with a bound over
    /// all options. An option for which the predictor, the policy or a limit fails is not added. `again`
    /// means another call in the same round, after options have lost their value.
    AllotResult allot(const AskedRound& asked, const AllotOptions& options, bool again) {
        const SolverJoint& solver = asked.joints.solver;
        const std::size_t jobs = asked.snapshot.jobs.size();
        AllotmentProblem& problem = asked.rows.problem;
        std::optional<std::chrono::nanoseconds> half = options.deadline;
        if (half) *half /= 2;
        Clock clock(options.deadline), first_half(half);
        const auto until = [&](const Clock& end) {
            AllotOptions within = options;
            within.deadline = end.left();
            return within;
        };
        added_.assign(jobs, {});
        if (!again) {
            reported_.assign(jobs, {});
            listed_.clear();
            for (std::size_t j = 0; j < jobs; ++j) listed_.push_back(asked.offers.options_of(j).size());
        }
        // Find the prices with the lowest bound.
        double bound = std::numeric_limits<double>::infinity();
        for (int pass = 0; pass < most_passes; ++pass) {
            const RelaxedAllotment relaxed = relax_.relax(problem, until(first_half));
            const Answer answer = ask_all(asked, relaxed.prices, 0);
            if (answer.bound < bound) {
                bound = answer.bound;
                prices_ = relaxed.prices;
            }
            if (answer.added == 0 || bound - relaxed.objective <= 0.1 * options.enough(bound)) break;
            if (first_half.late()) break;
        }
        // Start with a small window below the best difference and let it grow: better allotments that are
        // found early lower the window that is needed in the end.
        AllotResult result;
        solver.solve(solver.part, problem, until(clock), result);
        double window = 4 * options.enough(bound);
        Answer last{bound, bound, 0};
        for (int pass = 0; pass < most_passes; ++pass) {
            const double needed = bound - result.objective;
            if (needed <= options.enough(bound)) break;
            if (clock.late()) {
                result.stopped = StopReason::deadline;
                break;
            }
            window = std::min(window, needed);
            last = ask_all(asked, prices_, window);
            // The added options were not allotted.
            if (last.added > 0 && clock.late()) last.unlisted = bound;
            if (last.added > 0 && !clock.late()) solver.solve(solver.part, problem, until(clock), result);
            if (window >= bound - result.objective) break;
            window *= 4;
        }
        // Unlisted options allow at most `unlisted`, and listed ones at most what the solver has proven.
        result.bound = std::max(result.objective, std::min(bound, std::max(result.bound, last.unlisted)));
        if (result.status == AllotStatus::optimal && result.gap() > 1.0000001 * options.enough(result.bound))
            result.status = AllotStatus::feasible;
        if (found_allotment(result.status) && result.gap() <= options.enough(result.bound)) {
            result.status = AllotStatus::optimal;
            result.stopped = StopReason::proven;
        }
        if (std::any_of(added_.begin(), added_.end(), [](const auto& of_job) { return !of_job.empty(); }))
            asked.offers.append(added_);
        return result;
    }

private:
    static constexpr int most_passes = 100;
    static constexpr std::size_t few = 3;

    struct Answer {
        double bound = 0;     ///< for all allotments
        double unlisted = 0;  ///< for allotments that use an option which is still not listed
        std::size_t added = 0;
    };

    /// Asks about all jobs for options whose value minus price is at most `window` below the best of their
    /// job. With a window of 0, asks for options above the best.
    Answer ask_all(const AskedRound& asked, std::span<const double> prices, double window) {
        const Snapshot& snapshot = asked.snapshot;
        const Round& round = asked.round;
        const OpenNodes& open = asked.open;
        const PolicyJoint& policy = asked.joints.policy;
        const MakerJoint& maker = asked.joints.maker;
        const LimitsJoint& limits = asked.joints.limits;
        Offers& offers = asked.offers;
        Rows& rows = asked.rows;
        AllotmentProblem& problem = rows.problem;
        Answer answer;
        double least_distance = std::numeric_limits<double>::infinity();
        for (std::size_t r = 0; r < prices.size(); ++r) answer.bound += prices[r] * problem.capacity[r];
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            double best = best_reduced_value(problem, j, prices);
            if (problem.must(j) || offers.has_failed(j)) {
                answer.bound += best;
                continue;
            }
            const Job& job = snapshot.jobs[j];
            find_most_gpus(policy, snapshot, j, most_gpus_);
            limits.start_job(limits.part, round, job);
            // In every pass, the policy values new options relative to the options that were listed first.
            OptionRow row = Worth::row_of(snapshot, offers, problem, j);
            row.options = row.options.first(listed_[j]);
            row.values = row.values.first(listed_[j]);
            const auto failed = [&](const Option& option, std::string what) {
                std::vector<std::string>& reported = reported_[j];
                if (std::find(reported.begin(), reported.end(), what) == reported.end())
                    asked.faults.push_back({j, option.configuration, reported.emplace_back(std::move(what))});
                return -std::numeric_limits<double>::infinity();
            };
            const auto value_of = [&](const Option& option) {
                double value = 0;
                std::string why;
                contained([&] { value = policy.value_beside(policy.part, round, row, option); },
                          [&](std::string what) { why = std::move(what); });
                if (why.empty() && !std::isfinite(value)) why = "the value is " + text_of(value);
                return why.empty() ? value : failed(option, std::move(why));
            };
            const auto less_price = [&](const Option& option, double value) {
                bool is_limited = true;
                const std::span<const ResourceUse> uses =
                    rows.find_uses(round, open, limits, job, j, option, false, [&](std::string what) {
                        is_limited = false;
                        failed(option, "a limit " + std::move(what));
                    });
                return is_limited ? value - price_of(uses, prices) : -std::numeric_limits<double>::infinity();
            };
            const auto suppose = [&](const Option& option) {
                return option.goodput > 0 ? less_price(option, value_of(option)) : 0;
            };
            const auto evaluate = [&](Option& option) {
                std::string why;
                contained(
                    [&] {
                        predict_as_valued(asked.joints, job, model_of(snapshot, j),
                                          std::span<Option>(&option, 1));
                    },
                    [&](std::string what) { why = std::move(what); });
                if (!why.empty()) return failed(option, std::move(why));
                asked.joints.factor.apply(asked.joints.factor.part, job, option);
                return suppose(option);
            };
            const double least = best - window - 1e-12 * std::abs(best);
            offered_.clear();
            double rest = std::numeric_limits<double>::infinity();
            contained(
                [&] {
                    rest = maker.ask(maker.part, round_for(job, round, open), job, most_gpus_,
                                     AtPrices{evaluate, suppose},
                                     window > 0 ? least : best + 1e-9 * (1 + std::abs(best)), offered_);
                    if (!(rest < std::numeric_limits<double>::infinity()))
                        throw std::runtime_error("its bound is " + text_of(rest));
                },
                [&](std::string what) {
                    offered_.clear();
                    asked.faults.push_back({j, {}, "the maker " + std::move(what)});
                    // A maker that failed offers nothing more.
                    rest = -std::numeric_limits<double>::infinity();
                });
            find_new(offers, j);
            candidates_.clear();
            for (std::size_t n = 0; n < new_.size(); ++n) {
                if (!std::isfinite(new_[n].goodput) || new_[n].goodput <= 0) continue;
                const double value = value_of(new_[n]), reduced = less_price(new_[n], value);
                if (std::isfinite(reduced)) candidates_.push_back({n, value, reduced});
            }
            if (window == 0) rest = std::max(rest, keep_best());
            for (const OfferedOption& candidate : candidates_) {
                const Option& option = new_[candidate.option];
                best = std::max(best, candidate.reduced);
                problem.add_option(j, candidate.value,
                                   rows.find_uses(round, open, limits, job, j, option, false, ignore));
                added_[j].push_back(option);
                ++answer.added;
            }
            const double top = std::max(best, rest);
            answer.bound += top;
            least_distance = std::min(least_distance, top - rest);
        }
        answer.unlisted = answer.bound - least_distance;
        return answer;
    }

    /// An offered option, by its index in new_.
    struct OfferedOption {
        std::size_t option = 0;
        double value = 0;
        double reduced = 0;  ///< value minus price
    };

    static void ignore(const std::string&) {}

    /// Finds those of the maker's options that the job does not have yet.
    void find_new(const Offers& offers, std::size_t j) {
        new_.clear();
        for (const Option& option : offered_) {
            const auto among = [&](std::span<const Option> listed) {
                return std::any_of(listed.begin(), listed.end(), [&](const Option& other) {
                    return other.configuration == option.configuration;
                });
            };
            if (!among(offers.options_of(j)) && !among(added_[j]) && !among(new_)) new_.push_back(option);
        }
    }
    /// Keeps only a few candidates. While prices are far from their final values, most options look good,
    /// and a few of them improve the prices as much as all. Returns the best difference that is dropped.
    double keep_best() {
        std::stable_sort(
            candidates_.begin(), candidates_.end(),
            [](const OfferedOption& a, const OfferedOption& b) { return a.reduced > b.reduced; });
        if (candidates_.size() <= few) return -std::numeric_limits<double>::infinity();
        const double dropped = candidates_[few].reduced;
        candidates_.resize(few);
        return dropped;
    }

    Allotter<> relax_;
    std::vector<std::vector<Option>> added_;          // by job
    std::vector<std::vector<std::string>> reported_;  // by job: failures already reported
    std::vector<std::size_t> listed_;                 // by job: number of options that its maker listed
    std::vector<Option> offered_, new_;
    std::vector<OfferedOption> candidates_;
    std::vector<double> prices_;
    std::vector<int> most_gpus_;
};

}  // namespace goodput::inline v0_1::detail

#endif
