#include "replay_time_shared.hpp"

#include <array>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "gavel_trace.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/sim/gavel_world.hpp"
#include "peers/gavel_shares.hpp"
#include "peers/share_question.hpp"
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

/// A policy by name: one that answers with shares of time, from which the published rounds are made, or one
/// of ours.
struct TimeSharedPolicy {
    std::string_view name{};
    SharePolicy (*shares)() = nullptr;  ///< null: ours
};

constexpr std::array gavel_policies{
    TimeSharedPolicy{"fifo",
                     [] { return SharePolicy{.shares = goodput::peers::fifo_shares, .fills_gaps = false}; }},
    TimeSharedPolicy{
        "isolated",
        [] { return SharePolicy{.shares = goodput::peers::isolated_shares, .shuffles_types = true}; }},
    TimeSharedPolicy{"goodput"},
    TimeSharedPolicy{"goodput-declared"},
};

constexpr std::array shockwave_policies{
    TimeSharedPolicy{"gandiva_fair",
                     [] { return SharePolicy{.shares = goodput::peers::gandiva_fair_shares}; }},
    TimeSharedPolicy{
        "fifo", [] { return SharePolicy{.shares = goodput::peers::ShockwaveFifo(), .fills_gaps = false}; }},
    TimeSharedPolicy{"isolated", [] { return SharePolicy{.shares = goodput::peers::isolated_shares}; }},
    TimeSharedPolicy{
        "isolated_plus",
        [] { return SharePolicy{.shares = goodput::peers::gandiva_fair_shares, .stops = true}; }},
    TimeSharedPolicy{"goodput"},
    TimeSharedPolicy{"goodput-declared"},
};

template <class World>
PolicyReplay replay_policy(World world, const TimeSharedPolicy& policy, const goodput::Cluster& cluster,
                           double reset_seconds, const ReplayCommand& command) {
    const auto replay_with = [&](auto decider) {
        return replay_in(
            world, std::move(decider), std::string(policy.name), cluster, world,
            {.interval_seconds = command.interval_seconds, .moves_restart = command.moves == "restart"});
    };
    if (policy.shares)
        return replay_with(goodput::peers::TimeSharedRounds<World>(
            world, policy.shares(), {command.interval_seconds, reset_seconds}));
    if (policy.name == "goodput-declared") return replay_with(goodput::DeclaredGoodputPolicy());
    return replay_with(goodput::GoodputPolicy());
}

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
    for (const TimeSharedPolicy& policy : chosen(policies, command.policies, "policy", command.world))
        rows.add(replay_policy(make_world(jobs), policy, cluster, reset_seconds, command));
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
