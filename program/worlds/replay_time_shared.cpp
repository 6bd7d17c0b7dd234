#include "worlds/replay_time_shared.hpp"

#include <array>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/hadar/hadar.hpp"
#include "goodput/hadar/job_copies.hpp"
#include "goodput/hadar/mixed_types.hpp"
#include "goodput/hadar/posted_prices.hpp"
#include "goodput/policies/balanced_slowdown.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/share/time_sharing.hpp"
#include "goodput/sim/gavel_world.hpp"
#include "peers/gavel/gavel_shares.hpp"
#include "peers/gavel/packed_shares.hpp"
#include "peers/gavel/published_packed_shares.hpp"
#include "peers/gavel/published_shares.hpp"
#include "peers/gavel/share_question.hpp"
#include "peers/gavel/time_shared_rounds.hpp"
#include "peers/shockwave/shockwave_rounds.hpp"
#include "peers/shockwave/shockwave_shares.hpp"
#include "peers/shockwave/shockwave_world.hpp"
#include "replay/replay_in.hpp"
#include "replay/replay_options.hpp"
#include "replay/replay_rows.hpp"
#include "replay/sizes.hpp"
#include "replay/workload.hpp"
#include "worlds/gavel_trace.hpp"
#include "worlds/paired_rounds.hpp"
#include "worlds/rigid_policy.hpp"
#include "worlds/shockwave_trace.hpp"
#include "worlds/time_shared_policies.hpp"

