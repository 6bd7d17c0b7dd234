// Tests `goodput fit` through pipes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/model/throughput.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace cli_fit {

using goodput::PolluxThroughput;
using goodput::RefinedThroughput;
using goodput::Shape;
using Json = nlohmann::ordered_json;
using support::Program;

Program fit() { return Program({GOODPUT_PROGRAM, "fit"}); }

Json question(const std::string& type, Shape shape, int batch, int accumulation = 0) {
    return {{"gpu_type", type},
            {"nodes", shape.nodes},
            {"gpus", shape.gpus},
            {"local_batch", batch},
            {"accumulation", accumulation}};
}

double compute_seconds(const PolluxThroughput& model, Shape, int batch) {
    return model.compute_seconds(batch);
}
double compute_seconds(const RefinedThroughput& model, Shape shape, int batch) {
    return model.compute_seconds(batch) * model.compute_factor(shape);
}

/// Returns what a job with that model measures, times a factor.
template <class Model>
Json sample(const std::string& type, const Model& truth, Shape shape, int batch, double factor = 1) {
    const double step = truth.iteration_seconds(shape, {batch, 0});
    Json json = question(type, shape, batch);
    json["step_s"] = step * factor;
    json["sync_s"] = shape.gpus < 2 ? 0 : (step - compute_seconds(truth, shape, batch)) * factor;
    return json;
}

constexpr PolluxThroughput published{0.02, 5e-4, 0.04, 0.004, 0.01, 0.002, 1.6};
const RefinedThroughput refined{.alpha_c = 0.02,
                                .beta_c = 5e-4,
                                .alone = 0.97,
                                .straggling = 0.02,
                                .node_seconds = 0.02,
                                .node_gpus = 0.4,
                                .network_seconds = 0.05,
                                .network_gpus = 0.6,
                                .network_nodes = 0.3,
                                .network_ring = 1.2,
                                .gamma = 1.6};
const std::vector<Shape> shapes{{1, 1}, {1, 2}, {1, 4}, {2, 8}, {3, 12}, {4, 16}};
/// Enough shapes to separate the cost of further GPUs in a node from that of further nodes.
const std::vector<Shape> more_shapes{{1, 1}, {1, 2}, {1, 4},  {2, 2}, {2, 4},
                                     {2, 8}, {3, 3}, {3, 12}, {4, 16}};

/// The same job on a GPU that takes `factor` times as long to compute and synchronise.
PolluxThroughput slower(PolluxThroughput model, double factor) {
    for (double* time :
         {&model.alpha_c, &model.beta_c, &model.alpha_n, &model.beta_n, &model.alpha_r, &model.beta_r})
        *time *= factor;
    return model;
}
RefinedThroughput slower(RefinedThroughput model, double factor) {
    for (double* time : {&model.alpha_c, &model.beta_c, &model.node_seconds, &model.network_seconds})
        *time *= factor;
    return model;
}

Json empty_line() { return {{"samples", Json::array()}, {"predict", Json::array()}}; }

template <class Model>
void add_samples(Json& line, const std::string& type, const Model& truth, const std::vector<Shape>& of) {
    for (const Shape shape : of)
        for (const int batch : {32, 100, 256}) line["samples"].push_back(sample(type, truth, shape, batch));
}

Json ask(Program& program, const Json& line) {
    const Json answer = Json::parse(program.ask(line.dump()));
    REQUIRE_MESSAGE(!answer.contains("error"), answer.dump());
    return answer;
}

double relative_error(const Json& prediction, double seconds) {
    return std::abs(std::log(prediction["iteration_s"].get<double>() / seconds));
}

bool holds(const Json& prediction, double seconds) {
    return prediction["low_s"].get<double>() < seconds && seconds < prediction["high_s"].get<double>();
}

/// The logarithm of the upper end divided by the lower end.
double width(const Json& prediction) {
    return std::log(prediction["high_s"].get<double>() / prediction["low_s"].get<double>());
}

std::vector<std::string> names_of(const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
}

TEST_CASE("exact measurements are predicted to a per cent, accumulation included") {
    Json line = empty_line();
    std::vector<double> seconds;
    add_samples(line, "aws", refined, more_shapes);
    for (const Shape shape : {Shape{1, 3}, Shape{2, 6}, Shape{4, 13}, Shape{8, 32}})
        for (const int accumulation : {0, 3}) {
            line["predict"].push_back(question("aws", shape, 77, accumulation));
            seconds.push_back(refined.iteration_seconds(shape, {77, accumulation}));
        }
    Program program = fit();
    const Json answer = ask(program, line);
    REQUIRE(answer["predictions"].size() == seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        const Json& prediction = answer["predictions"][i];
        CAPTURE(line["predict"][i].dump());
        CHECK(relative_error(prediction, seconds[i]) < 0.01);
        CHECK(holds(prediction, seconds[i]));
        CHECK(width(prediction) < std::log(1.7));
    }
    CHECK(answer["rmsle"]["aws"].get<double>() < 0.01);
    CHECK(program.finish().status == 0);
}

