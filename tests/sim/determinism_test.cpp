// Decisions must not depend on the compiler or its options. This test writes a line for every recorded or
// replayed round, with a hash of all bits of its decisions, to decisions.txt in the working folder.
// tests/determinism.sh compares the files of builds.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/sim/sia_world.hpp"
#include "peers/sia/separate_models.hpp"
#include "replay/replay.hpp"
#include "replay/scene.hpp"
#include "support/allot_rounds.hpp"

#include <doctest/doctest.h>

namespace {

/// The FNV-1a hash with 64 bits.
class Digest {
public:
    void add(std::uint64_t bits) {
        for (int byte = 0; byte < 8; ++byte) {
            state_ = (state_ ^ (bits & 0xff)) * 1099511628211u;
            bits >>= 8;
        }
    }
    void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
    void add(int number) { add(static_cast<std::uint64_t>(static_cast<std::int64_t>(number))); }
    [[nodiscard]] std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 14695981039346656037u;
};

std::uint64_t digest_of(const goodput::AllotResult& result) {
    Digest digest;
    for (const std::size_t choice : result.choice) digest.add(std::uint64_t{choice});
    digest.add(result.objective);
    digest.add(result.bound);
    for (const double price : result.prices) digest.add(price);
    return digest.value();
}

std::uint64_t digest_of(const goodput::Plan& plan) {
    Digest digest;
    digest.add(plan.objective);
    digest.add(plan.bound);
    digest.add(plan.move_cost_seconds);
    for (const goodput::PoolPrice& pool : plan.prices) digest.add(pool.price);
    for (const goodput::Decision& decision : plan.decisions) {
        digest.add(decision.option.plan.atomic_batch);
        digest.add(decision.option.plan.accumulation_steps);
        digest.add(decision.option.goodput);
        digest.add(decision.value);
        for (const goodput::NodeShare& share : decision.placement) {
            digest.add(std::uint64_t{share.node});
            digest.add(share.gpus);
        }
    }
    return digest.value();
}

}  // namespace

TEST_SUITE("data") {
    TEST_CASE("decisions of over a thousand recorded rounds, for the comparison of builds") {
        const std::string data = GOODPUT_DATA_DIR;
        std::ofstream file("decisions.txt");
        std::size_t rounds = 0;
        for (const char* name : {"newtrace_1x", "philly_1x", "saturn-i360_1x", "saturn-i360_4x-exact",
                                 "saturn-i360_16x", "saturn-i360_32x-exact"}) {
            goodput::Allotter<> allotter;
            std::size_t line = 0;
            for (const support::RecordedRound& round :
                 support::read_rounds(data + "/allot/" + name + ".jsonl.gz")) {
                const std::uint64_t digest = digest_of(allotter(round.problem, {.gap = round.gap}));
                file << name << ' ' << ++line << ' ' << std::hex << digest << std::dec << '\n';
                ++rounds;
            }
        }
        const auto replayed = [&]<class Modelling>(const char* what, auto policy, const char* trace,
                                                   Modelling) {
            const std::string workload = data + "/sia/workloads/" + trace + "/workload-1.csv";
            const cli::Scene scene =
                cli::make_scene({.workload = workload, .profiles = data + "/sia/profiles"});
            const goodput::ReplayResult result =
                goodput::replay<Modelling>(scene.cluster, scene.applications, scene.submissions, policy, {},
                                           [&](double time, const goodput::Snapshot&, auto make_plan) {
                                               file << what << ' ' << trace << ' ' << time << ' ' << std::hex
                                                    << digest_of(make_plan()) << std::dec << '\n';
                                               ++rounds;
                                           });
            CHECK(result.faults == 0);
        };
        replayed("sia", goodput::Sia{}, "philly", goodput::peers::SeparateModels{});
        replayed("goodput", goodput::GoodputPolicy{}, "saturn", goodput::RefinedModels{});
        CHECK(rounds > 1000);
        CHECK(file.good());
    }
}
