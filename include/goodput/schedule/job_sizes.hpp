#ifndef GOODPUT_SCHEDULE_JOB_SIZES_HPP
#define GOODPUT_SCHEDULE_JOB_SIZES_HPP

// How much is a job still likely to need? Nobody declares it; but jobs of one kind (kind_of.hpp) are mostly
// runs of one program, and those that have ended have shown how long such runs are.
//
// Sizes are counted in useful examples (examples times statistical efficiency), because these do not depend
// on what a job ran on. A job that reports its own is believed; for the others the goodput that was predicted
// of what they held is added up, restarts taken off. What is wrong with that prediction is mostly wrong with
// the whole kind, and cancels.
//
// Of a job that has done x, others of its kind have ended at the sizes S > x, and those that still run have
// come to x' > x without an end. Expected is what the Gittins index makes of these residuals,
//
//     min over d of  E[min(S - x, d)] / P(S - x <= d)
//
// examples for every completion that they bring: the order in which serving jobs of unknown sizes gives the
// least sum of completion times on one server (Gittins 1979; Aalto, Ayesta and Righter, QUESTA 2009). Where
// all sizes are alike it is what is left. A job that has outlived all others of its kind is expected nothing
// of, and neither is anybody before one of a kind has ended: the policy has to think of something.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/schedule/kind_of.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// What jobs that have ended say of those that have not. Tell it every round: expect() before the plan,
/// note() after it, each with a snapshot made anew: what expect() filled in is no report of the jobs.
class JobSizes {
public:
    /// Sizes that are remembered of a kind, the last ones: a good estimate, and programs change.
    static constexpr std::size_t most_sizes = 64;
    /// Kinds that are remembered, those that were met last.
    static constexpr std::size_t most_kinds = 1024;
    /// Runs of one program differ by about this part of their size, and predictions of goodput err by as
    /// much: a job is not believed to be nearer to its end than that.
    static constexpr double spread = 0.1;

    /// Fills in Job::expected_examples where the jobs' kinds have shown something, and takes it away
    /// elsewhere; Job::usual_gradient likewise; and Job::done_examples of jobs that do not report it. Jobs of
    /// earlier rounds that are no longer there are taken as complete: end() says which are not. O(jobs) where
    /// the jobs are those of the last round, else O(jobs log jobs), and most_sizes steps for every job that
    /// has done something.
    void expect(Snapshot& snapshot) {
        ++rounds_;
        double passed = 0;
        if (std::isfinite(snapshot.time_seconds)) {  // else the scheduler refuses the round
            passed = std::clamp(snapshot.time_seconds - time_seconds_, 0.0, most_examples);
            time_seconds_ = snapshot.time_seconds;
        }
        for (Progress& job : jobs_) job.advance(passed);
        match(snapshot.jobs, passed);
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            std::optional<double>& reported = snapshot.jobs[j].done_examples;
            if (!reported) reported = jobs_[j].done;
            if (*reported >= 0 && *reported <= most_examples) jobs_[j].done = *reported;
        }
        look_at_kinds();
        for (std::size_t j = 0; j < jobs_.size(); ++j) see_gradient(kinds_[jobs_[j].kind], snapshot.jobs[j]);
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            const Kind& kind = kinds_[jobs_[j].kind];
            snapshot.jobs[j].expected_examples = expected(kind, jobs_[j].done);
            snapshot.jobs[j].usual_gradient = kind.gradient;
        }
    }

    /// Remembers what the jobs of the last expect() hold from now on, for those that do not report what they
    /// have done.
    void note(const Snapshot& snapshot, const Plan& plan) {
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            // What counts replicas because nothing is known is no rate.
            const bool known = decision.option.knowledge != Knowledge::unknown;
            jobs_[j].rate = known && !decision.placement.empty() ? decision.option.goodput : 0;
            if (decision.starts) jobs_[j].restart_seconds = snapshot.jobs[j].restart_cost_seconds;
        }
    }

    /// A job was cancelled, or has failed for good: its size says nothing of others. To be said before
    /// expect().
    void end(std::string_view name) {
        std::erase_if(jobs_, [&](const Progress& job) { return job.name == name; });
    }