TEST_CASE("measurements by Pollux's law are fitted where they are, and covered by intervals far away") {
    Json line = empty_line();
    add_samples(line, "aws", published, shapes);
    for (const Shape shape : shapes) line["predict"].push_back(question("aws", shape, 77));
    const std::vector<Shape> others{{1, 3}, {2, 6}, {4, 13}, {8, 32}};
    for (const Shape shape : others) line["predict"].push_back(question("aws", shape, 77));
    Program program = fit();
    const Json answer = ask(program, line);
    for (std::size_t i = 0; i < line["predict"].size(); ++i) {
        const bool measured = i < shapes.size();
        const Shape shape = measured ? shapes[i] : others[i - shapes.size()];
        const double seconds = published.iteration_seconds(shape, {77, 0});
        const Json& prediction = answer["predictions"][i];
        CHECK(relative_error(prediction, seconds) < (measured ? 0.003 : 0.08));
        CHECK(holds(prediction, seconds));
    }
}

TEST_CASE("an answer has the published parameters of every measured type, and their components") {
    Json line = empty_line();
    add_samples(line, "rtx", slower(refined, 2), {{1, 1}});
    add_samples(line, "aws", refined, more_shapes);
    line["predict"].push_back(question("unheard-of", {1, 1}, 64));
    Program program = fit();
    const Json answer = ask(program, line);
    CHECK(names_of(answer) == std::vector<std::string>{"models", "predictions", "rmsle", "milliseconds"});
    CHECK(names_of(answer["models"]) == std::vector<std::string>{"rtx", "aws"});
    CHECK(names_of(answer["rmsle"]) == std::vector<std::string>{"rtx", "aws"});
    CHECK(answer["milliseconds"].get<double>() > 0);
    const Json& model = answer["models"]["aws"];
    std::vector<std::string> names = names_of(model);
    REQUIRE(names.size() > 7);
    names.resize(7);
    CHECK(names ==
          std::vector<std::string>{"alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r", "gamma"});
    const auto number = [&](const char* name) { return model[name].get<double>(); };
    // The straight line meets the power law at two and at eight replicas.
    CHECK(number("alpha_r") == doctest::Approx(number("node_seconds")));
    CHECK(number("alpha_r") + 6 * number("beta_r") ==
          doctest::Approx(number("node_seconds") * std::pow(4, number("node_gpus"))));
    CHECK(number("alpha_n") == doctest::Approx(number("network_seconds")));
    CHECK(number("alpha_n") + 6 * number("beta_n") ==
          doctest::Approx(number("network_seconds") * std::pow(4, number("network_gpus"))));
    for (const auto& [name, truth] :
         {std::pair{"gamma", refined.gamma}, std::pair{"node_seconds", refined.node_seconds},
          std::pair{"network_seconds", refined.network_seconds}})
        CHECK(number(name) == doctest::Approx(truth).epsilon(0.03));
    CHECK(model["batches"].size() == 3);
    CHECK(model["shapes"].size() == more_shapes.size() - 1);
    const Json& lent = answer["models"]["rtx"]["from_prior"];
    for (const char* name : {"node_seconds", "node_gpus", "network_seconds", "network_gpus", "network_nodes",
                             "network_ring", "gamma"}) {
        CHECK(std::count(lent.begin(), lent.end(), name) == 1);
        CHECK(std::count(model["from_prior"].begin(), model["from_prior"].end(), name) == 0);
    }
}

TEST_CASE("small batches that wait for the host give the model a least time, a straight line gives none") {
    RefinedThroughput waiting{.alpha_c = 0.004, .beta_c = 2e-4, .launch_seconds = 0.02};
    Json line = empty_line();
    for (const int batch : {1, 2, 8, 32, 256, 512, 1024})
        line["samples"].push_back(sample("aws", waiting, {1, 1}, batch));
    for (const int batch : {4, 128, 2048}) line["predict"].push_back(question("aws", {1, 1}, batch, 3));
    Program program = fit();
    const Json answer = ask(program, line);
    CHECK(answer["models"]["aws"]["launch_seconds"].get<double>() > 0.015);
    for (std::size_t i = 0; i < 3; ++i) {
        const int batch = line["predict"][i]["local_batch"].get<int>();
        CHECK(relative_error(answer["predictions"][i], 4 * waiting.compute_seconds(batch)) < 0.05);
        CHECK(holds(answer["predictions"][i], 4 * waiting.compute_seconds(batch)));
    }
    waiting.launch_seconds = 0;
    line["samples"].clear();
    for (const int batch : {1, 2, 8, 32, 256, 512, 1024})
        line["samples"].push_back(sample("aws", waiting, {1, 1}, batch));
    CHECK(!ask(program, line)["models"]["aws"].contains("launch_seconds"));
}

