// Properties of any allotment problem: the answer is allowed, its certificate is true, and changing the
// problem without effect, or with a known one, has exactly that effect.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using properties::random_order;
using support::Random;

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

/// Returns the problem with each option as `change(job, value, uses)` leaves it.
template <class Change>
AllotmentProblem changed(const AllotmentProblem& problem, Change change) {
    AllotmentProblem other;
    other.capacity = problem.capacity;
    std::vector<ResourceUse> uses;
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        other.add_job(problem.must(job));
        for (std::size_t k = 0; k < problem.options_of(job); ++k) {
            double value = problem.value(job, k);
            uses.assign(problem.uses(job, k).begin(), problem.uses(job, k).end());
            change(job, value, uses);
            other.add_option(value, uses);
        }
    }
    return other;
}

/// A small problem. Now and then, some of its jobs are worth almost nothing compared with the others.
AllotmentProblem small_odd_problem(Random& random, int most_resources = 4) {
    const AllotmentProblem problem = support::small_problem(random, most_resources);
    if (!random.chance(0.1)) return problem;
    std::vector<double> factors;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        factors.push_back(random.chance(0.5) ? 1 : std::pow(10, random.integer(-10, -3)));
    return changed(problem,
                   [&](std::size_t job, double& value, std::vector<ResourceUse>&) { value *= factors[job]; });
}

/// Mostly small and odd; now and then as a scheduler of a few dozen GPUs poses it.
AllotmentProblem random_problem(Random& random) {
    return random.chance(0.02) ? support::cluster_problem(random, 8 * random.integer(2, 6))
                               : small_odd_problem(random);
}

/// By how much sums of this problem's values may be off.
double rounding(const AllotmentProblem& problem) { return 1e-12 * support::scale_of(problem); }

/// Returns the proven answer after checking that the problem allows it. The search is limited. Now and
/// then it fails on a problem of a cluster whose units are not whole numbers, so that no two sums are
/// equal.
AllotResult solved(const AllotmentProblem& problem) {
    const AllotResult result = allot(problem, {.gap = 0, .most_states = 200'000});
    if (result.stopped != StopReason::proven) throw properties::NoVerdict{"not proven"};
    if (result.status != AllotStatus::infeasible) {
        REQUIRE(result.status == AllotStatus::optimal);
        REQUIRE(std::abs(support::value_of(problem, result.choice) - result.objective) <= rounding(problem));
    }
    return result;
}

/// Returns the objective, or -infinity if the jobs that must run do not fit together.
double worth(const AllotResult& result) {
    return result.status == AllotStatus::infeasible ? impossible : result.objective;
}
double optimum(const AllotmentProblem& problem) { return worth(solved(problem)); }

bool about(double a, double b, double tolerance) { return a == b || std::abs(a - b) <= tolerance; }

AllotmentProblem without_job(const AllotmentProblem& problem, std::size_t removed) {
    AllotmentProblem other;
    other.capacity = problem.capacity;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        if (job != removed) support::add_copy(other, problem, job);
    return other;
}

/// A problem with another numbering: `..._to` say where each job, option of a job, and resource has gone.
struct RelabelledProblem {
    AllotmentProblem problem;
    std::vector<std::size_t> job_to;
    std::vector<std::vector<std::size_t>> option_to;  ///< indexed by the job's old number
};

RelabelledProblem relabelled(const AllotmentProblem& problem, Random& random) {
    RelabelledProblem other;
    const std::vector<std::size_t> resource_to = random_order(random, problem.capacity.size());
    other.job_to = random_order(random, problem.jobs());
    other.problem.capacity.resize(problem.capacity.size());
    for (std::size_t r = 0; r < resource_to.size(); ++r)
        other.problem.capacity[resource_to[r]] = problem.capacity[r];
    std::vector<std::size_t> job_from(problem.jobs());
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        job_from[other.job_to[job]] = job;
        other.option_to.push_back(random_order(random, problem.options_of(job)));
    }
    std::vector<ResourceUse> uses;
    for (const std::size_t job : job_from) {
        other.problem.add_job(problem.must(job));
        std::vector<std::size_t> option_from(problem.options_of(job));
        for (std::size_t k = 0; k < option_from.size(); ++k) option_from[other.option_to[job][k]] = k;
        for (const std::size_t k : option_from) {
            uses.assign(problem.uses(job, k).begin(), problem.uses(job, k).end());
            for (ResourceUse& use : uses)
                use.resource = static_cast<std::uint32_t>(resource_to[use.resource]);
            other.problem.add_option(problem.value(job, k), uses);
        }
    }
    return other;
}

/// Finds the values of the best choice and of the best other one.
class TwoBest {
public:
    explicit TwoBest(const AllotmentProblem& problem) : problem_(problem) { descend(0, 0, problem.capacity); }
    double best = impossible, second = impossible;

private:
    void descend(std::size_t job, double value, const std::vector<double>& left) {
        if (job == problem_.jobs()) {
            second = std::max(second, std::min(value, best));
            best = std::max(best, value);
            return;
        }
        if (!problem_.must(job)) descend(job + 1, value, left);
        std::vector<double> rest;
        for (std::size_t k = 0; k < problem_.options_of(job); ++k) {
            rest = left;
            for (const ResourceUse& use : problem_.uses(job, k)) rest[use.resource] -= use.units;
            bool fits = true;
            for (std::size_t r = 0; r < rest.size(); ++r)
                fits = fits && rest[r] >= -1e-12 * problem_.capacity[r];
            if (fits) descend(job + 1, value + problem_.value(job, k), rest);
        }
    }

    const AllotmentProblem& problem_;
};

/// Whether one choice is best and no other within rounding; false, too, if that is too expensive to find out.
bool has_one_answer(const AllotmentProblem& problem) {
    double choices = 1;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        choices *= static_cast<double>(problem.options_of(job) + 1);
    if (choices > 1000) return false;
    const TwoBest found(problem);
    return found.best > impossible && found.second < found.best - 1e3 * rounding(problem);
}

}  // namespace

