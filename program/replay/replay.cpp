#include "replay/replay.hpp"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "plan/policies.hpp"
#include "replay/contenders.hpp"
#include "replay/replay_options.hpp"
#include "replay/replay_rows.hpp"
#include "replay/replay_with_models.hpp"
#include "replay/replayed_policy.hpp"
#include "replay/scene.hpp"
#include "report/report.hpp"
#include "report/result_file.hpp"
#include "worlds/replay_fixed.hpp"
#include "worlds/rigid_policy.hpp"

namespace cli {

namespace {

template <class Policy>
PolicyReplay replay_with(Models models, const Policy& policy, const std::string& name, const Scene& scene,
                         const ReplayCommand& command) {
    switch (models) {
        case Models::separate:
            return replay_with_separate_models(policy, name, scene, command);
        case Models::refined:
            return replay_with_refined_models(policy, name, scene, command);
        case Models::published:
            break;
    }
    return replay_with_published_models(policy, name, scene, command);
}

PolicyReplay replay_contender(const Contender& contender, const Scene& scene, const ReplayCommand& command) {
    return with_policy(contender.policy, command.policy_options, [&]<class P>(P policy) {
        const ReplayedPolicy<P> replayed{
            .policy = std::move(policy), .unaware = command.availability == "ignored", .seed = command.seed};
        return replay_with(contender.models, goodput::ChosenPolicy(replayed), std::string(contender.name),
                           scene, command);
    });
}

/// Returns the cluster with all nodes that exist at any time.
goodput::Cluster with_added_nodes(const Scene& scene) {
    goodput::Cluster cluster = scene.cluster;
    for (const goodput::Event& event : scene.events)
        if (event.kind == goodput::EventKind::node_added)
            cluster.nodes.push_back({event.subject, event.gpu_type, event.gpus});
    return cluster;
}

}  // namespace

goodput::ChosenPolicy rigid_policy(std::string_view name) {
    return with_policy(name, {}, [](auto policy) { return goodput::ChosenPolicy(std::move(policy)); });
}

int run_replay(const ReplayCommand& command, std::ostream& out) {
    goodput::require_at_least("--interval", "seconds", command.interval_seconds,
                              1e-3);  // so that time passes
    goodput::require_at_least("--load", "factor", command.load, 1e-6);
    refuse_options_of_other_worlds(command);
    return world_called(command.world).run(command, out);
}

int run_sia_replay(const ReplayCommand& command, std::ostream& out) {
    goodput::require_positive("--checkpoint", "seconds", command.checkpoint_seconds);
    const std::vector<Contender> chosen = chosen_contenders(command.policies, command.models);
    if (!command.policy_options.empty() && chosen.size() != 1)
        goodput::bad_input("--policy-option", "number of policies", chosen.size(), "1");
    const Scene scene = make_scene(command);
    ResultFile report(command.report);

    std::vector<std::string> job_names;
    for (const goodput::Submission& submission : scene.submissions) job_names.push_back(submission.name);
    ReplayRows rows(command, out, job_names, scene.cluster.gpu_types, scene.warnings);
    const ReplayedTrace reported{
        scene.title,  with_added_nodes(scene), scene.names, scene.submissions, command.line,
        command.seed, !command.offers.empty()};
    const auto write = [&](std::ostream& file) { write_report(file, reported, rows.replays()); };
    for (const Contender& contender : chosen) {
        rows.add(contender.policy.empty() ? replay_fixed(contender.name, scene, command)
                                          : replay_contender(contender, scene, command));
        report.save(write);
    }
    const int status = rows.finish();
    report.finish(write);
    return status;
}

}  // namespace cli
