#ifndef GOODPUT_ALLOT_DETAIL_CONFLICT_HPP
#define GOODPUT_ALLOT_DETAIL_CONFLICT_HPP

// The bodies of conflict.hpp.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/conflict.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

namespace detail {

class ConflictSearch {
public:
    ConflictSearch(const AllotmentProblem& problem, const AllotOptions& options)
        : problem_(problem),
          options_(options),
          clock_(options.deadline),
          states_left_(options.most_states),
          resource_kept_(problem.capacity.size(), 1),
          none_taken_(problem.capacity.size(), 0) {}

    Conflict run() {
        std::vector<std::size_t> all;
        for (std::size_t job = 0; job < problem_.jobs(); ++job)
            if (problem_.must(job)) all.push_back(job);
        for (const std::size_t job : all)
            if (!alone(job)) return finish({job}, true);
        bool pairs_done = true;
        if (const auto pair = conflicting_pair(all, pairs_done)) return finish(*pair, true);

        const Fit fit = fit_of(all);
        if (fit == Fit::yes) return {};
        if (fit == Fit::unknown) {
            Conflict undecided{all, {}, false, false, false};
            for (std::size_t r = 0; r < resource_kept_.size(); ++r) undecided.resources.push_back(r);
            return undecided;
        }
        std::vector<std::size_t> fewest = reduced(all, false), other = reduced(all, true);
        if (other.size() < fewest.size()) std::swap(fewest, other);
        return finish(std::move(fewest), pairs_done);
    }

private:
    enum class Fit { yes, no, unknown };

    [[nodiscard]] std::span<const ResourceUse> uses(std::size_t job, std::size_t option) const {
        return problem_.uses(job, option);
    }

    [[nodiscard]] bool alone(std::size_t job) const {
        for (std::size_t k = 0; k < problem_.options_of(job); ++k)
            if (fits_alone(uses(job, k), problem_.capacity)) return true;
        return false;
    }

    /// Returns two conflicting jobs, each of which fits alone. `done`: whether all pairs before the answer
    /// were tried.
    std::optional<std::vector<std::size_t>> conflicting_pair(const std::vector<std::size_t>& jobs,
                                                             bool& done) {
        std::size_t tries = 0;
        std::vector<double> taken;
        for (std::size_t a = 0; a < jobs.size(); ++a)
            for (std::size_t b = a + 1; b < jobs.size(); ++b) {
                const bool fits = pair_fits(jobs[a], jobs[b], taken, tries);
                done = tries <= most_pair_tries && !clock_.late(64);
                if (!done) return std::nullopt;
                if (!fits) return std::vector{jobs[a], jobs[b]};
            }
        return std::nullopt;
    }

    /// Returns whether an option of one job fits together with an option of the other. After too many tries
    /// the answer has no meaning.
    [[nodiscard]] bool pair_fits(std::size_t a, std::size_t b, std::vector<double>& taken,
                                 std::size_t& tries) {
        for (std::size_t k = 0; k < problem_.options_of(a); ++k) {
            if (!fits_alone(uses(a, k), problem_.capacity)) continue;
            taken = none_taken_;
            for (const ResourceUse& use : uses(a, k)) taken[use.resource] += use.units;
            for (std::size_t other = 0; other < problem_.options_of(b); ++other) {
                if (++tries > most_pair_tries || clock_.late(8)) return true;
                if (fits_beside(uses(b, other), taken, problem_.capacity)) return true;
            }
        }
        return false;
    }

    /// Decides whether all the jobs can be served, counting only the resources that are kept.
    Fit fit_of(std::span<const std::size_t> jobs) {
        if (jobs.empty()) return Fit::yes;
        if (work_ > most_work || clock_.late()) return Fit::unknown;
        AllotOptions options = options_;
        options.deadline = clock_.left();
        options.most_states = states_left_;
        options.warm_start = true;  // start from the prices of this search's last problem
        const auto wanted = static_cast<double>(jobs.size());
        options.gap = 0.5 / wanted;
        pose(jobs);
        const AllotResult& result = solver_(served_, options);
        states_left_ -= std::min(states_left_, result.nodes);
        if (result.objective > wanted - 0.5) return Fit::yes;
        return result.bound < wanted - 1e-6 ? Fit::no : Fit::unknown;
    }

    /// Fills served_: each option of the jobs is worth 1 and uses only the resources that are kept.
    void pose(std::span<const std::size_t> jobs) {
        served_.clear();
        served_.capacity = problem_.capacity;
        for (const std::size_t job : jobs) {
            served_.add_job();
            work_ += 1 + problem_.uses(job).size();
            for (std::size_t k = 0; k < problem_.options_of(job); ++k) {
                kept_uses_.clear();
                for (const ResourceUse& use : uses(job, k))
                    if (resource_kept_[use.resource] != 0) kept_uses_.push_back(use);
                served_.add_option(1, kept_uses_);
            }
        }
    }