TEST_CASE(
    "allotments: capacities and jobs that must run are respected, prices are not negative, and neither the "
    "bound nor the prices' own bound lies below the objective, at any gap") {
    for_all(1, [](Case& one) {
        const AllotmentProblem as_drawn = random_problem(one.random);
        // Values may be jobs per second or dollars per year: the gap means the same for both.
        const double factor = one.random.chance(0.5) ? 1 : properties::random_factor(one.random);
        const AllotmentProblem problem = changed(
            as_drawn, [&](std::size_t, double& value, std::vector<ResourceUse>&) { value *= factor; });
        const double gap =
            std::vector<double>{0, 1e-4, 1e-2, 0.3}[static_cast<std::size_t>(one.random.integer(0, 3))];
        const AllotResult result = allot(problem, {.gap = gap});
        REQUIRE(result.prices.size() == problem.capacity.size());
        for (const double price : result.prices) REQUIRE(price >= 0);
        if (result.status == AllotStatus::infeasible) {
            one.count("infeasible");
            return;
        }
        const double value = support::value_of(problem, result.choice);  // NaN if the choice is not allowed
        REQUIRE(std::abs(value - result.objective) <= rounding(problem));
        REQUIRE(result.bound >= result.objective);
        REQUIRE(result.gap() <= gap * std::abs(result.bound) + rounding(problem));
        REQUIRE(support::bound_at(support::without_too_large(problem), result.prices) >=
                result.objective - 2 * rounding(problem));
    });
}

TEST_CASE("allotments: no choice at all is worth more than one proven at gap 0") {
    for_all(1, [](Case& one) {
        const AllotmentProblem problem = small_odd_problem(one.random);
        const double best = support::BruteForce{}(problem);
        REQUIRE(about(optimum(problem), best, rounding(problem)));
        if (best == impossible) one.count("infeasible");
    });
}

TEST_CASE("allotments: more capacity never lowers the objective") {
    for_all(1, [](Case& one) {
        AllotmentProblem problem = random_problem(one.random);
        const double before = optimum(problem);
        for (double& capacity : problem.capacity)
            if (one.random.chance(0.5))
                capacity += one.random.chance(0.5) ? one.random.integer(1, 4) : one.random.between(0, 2);
        const double after = optimum(problem);
        REQUIRE(after >= before - rounding(problem));
        if (after > before + rounding(problem)) one.count("worth more");
    });
}