private:
    static constexpr double most_examples = std::numeric_limits<double>::max();

    struct Kind {
        std::string name{};
        std::vector<double> sizes{};                   ///< of those that ended, in the order of their ends
        std::vector<double> sorted{};                  ///< the same, ascending
        std::vector<double> reached{};                 ///< by those that have not ended, ascending
        std::optional<GradientStatistics> gradient{};  ///< the first that one of them measured
        std::string gradient_of{};                     ///< the name of that job
        std::size_t gradient_round = 0;                ///< when it did
        std::optional<double> fresh{};                 ///< expected of one that has done nothing yet
        std::size_t last_met = 0;
    };

    struct Progress {
        std::string name{};
        std::size_t kind = 0;        ///< index into kinds_
        double done = 0;             ///< useful examples
        double rate = 0;             ///< useful examples/s of what it holds, as predicted
        double restart_seconds = 0;  ///< left of the restart under way

        void advance(double seconds) {
            const double restarting = std::min(restart_seconds, seconds);
            restart_seconds -= restarting;
            done = std::min(done + rate * (seconds - restarting), most_examples);
        }
    };

    /// Brings jobs_ into the order of the snapshot's jobs, with new ones, and learns of those that are gone.
    void match(std::span<const Job> jobs, double passed) {
        const auto same = [](const Progress& known, const Job& job) { return known.name == job.name; };
        if (!std::equal(jobs_.begin(), jobs_.end(), jobs.begin(), jobs.end(), same)) {
            std::map<std::string_view, std::size_t> index;
            for (std::size_t i = 0; i < jobs_.size(); ++i) index.emplace(jobs_[i].name, i);
            std::vector<Progress> matched;
            std::vector<char> there(jobs_.size(), 0);
            for (const Job& job : jobs) {
                const auto known = index.find(job.name);
                if (known == index.end()) {
                    matched.push_back({job.name, kind_called(kind_of(job))});
                } else {
                    there[known->second] = 1;
                    matched.push_back(jobs_[known->second]);
                }
            }
            // They have ended at some time of the round that has passed: in the middle, as far as one can
            // tell. By size, so that the order of the jobs does not say which of them is remembered.
            std::vector<std::pair<double, std::size_t>> gone;  // size, kind
            for (std::size_t i = 0; i < jobs_.size(); ++i)
                if (!there[i]) gone.emplace_back(jobs_[i].done - jobs_[i].rate * passed / 2, jobs_[i].kind);
            std::sort(gone.begin(), gone.end());
            for (const auto& [size, kind] : gone) learn(kinds_[kind], size);
            jobs_ = std::move(matched);
        }
        for (const Progress& job : jobs_) kinds_[job.kind].last_met = rounds_;
        if (kinds_.size() > most_kinds) forget_kinds();
    }

    /// Its index, new if the name is.
    std::size_t kind_called(const std::string& name) {
        const auto [found, fresh] = index_of_kind_.try_emplace(name, kinds_.size());
        if (fresh) kinds_.push_back({.name = name});
        return found->second;
    }

    /// Leaves most_kinds of them, or as many as jobs that are there need.
    void forget_kinds() {
        std::vector<std::size_t> newest(kinds_.size());
        std::iota(newest.begin(), newest.end(), std::size_t{0});
        const auto met_later = [&](std::size_t a, std::size_t b) {
            return kinds_[a].last_met > kinds_[b].last_met;
        };
        std::stable_sort(newest.begin(), newest.end(), met_later);
        std::size_t kept = most_kinds;
        while (kept < newest.size() && kinds_[newest[kept]].last_met == rounds_) ++kept;
        newest.resize(kept);
        std::sort(newest.begin(), newest.end());
        std::vector<Kind> left;
        std::vector<std::size_t> moved_to(kinds_.size(), 0);
        index_of_kind_.clear();
        for (const std::size_t i : newest) {
            moved_to[i] = left.size();
            index_of_kind_.emplace(kinds_[i].name, left.size());
            left.push_back(std::move(kinds_[i]));
        }
        for (Progress& job : jobs_) job.kind = moved_to[job.kind];
        kinds_ = std::move(left);
    }

    /// One more job of a kind has ended.
    static void learn(Kind& kind, double size) {
        if (!(size > 0)) return;
        if (kind.sizes.size() == most_sizes) kind.sizes.erase(kind.sizes.begin());
        kind.sizes.push_back(size);
        kind.sorted = kind.sizes;
        std::sort(kind.sorted.begin(), kind.sorted.end());
    }

    /// The first one counts; of those of one round that of the job whose name comes first.
    void see_gradient(Kind& kind, const Job& job) const {
        if (!measured_gradient(job.gradient)) return;
        if (kind.gradient && (kind.gradient_round != rounds_ || kind.gradient_of <= job.name)) return;
        const auto [norm, variance] = *job.gradient;
        if (!(std::isfinite(norm) && std::isfinite(variance) && norm >= 0 && variance >= 0)) return;
        kind.gradient = job.gradient;
        kind.gradient_of = job.name;
        kind.gradient_round = rounds_;
    }

    void look_at_kinds() {
        for (Kind& kind : kinds_) kind.reached.clear();
        for (const Progress& job : jobs_)
            if (job.done > 0) kinds_[job.kind].reached.push_back(job.done);
        for (Kind& kind : kinds_) {
            std::sort(kind.reached.begin(), kind.reached.end());
            thin(kind.reached);
            kind.fresh = residual(kind, 0);
        }
    }

    /// Leaves most_sizes numbers of a sorted list, evenly.
    static void thin(std::vector<double>& sorted) {
        if (sorted.size() <= most_sizes) return;
        for (std::size_t i = 0; i < most_sizes; ++i)
            sorted[i] = sorted[(i + 1) * sorted.size() / most_sizes - 1];
        sorted.resize(most_sizes);
    }

    [[nodiscard]] std::optional<double> expected(const Kind& kind, double done) {
        return done > 0 ? residual(kind, done) : kind.fresh;
    }

    /// The index above, upside down, from the residuals of the kind's others; none where nobody has come
    /// that far.
    [[nodiscard]] std::optional<double> residual(const Kind& kind, double done) {
        residuals_.clear();
        for (const double size : kind.sorted)
            if (size * (1 + 2 * spread) > done) residuals_.push_back(std::max(size - done, spread * size));
        // Before anybody has ended, those that run say nothing that their own progress does not say.
        if (residuals_.empty() && kind.sorted.empty()) return std::nullopt;
        // Whoever has come so far without an end is likely to take as long again. In powers of two: else the
        // expectation of everybody would grow with every round that somebody runs, and jobs would take turns.
        for (const double reached : kind.reached)
            if (reached > done) residuals_.push_back(2 * std::exp2(std::ceil(std::log2(reached))) - done);
        if (residuals_.empty()) return std::nullopt;
        std::sort(residuals_.begin(), residuals_.end());
        const auto count = static_cast<double>(residuals_.size());
        double least = std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t i = 0; i < residuals_.size(); ++i) {
            const auto ended = static_cast<double>(i + 1);
            sum += residuals_[i];
            least = std::min(least, (sum + (count - ended) * residuals_[i]) / ended);
        }
        return std::min(least, most_examples);
    }

    std::vector<Progress> jobs_;  // in the order of the last snapshot's
    std::vector<Kind> kinds_;
    std::map<std::string, std::size_t> index_of_kind_;
    double time_seconds_ = 0;
    std::size_t rounds_ = 0;
    std::vector<double> residuals_;
};

}  // namespace goodput

#endif