TEST_CASE("if a tenth of the measurements is three times too long, no prediction moves by five per cent") {
    support::Random random(11);
    const std::vector<int> batches{32, 64, 100, 180, 256};
    Program program = fit();
    for (int round = 0; round < 20; ++round) {
        Json line = empty_line();
        for (const Shape shape : more_shapes)
            for (int i = 0; i < 10; ++i) {
                const int batch = batches[static_cast<std::size_t>(random.integer(0, 4))];
                const double noise = std::exp(0.1 * (random.unit() - 0.5));
                line["samples"].push_back(sample("aws", refined, shape, batch, noise));
            }
        for (const Shape shape : more_shapes) line["predict"].push_back(question("aws", shape, 77));
        const Json clean = ask(program, line)["predictions"];
        std::vector<std::size_t> order(line["samples"].size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        for (std::size_t i = 0; i < order.size() / 10; ++i) {
            const auto last = static_cast<int>(order.size()) - 1;
            std::swap(order[i], order[static_cast<std::size_t>(random.integer(static_cast<int>(i), last))]);
            for (const char* name : {"step_s", "sync_s"}) {
                Json& seconds = line["samples"][order[i]][name];
                seconds = 3 * seconds.get<double>();
            }
        }
        const Json spoilt = ask(program, line)["predictions"];
        for (std::size_t i = 0; i < spoilt.size(); ++i)
            CHECK(relative_error(spoilt[i], clean[i]["iteration_s"].get<double>()) < 0.05);
    }
}

TEST_CASE("nine in ten noisy measurements lie within the range, which narrows with more samples") {
    support::Random random(5);
    Program program = fit();
    int inside = 0, all = 0;
    double few_width = 0, many_width = 0;
    for (int job = 0; job < 60; ++job) {
        const bool many = job % 2 == 0;
        const auto noise = [&] {
            double sum = 0;
            for (int i = 0; i < 12; ++i) sum += random.unit();
            return std::exp(0.06 * (sum - 6));
        };
        Json line{{"samples", Json::array()}, {"predict", Json::array()}};
        for (int i = 0; i < (many ? 60 : 8); ++i)
            line["samples"].push_back(sample("aws", published,
                                             shapes[static_cast<std::size_t>(random.integer(0, 5))],
                                             random.integer(32, 256), noise()));
        std::vector<double> seconds;
        for (const Shape shape : shapes) {
            const int batch = random.integer(32, 256);
            line["predict"].push_back(question("aws", shape, batch));
            seconds.push_back(published.iteration_seconds(shape, {batch, 0}) * noise());
        }
        const Json answer = ask(program, line);
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            const Json& prediction = answer["predictions"][i];
            const double low = prediction["low_s"].get<double>(), high = prediction["high_s"].get<double>();
            CHECK(low <= prediction["iteration_s"].get<double>());
            CHECK(high >= prediction["iteration_s"].get<double>());
            inside += low <= seconds[i] && seconds[i] <= high ? 1 : 0;
            (many ? many_width : few_width) += std::log(high / low);
            ++all;
        }
    }
    CHECK(inside > 0.88 * all);
    CHECK(inside < 0.98 * all);
    CHECK(many_width < few_width);
}