    /// Returns the least share over all options of a job that fit. An option's share is its largest share
    /// of a capacity or, with `sum`, the sum of its shares.
    [[nodiscard]] double least_share(std::size_t job, bool sum) const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < problem_.options_of(job); ++k) {
            if (!fits_alone(uses(job, k), problem_.capacity)) continue;
            double share = 0;
            for (const ResourceUse& use : uses(job, k)) {
                if (use.units == 0) continue;
                const double part = use.units / problem_.capacity[use.resource];
                share = sum ? share + part : std::max(share, part);
            }
            least = std::min(least, share);
        }
        return least;
    }

    /// Returns a conflict among the jobs. Sorts them by share and takes the fewest first ones that do not
    /// fit (bisection). Then, from the last to the first, drops each job without which the others still do
    /// not fit (deletion filter).
    std::vector<std::size_t> reduced(std::vector<std::size_t> jobs, bool by_sum) {
        std::vector<double> share(problem_.jobs(), 0);
        for (const std::size_t job : jobs) share[job] = least_share(job, by_sum);
        std::stable_sort(jobs.begin(), jobs.end(),
                         [&](std::size_t a, std::size_t b) { return share[a] > share[b]; });
        std::size_t fitting = 0, conflicting = jobs.size();
        while (fitting + 1 < conflicting) {
            const std::size_t middle = fitting + (conflicting - fitting) / 2;
            (fit_of(std::span(jobs).first(middle)) == Fit::no ? conflicting : fitting) = middle;
        }
        jobs.resize(conflicting);
        std::vector<std::size_t> rest;
        for (std::size_t at = jobs.size(); at-- > 0;) {
            rest = jobs;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
            const Fit fit = fit_of(rest);
            if (fit == Fit::no) jobs = rest;
            minimal_ = minimal_ && fit != Fit::unknown;
        }
        return jobs;
    }

    /// Makes the answer: keeps only the resources that the conflict needs.
    Conflict finish(std::vector<std::size_t> jobs, bool pairs_done) {
        Conflict conflict;
        std::sort(jobs.begin(), jobs.end());
        conflict.minimal = jobs.size() <= 2 || minimal_;
        for (std::size_t r = 0; r < resource_kept_.size(); ++r) {
            resource_kept_[r] = 0;
            const Fit fit = fit_of(jobs);
            if (fit != Fit::no) {
                resource_kept_[r] = 1;
                conflict.resources.push_back(r);
            }
            conflict.minimal = conflict.minimal && fit != Fit::unknown;
        }
        conflict.smallest = jobs.size() <= 2 || (jobs.size() == 3 && pairs_done);
        conflict.jobs = std::move(jobs);
        return conflict;
    }

    const AllotmentProblem& problem_;
    const AllotOptions& options_;
    Clock clock_;
    std::size_t states_left_, work_ = 0;
    std::vector<char> resource_kept_;
    std::vector<double> none_taken_;
    std::vector<ResourceUse> kept_uses_;
    AllotmentProblem served_;
    Allotter<> solver_;
    bool minimal_ = true;
    static constexpr std::size_t most_work = 100'000'000;  // limit of the number of uses in all sets tried
    static constexpr std::size_t most_pair_tries = 4'000'000;
};

}  // namespace detail

GOODPUT_BODY Conflict conflict_of(const AllotmentProblem& problem, const AllotOptions& options) {
    problem.validate();
    return detail::ConflictSearch(problem, options).run();
}

GOODPUT_BODY std::string Conflict::report() const {
    const auto list = [](const char* name, const std::vector<std::size_t>& indices) {
        std::string text = indices.size() == 1 ? name : std::string(name) + "s";
        for (std::size_t i = 0; i < indices.size(); ++i)
            text += (i == 0 ? " " : i + 1 == indices.size() ? " and " : ", ") + text_of(indices[i]);
        return text;
    };
    if (jobs.empty()) return "the jobs that must run fit together";
    std::string text = list("job", jobs);
    if (!proven) return text + ": could not be decided whether they fit together";
    text += jobs.size() == 1 ? " has no option that fits" : " do not fit together";
    if (!resources.empty()) text += ": " + list("resource", resources);
    if (smallest) return text + " (no conflict has fewer jobs)";
    return text + (minimal ? " (any one fewer would fit)" : " (perhaps fewer do not, either)");
}

}  // namespace goodput::inline v0_1

#endif
