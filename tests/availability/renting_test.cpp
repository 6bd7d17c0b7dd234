// Which nodes are worth their price: every job gets the option that costs least until it ends, limits share
// out what exists as well as possible, and nodes are not given back and ordered again all the time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/availability/node_renter.hpp"
#include "goodput/availability/renting.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;

/// Goodput is a rate times a power of the GPUs. Both belong to the job, hidden in numbers that it has anyway.
struct PowerPredictor {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            const PoolShare& share = option.configuration.first();
            option.goodput = job.types[share.gpu_type].reference_rate *
                             std::pow(double(share.shape.gpus), job.owed_seconds.front());
            option.knowledge = Knowledge::measured;
        }
    }
};
struct NoForecast {
    [[nodiscard]] double value(const Round&, const Job&, const Option& option) const {
        return option.goodput;
    }
};
using Advisor = RentAdvisor<PowerPredictor, NoForecast>;
using Renter = NodeRenter<PowerPredictor, NoForecast>;

Job power_job(std::string name, std::vector<double> rates, double power, double left) {
    Job job{.name = std::move(name)};
    job.max_gpus = 16;
    job.initial_batch = 1;
    job.max_batch = 64;
    job.owed_seconds.assign(rates.size(), power);
    for (const double rate : rates) job.types.push_back({.max_atomic_batch = 8, .reference_rate = rate});
    job.remaining_examples = left;
    return job;
}

Snapshot random_snapshot(support::Random& random, std::size_t jobs) {
    Snapshot snapshot;
    snapshot.time_seconds = 1000;
    snapshot.cluster.gpu_types = {"slow", "fast"};
    for (std::size_t j = 0; j < jobs; ++j)
        snapshot.jobs.push_back(power_job("job-" + std::to_string(j),
                                          {random.between(1, 4), random.between(2, 12)},
                                          random.between(0.2, 0.98), random.between(1e3, 1e6)));
    return snapshot;
}

std::vector<RentOffer> two_offers(support::Random& random, int most, int gpus = 4) {
    const double slow = random.between(1, 6), fast = random.between(4, 40);
    return {{.name = "slow", .gpus = gpus, .dollars_per_hour = slow * gpus / 4, .most_nodes = most},
            {.name = "fast",
             .gpu_type = 1,
             .gpus = gpus,
             .dollars_per_hour = fast * gpus / 4,
             .most_nodes = most}};
}

struct Choice {
    std::size_t offer = 0;
    int gpus = 0;
    double cost = 0, hours = 0, start = 0;
};

/// Returns all that a waiting job could hold of one-GPU nodes, with the cost until it ends.
std::vector<Choice> choices_of(const Job& job, std::span<const RentOffer> offers, double hour_worth) {
    std::vector<Choice> choices;
    for (std::size_t o = 0; o < offers.size(); ++o)
        for (int gpus = 1; gpus <= std::min(16, offers[o].most_nodes); ++gpus) {
            const double price = offers[o].dollars_per_hour * gpus;
            const double rate =
                job.types[offers[o].gpu_type].reference_rate * std::pow(gpus, job.owed_seconds[0]);
            const double hours = *job.remaining_examples / rate / 3600;
            const double start = price * offers[o].start_seconds / 3600;
            choices.push_back({o, gpus, (price + hour_worth) * hours + start, hours, start});
        }
    return choices;
}

TEST_CASE("A job alone wants what costs least until it ends") {
    support::Random random(1);
    for (int round = 0; round < 200; ++round) {
        const double hour_worth = std::exp(random.between(-2, 5));
        const Snapshot snapshot = random_snapshot(random, 1);
        const std::vector<RentOffer> offers = two_offers(random, 32, 1);
        const std::vector<Choice> choices = choices_of(snapshot.jobs[0], offers, hour_worth);
        const Choice best = *std::min_element(choices.begin(), choices.end(),
                                              [](const auto& a, const auto& b) { return a.cost < b.cost; });
        Advisor advisor(hour_worth);
        const RentAdvice& advice = advisor.advise(snapshot, offers);
        for (std::size_t o = 0; o < offers.size(); ++o) {
            CHECK(advice.offers[o].gpus_wanted == (o == best.offer ? best.gpus : 0));
            CHECK(advice.offers[o].nodes == (o == best.offer ? best.gpus : 0));
            CHECK(advice.offers[o].gpu_worth == doctest::Approx(offers[o].dollars_per_hour));
        }
        CHECK(advice.dollars_per_hour == doctest::Approx(best.gpus * offers[best.offer].dollars_per_hour));
    }
}

