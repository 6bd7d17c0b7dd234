#ifndef GOODPUT_ALLOT_DETAIL_CONFLICT_HPP
#define GOODPUT_ALLOT_DETAIL_CONFLICT_HPP

// The bodies behind conflict.hpp.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/conflict.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"

namespace goodput {

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
        if (fit == Fit::unknown && !exceeds_some_capacity(all)) {
            Conflict undecided{all, {}, false, false, false};
            for (std::size_t r = 0; r < resource_kept_.size(); ++r) undecided.resources.push_back(r);
            return undecided;
        }
        std::vector<std::size_t> best = all;
        minimal_ = false;
        std::size_t tried = 0;
        for (const std::vector<std::size_t>& candidate : candidates(all)) {
            if (tried > 0 && tried + candidate.size() > most_jobs_tried) break;
            tried += candidate.size();
            reduce(candidate, best);
        }
        return finish(std::move(best), pairs_done);
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

    /// Two jobs, each of which fits alone. `done`: all pairs have been tried.
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

    /// Whether one option of each fit together; after too many tries anything.
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

    /// Whether the jobs can all be served, looking only at the resources that are kept.
    Fit fit_of(std::span<const std::size_t> jobs) {
        if (jobs.empty()) return Fit::yes;
        if (used_up()) return Fit::unknown;
        AllotOptions options = options_;
        options.deadline = clock_.left();
        options.most_states = states_left_;
        options.warm_start = true;  // from what this search itself asked before
        const auto wanted = static_cast<double>(jobs.size());
        options.gap = 0.5 / wanted;
        pose(jobs);
        const AllotResult& result = solver_(served_, options);
        states_left_ -= std::min(states_left_, result.nodes);
        if (result.objective > wanted - 0.5) return Fit::yes;
        return result.bound < wanted - 1e-6 ? Fit::no : Fit::unknown;
    }

    /// served_: each option of the jobs is worth 1, looking only at the resources that are kept.
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

    /// Whether nothing more is to be found out.
    [[nodiscard]] bool used_up() { return work_ > most_work || clock_.late(); }

    /// The least that an option of the job takes, in units weighed by `weights`.
    [[nodiscard]] double least_demand(std::size_t job, std::span<const double> weights) const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < problem_.options_of(job); ++k)
            if (fits_alone(uses(job, k), problem_.capacity))
                least = std::min(least, price_of(uses(job, k), weights));
        return least;
    }

    /// The largest share of a capacity, at the option where that is least.
    [[nodiscard]] double least_share(std::size_t job) const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < problem_.options_of(job); ++k) {
            if (!fits_alone(uses(job, k), problem_.capacity)) continue;
            double share = 0;
            for (const ResourceUse& use : uses(job, k))
                if (use.units > 0) share = std::max(share, use.units / problem_.capacity[use.resource]);
            least = std::min(least, share);
        }
        return least;
    }

    [[nodiscard]] bool exceeds_some_capacity(std::span<const std::size_t> jobs) const {
        std::vector<double> weights = none_taken_;
        for (std::size_t r = 0; r < weights.size(); ++r) {
            weights[r] = 1;
            double sum = 0;
            for (const std::size_t job : jobs) sum += least_demand(job, weights);
            weights[r] = 0;
            if (sum > problem_.capacity[r] * (1 + 1e-9)) return true;
        }
        return false;
    }

    /// The jobs by falling measure(job).
    template <class Measure>
    static std::vector<std::size_t> ordered(const std::vector<std::size_t>& jobs, Measure measure) {
        std::vector<std::pair<double, std::size_t>> keyed;
        keyed.reserve(jobs.size());
        for (const std::size_t job : jobs) keyed.emplace_back(-measure(job), job);
        std::sort(keyed.begin(), keyed.end());
        std::vector<std::size_t> order;
        order.reserve(jobs.size());
        for (const auto& [key, job] : keyed) order.push_back(job);
        return order;
    }

    /// Conflicts with the most demanding jobs first, the shortest first.
    std::vector<std::vector<std::size_t>> candidates(const std::vector<std::size_t>& all) {
        std::vector<std::vector<std::size_t>> found;
        const auto offer = [&](std::span<const double> weights) {
            const auto demand = [&](std::size_t job) { return least_demand(job, weights); };
            std::vector<std::size_t> order = ordered(all, demand);
            const double capacity =
                std::inner_product(weights.begin(), weights.end(), problem_.capacity.begin(), 0.0);
            double sum = 0;
            for (std::size_t n = 0; n < order.size() && found.size() < most_candidates; ++n) {
                sum += demand(order[n]);
                if (sum <= capacity * (1 + 1e-9)) continue;
                order.resize(n + 1);
                if (std::find(found.begin(), found.end(), order) == found.end()) found.push_back(order);
                break;
            }
        };
        pose(all);
        std::vector<double> weights = solver_.relax(served_, {.deadline = clock_.left()}).prices;
        weights.resize(problem_.capacity.size(), 0);
        offer(weights);
        weights = none_taken_;
        for (std::size_t r = 0; r < weights.size(); ++r) {
            weights[r] = 1;
            offer(weights);
            weights[r] = 0;
        }
        std::vector<std::size_t> order = ordered(all, [&](std::size_t job) { return least_share(job); });
        std::size_t fitting = 0, conflicting = order.size();
        while (fitting + 1 < conflicting) {
            const std::size_t middle = fitting + (conflicting - fitting) / 2;
            (fit_of(std::span(order).first(middle)) == Fit::no ? conflicting : fitting) = middle;
        }
        order.resize(conflicting);
        found.push_back(order);
        std::stable_sort(found.begin(), found.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
        return found;
    }

    /// Deletion filter: jobs in the order given, tried from the last. Replaces `best` by what is smaller, or
    /// as small and minimal.
    void reduce(std::vector<std::size_t> jobs, std::vector<std::size_t>& best) {
        bool minimal = true;
        std::vector<std::size_t> rest;
        for (std::size_t at = jobs.size(); at-- > 0;) {
            if (used_up()) {
                minimal = false;
                break;
            }
            rest = jobs;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
            const Fit fit = fit_of(rest);
            if (fit == Fit::no) jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
            minimal = minimal && fit != Fit::unknown;
        }
        if (jobs.size() > best.size() || (jobs.size() == best.size() && minimal_ >= minimal)) return;
        best = std::move(jobs);
        minimal_ = minimal;
    }

    /// Leaves out the resources that the conflict does not need.
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
        conflict.smallest = jobs.size() == 1 || jobs.size() == 2 || (jobs.size() == 3 && pairs_done);
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
    static constexpr std::size_t most_work = 100'000'000;  // uses of the sets tried
    static constexpr std::size_t most_pair_tries = 4'000'000;
    static constexpr std::size_t most_candidates = 8;
    static constexpr std::size_t most_jobs_tried = 1000;  // each an allotment problem
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

}  // namespace goodput

#endif
