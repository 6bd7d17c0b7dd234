// Tests the texts of an agent (reports, plan files, saved agents), and that it refuses bad input.

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/agent/training_agent.hpp"

#include "json/agent_lines.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace goodput;

namespace {

TrainingSettings small_settings() {
    return {
        .parameters = 3, .initial_batch = 32, .max_batch = 1024, .max_atomic_batch = 64, .split_every = 0};
}

/// Returns an agent that has trained twenty steps of 0.25 s on two GPUs.
TrainingAgent trained_agent(bool sync_known) {
    TrainingAgent agent(small_settings());
    agent.hold({.gpu_type = "A100 \"big\"\t", .gpus = 2});
    for (int t = 0; t < 20; ++t) {
        agent.begin_step(t);
        for (int q = 0; q < 2; ++q) {
            const std::vector<float> gradient{1.0f, 0.5f * static_cast<float>((t + q) % 3), 2.0f};
            agent.add_gradient(std::span<const float>(gradient));
        }
        agent.end_step(t + 0.25, sync_known ? std::optional(0.0625) : std::nullopt);
    }
    return agent;
}

}  // namespace

TEST_CASE("A report is a line of JSON with the fields that schedulers read") {
    for (const bool sync_known : {true, false}) {
        const TrainingAgent agent = trained_agent(sync_known);
        const auto report = nlohmann::json::parse(cli::line_of(agent.report().value()));
        CHECK(report.at("gpu_type") == "A100 \"big\"\t");
        CHECK(report.at("nodes") == 1);
        CHECK(report.at("gpus") == 2);
        CHECK(report.at("local_batch") == 16);
        CHECK(report.at("accumulation") == 0);
        CHECK(report.at("step_s") == 0.25);
        CHECK(report.contains("sync_s") == sync_known);
        if (sync_known) CHECK(report.at("sync_s") == 0.0625);
        CHECK(report.at("gradient").at("sqr") == agent.statistics().squared_norm);
        CHECK(report.at("gradient").at("var") == agent.statistics().variance);
        CHECK(cli::line_of(*agent.report()).find('\n') == std::string::npos);
    }
}

