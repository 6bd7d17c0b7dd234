// Pollux and Optimus against their authors' objectives, by trying all allotments of small clusters.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/policies/optimus.hpp"
#include "goodput/policies/pollux.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

constexpr std::size_t nothing = no_option;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Jobs on one pool of two 4-GPU nodes. Each job may have 1, 2, 4 or 8 GPUs.
struct SmallCluster {
    static constexpr int gpus = 8;
    static constexpr double time_seconds = 5000;

    Cluster cluster{{"gpu"}, {{"node-0", 0, 4}, {"node-1", 0, 4}}};
    std::vector<Pool> pools = pools_of(cluster);
    std::vector<Job> jobs;
    std::vector<std::vector<Option>> options;
    std::vector<std::vector<double>> values;

    SmallCluster(Random& random, int most_jobs) {
        const int count = random.integer(1, most_jobs);
        for (int j = 0; j < count; ++j) {
            Job job{.name = "job-" + std::to_string(j),
                    .submitted_seconds = random.integer(0, 4900) * 1.0,
                    .restarts = random.integer(0, 3),
                    .restart_cost_seconds = random.between(0, 200),
                    .max_gpus = gpus};
            job.types.resize(1);
            job.remaining_examples = random.between(10, 10000);
            if (random.chance(0.4)) job.placement = {{0, 1 << random.integer(0, 2)}};
            jobs.push_back(job);
            options.emplace_back();
            double goodput = random.between(0.1, 10);
            for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 8}}) {
                options.back().push_back({{0, 4, shape}, {1, 0}, goodput, Knowledge::measured});
                goodput *= random.between(0.8, 2);
            }
        }
    }

    template <Policy P>
    void value(const P& policy) {
        values.clear();
        for (const auto& of_job : options) values.emplace_back(of_job.size());
        std::vector<OptionRow> rows;
        std::vector<support::PoolUses> uses;
        for (const auto& of_job : options) uses.emplace_back(pools, of_job);
        for (std::size_t j = 0; j < jobs.size(); ++j)
            rows.push_back({jobs[j], options[j], values[j], uses[j].view()});
        const std::vector<double> capacity = support::capacity_of(pools);
        value_rows(policy, Round{time_seconds, cluster, pools, capacity}, std::span<const OptionRow>(rows));
    }

    /// Returns the option of each job that the allotment step chooses for the values.
    [[nodiscard]] std::vector<std::size_t> allotted() const {
        AllotmentProblem problem;
        problem.capacity = {gpus};
        for (const auto& of_job : options) {
            problem.add_job(false);
            for (std::size_t k = 0; k < of_job.size(); ++k)
                problem.add_option(values[problem.jobs() - 1][k],
                                   {ResourceUse{0, static_cast<double>(of_job[k].configuration.gpus())}});
        }
        return Allotter<>{}(problem, {.gap = 0}).choice;
    }

    /// Calls visit(choice) for every allotment.
    void for_each_allotment(const std::function<void(const std::vector<std::size_t>&)>& visit) const {
        std::vector<std::size_t> choice(jobs.size(), nothing);
        const std::function<void(std::size_t, int)> extend = [&](std::size_t j, int left) {
            if (j == jobs.size()) return visit(choice);
            choice[j] = nothing;
            extend(j + 1, left);
            for (std::size_t k = 0; k < options[j].size(); ++k) {
                choice[j] = k;
                if (gpus_of(j, k) <= left) extend(j + 1, left - gpus_of(j, k));
            }
        };
        extend(0, gpus);
    }
    [[nodiscard]] int gpus_of(std::size_t j, std::size_t k) const {
        return options[j][k].configuration.gpus();
    }
    [[nodiscard]] bool holds(std::size_t j, std::size_t k) const {
        return options[j][k].configuration == configuration_of(jobs[j].placement, cluster);
    }
};

