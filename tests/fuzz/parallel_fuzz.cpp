// Fuzzes parallelism plans. Every model, cluster and question is refused with a reason or gets an answer.
// Scores equal those of a second implementation. A plan can be run and keeps its limits, no plan exceeds
// the bound, and a proven plan is the best of all, if they can be listed. If the planner is told to stop,
// all but the last still holds.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "goodput/parallel/parallel_planner.hpp"
#include "parallel/parallel_claims.hpp"
#include "parallel/parallel_random.hpp"
#include "parallel/parallel_reference.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;
using support::ParallelCase;

namespace {

constexpr std::size_t most_plans = 3000;

/// Draws a field of the input per value, and after its end numbers that follow from `more`.
class Source {
public:
    Source(fuzz::Bytes bytes, std::uint64_t more) : bytes_(bytes), more_(more) {}
    double unit() { return bytes_.empty() ? more_.unit() : bytes_.ordinary(0, 1) * (1 - 0x1.0p-24); }
    double between(double low, double high) { return low + (high - low) * unit(); }
    int integer(int low, int high) { return low + static_cast<int>(unit() * (high - low + 1)); }
    bool chance(double probability) { return unit() < probability; }

private:
    fuzz::Bytes bytes_;
    support::Random more_;
};

/// Changes one number in one of four records; returns whether it did.
bool spoil(fuzz::Bytes& record, ParallelCase& asked, PlanQuestion& question) {
    if (record.index(4) != 3) return false;
    const auto spoil_it = [&](double& number) {
        number = fuzz::hostile_numbers[record.index(fuzz::hostile_numbers.size())];
    };
    LayerSize& size = asked.model.sizes.begin()->second.front();
    GpuType& type = asked.cluster.types.back();
    switch (record.index(14)) {
        case 0:
            spoil_it(size.parameters);
            break;
        case 1:
            spoil_it(size.output_floats);
            break;
        case 2:
            spoil_it(size.activation_floats);
            break;
        case 3:
            spoil_it(asked.model.bytes_per_float);
            break;
        case 4:
            spoil_it(asked.model.bytes_per_parameter);
            break;
        case 5:
            spoil_it(type.memory_gib);
            break;
        case 6:
            spoil_it(type.usd_per_hour);
            break;
        case 7:
            spoil_it(asked.cluster.usd_per_gigabyte.front().front());
            break;
        case 8:
            spoil_it(question.most_usd.emplace());
            break;
        case 9:
            spoil_it(question.least_throughput.emplace());
            break;
        case 10:
            spoil_it(question.reward);
            break;
        case 11:
            spoil_it(question.gap);
            break;
        case 12:
            if (asked.cluster.links.empty()) return false;
            spoil_it(asked.cluster.links.begin()->second.constant);
            break;
        default:
            for (auto& times : asked.model.times)
                if (!times.empty()) spoil_it(times.begin()->second.front().forward_seconds);
    }
    return true;
}

void check_none(const std::vector<std::string>& broken) {
    for (const std::string& line : broken) std::fprintf(stderr, "%s\n", line.c_str());
    check(broken.empty(), "all claims of an answer are so");
}

void check_score(const ParallelCase& asked, const ParallelPlan& plan) {
    const PlanScore score = score_plan(asked.model, asked.cluster, plan, asked.constants);
    const support::ReferenceScore expected = support::reference_score(asked, plan);
    check(score.fault.has_value() != support::reference_valid(asked, plan), "faults are found");
    if (!expected.clear) return;
    check(score.fits == expected.fits, "what fits, fits");
    const auto check_same = [](double one, double other, const char* claim) {
        check(one == other || std::abs(one - other) <= 1e-9 * std::abs(other), claim, one, other);
    };
    check_same(score.iteration_seconds, expected.seconds, "seconds");
    if (std::isfinite(expected.seconds)) check_same(score.usd(), expected.usd(), "dollars");
    for (std::size_t s = 0; s < expected.bytes.size(); ++s)
        check_same(score.stages[s].memory_bytes, expected.bytes[s], "bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record(), spoiled = bytes.record(), question_bytes = bytes.record();
    const std::uint32_t more = head.field();
    support::ParallelShape shape;
    shape.most_gpus = head.flag() ? 12 : 5;
    shape.wild_links = head.flag();
    shape.missing_profiles = head.pick(std::array{0.0, 0.1, 0.4});
    shape.missing_links = head.pick(std::array{0.0, 0.03, 0.2});
    const bool stops = head.flag();
    long long left = stops ? head.integer(0, 300) : 0;

    Source source(bytes, more);
    ParallelCase asked = support::random_parallel_case(source, shape);
    const support::AllParallelPlans all(asked, most_plans);
    Source question_source(question_bytes, more + 1);
    PlanQuestion question = support::random_plan_question(question_source, asked, all.plans());
    const auto find = [&] {
        return find_plan(
            asked.model, asked.cluster, question, [&] { return stops && --left < 0; }, asked.constants);
    };
    if (spoil(spoiled, asked, question)) {
        const bool sound = fuzz::accepted([&] { asked.model.validate(); }) &&
                           fuzz::accepted([&] { asked.cluster.validate(); });
        const bool taken = fuzz::accepted([&] { (void)find(); });
        check(sound || !taken, "what is refused once is refused everywhere");
        return 0;
    }
    support::Random random(more);
    for (int n = 0; n < 20; ++n)
        check_score(asked, support::random_parallel_plan(source, asked, source.integer(1, 5)));

    const PlanAnswer answer = find();
    if (!all.clear()) return 0;
    if (all.complete()) {
        check_none(broken_claims(asked, question, answer, support::all_rivals(asked, all)));
        return 0;
    }
    std::vector<ParallelPlan> drawn;
    const auto plans = support::nearby_plans(random, asked, answer, 200, drawn);
    check_none(broken_claims(asked, question, answer, {plans, false, [&](const support::KnownPlan& known) {
                                                           return drawn[known.number];
                                                       }}));
    return 0;
}