TEST_CASE(
    "a GPU type measured on one GPU borrows synchronisation in units of computing, more from more types") {
    RefinedThroughput slow_network = refined;
    slow_network.network_seconds *= 4;
    RefinedThroughput fast_links = refined;
    fast_links.network_seconds /= 4;
    fast_links.node_seconds /= 4;
    const std::vector<double> factors{1, 2, 0.5};
    Program program = fit();
    for (const RefinedThroughput& truth : {refined, slow_network, fast_links}) {
        const RefinedThroughput fast = slower(truth, 0.2);
        std::vector<Json> predictions, models;
        for (std::size_t others = 0; others <= factors.size(); ++others) {
            Json line = empty_line();
            for (std::size_t t = 0; t < others; ++t)
                add_samples(line, "type" + std::to_string(t), slower(truth, factors[t]), more_shapes);
            add_samples(line, "dgx", fast, {{1, 1}});
            for (const Shape shape : more_shapes) line["predict"].push_back(question("dgx", shape, 128));
            for (const Shape shape : more_shapes) line["predict"].push_back(question("type0", shape, 128));
            const Json answer = ask(program, line);
            CHECK(answer["models"].size() == others + 1);
            predictions.push_back(answer["predictions"]);
            models.push_back(answer["models"]["dgx"]);
        }
        // One type says as much as experience with jobs in general, and three types say three times as
        // much. So a half and then a quarter of the error of synchronising remains.
        for (const bool network : {false, true}) {
            CAPTURE(network);
            const char* name = network ? "network_seconds" : "node_seconds";
            const double seconds = network ? fast.network_seconds : fast.node_seconds;
            const auto error = [&](std::size_t others) {
                return std::abs(std::log(models[others][name].get<double>() / seconds));
            };
            CHECK(error(1) < std::max(0.1, 0.6 * error(0)));
            CHECK(error(3) < std::max(0.1, 0.35 * error(0)));
        }
        for (std::size_t i = 0; i < more_shapes.size(); ++i) {
            const double seconds = fast.iteration_seconds(more_shapes[i], {128, 0});
            const auto error = [&](std::size_t others) {
                return relative_error(predictions[others][i], seconds);
            };
            const bool hidden = predictions[0][i]["iteration_s"].get<double>() <
                                1.1 * predictions[0][0]["iteration_s"].get<double>();
            const bool falsely_hidden = hidden && error(0) > std::log(2.0);
            CAPTURE(more_shapes[i].nodes);
            CAPTURE(more_shapes[i].gpus);
            CAPTURE(truth.network_seconds);
            // Experience with jobs in general does not cover every network; measurements of another type do.
            for (std::size_t others = 1; others <= factors.size(); ++others)
                CHECK(holds(predictions[others][i], seconds));
            if (more_shapes[i].gpus < 2) {
                for (std::size_t others = 0; others <= factors.size(); ++others) CHECK(error(others) < 0.01);
                continue;
            }
            CAPTURE(error(0));
            CAPTURE(error(1));
            CAPTURE(error(3));
            // Less of the step's error remains if synchronising is hidden. More remains if only the guess
            // takes it for hidden: then the first half shows in no step.
            CHECK(error(1) < std::max(0.02, (falsely_hidden ? 0.85 : 0.8) * error(0)));
            CHECK(error(3) < std::max(0.02, (falsely_hidden ? 0.55 : 0.5) * error(0)));
            // A borrowed estimate is less certain than the type's own measurements.
            CHECK(width(predictions[1][i]) > 2 * width(predictions[1][i + more_shapes.size()]));
        }
    }
}

TEST_CASE("a GPU type measured on one and two GPUs borrows the cost of further replicas") {
    Json line = empty_line();
    add_samples(line, "aws", published, shapes);
    const PolluxThroughput slow = slower(published, 3);
    for (const Shape shape : {Shape{1, 1}, Shape{1, 2}})
        for (const int batch : {32, 64, 100, 256})
            line["samples"].push_back(sample("rtx", slow, shape, batch));
    line["predict"].push_back(question("rtx", {1, 8}, 128));
    Program program = fit();
    const Json prediction = ask(program, line)["predictions"][0];
    CHECK(relative_error(prediction, slow.iteration_seconds({1, 8}, {128, 0})) < 0.05);
    CHECK(holds(prediction, slow.iteration_seconds({1, 8}, {128, 0})));
}

TEST_CASE("a GPU type without measurements counts as fast as the others on average, with a wide range") {
    for (const double factor : {1.0, 4.0}) {
        Json line = empty_line();
        add_samples(line, "aws", refined, shapes);
        add_samples(line, "quad", slower(refined, factor), shapes);
        const std::vector<Shape> asked{{1, 1}, {1, 2}, {1, 4}};
        for (const Shape shape : asked)
            for (const char* type : {"aws", "quad", "rtx"})
                line["predict"].push_back(question(type, shape, 100));
        Program program = fit();
        const Json answer = ask(program, line);
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const Json& aws = answer["predictions"][3 * i];
            const Json& quad = answer["predictions"][3 * i + 1];
            const Json& guess = answer["predictions"][3 * i + 2];
            const auto middle =
                std::sqrt(aws["iteration_s"].get<double>() * quad["iteration_s"].get<double>());
            CHECK(relative_error(guess, middle) < 0.1);
            // Knowledge of two types should make the third no surprise.
            CHECK(holds(guess, aws["iteration_s"].get<double>()));
            CHECK(holds(guess, quad["iteration_s"].get<double>()));
            CHECK(width(guess) > 2 * std::max(width(aws), width(quad)));
        }
        CHECK(!answer["models"].contains("rtx"));
    }
}