/// Pollux's speedups, written independently.
std::vector<double> speedups_of(const SmallCluster& small, const std::vector<std::size_t>& choice) {
    std::vector<double> speedups;
    for (std::size_t j = 0; j < choice.size(); ++j) {
        if (choice[j] == nothing) {
            speedups.push_back(0);
            continue;
        }
        const auto goodput = [&](std::size_t k) { return small.options[j][k].goodput; };
        double fair = 0;
        switch (small.jobs.size()) {
            case 1:
                fair = goodput(3);
                break;  // fair share of 8 GPUs
            case 2:
                fair = goodput(2);
                break;  // 4 GPUs
            case 3:
                fair = 0.5 * (goodput(1) + goodput(2));
                break;  // 3 GPUs, between 2 and 4
            default:
                fair = goodput(1);  // 2 GPUs
        }
        const Job& job = small.jobs[j];
        const double age = small.time_seconds - job.submitted_seconds, cost = job.restart_cost_seconds;
        const double factor = job.placement.empty() || small.holds(j, choice[j])
                                  ? 1
                                  : std::max(age - job.restarts * cost, 0.0) / (age + cost);
        speedups.push_back(goodput(choice[j]) / fair * factor);
    }
    return speedups;
}

double power_mean(std::vector<double> speedups, double p, double idle) {
    double sum = 0;
    for (const double speedup : speedups)
        sum += p == 0 ? std::log(speedup + idle) : std::pow(speedup + idle, p);
    sum /= static_cast<double>(speedups.size());
    return p == 0 ? std::exp(sum) : std::pow(sum, 1 / p);
}

/// Returns the sum of the remaining times, or infinity if a job gets nothing.
double remaining_seconds(const SmallCluster& small, const std::vector<std::size_t>& choice) {
    double sum = 0;
    for (std::size_t j = 0; j < choice.size(); ++j)
        sum += choice[j] == nothing ? infinity
                                    : *small.jobs[j].remaining_examples / small.options[j][choice[j]].goodput;
    return sum;
}

}  // namespace

TEST_CASE("Pollux: the allotment has the largest power mean of speedups of all allotments") {
    Random random(1);
    for (int round = 0; round < 400; ++round) {
        SmallCluster small(random, 5);
        Pollux policy;
        policy.fairness_power = random.chance(0.2) ? 0 : random.between(-3, 2);
        policy.idle_speedup = random.chance(0.5) ? 0.01 : random.between(0.001, 0.5);
        policy.validate();
        small.value(policy);
        const auto mean_of = [&](const std::vector<std::size_t>& choice) {
            return power_mean(speedups_of(small, choice), policy.fairness_power, policy.idle_speedup);
        };
        double best = 0;
        small.for_each_allotment([&](const auto& choice) { best = std::max(best, mean_of(choice)); });
        CHECK(mean_of(small.allotted()) >= best * (1 - 1e-9));
    }
}

TEST_CASE("Pollux: the lower p, the better off is the job that is worst off, and the less they have in sum") {
    const std::vector<double> powers{-4, -2, -1, -0.5, 0, 0.5, 1};
    std::vector<double> least(powers.size()), sum(powers.size());
    Random random(2);
    for (int round = 0; round < 400; ++round) {
        SmallCluster small(random, 6);
        for (std::size_t i = 0; i < powers.size(); ++i) {
            small.value(Pollux{.fairness_power = powers[i], .idle_speedup = 0.05});
            const std::vector<double> speedups = speedups_of(small, small.allotted());
            least[i] += *std::min_element(speedups.begin(), speedups.end());
            sum[i] += std::accumulate(speedups.begin(), speedups.end(), 0.0);
        }
    }
    CHECK(std::is_sorted(least.rbegin(), least.rend()));
    CHECK(std::is_sorted(sum.begin(), sum.end()));
    CHECK(least.front() > 1.05 * least.back());
    CHECK(sum.back() > sum.front());
}

TEST_CASE("Pollux: a job with its fair share has speedup 1, and the speed of a GPU type does not matter") {
    Random random(3);
    for (int round = 0; round < 300; ++round) {
        SmallCluster small(random, 5);
        for (Job& job : small.jobs) job.placement.clear();
        const Pollux policy;
        small.value(policy);
        const std::vector<std::vector<double>> values = small.values;
        const double of_fair_share = 1 / policy.idle_speedup - 1 / (1 + policy.idle_speedup);
        const std::size_t fair = small.jobs.size() == 1 ? 3 : small.jobs.size() == 2 ? 2 : 1;
        if (small.jobs.size() != 3)
            for (const auto& of_job : values) CHECK(of_job[fair] == doctest::Approx(of_fair_share));
        const double faster = random.between(0.1, 10);
        for (auto& of_job : small.options)
            for (Option& option : of_job) option.goodput *= faster;
        small.value(policy);
        for (std::size_t j = 0; j < values.size(); ++j)
            for (std::size_t k = 0; k < values[j].size(); ++k)
                CHECK(small.values[j][k] == doctest::Approx(values[j][k]));
    }
}

