#ifndef GOODPUT_SCHEDULE_DETAIL_JOB_SIZES_HPP
#define GOODPUT_SCHEDULE_DETAIL_JOB_SIZES_HPP

// Implements job_sizes.hpp.

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

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/detail/kind_of.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

GOODPUT_BODY void JobSizes::expect(Snapshot& snapshot) {
    ++rounds_;
    double passed = 0;
    if (std::isfinite(snapshot.time_seconds)) {  // otherwise the scheduler refuses the round
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

GOODPUT_BODY void JobSizes::note(const Snapshot& snapshot, const Plan& plan) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        const Decision& decision = plan.decisions[j];
        // If the knowledge of an option is `unknown`, its goodput is a number of replicas, not a rate.
        const bool known = decision.option.knowledge != Knowledge::unknown;
        jobs_[j].rate = known && !decision.placement.empty() ? decision.option.goodput : 0;
        if (decision.starts) jobs_[j].restart_seconds = snapshot.jobs[j].restart_cost_seconds;
    }
}

GOODPUT_BODY void JobSizes::match(std::span<const Job> jobs, double passed) {
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
        // The jobs ended at some time during the last round; the best guess is the middle. Sort them by
        // size, so that the order of the jobs does not decide which sizes are remembered.
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

GOODPUT_BODY std::size_t JobSizes::kind_called(const std::string& name) {
    const auto [found, fresh] = index_of_kind_.try_emplace(name, kinds_.size());
    if (fresh) kinds_.push_back({.name = name});
    return found->second;
}

GOODPUT_BODY void JobSizes::forget_kinds() {
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

GOODPUT_BODY void JobSizes::learn(Kind& kind, double size) {
    if (!(size > 0)) return;
    if (kind.sizes.size() == most_sizes) kind.sizes.erase(kind.sizes.begin());
    kind.sizes.push_back(size);
    kind.sorted = kind.sizes;
    std::sort(kind.sorted.begin(), kind.sorted.end());
}

GOODPUT_BODY void JobSizes::see_gradient(Kind& kind, const Job& job) const {
    if (!measured_gradient(job.gradient)) return;
    if (kind.gradient && (kind.gradient_round != rounds_ || kind.gradient_of <= job.name)) return;
    const auto [norm, variance] = *job.gradient;
    if (!(std::isfinite(norm) && std::isfinite(variance) && norm >= 0 && variance >= 0)) return;
    kind.gradient = job.gradient;
    kind.gradient_of = job.name;
    kind.gradient_round = rounds_;
}

GOODPUT_BODY void JobSizes::look_at_kinds() {
    for (Kind& kind : kinds_) kind.reached.clear();
    for (const Progress& job : jobs_)
        if (job.done > 0) kinds_[job.kind].reached.push_back(job.done);
    for (Kind& kind : kinds_) {
        std::sort(kind.reached.begin(), kind.reached.end());
        thin(kind.reached);
        kind.fresh = residual(kind, 0);
    }
}

GOODPUT_BODY void JobSizes::thin(std::vector<double>& sorted) {
    if (sorted.size() <= most_sizes) return;
    for (std::size_t i = 0; i < most_sizes; ++i) sorted[i] = sorted[(i + 1) * sorted.size() / most_sizes - 1];
    sorted.resize(most_sizes);
}

GOODPUT_BODY std::optional<double> JobSizes::residual(const Kind& kind, double done) {
    residuals_.clear();
    for (const double size : kind.sorted)
        if (size * (1 + 2 * spread) > done) residuals_.push_back(std::max(size - done, spread * size));
    // Before any job of the kind has ended, the running jobs alone give no estimate.
    if (residuals_.empty() && kind.sorted.empty()) return std::nullopt;
    // A job that has come this far without an end is likely to take as long again. What it has reached is
    // rounded up to a power of two. Without rounding, the expectations of all jobs would grow with every
    // round that one job runs, and the jobs would take turns.
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

GOODPUT_BODY void JobSizes::Kind::check_saved() const {
    if (gradient) validate(*gradient, "saved memory");
    if (sizes.size() > most_sizes)
        bad_input("saved memory", "sizes", sizes.size(), "at most " + text_of(most_sizes));
    for (const double size : sizes) require_positive("saved memory", "sizes", size);
}

GOODPUT_BODY void JobSizes::Progress::check_saved() const {
    require_at_least("saved memory", "done", done, 0);
    require_at_least("saved memory", "rate", rate, 0);
    require_at_least("saved memory", "restart_seconds", restart_seconds, 0);
}

GOODPUT_BODY void JobSizes::complete_saved() {
    if (!std::isfinite(time_seconds_)) bad_input("saved memory", "time", time_seconds_, "finite");
    for (const Progress& job : jobs_)
        if (job.kind >= kinds_.size())
            bad_input("saved memory", "kind of job '" + job.name + "'", job.kind,
                      "below the number of kinds, " + text_of(kinds_.size()));
    index_of_kind_.clear();
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
        kinds_[i].sorted = kinds_[i].sizes;
        std::sort(kinds_[i].sorted.begin(), kinds_[i].sorted.end());
        if (!index_of_kind_.emplace(kinds_[i].name, i).second)
            bad_input("saved memory", "kind", kinds_[i].name, "there once");
    }
}

}  // namespace goodput::inline v0_1

#endif