TEST_CASE("the order of GPU types and of measurements does not matter") {
    Json line = empty_line();
    add_samples(line, "aws", refined, shapes);
    add_samples(line, "rtx", slower(refined, 2), {{1, 1}, {1, 2}});
    add_samples(line, "dgx", slower(refined, 0.2), {{1, 1}});
    for (const char* type : {"dgx", "rtx", "aws", "quad"})
        line["predict"].push_back(question(type, {2, 8}, 64));
    Json reversed = line;
    std::reverse(reversed["samples"].begin(), reversed["samples"].end());
    Program program = fit();
    const Json one = ask(program, line), other = ask(program, reversed);
    for (std::size_t i = 0; i < line["predict"].size(); ++i)
        for (const char* name : {"iteration_s", "low_s", "high_s"})
            CHECK(one["predictions"][i][name].get<double>() ==
                  doctest::Approx(other["predictions"][i][name].get<double>()).epsilon(1e-6));
    CHECK(names_of(one["models"]) == std::vector<std::string>{"aws", "rtx", "dgx"});
    CHECK(names_of(other["models"]) == std::vector<std::string>{"dgx", "rtx", "aws"});
}

TEST_CASE("a single measurement is enough for a finite answer about any shape") {
    Json line{{"samples", {sample("aws", published, {1, 1}, 64)}}, {"predict", Json::array()}};
    for (const Shape shape : shapes) line["predict"].push_back(question("aws", shape, 64));
    Program program = fit();
    const Json answer = ask(program, line);
    for (const Json& prediction : answer.at("predictions")) {
        for (const char* name : {"iteration_s", "low_s", "high_s"})
            CHECK(std::isfinite(prediction[name].get<double>()));
        CHECK(prediction["low_s"].get<double>() > 0);
        CHECK(holds(prediction, prediction["iteration_s"].get<double>()));
    }
}

TEST_CASE("a line that cannot be used says why, and the next is served as if it had not been there") {
    struct Case {
        Json line;
        std::vector<std::string> says;
    };
    const Json good_sample = sample("aws", published, {1, 2}, 64);
    const auto with = [&](const char* field, const Json& value) {
        Json changed = good_sample;
        changed[field] = value;
        return Json{{"samples", {changed}}, {"predict", Json::array()}};
    };
    const auto without = [&](const char* field) {
        Json changed = good_sample;
        changed.erase(field);
        return Json{{"samples", {changed}}, {"predict", Json::array()}};
    };
    const auto asking = [&](const char* field, const Json& value) {
        Json changed = question("aws", {1, 2}, 64);
        changed[field] = value;
        return Json{{"samples", {good_sample}}, {"predict", {changed}}};
    };
    const std::vector<Case> cases{
        {Json::object(), {"samples", "missing"}},
        {Json{{"samples", 1}}, {"samples", "1", "array"}},
        {with("gpu_type", 4), {"samples[0].gpu_type", "4", "string"}},
        {without("gpu_type"), {"samples[0].gpu_type", "missing"}},
        {with("nodes", 0), {"samples[0].nodes", "0"}},
        {with("nodes", 3), {"gpus", "2"}},
        {with("gpus", 1.5), {"samples[0].gpus", "1.5", "integer"}},
        {with("gpus", 1e30), {"samples[0].gpus", "1e+30", "integer"}},
        {with("local_batch", -1), {"samples[0].local_batch", "-1"}},
        {with("accumulation", "none"), {"samples[0].accumulation", "none", "integer"}},
        {with("step_s", 0), {"step_s", "0"}},
        {with("step_s", -0.1), {"step_s", "-0.1"}},
        {with("step_s", nullptr), {"step_s", "null", "a number unless iteration_s is given"}},
        {with("sync_s", 100), {"sync_s", "100"}},
        {with("sync_s", -1), {"sync_s", "-1"}},
        {asking("gpus", 0), {"predict[0].gpus", "0"}},
        {asking("local_batch", 1LL << 40), {"predict[0].local_batch", "1099511627776"}},
        {Json{{"samples", Json::array()}, {"predict", {question("aws", {1, 2}, 64)}}}, {"aws", "no samples"}},
    };
    const Json good{{"samples", {good_sample}}, {"predict", {question("aws", {1, 2}, 64)}}};
    Program program = fit();
    const Json first = ask(program, good);
    std::size_t line = 1;
    for (const Case& bad : cases) {
        CAPTURE(bad.line.dump());
        const Json error = Json::parse(program.ask(bad.line.dump()));
        CHECK(error["line"] == ++line);
        REQUIRE(error.contains("error"));
        const auto text = error["error"].get<std::string>();
        CAPTURE(text);
        for (const std::string& word : bad.says) CHECK(text.find(word) != std::string::npos);
        ++line;
        CHECK(ask(program, good)["predictions"] == first["predictions"]);
    }
    const Json overflow = Json::parse(program.ask(R"({"samples":[{"gpu_type":"aws","step_s":1e999}]})"));
    CHECK(overflow["error"].get<std::string>().find("samples[0].step_s") != std::string::npos);
    CHECK(program.finish().status == 1);
}