TEST_CASE("Pollux: goodput between the options is interpolated, beyond them proportional, elsewhere none") {
    const std::vector<Option> options{
        {{0, 4, {1, 2}}, {}, 3}, {{0, 4, {1, 4}}, {}, 4}, {{1, 8, {1, 1}}, {}, 9}};
    CHECK(Pollux::goodput_at(options, {0, 4}, 1) == 1.5);
    CHECK(Pollux::goodput_at(options, {0, 4}, 2) == 3);
    CHECK(Pollux::goodput_at(options, {0, 4}, 3) == 3.5);
    CHECK(Pollux::goodput_at(options, {0, 4}, 4) == 4);
    CHECK(Pollux::goodput_at(options, {0, 4}, 8) == 8);
    CHECK(Pollux::goodput_at(options, {1, 8}, 3) == 27);
    CHECK(Pollux::goodput_at(options, {0, 8}, 1) == 0);
}

TEST_CASE("Optimus: the least sum of remaining times of all allotments, never worse than the greedy rule's") {
    Random random(4);
    int better = 0;
    for (int round = 0; round < 600; ++round) {
        SmallCluster small(random, 5);
        small.value(Optimus{.counts_restarts = false});
        const double total = remaining_seconds(small, small.allotted());
        double best = infinity;
        small.for_each_allotment(
            [&](const auto& choice) { best = std::min(best, remaining_seconds(small, choice)); });
        CHECK(total <= best * (1 + 1e-9));

        // Starts from the smallest allotments, and enlarges the one that saves most per GPU, again and again.
        std::vector<std::size_t> greedy(small.jobs.size(), 0);
        for (int left = small.gpus - static_cast<int>(small.jobs.size()); left > 0;) {
            std::size_t chosen = nothing;
            double most = 0;
            for (std::size_t j = 0; j < greedy.size(); ++j) {
                const std::size_t k = greedy[j];
                if (k + 1 == small.options[j].size()) continue;
                const int more = small.gpus_of(j, k + 1) - small.gpus_of(j, k);
                const double gain = *small.jobs[j].remaining_examples *
                                    (1 / small.options[j][k].goodput - 1 / small.options[j][k + 1].goodput) /
                                    more;
                if (more > left || gain <= most) continue;
                most = gain;
                chosen = j;
            }
            if (chosen == nothing) break;
            left -= small.gpus_of(chosen, greedy[chosen] + 1) - small.gpus_of(chosen, greedy[chosen]);
            ++greedy[chosen];
        }
        const double greedy_total = remaining_seconds(small, greedy);
        CHECK(total <= greedy_total * (1 + 1e-9));
        better += total < greedy_total * (1 - 1e-9) ? 1 : 0;
    }
    CHECK(better > 0);
}

TEST_CASE("Optimus: where GPUs are short every job has one before any has two, first come, first served") {
    Random random(5);
    for (int round = 0; round < 300; ++round) {
        SmallCluster small(random, 20);
        small.value(Optimus{});
        const std::vector<std::size_t> choice = small.allotted();
        const auto served = static_cast<std::size_t>(
            std::count_if(choice.begin(), choice.end(), [](std::size_t k) { return k != nothing; }));
        CHECK(served == std::min<std::size_t>(small.jobs.size(), small.gpus));
        for (std::size_t a = 0; a < choice.size(); ++a)
            for (std::size_t b = 0; b < choice.size(); ++b)
                if (choice[a] == nothing && choice[b] != nothing)
                    CHECK(small.jobs[b].submitted_seconds <= small.jobs[a].submitted_seconds);
    }
}

TEST_CASE("Optimus: a job that declared nothing counts as if it had the assumed time on its slowest option") {
    Random random(6);
    for (int round = 0; round < 200; ++round) {
        SmallCluster small(random, 5);
        const Optimus policy{.assumed_seconds = random.between(1, 5000)};
        for (std::size_t j = 0; j < small.jobs.size(); ++j) {
            double least = infinity;
            for (const Option& option : small.options[j]) least = std::min(least, option.goodput);
            small.jobs[j].remaining_examples = policy.assumed_seconds * least;
        }
        small.value(policy);
        const std::vector<std::vector<double>> declared = small.values;
        small.jobs[0].remaining_examples.reset();
        if (small.jobs.size() > 1)
            for (Option& option : small.options[1]) option.knowledge = Knowledge::unknown;
        small.value(policy);
        CHECK(small.values == declared);
    }
}

