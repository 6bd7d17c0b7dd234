#include "replay_time_shared.hpp"

#include <array>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "gavel_trace.hpp"
#include "goodput/allot/posted_prices.hpp"
#include "goodput/policy/balanced_slowdown.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/hadar.hpp"
#include "goodput/schedule/job_copies.hpp"
#include "goodput/schedule/mixed_types.hpp"
#include "goodput/share/time_sharing.hpp"
#include "goodput/sim/gavel_world.hpp"
#include "peers/gavel_shares.hpp"
#include "peers/published_shares.hpp"
#include "peers/share_question.hpp"
#include "peers/shockwave_rounds.hpp"
#include "peers/shockwave_shares.hpp"
#include "peers/shockwave_world.hpp"
#include "peers/time_shared_rounds.hpp"
#include "replay_in.hpp"
#include "replay_options.hpp"
#include "replay_rows.hpp"
#include "shockwave_trace.hpp"
#include "workload.hpp"

namespace cli {

namespace {

using goodput::peers::SharePolicy;

/// What is common to all replays of a command.
struct Setting {
    const ReplayCommand& command;
    const goodput::Cluster& cluster;
    double reset_seconds = 0;  ///< from one computation of shares to the next, at least
    std::string policy{};      ///< its name

    /// Under a policy of the library, or anything else that plans.
    template <class World, class Decider>
    [[nodiscard]] PolicyReplay with(World& world, Decider decider) const {
        return replay_in(
            world, std::move(decider), policy, cluster, world,
            {.interval_seconds = command.interval_seconds, .moves_restart = command.moves == "restart"});
    }
    /// In published rounds, by shares of time.
    template <class World>
    [[nodiscard]] PolicyReplay in_rounds(World& world, SharePolicy shares) const {
        return with(world, goodput::peers::TimeSharedRounds<World>(
                               world, std::move(shares), {command.interval_seconds, reset_seconds}));
    }
};

/// A policy of a world, and how to replay under it.
template <class World>
struct TimeSharedPolicy {
    std::string_view name{};
    PolicyReplay (*replay)(const Setting& by, World& world) = nullptr;
};

using InGavel = TimeSharedPolicy<goodput::GavelWorld>;
using InShockwave = TimeSharedPolicy<goodput::peers::ShockwaveWorld>;
namespace peers = goodput::peers;

/// A published policy that is a program.
template <class World, auto Make>
constexpr TimeSharedPolicy<World> program_of(std::string_view name) {
    return {name, [](auto& by, auto& world) { return by.in_rounds(world, {.shares = Make()}); }};
}

/// A policy of the library.
template <class World, class Policy>
constexpr TimeSharedPolicy<World> ours(std::string_view name) {
    return {name, [](auto& by, auto& world) { return by.with(world, Policy()); }};
}
/// GPUs in turns, by the shares of an objective and what jobs are owed.
template <class World, class Objective>
constexpr TimeSharedPolicy<World> in_turns(std::string_view name) {
    return {name, [](auto& by, auto& world) {
                return by.with(world, goodput::TimeSharing<Objective, decltype(world.predictor())>(
                                          {}, by.command.interval_seconds, world.predictor()));
            }};
}

/// Hadar: jobs of utilities, served at prices that rise with use, with a maker's configurations of several
/// parts.
template <class Maker>
auto at_posted_prices(const goodput::GavelWorld& world, Maker maker) {
    return goodput::Scheduler(goodput::Hadar(), {}, goodput::LeastMovesPlacer(), goodput::PostedPrices(),
                              world.predictor())
        .offering(std::move(maker));
}

const std::array gavel_policies{
    program_of<goodput::GavelWorld, [] { return peers::best_shares(goodput::MaxMin()); }>("max_min"),
    program_of<goodput::GavelWorld, [] { return peers::water_filling_shares; }>("water_filling"),
    program_of<goodput::GavelWorld, [] { return peers::FairFinishShares(); }>("finish_time_fairness"),
    program_of<goodput::GavelWorld, [] { return peers::makespan_shares; }>("makespan"),
    program_of<goodput::GavelWorld, [] { return peers::best_shares(goodput::SumOfRates()); }>("sum"),
    program_of<goodput::GavelWorld, [] { return peers::AlloxShares(1); }>("allox"),
    InGavel{"fifo",
            [](auto& by, auto& world) {
                return by.in_rounds(world, {.shares = peers::fifo_shares, .fills_gaps = false});
            }},
    InGavel{"isolated",
            [](auto& by, auto& world) {
                return by.in_rounds(world, {.shares = peers::isolated_shares, .shuffles_types = true});
            }},
    InGavel{"hadar",
            [](auto& by, auto& world) {
                return by.with(world, at_posted_prices(world, goodput::MixedTypes<>()));
            }},
    InGavel{"hadar_e",
            [](auto& by, auto& world) {
                return by.with(world, at_posted_prices(world, goodput::JobCopies<>()));
            }},
    ours<goodput::GavelWorld, goodput::BalancedSlowdown>("goodput"),
    ours<goodput::GavelWorld, goodput::DeclaredGoodputPolicy>("goodput-declared"),
    ours<goodput::GavelWorld, goodput::GoodputPolicy>("goodput-learned"),
    in_turns<goodput::GavelWorld, goodput::MaxMin>("time_shares"),
    in_turns<goodput::GavelWorld, goodput::NashWelfare>("nash"),
};

using peers::ShockwaveWorld;
const std::array shockwave_policies{
    program_of<ShockwaveWorld, [] { return peers::blind_max_min_shares; }>("max_min"),
    program_of<ShockwaveWorld, [] { return peers::FairFinishShares(); }>("finish_time_fairness"),
    program_of<ShockwaveWorld, [] { return peers::makespan_shares; }>("makespan"),
    program_of<ShockwaveWorld, [] { return peers::best_shares(goodput::SumOfRates()); }>("sum"),
    program_of<ShockwaveWorld, [] { return peers::AlloxShares(0.2); }>("allox"),
    InShockwave{
        "gandiva_fair",
        [](auto& by, auto& world) { return by.in_rounds(world, {.shares = peers::gandiva_fair_shares}); }},
    InShockwave{"fifo",
                [](auto& by, auto& world) {
                    return by.in_rounds(world, {.shares = peers::ShockwaveFifo(), .fills_gaps = false});
                }},
    InShockwave{
        "isolated",
        [](auto& by, auto& world) { return by.in_rounds(world, {.shares = peers::isolated_shares}); }},
    InShockwave{"isolated_plus",
                [](auto& by, auto& world) {
                    return by.in_rounds(world, {.shares = peers::gandiva_fair_shares, .stops = true});
                }},
    InShockwave{"shockwave",
                [](auto& by, auto& world) {
                    return by.with(
                        world, peers::ShockwaveRounds(world, {.round_seconds = by.command.interval_seconds}));
                }},
    ours<ShockwaveWorld, goodput::BalancedSlowdown>("goodput"),
    ours<ShockwaveWorld, goodput::DeclaredGoodputPolicy>("goodput-declared"),
    ours<ShockwaveWorld, goodput::GoodputPolicy>("goodput-learned"),
    in_turns<ShockwaveWorld, goodput::MaxMin>("time_shares"),
    in_turns<ShockwaveWorld, goodput::NashWelfare>("nash"),
};

/// Replays a trace under each chosen policy; `make_world` makes a world of the jobs.
template <class Jobs, class Policies, class MakeWorld>
int run(const ReplayCommand& command, std::ostream& out, const goodput::Cluster& cluster, Jobs jobs,
        const Policies& policies, double reset_seconds, MakeWorld make_world) {
    std::vector<std::string> names;
    for (auto& job : jobs) {
        job.submitted_seconds /= command.load;
        names.push_back(job.name);
    }
    ReplayRows rows(command, out, names);
    for (const auto& policy : chosen(policies, command.policies, "policy", command.world)) {
        auto world = make_world(jobs);
        rows.add(policy.replay({command, cluster, reset_seconds, std::string(policy.name)}, world));
    }
    return rows.finish();
}

}  // namespace

std::string gavel_policy_names() { return names_of(gavel_policies); }
std::string shockwave_policy_names() { return names_of(shockwave_policies); }

int run_gavel_replay(const ReplayCommand& command, std::ostream& out) {
    require_files(command);
    const goodput::Cluster cluster =
        parse_cluster(command.cluster.empty() ? "v100:4x1,p100:4x1,k80:4x1" : command.cluster);
    return run(command, out, cluster, read_gavel_jobs(command.workload, command.profiles, cluster),
               gavel_policies, 1920, [&](const auto& jobs) { return goodput::GavelWorld(cluster, jobs); });
}

int run_shockwave_replay(const ReplayCommand& command, std::ostream& out) {
    require_files(command);
    const goodput::Cluster cluster = parse_cluster(command.cluster.empty() ? "v100:32x1" : command.cluster);
    const goodput::peers::ShockwaveModels models =
        read_shockwave_models(command.profiles, command.table.empty() ? "tacc" : command.table);
    return run(command, out, cluster, read_shockwave_jobs(command.workload), shockwave_policies, 1000,
               [&](const auto& jobs) {
                   return goodput::peers::ShockwaveWorld(cluster, models, jobs, command.interval_seconds);
               });
}

}  // namespace cli