TEST_CASE("no samples and no questions are an empty answer") {
    Program program = fit();
    const Json answer = ask(program, {{"samples", Json::array()}, {"predict", Json::array()}});
    CHECK(answer["models"] == Json::object());
    CHECK(answer["predictions"] == Json::array());
    CHECK(program.finish().status == 0);
}

TEST_CASE(
    "speed by cores and memory is fitted to points that plan accepts, and the next share to measure is "
    "named") {
    Json line = empty_line();
    line["host"] = {{"samples", Json::array()},
                    {"cores_per_gpu", {1, 2, 4, 8}},
                    {"memory_gib_per_gpu", {32, 64}},
                    {"reference", {4, 64}}};
    Program program = fit();
    Json host = ask(program, line)["host"];
    CHECK(host["next"] == Json{8.0, 64.0});
    int asked = 0;
    for (; !host["next"].is_null() && asked < 8; ++asked) {
        const double cores = host["next"][0].get<double>(), gib = host["next"][1].get<double>();
        line["host"]["samples"].push_back({cores, gib, 100 * std::min(cores, 4.0)});
        host = ask(program, line)["host"];
    }
    CHECK(asked < 8);
    CHECK(host["expected_error"].get<double>() <= 0.03);
    CHECK(host["speed"].size() <= 36);
    for (const Json& point : host["speed"])
        CHECK(std::abs(point[2].get<double>() * 4 / std::min(point[0].get<double>(), 4.0) - 1) < 0.1);

    const auto refused = [&](const char* field, const Json& value) {
        Json bad = line;
        bad["host"][field] = value;
        return Json::parse(program.ask(bad.dump()))["error"].get<std::string>();
    };
    CHECK(refused("samples", {{1, 32}}).find("host.samples[0]") != std::string::npos);
    CHECK(refused("samples", {{1, 32, -1}}).find("speed is -1") != std::string::npos);
    CHECK(refused("samples", {{1, "much", 1}}).find("host.samples[0][1]") != std::string::npos);
    CHECK(refused("cores_per_gpu", Json::array()).find("shares is 0") != std::string::npos);
    CHECK(refused("cores_per_gpu", {0}).find("cores is 0") != std::string::npos);
    CHECK(refused("reference", nullptr).find("host.reference") != std::string::npos);
    CHECK(program.finish().status == 1);
}