TEST_CASE("Optimus: with restarts counted a job changes only for more than its restart costs") {
    Random random(7);
    int changes = 0;
    for (int round = 0; round < 400; ++round) {
        SmallCluster small(random, 1);
        Job& job = small.jobs[0];
        if (job.placement.empty()) continue;
        small.value(Optimus{.counts_restarts = true});
        const std::size_t chosen = small.allotted()[0];
        REQUIRE(chosen != nothing);
        const auto seconds = [&](std::size_t k) {
            return *job.remaining_examples / small.options[0][k].goodput;
        };
        for (std::size_t k = 0; k < 4; ++k)
            if (small.holds(0, k) && k != chosen) {
                ++changes;
                CHECK(seconds(chosen) + job.restart_cost_seconds <= seconds(k) * (1 + 1e-9));
            } else if (small.holds(0, k)) {
                for (std::size_t other = 0; other < 4; ++other)
                    CHECK(seconds(k) <= (seconds(other) + job.restart_cost_seconds) * (1 + 1e-9));
            }
    }
    CHECK(changes > 0);
}

TEST_CASE("options that no batch plan fits are worth nothing, and a job grows at most twofold") {
    Random random(8);
    for (int round = 0; round < 200; ++round) {
        SmallCluster small(random, 5);
        for (auto& of_job : small.options)
            for (Option& option : of_job)
                if (random.chance(0.5)) option.goodput = 0;
        const auto check = [&](const auto& policy) {
            small.value(policy);
            for (std::size_t j = 0; j < small.options.size(); ++j)
                for (std::size_t k = 0; k < small.options[j].size(); ++k) {
                    CHECK(std::isfinite(small.values[j][k]));
                    if (small.options[j][k].goodput <= 0) CHECK(small.values[j][k] == 0);
                }
        };
        check(Pollux{});
        check(Pollux{.fairness_power = 0});
        check(Optimus{});
        Job& job = small.jobs[0];
        JobModel model;
        CHECK(Pollux{}.most_gpus(job, model, 0) == 1);
        CHECK(Optimus{}.most_gpus(job, model, 0) == 1);
        model.types.resize(1);
        model.types[0].most_replicas = 3;
        CHECK(Pollux{}.most_gpus(job, model, 0) == 6);
        CHECK(Optimus{}.most_gpus(job, model, 0) == 6);
    }
}

TEST_CASE("settings without finite values are refused by name and value") {
    CHECK_NOTHROW(Pollux{}.validate());
    CHECK_NOTHROW(Pollux{.fairness_power = 0}.validate());
    CHECK_THROWS_WITH(Pollux{.idle_speedup = 0}.validate(),
                      "policy pollux: idle is 0, but must be a finite number above 0");
    CHECK_THROWS_WITH(Pollux{.fairness_power = -1000}.validate(),
                      "policy pollux: p is -1000, but must be a finite number for which idle^p is finite");
    CHECK_THROWS_AS(Pollux{.fairness_power = std::nan("")}.validate(), std::invalid_argument);
    CHECK_NOTHROW(Optimus{}.validate());
    CHECK_THROWS_WITH(Optimus{.assumed_seconds = 0}.validate(),
                      "policy optimus: assumed is 0, but must be a finite number above 0");
}

TEST_CASE("Pollux: where every node is drained, values are numbers and more goodput is worth more") {
    Cluster cluster{{"gpu"}, {{"node-0", 0, 4, true}}};
    const std::vector<Pool> pools{{0, 4, {}}};
    Job job{.name = "job", .max_gpus = 4, .placement = {{0, 4}}};
    job.types.resize(1);
    const std::vector<Option> options{{{0, 4, {1, 2}}, {1, 0}, 3, Knowledge::measured},
                                      {{0, 4, {1, 4}}, {1, 0}, 5, Knowledge::measured}};
    for (const double p : {-1.0, 0.0, 0.5}) {
        CAPTURE(p);
        std::vector<double> values(2), capacity{0};
        const OptionRow row{job, options, values};
        Pollux{.fairness_power = p}.value_round(Round{0, cluster, pools, capacity}, {&row, 1});
        CHECK(std::isfinite(values[1]));
        CHECK(values[1] > values[0]);
        CHECK(values[0] >= 0);
    }
}
