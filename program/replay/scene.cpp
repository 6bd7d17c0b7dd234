#include "replay/scene.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>

#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "goodput/sim/interruptions.hpp"
#include "json/names.hpp"
#include "replay/embedded.hpp"
#include "replay/profiles.hpp"
#include "replay/sizes.hpp"
#include "replay/workload.hpp"

namespace cli {

namespace {

/// Returns the embedded GPU type behind a name. The measurements published with Sia use names of machines.
std::string type_behind(const std::string& name) {
    if (name == "aws") return "T4";
    if (name == "dgx-ext") return "A100";
    if (name == "rtx") return "2080Ti";
    return name;
}

/// Returns the embedded applications of those names, with the cluster's GPU types in its order.
std::vector<goodput::Application> embedded_models(std::span<const std::string> names,
                                                  const goodput::Cluster& cluster) {
    const std::vector<goodput::Application> all = embedded_applications();
    constexpr auto types = embedded_gpu_types;
    std::vector<std::size_t> type_indices;
    for (const std::string& type : cluster.gpu_types) {
        const auto found = std::find(types.begin(), types.end(), type_behind(type));
        if (found == types.end())
            goodput::bad_input("cluster", "GPU type", "'" + type + "'",
                               "one of " + joined(types) + " (or give --profiles)");
        type_indices.push_back(static_cast<std::size_t>(found - types.begin()));
    }
    std::vector<goodput::Application> applications;
    for (const std::string& name : names) {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const goodput::Application& a) { return a.name == name; });
        if (found == all.end())
            throw std::runtime_error("there is no embedded application '" + name + "': give --profiles");
        goodput::Application application = *found;
        application.types.clear();
        for (const std::size_t type : type_indices) application.types.push_back(found->types[type]);
        applications.push_back(std::move(application));
    }
    return applications;
}

/// Refuses GPU types for which the profiles have no measurements.
void require_measured_types(const goodput::Cluster& cluster, const std::string& profiles) {
    const std::vector<std::string> known = measured_gpu_types(profiles);
    if (known.empty()) return;  // reading such profiles gives a better message
    for (const std::string& type : cluster.gpu_types)
        if (std::find(known.begin(), known.end(), type) == known.end())
            goodput::bad_input("--cluster", "GPU type", "'" + type + "'",
                               "one that the profiles have: " + joined(known) + did_you_mean(type, known));
}

/// Warns of probable mistakes in a trace whose jobs are in the order of their times. `gpus` is the largest
/// number of GPUs at any time.
std::vector<std::string> warnings_of_trace(std::span<const goodput::Submission> jobs, double gpus) {
    constexpr double ten_minutes = 600, a_day = 86400, ten_years = 3.2e8;
    constexpr std::size_t many = 10, some = 3;
    std::vector<std::string> warnings;
    std::size_t times = 0;  // number of different times
    goodput::NameList too_large;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (j == 0 || jobs[j].time_seconds > jobs[j - 1].time_seconds) ++times;
        if (jobs[j].gpus > gpus) too_large.add(jobs[j].name);
    }
    const double span = jobs.empty() ? 0 : jobs.back().time_seconds - jobs.front().time_seconds;
    const std::string begin = "--workload: from the first time to the last there are ";
    if (times >= many && span <= ten_minutes)
        warnings.push_back(begin + "only " + goodput::rounded_text_of(span) + " s: is time in seconds?");
    if (span > ten_years || (times >= some && span > a_day * static_cast<double>(times - 1)))
        warnings.push_back(begin + goodput::rounded_text_of(span / a_day) + " days: is time in seconds?");
    if (!too_large.empty())
        warnings.push_back("--workload: " + too_large.text("job") +
                           ": num_replicas is more GPUs than there ever are, " + goodput::text_of(gpus));
    return warnings;
}

}  // namespace

