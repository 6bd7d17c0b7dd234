#ifndef GOODPUT_AVAILABILITY_DETAIL_STAGE_CHOICE_HPP
#define GOODPUT_AVAILABILITY_DETAIL_STAGE_CHOICE_HPP

// Chooses a mechanism for each stage by solving an allotment problem (availability/stage_checkpoints.hpp).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/availability/stage_question.hpp"

namespace goodput::inline v0_1::detail {

class StageChoice {
public:
    explicit StageChoice(const StageCheckpointQuestion& question)
        : question_(question), mechanisms_(question.mechanisms.size()) {
        answer_.live_seconds = live_seconds(question.interruptions);
        const std::size_t stages = question.stages.size();
        seconds_.assign(stages * mechanisms_, infinity);
        for (std::size_t s = 0; s < stages; ++s)
            for (std::size_t m = 0; m < mechanisms_; ++m) price_in(s, m);
        put_in_order();
    }

    StageCheckpoints solve(const AllotOptions& options) {
        answer_.single = best_single();
        least_.assign(question_.stages.size(), infinity);
        best_seconds_ = 0;
        for (const std::size_t s : order_) {
            for (std::size_t m = 0; m < mechanisms_; ++m) least_[s] = std::min(least_[s], at(s, m));
            best_seconds_ += least_[s];
        }
        answer_.bound = best_seconds_;
        if (best_seconds_ == infinity) {
            answer_.status = AllotStatus::infeasible;
            answer_.bound = 0;
            return std::move(answer_);
        }
        most_lost_ = infinity;
        for (double lost = infinity;;) {
            const double before = lost;
            lost = lost_at_most();
            if (!(lost < before / narrower)) break;
            if (!solve_once(lost, options)) break;
            most_lost_ = answer_.seconds - best_seconds_;
        }
        return std::move(answer_);
    }

    /// Returns the expected seconds of a choice, or nothing if it is impossible or beyond the limits.
    [[nodiscard]] std::optional<double> seconds_of(std::span<const std::size_t> choice) const {
        double seconds = 0;
        for (const std::size_t s : order_) seconds += at(s, choice[s]);
        if (seconds == infinity || !within_limits(choice)) return std::nullopt;
        return seconds;
    }
    /// Writes a choice that is within the limits into `answer`.
    void put(std::span<const std::size_t> choice, double seconds, StageCheckpoints& answer) const {
        if (answer.status == AllotStatus::unknown) answer.status = AllotStatus::feasible;
        answer.mechanism.assign(choice.begin(), choice.end());
        answer.seconds = seconds;
        answer.bound = std::min(answer.bound, seconds);
        const auto [memory, bandwidth] = used(choice);
        answer.memory_gib = memory;
        answer.gib_per_second = bandwidth;
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double longest_seconds = 1e140;  ///< a stage that takes longer counts as impossible
    static constexpr double narrower = 1024;  ///< factor by which the losses must shrink to be worth another
                                              ///< solution

    [[nodiscard]] double at(std::size_t stage, std::size_t mechanism) const {
        return seconds_[stage * mechanisms_ + mechanism];
    }
    [[nodiscard]] const StageMechanism& mechanism(std::size_t stage, std::size_t m) const {
        return question_.stages[stage].mechanisms[m];
    }

    void price_in(std::size_t s, std::size_t m) {
        const StageMechanism& option = mechanism(s, m);
        if (!option.offered) return;
        double part = option.atomic_seconds;
        if (fits_live_period(option, question_.interruptions)) {
            const double seconds =
                expected_stage_seconds(question_.stages[s].work_seconds, option, question_.interruptions);
            if (seconds <= longest_seconds) {
                seconds_[s * mechanisms_ + m] = seconds;
                return;
            }
            part = std::max(part, option.unsaved_seconds);
        }
        answer_.impossible.push_back({s, m, option.restore_seconds + part});
    }

    /// Orders the stages by their properties, not by their positions, so sums and searches do not depend on
    /// the order in which the caller lists them.
    void put_in_order() {
        order_.resize(question_.stages.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            for (std::size_t m = 0; m < mechanisms_; ++m) {
                if (at(a, m) != at(b, m)) return at(a, m) < at(b, m);
                const StageMechanism &one = mechanism(a, m), &other = mechanism(b, m);
                if (one.memory_gib != other.memory_gib) return one.memory_gib < other.memory_gib;
                if (one.gib_per_second != other.gib_per_second)
                    return one.gib_per_second < other.gib_per_second;
            }
            return false;
        });
    }

    [[nodiscard]] std::pair<double, double> used(std::span<const std::size_t> choice) const {
        double memory = 0, bandwidth = 0;
        for (const std::size_t s : order_) {
            memory += mechanism(s, choice[s]).memory_gib;
            bandwidth += mechanism(s, choice[s]).gib_per_second;
        }
        return {memory, bandwidth};
    }
    /// Whether a choice is within the limits, up to the rounding that the allotment solver allows.
    [[nodiscard]] bool within_limits(std::span<const std::size_t> choice) const {
        const auto [memory, bandwidth] = used(choice);
        const auto within = [](double use, const std::optional<double>& limit) {
            return !limit || use <= *limit * (1 + 1e-12);
        };
        return within(memory, question_.memory_gib) && within(bandwidth, question_.gib_per_second);
    }