TEST_CASE("memory is fitted by GPU type, and the largest batch that fits is named") {
    Json line = empty_line();
    const auto peak = [](const char* type, int batch, double gib) {
        return Json{{"gpu_type", type}, {"local_batch", batch}, {"gib", gib}};
    };
    line["memory"] = {{"samples",
                       {peak("T4", 16, 4), peak("A100", 64, 10), peak("T4", 48, 8), peak("P100", 8, 5),
                        peak("P100", 64, 5)}},
                      {"gpu_gib", {{"T4", 16}, {"A100", 40}, {"P100", 16}}}};
    Program program = fit();
    const Json memory = ask(program, line)["memory"];
    CHECK(names_of(memory) == std::vector<std::string>{"T4", "A100", "P100"});
    CHECK(memory["T4"]["fixed_gib"].get<double>() == doctest::Approx(2));
    CHECK(memory["T4"]["example_gib"].get<double>() == doctest::Approx(0.125));
    CHECK(memory["T4"]["knowledge"] == "measured");
    CHECK(memory["T4"]["largest_local_batch"] == 105);  // 2 + 105 / 8 GiB of 15.2
    CHECK(memory["A100"]["knowledge"] == "fixed_assumed");
    CHECK(memory["A100"]["fixed_gib"] == 0.0);
    CHECK(memory["P100"]["knowledge"] == "no_growth");
    CHECK(memory["P100"]["largest_local_batch"] == 64);

    line["memory"]["fixed_gib"] = 4;
    line["memory"].erase("gpu_gib");
    const Json declared = ask(program, line)["memory"];
    CHECK(declared["A100"]["fixed_gib"].get<double>() == doctest::Approx(4));
    CHECK_FALSE(declared["A100"].contains("largest_local_batch"));
    line["memory"]["samples"] = Json::array();
    CHECK(ask(program, line)["memory"] == Json::object());

    const auto refused = [&](const Json& value) {
        Json bad = empty_line();
        bad["memory"] = value;
        return Json::parse(program.ask(bad.dump()))["error"].get<std::string>();
    };
    CHECK(refused(1).find("memory is 1") != std::string::npos);
    CHECK(refused({{"samples", {peak("T4", 0, 4)}}}).find("memory.samples[0].local_batch") !=
          std::string::npos);
    CHECK(refused({{"samples", {peak("T4", 1, 0)}}}).find("memory.samples[0].gib") != std::string::npos);
    CHECK(refused({{"samples", {peak("T4", 1, 2)}}, {"gpu_gib", {{"T5", 16}}}}).find("memory.gpu_gib.T5") !=
          std::string::npos);
    CHECK(refused({{"samples", {peak("T4", 1, 2)}}, {"gpu_gib", {{"T4", -16}}}}).find("T4") !=
          std::string::npos);
    CHECK(refused({{"samples", {peak("T4", 1, 2)}}, {"fixed_gib", 3}}).find("job on T4") !=
          std::string::npos);
    CHECK(program.finish().status == 1);
}

TEST_CASE("a log of nodes says how often a node is interrupted, as a node of plan takes it") {
    Json line = empty_line();
    Program program = fit();
    line["interruptions"] = Json::object();
    const Json believed = ask(program, line)["interruptions"];
    CHECK(believed["interruptions_h"]["median"].get<double>() == doctest::Approx(1.0 / 720).epsilon(0.05));
    CHECK(believed["shape"]["median"] == 1.0);
    for (int i = 0; i < 40; ++i) {
        line["interruptions"]["live_s"].push_back(3600 * (0.1 + i % 10));
        line["interruptions"]["off_s"].push_back(i % 2 == 0 ? 100 : 140);
    }
    line["interruptions"]["running_s"] = {3600, 0};
    const Json seen = ask(program, line)["interruptions"];
    const Json& rate = seen["interruptions_h"];
    CHECK(rate["median"].get<double>() == doctest::Approx(40 / (40 * 4.6 + 1)).epsilon(0.05));
    CHECK(rate["low"].get<double>() < rate["median"].get<double>());
    CHECK(rate["high"].get<double>() > rate["median"].get<double>());
    CHECK(seen["off_s"]["median"].get<double>() == doctest::Approx(120).epsilon(0.05));

    const auto refused = [&](const char* field, const Json& value) {
        Json bad = empty_line();
        bad["interruptions"] = {{field, value}};
        return Json::parse(program.ask(bad.dump()))["error"].get<std::string>();
    };
    CHECK(refused("live_s", {5, 0}).find("interruptions.live_s[1]") != std::string::npos);
    CHECK(refused("running_s", {-1}).find("interruptions.running_s[0]") != std::string::npos);
    CHECK(refused("off_s", {1e16}).find("interruptions.off_s[0]") != std::string::npos);
    CHECK(refused("off_s", 3).find("interruptions.off_s") != std::string::npos);
    CHECK(program.finish().status == 1);
}

TEST_CASE("gradients at several batches show the worth of an example at any batch") {
    Json line{{"samples", {sample("aws", published, {1, 1}, 64)}},
              {"predict", {question("aws", {1, 4}, 64)}},
              {"initial_batch", 64}};
    // Squared norm over variance: 0.1 + 0.4 / S, so 0.2 at S = 4.
    line["gradients"] = {{{"total_batch", 64}, {"sqr", 1}, {"var", 2}},
                         {{"total_batch", 128}, {"sqr", 0.6}, {"var", 2}}};
    Program program = fit();
    const Json prediction = ask(program, line)["predictions"][0];
    CHECK(prediction["efficiency"].get<double>() == doctest::Approx(1.2 / 1.8));
    CHECK(prediction["goodput"].get<double>() ==
          doctest::Approx(1.2 / 1.8 * prediction["examples_s"].get<double>()));

    const auto refused = [&](const char* field, const Json& value) {
        Json bad = line;
        bad[field] = value;
        return Json::parse(program.ask(bad.dump()))["error"].get<std::string>();
    };
    CHECK(refused("gradient", {{"sqr", 1}, {"var", 2}}).find("left out") != std::string::npos);
    CHECK(refused("gradients", Json::array()).find("gradients") != std::string::npos);
    CHECK(refused("gradients", {{{"total_batch", 64}, {"sqr", 1}, {"var", 0}}}).find("gradients[0].var") !=
          std::string::npos);
    CHECK(refused("initial_batch", nullptr).find("initial_batch") != std::string::npos);
    CHECK(program.finish().status == 1);
}

