// Fuzzes rounds in which jobs may share GPUs, over a world that changes at will (support/world.hpp). Every
// snapshot with its pairs is refused with a reason or gets a plan in which partners agree.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/pairs/paired_scheduler.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/rated_rounds.hpp"
#include "fuzz/support/record_mutator.hpp"
#include "fuzz/support/world.hpp"
#include "support/rated_speeds.hpp"

using namespace goodput;

namespace {

using Paired = PairedScheduler<support::RootOfGoodput, LeastMovesPlacer, Allotter<>, support::RatedSpeeds,
                               Limits<TeamQuotas>>;

constexpr std::size_t most_rounds = 5, most_pairs = 30;

JobPair pair_of(fuzz::Bytes record, const Snapshot& snapshot, std::vector<char>& taken) {
    JobPair pair{{record.index(snapshot.jobs.size()), record.index(snapshot.jobs.size())}, {}, false};
    pair.parts.assign(snapshot.cluster.gpu_types.size(), {record.number(0, 1), record.number(0, 1)});
    const auto &first = snapshot.jobs[pair.jobs[0]], &second = snapshot.jobs[pair.jobs[1]];
    if (first.placement.empty() || first.placement != second.placement || taken[pair.jobs[0]] ||
        taken[pair.jobs[1]] || pair.jobs[0] == pair.jobs[1])
        return pair;
    pair.together = true;
    for (const std::size_t job : pair.jobs) taken[job] = 1;
    return pair;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    fuzz::World world(head);
    const double quota = head.integer(0, 8);
    const bool all_in_team = head.flag();
    Paired scheduler({.predictor = support::RatedSpeeds()});
    scheduler.options().memory_states = 2048;
    std::vector<fuzz::Bytes> offers;
    std::size_t rounds = 0;
    while (!bytes.empty() && rounds < most_rounds) {
        fuzz::Bytes record = bytes.record();
        fuzz::Bytes peek = record;
        if (peek.index(3) == 2 && offers.size() < most_pairs) {  // a pair on offer
            peek.field();
            offers.push_back(peek);
            continue;
        }
        if (!world.change(record)) continue;
        ++rounds;
        Snapshot snapshot = world.snapshot();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (all_in_team || j % 2 == 0) snapshot.jobs[j].team = "team-0";
        std::vector<JobPair> pairs;
        std::vector<char> taken(snapshot.jobs.size(), 0);
        for (const fuzz::Bytes& offer : offers)
            if (!snapshot.jobs.empty()) pairs.push_back(pair_of(offer, snapshot, taken));
        std::vector<TeamQuota> quotas{{.team = "team-0", .gpus = quota}};
        fuzz::accepted([&] {
            scheduler.limits() = Limits(TeamQuotas(quotas));
            const Plan& plan = scheduler.plan(snapshot, pairs);
            fuzz::check_plan(snapshot, plan);
            (void)scheduler.explain();
            world.carry_out(snapshot, plan);
        });
    }
    return 0;
}