    [[nodiscard]] std::optional<SingleMechanism> best_single() const {
        std::optional<SingleMechanism> best;
        for (std::size_t m = 0; m < mechanisms_; ++m) {
            const std::vector<std::size_t> all(question_.stages.size(), m);
            const std::optional<double> seconds = seconds_of(all);
            if (seconds && (!best || *seconds < best->seconds)) best = SingleMechanism{m, *seconds};
        }
        return best;
    }

    /// Whether an option can be part of a better answer than the known one.
    [[nodiscard]] bool can_help(std::size_t s, std::size_t m) const {
        return at(s, m) < infinity && (at(s, m) - least_[s] <= most_lost_ ||
                                       (!answer_.mechanism.empty() && answer_.mechanism[s] == m));
    }
    /// Returns the most that the stages can lose with options that can help.
    [[nodiscard]] double lost_at_most() const {
        double sum = 0;
        for (const std::size_t s : order_) {
            double lost = 0;
            for (std::size_t m = 0; m < mechanisms_; ++m)
                if (can_help(s, m)) lost = std::max(lost, at(s, m) - least_[s]);
            sum += lost;
        }
        return sum;
    }

    /// Solves for the options that can help. Returns false if that found no better answer.
    bool solve_once(double lost, const AllotOptions& options) {
        // The unit is a power of two, so nothing is rounded. It makes the solver's numbers similar in size.
        int exponent = 0;
        if (lost > 0) std::frexp(lost, &exponent);
        const double unit = std::ldexp(1.0, std::clamp(exponent - 20, -1000, 1000));
        fill_problem(unit);
        // The gap refers to the seconds of all stages, but the values are only the seconds lost.
        AllotOptions scaled_options = options;
        scaled_options.absolute_gap = options.gap * best_seconds_ / unit;
        Allotter<> allotter;
        const AllotResult& result = allotter(problem_, scaled_options);
        answer_.nodes += result.nodes;
        const bool first = answer_.mechanism.empty();
        if (first || found_allotment(result.status)) {
            answer_.status = result.status;
            answer_.stopped = result.stopped;
        }
        if (result.status == AllotStatus::infeasible) {
            if (first) answer_.bound = 0;
            return false;
        }
        answer_.bound = std::max(answer_.bound, best_seconds_ - result.bound * unit);
        if (!found_allotment(result.status)) return false;
        std::size_t row = 0;
        if (lost > 0 && question_.memory_gib) answer_.seconds_per_gib = result.prices[row++] * unit;
        if (lost > 0 && question_.gib_per_second) answer_.seconds_per_bandwidth = result.prices[row++] * unit;
        std::vector<std::size_t> choice(question_.stages.size());
        for (std::size_t job = 0; job < order_.size(); ++job)
            choice[order_[job]] = option_mechanism_[first_option_[job] + result.choice[job]];
        double seconds = 0;
        for (const std::size_t s : order_) seconds += at(s, choice[s]);
        const bool better = first || seconds < answer_.seconds;
        if (better) put(choice, seconds, answer_);
        answer_.bound = std::min(answer_.bound, answer_.seconds);
        return better;
    }

    void fill_problem(double unit) {
        problem_.clear();
        problem_.capacity.clear();
        for (const std::optional<double>& limit : {question_.memory_gib, question_.gib_per_second})
            if (limit) problem_.capacity.push_back(*limit);
        option_mechanism_.clear();
        first_option_.clear();
        for (const std::size_t s : order_) {
            problem_.add_job(true);
            first_option_.push_back(option_mechanism_.size());
            for (std::size_t m = 0; m < mechanisms_; ++m) {
                if (!can_help(s, m)) continue;
                uses_.clear();
                std::uint32_t row = 0;
                if (question_.memory_gib) uses_.push_back({row++, mechanism(s, m).memory_gib});
                if (question_.gib_per_second) uses_.push_back({row++, mechanism(s, m).gib_per_second});
                problem_.add_option((least_[s] - at(s, m)) / unit, uses_);
                option_mechanism_.push_back(m);
            }
        }
    }

    const StageCheckpointQuestion& question_;
    std::size_t mechanisms_;
    std::vector<double> seconds_;     ///< by stage, then by mechanism; infinity if impossible
    std::vector<std::size_t> order_;  ///< stages, in the order in which they are summed and searched
    std::vector<double> least_;       ///< by stage: seconds with its best mechanism
    double best_seconds_ = 0;         ///< seconds of all stages, each with its best mechanism
    double most_lost_ = infinity;     ///< largest loss of the known answer against best_seconds_
    AllotmentProblem problem_;
    std::vector<std::size_t> option_mechanism_, first_option_;
    std::vector<ResourceUse> uses_;
    StageCheckpoints answer_;
};

}  // namespace goodput::inline v0_1::detail

#endif