TEST_CASE("trainings at several batches give a noise scale that gradient takes, and further trainings") {
    Json line = empty_line();
    for (const int batch : {128, 512, 2048, 8192})
        line["convergence"].push_back({{"batch", batch}, {"examples", 10.0 * (1000 + batch)}});
    line["convergence_batches"] = {64, 1000};
    Program program = fit();
    const Json found = ask(program, line)["noise_scale"];
    const double noise_scale = found["median"].get<double>();
    CHECK(std::abs(noise_scale / 1000 - 1) < 0.03);
    CHECK(found["low"] < noise_scale);
    CHECK(found["high"] > noise_scale);
    CHECK(found["from_prior"].empty());
    REQUIRE(found["predictions"].size() == 2);
    CHECK(found["predictions"][1]["batch"] == 1000);
    CHECK(std::abs(found["predictions"][1]["examples"].get<double>() / 20000 - 1) < 0.03);
    CHECK(found["predictions"][1]["low"] < 20000);
    CHECK(found["predictions"][1]["high"] > 20000);

    line["convergence"] = Json::array({{{"batch", 512}, {"examples", 3}, {"runs", 4}, {"std", 0.1}}});
    CHECK(ask(program, line)["noise_scale"]["from_prior"] == Json{"low", "high"});
    line["convergence_batches"] = nullptr;
    CHECK(ask(program, line)["noise_scale"]["predictions"].empty());
    CHECK(!ask(program, empty_line()).contains("noise_scale"));

    // An efficiency by the noise scale equals the one by statistics with that noise scale.
    Json speeds{{"samples", {sample("aws", published, {1, 2}, 64)}},
                {"predict", {question("aws", {1, 4}, 256)}},
                {"initial_batch", 128},
                {"gradient", {{"noise_scale", 640}}}};
    const Json efficiency = ask(program, speeds)["predictions"];
    CHECK(efficiency[0]["efficiency"].get<double>() == (640.0 + 128) / (640 + 1024));
    speeds["gradient"] = {{"sqr", 2}, {"var", 10}};
    CHECK(ask(program, speeds)["predictions"] == efficiency);

    const auto refused = [&](const char* field, const Json& value) {
        Json bad = line;
        bad["convergence"][0][field] = value;
        return Json::parse(program.ask(bad.dump()))["error"].get<std::string>();
    };
    CHECK(refused("batch", 0).find("convergence[0].batch") != std::string::npos);
    CHECK(refused("batch", 1.5).find("integer") != std::string::npos);
    CHECK(refused("examples", -1).find("convergence[0].examples is -1") != std::string::npos);
    CHECK(refused("examples", 1e19).find("convergence[0].examples") != std::string::npos);
    CHECK(refused("examples", nullptr).find("convergence[0].examples") != std::string::npos);
    CHECK(refused("runs", 0).find("convergence[0].runs") != std::string::npos);
    CHECK(refused("std", -1).find("convergence[0].std") != std::string::npos);
    // Without a training, the initial batch says what is usual.
    line["convergence"] = Json::array();
    line["convergence_batches"] = nullptr;
    const auto error_of = [&] { return Json::parse(program.ask(line.dump()))["error"].get<std::string>(); };
    CHECK(error_of().find("initial_batch") != std::string::npos);
    line["initial_batch"] = 256;
    const Json usual = ask(program, line)["noise_scale"];
    CHECK(std::abs(usual["median"].get<double>() / (256 * std::exp(1.0)) - 1) < 1e-6);
    CHECK(usual["low"].get<double>() < 256 / 8.0);
    CHECK(usual["high"].get<double>() > 256 * 64.0);
    CHECK(usual["from_prior"] == Json{"low", "high"});
    line["convergence_batches"] = {64};
    CHECK(error_of().find("convergence") != std::string::npos);
    line["convergence"] = nullptr;
    line["convergence_batches"] = {64};
    CHECK(Json::parse(program.ask(line.dump()))["error"].get<std::string>().find("convergence is null") !=
          std::string::npos);
    CHECK(program.finish().status == 1);
}

}  // namespace cli_fit