TEST_CASE("A report has the mean GPU utilisation under the present plan, as the driver states it") {
    TrainingAgent agent = trained_agent(true);
    CHECK_FALSE(agent.report()->gpu_utilisation);
    CHECK(cli::line_of(*agent.report()).find("gpu_utilisation") == std::string::npos);
    agent.add_gpu_utilisation(0.4);
    agent.add_gpu_utilisation(0.8);
    const auto report = nlohmann::json::parse(cli::line_of(*agent.report()));
    CHECK(report.at("gpu_utilisation").get<double>() == doctest::Approx(0.6));
    for (const double bad : {-0.1, 1.1, 74.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS(agent.add_gpu_utilisation(bad), std::invalid_argument);
    CHECK(agent.report()->gpu_utilisation == doctest::Approx(0.6));
    // Under another plan the GPU is busy differently.
    REQUIRE(agent.adopt({32, 0}));
    REQUIRE(agent.adopt({16, 0}));
    CHECK(agent.report());
    CHECK_FALSE(agent.report()->gpu_utilisation);
}

TEST_CASE("Before its plan has been timed an agent reports nothing") {
    TrainingAgent agent(small_settings());
    CHECK_FALSE(agent.report());
    agent.hold({});
    CHECK_FALSE(agent.report());
    CHECK(agent.goodput() == 0);
    CHECK(agent.learning_rate_factor() == 1);
}

TEST_CASE("Plan files are read even if they contain other fields") {
    CHECK(cli::read_plan("{\"local_batch\": 128, \"accumulation\": 1}\n") == BatchPlan{128, 1});
    CHECK(cli::read_plan("{\"local_batch\":7}") == BatchPlan{7, 0});
    CHECK(cli::read_plan("  \n") == std::nullopt);
    CHECK(
        cli::read_plan("{\"why\": \"a \\\" b\", \"x\": [1, {\"local_batch\": 3}, null], \"accumulation\": 2,"
                       " \"local_batch\": 9}") == BatchPlan{9, 2});
    for (const std::string_view bad :
         {"{", "[]", "{}", "128", "{\"local_batch\": 0}", "{\"local_batch\": 1.5}", "{\"local_batch\": 128",
          "{\"local_batch\": 128} x", "{\"local_batch\": 128, \"accumulation\": -1}",
          "{\"local_batch\": 1e30}", "{\"local_batch\": nan}", "{\"local_batch\": \"128\"}",
          "{\"accumulation\": 1}", "{\"local_batch\": 128,}"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS((void)cli::read_plan(bad), std::invalid_argument);
    }
    CHECK_THROWS_AS((void)cli::read_plan("{\"x\": " + std::string(100000, '[')), std::invalid_argument);
}

TEST_CASE("A text that is not a saved agent is refused, and the agent does not change") {
    const std::string good = trained_agent(true).save();
    TrainingAgent agent = trained_agent(false);
    const std::string before = agent.save();
    const auto refused = [&](const std::string& text) {
        CHECK_THROWS_AS(agent.restore(text), std::invalid_argument);
        CHECK(agent.save() == before);
    };
    refused("");
    refused("goodput-agent 4\n" + good.substr(16));
    refused(good + "x");
    for (std::size_t length = 0; length < good.size(); length += 7) refused(good.substr(0, length));
    const auto with = [&](std::string_view from, std::string_view to) {
        std::string text = good;
        const std::size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        return text.replace(at, from.size(), to);
    };
    refused(with("parameters 3", "parameters 4"));
    refused(with("initial_batch 32", "initial_batch 64"));
    refused(with("weight 0", "weight -0"));
    refused(with("step_s 0.25", "step_s -1"));
    refused(with("sync_s 0.0625", "sync_s 7"));
    refused(with("type 0", "type 1"));
    refused(with("progress ", "progress nan"));
    refused(with("local_batch 16", "local_batch 0"));
    refused(with("timed 1", "timed 60"));
    agent.restore(good);
    CHECK(agent.save() == good);
}

TEST_CASE("Settings, holdings and calls that make no sense are refused") {
    const auto settings_refused = [](auto change) {
        TrainingSettings settings = small_settings();
        change(settings);
        CHECK_THROWS_AS(TrainingAgent{settings}, std::invalid_argument);
    };
    settings_refused([](TrainingSettings& s) { s.parameters = 0; });
    settings_refused([](TrainingSettings& s) { s.group_sizes = {1, 1}; });
    settings_refused([](TrainingSettings& s) { s.group_sizes = {2, 2}; });
    settings_refused([](TrainingSettings& s) { s.initial_batch = 0; });
    settings_refused([](TrainingSettings& s) { s.max_batch = 31; });
    settings_refused([](TrainingSettings& s) { s.max_atomic_batch = 0; });
    settings_refused([](TrainingSettings& s) { s.smoothing = 1; });
    settings_refused([](TrainingSettings& s) { s.smoothing = -0.1; });
    settings_refused([](TrainingSettings& s) { s.smoothing = std::nan(""); });
    settings_refused([](TrainingSettings& s) { s.split_every = -1; });
    settings_refused([](TrainingSettings& s) { s.retune_gain = 0.5; });

    TrainingAgent agent(small_settings());
    CHECK_THROWS_AS(agent.begin_step(0), std::invalid_argument);  // holds nothing yet
    CHECK_THROWS_AS(agent.hold({.gpus = 0}), std::invalid_argument);
    CHECK_THROWS_AS(agent.hold({.nodes = 3, .gpus = 2}), std::invalid_argument);
    CHECK_THROWS_AS(agent.hold({.gpus = 2000}), std::invalid_argument);  // fewer than one example per GPU
    agent.hold({});
    CHECK_THROWS_AS((void)agent.end_step(0), std::invalid_argument);
    agent.begin_step(5);
    CHECK_THROWS_AS((void)agent.retune(), std::invalid_argument);
    CHECK_THROWS_AS((void)agent.adopt({8, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)agent.end_step(6), std::invalid_argument);  // without gradients
    const std::vector<float> gradient{1, 2, 3, 4};
    CHECK_THROWS_AS(agent.add_gradient(std::span<const float>(gradient)), std::invalid_argument);
    agent.add_gradient(std::span<const float>(gradient).first(2));
    CHECK_THROWS_AS((void)agent.end_step(6), std::invalid_argument);  // a gradient that is incomplete
    agent.add_gradient(std::span<const float>(gradient).first(1));
    CHECK_THROWS_AS((void)agent.end_step(4), std::invalid_argument);
    CHECK(agent.end_step(6));
    CHECK_THROWS_AS((void)agent.adopt({65, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)agent.adopt({64, 16}), std::invalid_argument);
    CHECK_THROWS_AS((void)agent.learning_rate_factor(1), std::invalid_argument);
    CHECK(agent.adopt({64, 1}));
    CHECK_FALSE(agent.adopt({64, 1}));
    CHECK(agent.plan() == BatchPlan{64, 1});
}

TEST_CASE("The initial batch is split over the replicas, and accumulated if it does not fit") {
    TrainingSettings settings = small_settings();
    settings.max_atomic_batch = 8;
    const auto plan_on = [&](int gpus) {
        TrainingAgent agent(settings);
        agent.hold({.gpus = gpus});
        return agent.plan();
    };
    CHECK(plan_on(1) == BatchPlan{8, 3});
    CHECK(plan_on(2) == BatchPlan{8, 1});
    CHECK(plan_on(3) == BatchPlan{6, 1});
    CHECK(plan_on(4) == BatchPlan{8, 0});
    CHECK(plan_on(16) == BatchPlan{2, 0});
    settings.min_atomic_batch = 4;
    CHECK(plan_on(16) == BatchPlan{4, 0});  // a larger batch, rather than smaller pieces
}

TEST_CASE("The format of a saved agent does not change, so that old checkpoints can be read later") {
    TrainingAgent agent({.parameters = 3,
                         .group_sizes = {1, 2},
                         .initial_batch = 32,
                         .max_batch = 1024,
                         .max_atomic_batch = 64});
    const std::string text =
        "goodput-agent 3\nparameters 3\ngroup_sizes 2\nsize 1\nsize 2\ninitial_batch 32\ngpu_type 3:gpu\n"
        "nodes 1\ngpus 0\nmax_atomic_batch 0\nlocal_batch 0\naccumulation 0\nsteps 0\nmeasured_steps 0\n"
        "warmup_left 0\nprogress 1.5\nnoise 2\nsquared_norm 0.25\nvariance 3\nweight 0.5\ndifferenced 1\n"
        "squared_norm 0\nvariance 0\nweight 0\ndifferenced 0\nmeasured_at 0\nbefore 0\nmetric_known 1\n"
        "metric_preconditioned 1\nmetric_scale 2\ngpu_types 1\nname 2:t4\ntimed 1\ntype 0\nnodes 1\ngpus 2\n"
        "local_batch 16\naccumulation 1\nsync_known 0\nwhole_iteration 1\nsteps 1\nfitted_steps 0\n"
        "last_used 1\nstep_s 0.25\nsync_s 0\nfitted 1\nsamples 1\nnodes 1\ngpus 2\nlocal_batch 16\n"
        "accumulation 1\nstep_s 0.25\nsync_s 0\nsync_known 0\nwhole_iteration 1\n";
    agent.restore(text);
    CHECK(agent.save() == text);
    CHECK(agent.statistics(0).variance == 6);
    CHECK(agent.progress_steps() == 1.5);
}