namespace cli {

namespace {

using goodput::GavelWorld;
using goodput::peers::ShockwaveWorld;
namespace peers = goodput::peers;
using InGavel = TimeSharedPolicy<GavelWorld>;
using InShockwave = TimeSharedPolicy<ShockwaveWorld>;

const std::array gavel_policies = concatenated(
    gavel_programs<GavelWorld>,
    std::array{
        InGavel{"fifo",
                [](auto& world, auto rules) {
                    return in_rounds<GavelWorld>(world, {.shares = peers::fifo_shares, .fills_gaps = false},
                                                 rules);
                }},
        gavel_isolated<GavelWorld>,
        packed_program_of<GavelWorld, [] { return peers::best_packed_shares(goodput::MaxMin()); }>(
            "max_min_packed"),
        packed_program_of<GavelWorld, [] { return peers::water_filling_packed_shares; }>(
            "water_filling_packed"),
        packed_program_of<GavelWorld, [] { return peers::FairFinishPackedShares(); }>(
            "finish_time_fairness_packed"),
        packed_program_of<GavelWorld, [] { return peers::best_packed_shares(goodput::Makespan()); }>(
            "makespan_packed"),
        packed_program_of<GavelWorld, [] { return peers::best_packed_shares(goodput::SumOfRates()); }>(
            "sum_packed"),
        packed_program_of<GavelWorld, [] { return peers::fifo_packed_shares; }, false>("fifo_packed"),
        packed_program_of<GavelWorld, [] { return peers::GandivaShares(); }>("gandiva"),
        // Configurations of several types in one job, and copies of the job.
        InGavel{"hadar", [](auto& world, auto) { return at_posted_prices<goodput::MixedTypes<>>(world); }},
        InGavel{"hadar_e", [](auto& world, auto) { return at_posted_prices<goodput::JobCopies<>>(world); }},
        ours<GavelWorld, goodput::BalancedSlowdown>("goodput"),
        InGavel{"goodput-pairs", [](auto& world, auto) { return goodput_of_pairs(world); }, true, true},
        ours<GavelWorld, goodput::DeclaredGoodputPolicy>("goodput-declared"),
        ours<GavelWorld, goodput::GoodputPolicy>("goodput-learned"),
        in_turns<GavelWorld, goodput::MaxMin>("time_shares"),
        in_turns<GavelWorld, goodput::NashWelfare>("nash"),
        // The policies of Sia's world, for which jobs of a fixed size are a special case.
        InGavel{"sia", [](auto& world, auto) { return scheduled<GavelWorld>(world, rigid_policy("sia")); },
                true},
        InGavel{"pollux",
                [](auto& world, auto) { return scheduled<GavelWorld>(world, rigid_policy("pollux")); }, true},
        InGavel{"optimus",
                [](auto& world, auto) { return scheduled<GavelWorld>(world, rigid_policy("optimus")); },
                true},
        InGavel{"tiresias",
                [](auto& world, auto) { return scheduled<GavelWorld>(world, rigid_policy("tiresias")); },
                true},
        InGavel{"las", [](auto& world, auto) { return scheduled<GavelWorld>(world, rigid_policy("las")); },
                true},
        InGavel{"srtf", [](auto& world, auto) { return scheduled<GavelWorld>(world, rigid_policy("srtf")); },
                true},
    });

const std::array shockwave_policies{
    program_of<ShockwaveWorld, [] { return peers::blind_max_min_shares; }>("max_min"),
    program_of<ShockwaveWorld, [] { return peers::FairFinishShares(); }>("finish_time_fairness"),
    program_of<ShockwaveWorld, [] { return peers::makespan_shares; }>("makespan"),
    program_of<ShockwaveWorld, [] { return peers::best_shares(goodput::SumOfRates()); }>("sum"),
    program_of<ShockwaveWorld, [] { return peers::AlloxShares(0.2); }>("allox"),
    program_of<ShockwaveWorld, [] { return peers::gandiva_fair_shares; }>("gandiva_fair"),
    InShockwave{"fifo",
                [](auto& world, auto rules) {
                    return in_rounds<ShockwaveWorld>(
                        world, {.shares = peers::ShockwaveFifo(), .fills_gaps = false}, rules);
                }},
    program_of<ShockwaveWorld, [] { return peers::isolated_shares; }>("isolated"),
    InShockwave{"isolated_plus",
                [](auto& world, auto rules) {
                    return in_rounds<ShockwaveWorld>(
                        world, {.shares = peers::gandiva_fair_shares, .stops = true}, rules);
                }},
    InShockwave{"shockwave",
                [](auto& world, auto rules) {
                    return any_planner(
                        peers::ShockwaveRounds(world, {.round_seconds = rules.interval_seconds}));
                }},
    ours<ShockwaveWorld, goodput::BalancedSlowdown>("goodput"),
    ours<ShockwaveWorld, goodput::DeclaredGoodputPolicy>("goodput-declared"),
    ours<ShockwaveWorld, goodput::GoodputPolicy>("goodput-learned"),
    in_turns<ShockwaveWorld, goodput::MaxMin>("time_shares"),
    in_turns<ShockwaveWorld, goodput::NashWelfare>("nash"),
};

/// Replays a trace under each chosen policy. `make_world(jobs, pairs)` makes a world of the jobs. With
/// `pairs`, the world knows how jobs share GPUs, because the policy needs it.
template <class Jobs, class Policies, class MakeWorld>
int run(const ReplayCommand& command, std::ostream& out, const goodput::Cluster& cluster, Jobs jobs,
        const Policies& policies, double reset_seconds, MakeWorld make_world) {
    using Job = typename Jobs::value_type;
    const std::vector<std::string> names = shuffle_and_squeeze(command, jobs);
    std::vector<std::string> kinds;
    for (const Job& job : jobs) {
        if constexpr (requires { job.program; })
            kinds.push_back(job.program);
        else
            kinds.push_back(job.model);
    }
    ReplayRows rows(
        command, out, names, cluster.gpu_types,
        warnings_of_sizes(kinds, make_world(jobs, false), "work counts in steps, speeds in steps a second"));
    for (const auto& policy : chosen(policies, command.policies, "policy", command.world)) {
        auto world = make_world(jobs, policy.pairs);
        rows.add(replay_in(
            world, policy.planner(world, {command.interval_seconds, reset_seconds}), std::string(policy.name),
            cluster, world,
            {.interval_seconds = command.interval_seconds, .moves_restart = command.moves == "restart"}));
    }
    return rows.finish();
}

}  // namespace

std::string gavel_policy_names() { return names_of(gavel_policies); }
std::string shockwave_policy_names() { return names_of(shockwave_policies); }

int run_gavel_replay(const ReplayCommand& command, std::ostream& out) {
    require_files(command);
    const goodput::Cluster cluster = plain_cluster(command, "v100:4x1,p100:4x1,k80:4x1");
    std::vector<goodput::GavelPair> measured;
    return run(command, out, cluster, read_gavel_jobs(command.workload, command.profiles, cluster),
               gavel_policies, 1920, [&](const auto& jobs, bool pairs) {
                   if (pairs && measured.empty())
                       measured = read_gavel_pairs(command.profiles, cluster, jobs);
                   return goodput::GavelWorld(cluster, jobs,
                                              std::span(measured).first(pairs ? measured.size() : 0));
               });
}

int run_shockwave_replay(const ReplayCommand& command, std::ostream& out) {
    require_files(command);
    const goodput::Cluster cluster = plain_cluster(command, "v100:32x1");
    const goodput::peers::ShockwaveModels models =
        read_shockwave_models(command.profiles, command.table.empty() ? "tacc" : command.table);
    return run(command, out, cluster, read_shockwave_jobs(command.workload), shockwave_policies, 1000,
               [&](const auto& jobs, bool) {
                   return goodput::peers::ShockwaveWorld(cluster, models, jobs, command.interval_seconds);
               });
}

}  // namespace cli
