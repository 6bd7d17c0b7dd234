#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_WINDOW_MARKET_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_WINDOW_MARKET_HPP

// Rigid jobs share the next rounds of a cluster (Shockwave, NSDI'23): job i, of s_i GPUs, runs in n_i of R
// rounds of tau seconds,
//
//     maximise  1/(N R) sum_i w_i u(z_i)  -  k max_i left_i
//     subject to  sum_i s_i n_i <= G R,   n_i = 0, 1, .., R
//
//     z_i = (done_i + p_i) / epochs_i                    progress at the end of the window
//     p_i = min(tau n_i / epoch seconds_i, epochs_i - done_i)
//     left_i = max(0, left seconds_i - epoch seconds_i p_i)       the most that the rest may take is a limit
//
// u is the logarithm, linear between a few points. The first term is then the Nash social welfare of the
// window (Eisenberg and Gale 1959), and the second term the makespan.
//
// Solved exactly, in two layers. For a given limit on the longest rest, every job has a least number of
// rounds. What remains is a knapsack: u is concave, so each further round of a job gains less, and each is
// a thing of its own (exact_knapsack.hpp). The limit takes one of about N R values. The welfare W(M) never
// falls as the limit M rises. So between two limits a < b nothing exceeds W(b) - k a', where a' is the
// least limit above a. Intervals in which that does not exceed the best answer are dropped, and the others
// are halved.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"
#include "peers/shockwave/exact_knapsack.hpp"

namespace goodput::peers {

/// A job in the market.
struct WindowJob {
    std::string name{};        ///< for messages
    int gpus = 1;              ///< GPUs that it takes in each round in which it runs, at least 1
    double epochs = 1;         ///< epochs of its whole work, above 0
    double done_epochs = 0;    ///< epochs done, at least 0
    double epoch_seconds = 1;  ///< seconds per epoch, above 0
    double left_seconds = 0;   ///< seconds that it needs to its end, at least 0
    double weight = 1;         ///< weight of its utility, at least 0
    /// The most seconds that it may need after the window, at least 0; infinity for no limit (the rows of
    /// fairness in the first of the published programs).
    double most_left_seconds = std::numeric_limits<double>::infinity();
};

/// A window and the jobs that share it.
struct WindowProblem {
    int gpus = 0;                    ///< GPUs of the cluster, at least 0
    int rounds = 20;                 ///< rounds of the window, at least 1
    double round_seconds = 120;      ///< above 0
    double longest_left_factor = 0;  ///< k, at least 0
    std::vector<WindowJob> jobs{};   ///< in any order
    /// Progress, from 0 to 1 and rising, at which utility is the logarithm itself. It is linear between.
    std::vector<double> exact_progress{0, 0.2, 0.4, 0.6, 0.8, 1};
    double least_progress = 1e-6;  ///< least progress that the logarithm is taken of, above 0 and below the
                                   ///< second point

    /// Throws std::invalid_argument with job, field and value for numbers that are not finite or out of
    /// range.
    void validate() const {
        require_between("window", "gpus", gpus, 0, 1 << 24);
        require_between("window", "rounds", rounds, 1, 1 << 16);
        require_positive("window", "round_s", round_seconds);
        require_at_least("window", "factor of the longest rest", longest_left_factor, 0);
        if (exact_progress.size() < 2 || exact_progress.front() != 0 || exact_progress.back() != 1)
            bad_input("window", "exact_progress", "another range", "rising from 0 to 1");
        for (std::size_t i = 1; i < exact_progress.size(); ++i)
            if (!(exact_progress[i] > exact_progress[i - 1]))
                bad_input("window", "exact_progress", exact_progress[i], "above the one before");
        if (!(least_progress > 0 && least_progress < exact_progress[1]))
            bad_input("window", "least_progress", least_progress, "above 0 and below the second point");
        for (const WindowJob& job : jobs) {
            const auto subject = [&] { return "job '" + job.name + "'"; };
            require_between(subject, "gpus", job.gpus, 1, 1 << 20);
            require_positive(subject, "epochs", job.epochs);
            require_at_least(subject, "done_epochs", job.done_epochs, 0);
            require_positive(subject, "epoch_s", job.epoch_seconds);
            require_at_least(subject, "left_s", job.left_seconds, 0);
            require_at_least(subject, "weight", job.weight, 0);
            if (std::isnan(job.most_left_seconds) || job.most_left_seconds < 0)
                bad_input(subject(), "most_left_s", job.most_left_seconds, "at least 0");
        }
    }