TEST_CASE("If limits bind, the distribution is as good as the best of all possibilities") {
    support::Random random(2);
    int bound = 0;
    for (int round = 0; round < 100; ++round) {
        const double hour_worth = std::exp(random.between(1, 5));
        const Snapshot snapshot = random_snapshot(random, 3);
        const std::vector<RentOffer> offers = two_offers(random, 4, 1);
        Advisor advisor(hour_worth);
        const RentAdvice advice = advisor.advise(snapshot, offers);
        std::vector<std::vector<Choice>> all;
        for (const Job& job : snapshot.jobs) {
            all.push_back(choices_of(job, offers, hour_worth));
            double least = all.back().front().cost;
            for (const Choice& choice : all.back()) least = std::min(least, choice.cost);
            for (Choice& choice : all.back())  // from here on: the dollars per hour that it is worth
                choice.cost = (least - choice.start) / choice.hours -
                              offers[choice.offer].dollars_per_hour * choice.gpus;
            all.back().push_back({0, 0, 0, 0, 0});
        }
        double best = -1;
        std::vector<int> best_gpus;
        for (const Choice& a : all[0])
            for (const Choice& b : all[1])
                for (const Choice& c : all[2]) {
                    std::vector<int> gpus(2, 0);
                    for (const Choice& choice : {a, b, c}) gpus[choice.offer] += choice.gpus;
                    if (gpus[0] > 4 || gpus[1] > 4 || a.cost + b.cost + c.cost <= best) continue;
                    best = a.cost + b.cost + c.cost;
                    best_gpus = gpus;
                }
        for (std::size_t o = 0; o < offers.size(); ++o) {
            CHECK(advice.offers[o].gpus_wanted == best_gpus[o]);
            CHECK(advice.offers[o].nodes == best_gpus[o]);
            CHECK(advice.offers[o].gpu_worth >= offers[o].dollars_per_hour - 1e-9);
        }
        bound += advice.offers[0].gpu_worth > offers[0].dollars_per_hour + 1e-6 ||
                 advice.offers[1].gpu_worth > offers[1].dollars_per_hour + 1e-6;
    }
    CHECK(bound > 10);
}

TEST_CASE("What jobs want is brought together where the rest of a node would cost more than it brings") {
    Snapshot snapshot;
    snapshot.cluster.gpu_types = {"slow", "fast"};
    snapshot.jobs = {power_job("job", {10, 50}, 0.1, 1e7)};
    const std::vector<RentOffer> offers{
        {.name = "slow", .gpus = 4, .dollars_per_hour = 4, .most_nodes = 9},
        {.name = "fast", .gpu_type = 1, .gpus = 8, .dollars_per_hour = 32, .most_nodes = 9}};
    // Per GPU a single fast one is best, but only nodes of eight are on offer.
    CHECK(Advisor(1).advise(snapshot, offers).offers[0].nodes == 1);
    CHECK(Advisor(1).advise(snapshot, offers).offers[1].nodes == 0);
    // If time is expensive, or eight jobs share the node, it is worth its price.
    CHECK(Advisor(100).advise(snapshot, offers).offers[1].nodes == 1);
    for (int j = 1; j < 8; ++j) {
        snapshot.jobs.push_back(snapshot.jobs[0]);
        snapshot.jobs.back().name = "job-" + std::to_string(j);
    }
    CHECK(Advisor(1).advise(snapshot, offers).offers[1].nodes == 1);
    CHECK(Advisor(1).advise(snapshot, offers).offers[0].nodes == 0);
}

TEST_CASE("Bringing jobs together leaves no job without GPUs that had some") {
    support::Random random(7);
    for (int round = 0; round < 60; ++round) {
        const double hour_worth = std::exp(random.between(-1, 4));
        const Snapshot snapshot = random_snapshot(random, 5);
        const std::vector<RentOffer> offers = two_offers(random, 6);
        const RentAdvice shared = Advisor(hour_worth).advise(snapshot, offers);
        CHECK(shared.offers[0].gpus_wanted + shared.offers[1].gpus_wanted >= 5);
        for (std::size_t o = 0; o < offers.size(); ++o) {
            CHECK(shared.offers[o].nodes <= offers[o].most_nodes);
            CHECK(shared.offers[o].gpus_wanted <= shared.offers[o].nodes * offers[o].gpus);
        }
    }
}

TEST_CASE("Dearer hours of jobs never want fewer GPUs, dearer nodes never more") {
    support::Random random(3);
    for (int round = 0; round < 50; ++round) {
        const Snapshot snapshot = random_snapshot(random, 6);
        std::vector<RentOffer> offers = two_offers(random, 200, 1);
        offers.pop_back();
        int last = 0;
        for (const double worth : {0.1, 1.0, 5.0, 25.0, 125.0, 625.0}) {
            const int wanted = Advisor(worth).advise(snapshot, offers).offers[0].gpus_wanted;
            CHECK(wanted >= last);
            last = wanted;
        }
        for (const double dearer : {1.5, 3.0, 10.0}) {
            offers[0].dollars_per_hour *= dearer;
            const int wanted = Advisor(625).advise(snapshot, offers).offers[0].gpus_wanted;
            CHECK(wanted <= last);
            last = wanted;
        }
    }
}