Scene make_scene(const ReplayCommand& command) {
    Scene scene;
    scene.cluster = parse_cluster(!command.cluster.empty()    ? command.cluster
                                  : !command.profiles.empty() ? usual_measured_cluster
                                                              : usual_cluster);
    if (!command.cluster.empty() && !command.profiles.empty())
        require_measured_types(scene.cluster, command.profiles);
    if (!command.offers.empty() && command.node_mtbf_hours > 0)
        goodput::bad_input("replay", "--node-mtbf-h", command.node_mtbf_hours,
                           "left out with --offers, each of which says how often its nodes are lost");
    if (!command.offers.empty())
        scene.offers = parse_offers(command.offers, scene.cluster, command.rent_start_seconds);
    if (command.workload.empty()) {
        scene.submissions = embedded_workload(160, command.trace_seed.value_or(1));
        for (const goodput::Application& application : embedded_applications())
            scene.names.push_back(application.name);
    } else {
        Workload workload = read_workload(command.workload);
        scene.submissions = std::move(workload.submissions);
        scene.names = std::move(workload.applications);
        if (command.trace_seed)
            shuffle_jobs(scene.submissions, &goodput::Submission::time_seconds, *command.trace_seed);
    }
    const std::size_t types = scene.cluster.gpu_types.size();
    if (!command.events.empty()) scene.events = read_events(command.events, scene.cluster, scene.submissions);
    for (goodput::Node& node : scene.cluster.nodes)
        if (node.interruptions_per_hour == 0 && command.node_mtbf_hours > 0)
            node.interruptions_per_hour = 1 / command.node_mtbf_hours;
    // With offers, the cluster's own nodes do not exist.
    goodput::Cluster fails{scene.cluster.gpu_types, {}};
    if (scene.offers.empty()) fails.nodes = scene.cluster.nodes;
    for (const goodput::RentOffer& offer : scene.offers)
        for (int node = 0; node < offer.most_nodes; ++node)
            fails.nodes.push_back(goodput::node_of(offer, node));
    if (!command.workload.empty()) {
        double gpus = 0;
        for (const goodput::Node& node : fails.nodes) gpus += node.gpus;
        for (const goodput::Event& event : scene.events) gpus += event.gpus;
        scene.warnings = warnings_of_trace(scene.submissions, gpus);
    }
    for (goodput::Submission& submission : scene.submissions) submission.time_seconds /= command.load;
    // A job that is not complete a month after the last submission does not wait because of failures.
    const double last = scene.submissions.empty() ? 0 : scene.submissions.back().time_seconds;
    const std::vector<goodput::Event> failures = goodput::interruption_events(
        fails, {.off_seconds = command.node_off_seconds}, command.interruptions_seed, last + 30 * 86400.0);
    scene.events.insert(scene.events.end(), failures.begin(), failures.end());
    std::vector<std::string> as_published;
    scene.applications = command.profiles.empty() ? embedded_models(scene.names, scene.cluster)
                                                  : read_applications(command.profiles, scene.names,
                                                                      scene.cluster.gpu_types, &as_published);
    if (!as_published.empty())
        scene.warnings.push_back(
            "--profiles: what starts cost and how much slower progress is than the steps say is taken from "
            "Sia's public simulator for " +
            joined(as_published) + ", by name; APPLICATION/constants.csv states your own");
    for (std::size_t type = 0; type < scene.cluster.gpu_types.size() && !scene.applications.empty(); ++type) {
        if (std::any_of(scene.applications.begin(), scene.applications.end(), [&](const auto& application) {
                return application.types[type].max_atomic_batch > 0;
            }))
            continue;
        const std::string& name = scene.cluster.gpu_types[type];
        if (type >= types)
            throw std::runtime_error(command.events + ": gpu_type is '" + name +
                                     "', but must be one that an application was measured on");
        scene.warnings.push_back("--cluster: no application of the workload was measured on GPU type '" +
                                 name + "': such nodes stay idle");
    }
    if (command.rates == "none")
        for (goodput::Application& application : scene.applications)
            for (goodput::ApplicationOnType& type : application.types) type.reference_rate = 0;
    scene.shares = goodput::FairShares(scene.applications, scene.submissions, scene.cluster);
    std::vector<std::string> kinds;
    for (const goodput::Submission& job : scene.submissions) kinds.push_back(scene.names[job.application]);
    for (std::string& warning :
         warnings_of_sizes(kinds, scene.shares,
                           "the column progress of validation-BATCH.csv counts iterations at the smallest "
                           "batch size, and step_time is in seconds"))
        scene.warnings.push_back(std::move(warning));
    const std::size_t slash = command.workload.find_last_of('/') + 1;
    scene.title =
        "Replay of " + (command.workload.empty() ? "the embedded workload" : command.workload.substr(slash));
    return scene;
}

}  // namespace cli