    /// Returns u, at most 0. Progress above 1 is worth as much as 1.
    [[nodiscard]] double utility(double progress) const {
        if (progress >= 1) return 0;
        std::size_t above = 1;
        while (exact_progress[above] < progress) ++above;
        const double low = exact_progress[above - 1], high = exact_progress[above];
        const double at_high = std::log(high), at_low = std::log(std::max(low, least_progress));
        // Interpolate from above: weights may be huge if progress is nearly 1, and then nothing may cancel.
        return at_high + (high - progress) / (high - low) * (at_low - at_high);
    }
    /// Returns the epochs that a job does in that many rounds.
    [[nodiscard]] double epochs_in(const WindowJob& job, int rounds_run) const {
        return std::min(round_seconds * rounds_run / job.epoch_seconds,
                        std::max(0.0, job.epochs - job.done_epochs));
    }
    /// Returns its term of the welfare, with weight and 1/(N R), if it runs in that many rounds.
    [[nodiscard]] double welfare(const WindowJob& job, int rounds_run) const {
        const double progress = (job.done_epochs + epochs_in(job, rounds_run)) / job.epochs;
        return job.weight * utility(progress) / (static_cast<double>(jobs.size()) * rounds);
    }
    /// Returns the seconds that it needs after that.
    [[nodiscard]] double left_after(const WindowJob& job, int rounds_run) const {
        return std::max(0.0, job.left_seconds - job.epoch_seconds * epochs_in(job, rounds_run));
    }
};

/// The number of rounds of each job.
struct WindowShares {
    bool feasible = false;  ///< whether the jobs' limits can be kept; if not, the other fields mean nothing
    std::vector<int> rounds{};  ///< by job
    double objective = 0;       ///< objective of these rounds
    double bound = 0;  ///< no rounds exceed it; at most `gap` above the objective, if the search was finished
    double price = 0;  ///< price of a GPU for a round, in units of the objective
    double longest_left_seconds = 0;  ///< longest rest after the window
};

/// Solves window problems. Reusing it saves allocations. Earlier problems do not change the answers.
class WindowMarket {
public:
    /// Finds the rounds of the largest objective. `gap`: how far below the best, as a fraction of it, the
    /// answer may lie; at least 0. Throws for bad input (WindowProblem::validate()).
    [[nodiscard]] WindowShares solve(const WindowProblem& problem, double gap = 1e-9) {
        problem.validate();
        require_at_least("window", "gap", gap, 0);
        problem_ = &problem;
        best_ = {};
        list_rounds();
        list_limits();
        if (limits_.empty()) return best_;
        best_.bound = -infinity;
        const double all = welfare_at(limits_.size() - 1);
        if (best_.feasible && limits_.size() > 1) {
            welfare_at(0);
            halve(0, limits_.size() - 1, all, gap);
        }
        best_.bound = std::max(best_.bound, best_.objective);
        return best_;
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    // The gain of each round of each job, by density.
    void list_rounds() {
        rounds_.clear();
        welfare_.clear();
        left_.clear();
        for (std::size_t j = 0; j < problem_->jobs.size(); ++j) {
            const WindowJob& job = problem_->jobs[j];
            for (int n = 0; n <= problem_->rounds; ++n) {
                welfare_.push_back(problem_->welfare(job, n));
                left_.push_back(problem_->left_after(job, n));
                const std::size_t here = welfare_.size() - 1;
                if (n > 0 && welfare_[here] > welfare_[here - 1])
                    rounds_.push_back({welfare_[here] - welfare_[here - 1], job.gpus, here});
            }
        }
        std::stable_sort(rounds_.begin(), rounds_.end(), denser);
    }
    [[nodiscard]] std::size_t at(std::size_t job, int rounds_run) const {
        return job * static_cast<std::size_t>(problem_->rounds + 1) + static_cast<std::size_t>(rounds_run);
    }
    // The values that the longest rest can take.
    void list_limits() {
        double least = 0;
        for (std::size_t j = 0; j < problem_->jobs.size(); ++j)
            least = std::max(least, left_[at(j, problem_->rounds)]);
        limits_.clear();
        for (const double left : left_)
            if (left >= least) limits_.push_back(left);
        limits_.push_back(least);
        std::sort(limits_.begin(), limits_.end());
        limits_.erase(std::unique(limits_.begin(), limits_.end()), limits_.end());
        if (problem_->longest_left_factor == 0) limits_.erase(limits_.begin(), limits_.end() - 1);
    }

    // Returns the welfare if no job may need more than that limit after the window, and keeps the best
    // answer. Returns minus infinity if there are too few GPUs.
    double welfare_at(std::size_t limit) {
        const WindowProblem& problem = *problem_;
        const std::size_t jobs = problem.jobs.size();
        least_.assign(jobs, 0);
        std::int64_t room = std::int64_t{problem.gpus} * problem.rounds;
        for (std::size_t j = 0; j < jobs; ++j) {
            const double most = std::min(limits_[limit], problem.jobs[j].most_left_seconds);
            while (least_[j] <= problem.rounds && left_[at(j, least_[j])] > most) ++least_[j];
            if (least_[j] > problem.rounds) return -infinity;
            room -= std::int64_t{problem.jobs[j].gpus} * least_[j];
        }
        if (room < 0) return -infinity;
        things_.clear();
        const auto stride = static_cast<std::size_t>(problem.rounds + 1);
        for (const KnapsackThing& round : rounds_)
            if (static_cast<int>(round.owner % stride) > least_[round.owner / stride])
                if (round.size <= room) things_.push_back(round);
        knapsack_.solve(things_, room);
        std::vector<int>& given = least_;
        for (std::size_t i = 0; i < things_.size(); ++i)
            if (knapsack_.taken()[i]) ++given[things_[i].owner / stride];
        double welfare = 0, longest = 0;
        for (std::size_t j = 0; j < jobs; ++j) {
            welfare += welfare_[at(j, given[j])];
            longest = std::max(longest, left_[at(j, given[j])]);
        }
        const double objective = welfare - problem.longest_left_factor * longest;
        if (!best_.feasible || objective > best_.objective) {
            best_.feasible = true;
            best_.objective = objective;
            best_.rounds = given;
            best_.price = knapsack_.price();
            best_.longest_left_seconds = longest;
        }
        return welfare;
    }

    // Searches between two limits that were both tried. `welfare` is that at the upper one.
    void halve(std::size_t low, std::size_t high, double welfare, double gap) {
        if (high - low < 2) return;
        const double most = welfare - problem_->longest_left_factor * limits_[low + 1];
        if (most <= best_.objective + gap * std::abs(best_.objective)) {
            best_.bound = std::max(best_.bound, most);
            return;
        }
        const std::size_t middle = low + (high - low) / 2;
        const double halfway = welfare_at(middle);
        halve(middle, high, welfare, gap);
        if (halfway > -infinity) halve(low, middle, halfway, gap);
    }

    const WindowProblem* problem_ = nullptr;
    WindowShares best_;
    std::vector<double> welfare_, left_;  // by job, then rounds run
    std::vector<KnapsackThing> rounds_;   // owner: index into welfare_
    std::vector<KnapsackThing> things_;   // those beyond the least rounds
    std::vector<double> limits_;          // on the longest rest, ascending
    std::vector<int> least_;              // least rounds by job
    ExactKnapsack knapsack_;
};

}  // namespace goodput::peers

#endif