TEST_CASE("Without jobs, or with a limit of 0, nothing is rented") {
    support::Random random(4);
    Snapshot snapshot = random_snapshot(random, 3);
    const std::vector<RentOffer> none = two_offers(random, 0), some = two_offers(random, 3);
    Advisor advisor(10);
    for (const OfferAdvice& offer : advisor.advise(snapshot, none).offers) {
        CHECK(offer.nodes == 0);
        CHECK(offer.why == "none may be rented");
    }
    CHECK(advisor.advise(snapshot, {}).offers.empty());
    snapshot.jobs.clear();
    for (const OfferAdvice& offer : advisor.advise(snapshot, some).offers) CHECK(offer.nodes == 0);
    CHECK(advisor.advise(snapshot, some).dollars_per_hour == 0);
}

TEST_CASE("Spot nodes are rented for less money, and not by jobs that may not have them") {
    Snapshot snapshot;
    snapshot.cluster.gpu_types = {"one"};
    snapshot.jobs = {power_job("job", {10}, 0.8, 1e6)};
    snapshot.jobs[0].restart_cost_seconds = 30;
    std::vector<RentOffer> offers{
        {.name = "on demand", .gpus = 4, .dollars_per_hour = 4, .most_nodes = 9},
        {.name = "spot", .gpus = 4, .dollars_per_hour = 1.3, .most_nodes = 9, .spot = true}};
    offers[1].interruptions_per_hour = 0.1;
    Advisor advisor(5);
    CHECK(advisor.advise(snapshot, offers).offers[0].nodes == 0);
    CHECK(advisor.advise(snapshot, offers).offers[1].nodes > 0);
    offers[1].interruptions_per_hour = 200;  // nothing is ever finished there
    CHECK(advisor.advise(snapshot, offers).offers[0].nodes > 0);
    CHECK(advisor.advise(snapshot, offers).offers[1].nodes == 0);
    offers[1].interruptions_per_hour = 0.1;
    snapshot.jobs[0].spot_allowed = false;
    CHECK(advisor.advise(snapshot, offers).offers[0].nodes > 0);
    CHECK(advisor.advise(snapshot, offers).offers[1].nodes == 0);
}

TEST_CASE("Nodes that exist anyway are used before any is rented") {
    Snapshot snapshot;
    snapshot.cluster.gpu_types = {"one"};
    snapshot.jobs = {power_job("job", {10}, 0.5, 1e6)};
    snapshot.cluster.nodes = {{.name = "own", .gpus = 8}};
    const std::vector<RentOffer> offers{
        {.name = "rented", .gpus = 4, .dollars_per_hour = 40, .most_nodes = 9}};
    CHECK(Advisor(5).advise(snapshot, offers).offers[0].nodes == 0);
    snapshot.cluster.nodes[0].drained = true;  // it accepts no new job
    CHECK(Advisor(5).advise(snapshot, offers).offers[0].nodes > 0);
}

TEST_CASE("A node is ordered at once and given back when keeping it has cost as much as another start") {
    Snapshot snapshot;
    snapshot.cluster.gpu_types = {"one"};
    snapshot.jobs = {power_job("job", {10}, 0.9, 1e7)};
    const std::vector<RentOffer> offers{
        {.name = "node", .gpus = 4, .dollars_per_hour = 5, .most_nodes = 9, .start_seconds = 100}};
    Renter renter(10);
    std::vector<int> rented{0};
    const auto step = [&](double time) {
        snapshot.time_seconds = time;
        const std::span<const int> wanted = renter.rent(snapshot, offers, rented);
        rented.assign(wanted.begin(), wanted.end());
        return rented[0];
    };
    const int full = step(0);
    CHECK(full > 0);
    CHECK(step(60) == full);
    snapshot.jobs.clear();
    CHECK(renter.keep_seconds(snapshot, offers[0]) == doctest::Approx(100 * (1 + 10 / 5.0)));
    for (double time = 120; time <= 360; time += 60) CHECK(step(time) == full);
    CHECK(step(361) == 0);
    // After a node is lost, it is not ordered again just because it was kept before.
    snapshot.jobs = {power_job("job", {10}, 0.9, 1e7)};
    CHECK(step(400) == full);
    snapshot.jobs.clear();
    rented[0] = 1;
    CHECK(step(460) == 1);
}