TEST_CASE(
    "allotments: a job that leaves lowers the objective by its own value at most, and staying adds nothing "
    "if the job need not run") {
    for_all(1, [](Case& one) {
        const AllotmentProblem problem = random_problem(one.random);
        if (problem.jobs() == 0) return;
        const AllotResult with = solved(problem);
        const auto job =
            static_cast<std::size_t>(one.random.integer(0, static_cast<int>(problem.jobs()) - 1));
        const double without = optimum(without_job(problem, job));
        if (!problem.must(job)) REQUIRE(worth(with) >= without - rounding(problem));
        if (with.status == AllotStatus::infeasible) return;
        const double own = with.choice[job] == no_option ? 0 : problem.value(job, with.choice[job]);
        REQUIRE(without >= with.objective - own - 2 * rounding(problem));
        if (without > with.objective - own + rounding(problem)) one.count("left more to others");
    });
}

TEST_CASE(
    "allotments: values in another unit give the objective in that unit, and the same choice where "
    "there is one best") {
    for_all(1, [](Case& one) {
        const AllotmentProblem problem = random_problem(one.random);
        const double factor = properties::random_factor(one.random);
        const AllotmentProblem scaled =
            changed(problem, [&](std::size_t, double& value, std::vector<ResourceUse>&) { value *= factor; });
        CAPTURE(factor);
        const AllotResult before = solved(problem), after = solved(scaled);
        REQUIRE(about(worth(after), factor * worth(before), 2 * rounding(scaled)));
        if (!has_one_answer(problem)) return;
        one.count("with one best choice");
        REQUIRE(after.choice == before.choice);
    });
}

TEST_CASE("allotments: units and capacities of a resource in another unit change nothing") {
    for_all(1, [](Case& one) {
        const AllotmentProblem problem = random_problem(one.random);
        std::vector<double> factors;
        for (std::size_t r = 0; r < problem.capacity.size(); ++r)
            factors.push_back(properties::random_factor(one.random));
        AllotmentProblem scaled = changed(problem, [&](std::size_t, double&, std::vector<ResourceUse>& uses) {
            for (ResourceUse& use : uses) use.units *= factors[use.resource];
        });
        for (std::size_t r = 0; r < factors.size(); ++r) scaled.capacity[r] *= factors[r];
        const AllotResult before = solved(problem), after = solved(scaled);
        REQUIRE(about(worth(after), worth(before), 2 * rounding(problem)));
        if (!has_one_answer(problem)) return;
        one.count("with one best choice");
        REQUIRE(after.choice == before.choice);
    });
}

TEST_CASE("allotments: units of a resource in another unit change nothing for jobs that are split either") {
    for_all(1, [](Case& one) {
        const AllotmentProblem problem = support::without_too_large(random_problem(one.random));
        std::vector<double> factors;
        for (std::size_t r = 0; r < problem.capacity.size(); ++r)
            factors.push_back(std::ldexp(1.0, one.random.integer(-60, 60)));
        AllotmentProblem scaled = changed(problem, [&](std::size_t, double&, std::vector<ResourceUse>& uses) {
            for (ResourceUse& use : uses) use.units *= factors[use.resource];
        });
        for (std::size_t r = 0; r < factors.size(); ++r) scaled.capacity[r] *= factors[r];
        const RelaxedAllotment before = Allotter<>{}.relax(problem), after = Allotter<>{}.relax(scaled);
        REQUIRE(after.status == before.status);
        const double tolerance = 1e-9 * support::scale_of(problem);
        REQUIRE(about(after.objective, before.objective, tolerance));
        REQUIRE(about(after.bound, before.bound, tolerance));
    });
}

TEST_CASE(
    "allotments: jobs, options and resources in another order give the same objective, and the same "
    "choice in that order where there is one best") {
    for_all(1, [](Case& one) {
        const AllotmentProblem problem = random_problem(one.random);
        const RelabelledProblem other = relabelled(problem, one.random);
        const AllotResult before = solved(problem), after = solved(other.problem);
        REQUIRE(about(worth(after), worth(before), 2 * rounding(problem)));
        if (!has_one_answer(problem)) return;
        one.count("with one best choice");
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            const std::size_t chosen = before.choice[job];
            REQUIRE(after.choice[other.job_to[job]] ==
                    (chosen == no_option ? no_option : other.option_to[job][chosen]));
        }
    });
}

