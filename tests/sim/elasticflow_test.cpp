// The world of ElasticFlow and its published policies, job by job, against its public simulator.

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "elasticflow_trace.hpp"
#include "goodput/sim/replay.hpp"
#include "peers/elasticflow_edf_rounds.hpp"
#include "peers/elasticflow_rounds.hpp"
#include "peers/elasticflow_world.hpp"

#include <doctest/doctest.h>

namespace sim_elasticflow {

using namespace goodput;
using namespace goodput::peers;
using Json = nlohmann::json;

const std::string folder = std::string(GOODPUT_DATA_DIR) + "/elasticflow/";

Cluster cluster_of(int nodes, int gpus_per_node) {
    Cluster cluster{.gpu_types = {"gpu"}};
    for (int n = 0; n < nodes; ++n)
        cluster.nodes.push_back({.name = "node" + std::to_string(n), .gpu_type = 0, .gpus = gpus_per_node});
    return cluster;
}

TEST_SUITE_BEGIN("data");

TEST_CASE("the published simulator's admissions and ends, job by job") {
    for (const std::string name : {"g100", "evp", "t195"}) {
        cli::ElasticflowTrace trace = cli::read_elasticflow_trace(folder + name + ".json");
        cli::read_elasticflow_speeds(folder + "throughputs.json", trace.gpu_type, trace.jobs);
        const Cluster cluster = cluster_of(trace.nodes, trace.gpus_per_node);
        std::ifstream file(folder + name + ".json");
        const Json document = Json::parse(file);
        for (const Json& result : document["results"]) {
            const std::string policy = result["policy"];
            const bool admission = policy.find("-accessctrl") != policy.npos;
            if (policy != "edf" && policy != "ef" && !admission) continue;
            ElasticflowWorld world(cluster, trace.jobs, trace.slot_seconds);
            const ReplayOptions options{
                .interval_seconds = 1e12, .moves_restart = false, .last_second = 1e12, .most_idle_rounds = 2};
            const ReplayResult replayed = policy.starts_with("edf")
                                              ? replay(cluster, world, ElasticflowEdf(world, admission), options)
                                              : replay(cluster, world, ElasticflowRounds(world, admission, {.refuses_together = policy.find("-fixed") == policy.npos, .largest_growth = policy.find("-margin") == policy.npos}), options);
            int admitted = 0, work = 0, ends = 0, starts = 0, met = 0, planned = 0, jobs = 0;
            for (const Json& row : result["jobs"]) {
                const std::size_t job = world.index_of(std::to_string(row[0].get<int>()));
                ++jobs;
                const bool refused = row[1] == "refused";
                admitted += world.is_admitted(job) == !refused;
                met += world.has_met(job) == (row[1] == "met");
                if (refused) {
                    const bool same = !replayed.jobs[job].completed_seconds;
                    ends += same, starts += same, planned += same;
                    continue;
                }
                const double end = replayed.jobs[job].completed_seconds.value_or(-1);
                ends += end == row[3].get<double>();
                if (end != row[3].get<double>() && jobs - ends < 3) std::printf("job %d: %.1f not %.1f\n", row[0].get<int>(), end, row[3].get<double>());
                work += row[5].is_null() ? !world.work_done(job) || *world.work_done(job) > end : world.work_done(job) && std::abs(*world.work_done(job) - row[5].get<double>()) < 0.01;
                starts += world.started(job) == row[2].get<double>();
                planned += row[4].is_null() || world.planned_end(job) == row[4].get<double>();
            }
            std::printf("%s %s: admitted %d, met %d, starts %d, ends %d, planned %d work %d of %d; rounds %d\n", name.c_str(),
                        policy.c_str(), admitted, met, starts, ends, planned, work, jobs, int(replayed.rounds));
            std::fflush(stdout);
        }
    }
}

TEST_SUITE_END();

}  // namespace sim_elasticflow