TEST_CASE("Bad offers are refused by name") {
    const Cluster cluster{.gpu_types = {"one"}};
    const auto refused = [&](RentOffer offer) {
        const std::vector<RentOffer> offers{offer};
        CHECK_THROWS_AS(validate(offers, cluster), std::invalid_argument);
    };
    refused({.name = ""});
    refused({.name = "a", .gpu_type = 1});
    refused({.name = "a", .gpus = 0});
    refused({.name = "a", .dollars_per_hour = -1});
    refused({.name = "a", .dollars_per_hour = std::nan("")});
    refused({.name = "a", .most_nodes = -1});
    refused({.name = "a", .start_seconds = -1});
    refused({.name = "a", .interruptions_per_hour = -1});
    refused({.name = "a", .interruptions_per_hour = 2e15});
    const std::vector<RentOffer> twice{{.name = "a", .gpus = 4}, {.name = "b", .gpus = 4}};
    CHECK_THROWS_AS(validate(twice, cluster), std::invalid_argument);
    CHECK_THROWS_AS(Advisor(0), std::invalid_argument);
    CHECK_THROWS_AS(Advisor(std::nan("")), std::invalid_argument);
}

}  // namespace

TEST_CASE("jobs that keep what they hold count as served, however much others would pay for it") {
    support::Random random(21);
    int crowded = 0;
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = random_snapshot(random, 6);
        // Two nodes exist anyway. A job that gains little from its node holds one of them.
        snapshot.cluster.nodes = {{"own-0", 0, 8}, {"own-1", 0, 8}};
        Job& pinned = snapshot.jobs[2];
        pinned.types[0].reference_rate = 1e-3;
        pinned.types[1].reference_rate = 1e-3;
        pinned.remaining_examples = 1e6;
        pinned.preemptible = false;
        pinned.placement = {{0, 8}};
        // The others can use only nodes of this type.
        for (Job& job : snapshot.jobs) {
            job.types[1].max_atomic_batch = 0;
            job.types[0].max_nodes = 1;
            job.min_gpus = random.integer(1, 2);
        }
        const std::vector<RentOffer> offers{
            {.name = "slow", .gpus = 4, .dollars_per_hour = 4, .most_nodes = random.integer(0, 2)}};
        Advisor advisor(random.between(1, 50));
        const OfferAdvice advice = advisor.advise(snapshot, offers).offers[0];
        CHECK(advice.nodes <= offers[0].most_nodes);
        // The others want as much as if the kept node did not exist.
        Snapshot without = snapshot;
        without.cluster.nodes.erase(without.cluster.nodes.begin());
        without.jobs.erase(without.jobs.begin() + 2);
        const OfferAdvice alone = Advisor(advisor.hour_worth()).advise(without, offers).offers[0];
        const OfferAdvice kept = Advisor(advisor.hour_worth()).advise(snapshot, offers).offers[0];
        CHECK(kept.gpus_wanted == alone.gpus_wanted);
        CHECK(kept.nodes == alone.nodes);
        crowded += alone.gpu_worth > 1.01;
    }
    CHECK(crowded > 50);
}

TEST_CASE("nothing is rented for jobs of a team beyond its quota") {
    support::Random random(22);
    using Limited = RentAdvisor<PowerPredictor, NoForecast, Limits<TeamQuotas>>;
    int less = 0;
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = random_snapshot(random, 4);
        for (Job& job : snapshot.jobs) job.team = "team";
        const std::vector<RentOffer> offers = two_offers(random, 20);
        const double hour_worth = random.between(1, 200);
        const int quota = random.integer(0, 12);
        Advisor free(hour_worth);
        Limited limited(hour_worth, {}, {}, Limits(TeamQuotas({{.team = "team", .gpus = quota}}))),
            wide(hour_worth, {}, {}, Limits(TeamQuotas({{.team = "team", .gpus = 1e6}})));
        int wanted = 0, wanted_freely = 0;
        for (const OfferAdvice& of : limited.advise(snapshot, offers).offers) {
            wanted += of.gpus_wanted;
            CHECK(of.nodes <= (of.gpus_wanted + 3) / 4);
        }
        for (const OfferAdvice& of : free.advise(snapshot, offers).offers) wanted_freely += of.gpus_wanted;
        CHECK(wanted <= quota);
        less += wanted < wanted_freely;
        for (std::size_t o = 0; o < 2; ++o)
            CHECK(wide.advise(snapshot, offers).offers[o].nodes ==
                  free.advise(snapshot, offers).offers[o].nodes);
        // Nodes kept beyond the quota stay kept.
        snapshot.cluster.nodes = {{"rented", 1, 4}};
        snapshot.jobs[0].preemptible = false;
        snapshot.jobs[0].placement = {{0, 4}};
        Limited none(hour_worth, {}, {}, Limits(TeamQuotas({{.team = "team", .gpus = 0}})));
        const RentAdvice& advice = none.advise(snapshot, offers);
        CHECK(advice.offers[0].nodes == 0);
        CHECK(advice.offers[1].nodes == 1);
    }
    CHECK(less > 50);
}