TEST_CASE("allotments: problems that share no resource add up") {
    for_all(2, [](Case& one) {
        const AllotmentProblem left = small_odd_problem(one.random, 3),
                               right = small_odd_problem(one.random, 3);
        AllotmentProblem both = left;
        both.capacity.insert(both.capacity.end(), right.capacity.begin(), right.capacity.end());
        std::vector<ResourceUse> uses;
        for (std::size_t job = 0; job < right.jobs(); ++job) {
            both.add_job(right.must(job));
            for (std::size_t k = 0; k < right.options_of(job); ++k) {
                uses.assign(right.uses(job, k).begin(), right.uses(job, k).end());
                for (ResourceUse& use : uses)
                    use.resource += static_cast<std::uint32_t>(left.capacity.size());
                both.add_option(right.value(job, k), uses);
            }
        }
        REQUIRE(about(optimum(both), optimum(left) + optimum(right), 2 * rounding(both)));
    });
}

TEST_CASE("allotments: an option that is worth no more and takes no less than another changes nothing") {
    for_all(1, [](Case& one) {
        const AllotmentProblem problem = random_problem(one.random);
        AllotmentProblem wider;
        wider.capacity = problem.capacity;
        std::vector<ResourceUse> uses;
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            support::add_copy(wider, problem, job);
            const int options = static_cast<int>(problem.options_of(job));
            if (options == 0 || !one.random.chance(0.5)) continue;
            const auto better = static_cast<std::size_t>(one.random.integer(0, options - 1));
            uses.assign(problem.uses(job, better).begin(), problem.uses(job, better).end());
            for (ResourceUse& use : uses) use.units += one.random.integer(0, 2);
            const double value = problem.value(job, better);
            wider.add_option(value - (one.random.chance(0.5) ? 0 : 0.1 * std::abs(value)), uses);
        }
        REQUIRE(about(optimum(wider), optimum(problem), 2 * rounding(wider)));
    });
}

TEST_CASE(
    "allotments: jobs that are split are worth no less than whole ones, and more capacity never "
    "lowers what they are worth") {
    for_all(1, [](Case& one) {
        // This property is not about options that exceed a capacity on their own.
        AllotmentProblem problem = support::without_too_large(random_problem(one.random));
        const double tolerance = 1e-9 * support::scale_of(problem);
        const auto relaxed = [&] {
            const RelaxedAllotment found = Allotter<>{}.relax(problem);
            return found.status == AllotStatus::infeasible ? impossible : found.objective;
        };
        const double split = relaxed();
        REQUIRE(split >= optimum(problem) - tolerance);
        for (double& capacity : problem.capacity)
            if (one.random.chance(0.5)) capacity += one.random.between(0, 3);
        REQUIRE(relaxed() >= split - tolerance);
    });
}

TEST_CASE(
    "allotments: what was solved before does not change the objective at gap 0, nor without a warm "
    "start a single bit") {
    for_all(2, [](Case& one) {
        Allotter<> kept;
        for (int before = one.random.integer(1, 3); before > 0; --before)
            (void)kept(random_problem(one.random), {.gap = 1e-4});
        const AllotmentProblem problem = random_problem(one.random);
        const AllotResult fresh = solved(problem),
                          warm = kept(problem, {.gap = 0, .warm_start = true, .most_states = 200'000}),
                          cold = kept(problem, {.gap = 0, .most_states = 200'000});
        REQUIRE(warm.status == fresh.status);
        REQUIRE(about(worth(warm), worth(fresh), 2 * rounding(problem)));
        REQUIRE(cold.choice == fresh.choice);
        REQUIRE(cold.prices == fresh.prices);
        REQUIRE(cold.objective == fresh.objective);
        REQUIRE(cold.bound == fresh.bound);
        if (!has_one_answer(problem)) return;
        one.count("with one best choice");
        REQUIRE(warm.choice == fresh.choice);
    });
}
