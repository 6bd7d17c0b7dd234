// Fuzzes the choice of nodes to rent. Offers and jobs are refused with a reason or get an answer within the
// limits, with finite prices and a sentence per offer. Without work no node is rented, and names of jobs
// make no difference.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "goodput/availability/renting.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

/// Goodput is a rate times a power of the GPUs; each job has its own rate and power.
struct PowerPredictor {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            const PoolShare& share = option.configuration.first();
            option.goodput = job.types[share.gpu_type].reference_rate *
                             std::pow(static_cast<double>(share.shape.gpus), 1 / (1 + job.weight));
            option.knowledge = Knowledge::measured;
        }
    }
};

struct Goodput {
    [[nodiscard]] double value(const Round&, const Job&, const Option& option) const {
        return option.goodput;
    }
};
using Advisor = RentAdvisor<PowerPredictor, Goodput>;

RentOffer offer_from(fuzz::Bytes record, std::size_t index) {
    return {.name = "offer-" + std::to_string(record.index(16) == 15 ? 0 : index),
            .gpu_type = record.index(3),
            .gpus = record.hostile_integer(1, 8),
            .dollars_per_hour = record.number(0, 50),
            .most_nodes = record.hostile_integer(0, 6),
            .start_seconds = record.number(0, 600),
            .spot = record.flag(),
            .interruptions_per_hour = record.number(0, 1)};
}

Job job_from(fuzz::Bytes record, std::size_t index) {
    Job job{.name = "job-" + std::to_string(index), .restart_cost_seconds = record.number(0, 300)};
    job.max_gpus = record.integer(1, 16);
    job.initial_batch = 1;
    job.max_batch = 64;
    job.weight = record.number(0.1, 3);
    for (int type = 0; type < 2; ++type)
        job.types.push_back({.max_atomic_batch = 8, .reference_rate = record.scale(0.1, 100)});
    if (record.flag()) job.remaining_examples = record.scale(1, 1e7);
    return job;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    const double hour_worth = head.scale(0.1, 100);
    std::vector<RentOffer> offers;
    for (std::size_t o = 0, count = head.index(4); o < count; ++o)
        offers.push_back(offer_from(bytes.record(), o));
    Snapshot now{.time_seconds = 1000, .cluster = {.gpu_types = {"slow", "fast"}}};
    for (std::size_t n = head.index(3); n > 0; --n)
        now.cluster.nodes.push_back(
            {.name = "own-" + std::to_string(n), .gpu_type = head.index(2), .gpus = head.integer(1, 8)});
    while (!bytes.empty() && now.jobs.size() < 12)
        now.jobs.push_back(job_from(bytes.record(), now.jobs.size()));
    RentAdvice first;
    if (!fuzz::accepted([&] {
            Advisor advisor(hour_worth);
            first = advisor.advise(now, offers);
        }))
        return 0;
    check(first.offers.size() == offers.size(), "an answer for every offer");
    double dollars = 0;
    for (std::size_t o = 0; o < offers.size(); ++o) {
        const OfferAdvice& advice = first.offers[o];
        check(advice.nodes >= 0 && advice.nodes <= offers[o].most_nodes, "the limit", advice.nodes,
              offers[o].most_nodes);
        check(advice.gpus_wanted <= static_cast<long long>(advice.nodes) * offers[o].gpus, "GPUs in nodes",
              advice.gpus_wanted, advice.nodes);
        check(std::isfinite(advice.gpu_worth) && advice.gpu_worth >= 0, "a price", advice.gpu_worth);
        check(!advice.why.empty(), "a sentence");
        if (now.jobs.empty()) check(advice.nodes == 0, "nothing to run", advice.nodes);
        dollars += advice.nodes * offers[o].dollars_per_hour;
    }
    check(std::abs(dollars - first.dollars_per_hour) <= 1e-6 * (1 + dollars), "dollars add up", dollars,
          first.dollars_per_hour);
    for (Job& job : now.jobs) job.name = "other " + job.name;
    Advisor advisor(hour_worth);
    const RentAdvice again = advisor.advise(now, offers);
    for (std::size_t o = 0; o < offers.size(); ++o)
        check(again.offers[o].nodes == first.offers[o].nodes, "names say nothing", again.offers[o].nodes,
              first.offers[o].nodes);
    return 0;
}
