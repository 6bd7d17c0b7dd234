// `goodput fit`, driven through pipes.

#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/model/pollux.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace {

using goodput::PolluxThroughput;
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

/// What a job with that model measures, times a factor.
Json sample(const std::string& type, const PolluxThroughput& truth, Shape shape, int batch,
            double factor = 1) {
    const double compute = truth.compute_seconds(batch);
    const double step = truth.step_seconds(compute, truth.sync_seconds(shape));
    Json json = question(type, shape, batch);
    json["step_s"] = step * factor;
    json["sync_s"] = (step - compute) * factor;
    return json;
}

constexpr PolluxThroughput truth{0.02, 5e-4, 0.04, 0.004, 0.01, 0.002, 1.6};
const std::vector<Shape> shapes{{1, 1}, {1, 2}, {1, 4}, {2, 8}, {3, 12}, {4, 16}};

/// The same job on a GPU that computes and synchronises `factor` times as long.
PolluxThroughput slower(double factor) {
    PolluxThroughput model = truth;
    for (double* time :
         {&model.alpha_c, &model.beta_c, &model.alpha_n, &model.beta_n, &model.alpha_r, &model.beta_r})
        *time *= factor;
    return model;
}

Json ask(Program& program, const Json& line) {
    const Json answer = Json::parse(program.ask(line.dump()));
    REQUIRE_MESSAGE(!answer.contains("error"), answer.dump());
    return answer;
}

double relative_error(const Json& prediction, double seconds) {
    return std::abs(std::log(prediction["iteration_s"].get<double>() / seconds));
}

}  // namespace

TEST_CASE("exact measurements are predicted to a per cent, accumulation included") {
    Json line{{"samples", Json::array()}, {"predict", Json::array()}};
    std::vector<double> seconds;
    for (const Shape shape : shapes)
        for (const int batch : {32, 100, 256}) line["samples"].push_back(sample("aws", truth, shape, batch));
    for (const Shape shape : {Shape{1, 3}, Shape{2, 6}, Shape{4, 13}, Shape{8, 32}})
        for (const int accumulation : {0, 3}) {
            line["predict"].push_back(question("aws", shape, 77, accumulation));
            seconds.push_back(truth.iteration_seconds(shape, {77, accumulation}));
        }
    Program program = fit();
    const Json answer = ask(program, line);
    REQUIRE(answer["predictions"].size() == seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        const Json& prediction = answer["predictions"][i];
        CHECK(relative_error(prediction, seconds[i]) < 0.01);
        CHECK(prediction["low_s"].get<double>() < seconds[i]);
        CHECK(prediction["high_s"].get<double>() > seconds[i]);
        CHECK(prediction["high_s"].get<double>() < 1.5 * prediction["low_s"].get<double>());
    }
    std::vector<std::string> names, parameters;
    for (const auto& [name, value] : answer.items()) names.push_back(name);
    CHECK(names == std::vector<std::string>{"models", "predictions", "rmsle", "milliseconds"});
    for (const auto& [name, value] : answer["models"]["aws"].items()) parameters.push_back(name);
    CHECK(parameters ==
          std::vector<std::string>{"alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r", "gamma"});
    CHECK(answer["rmsle"]["aws"].get<double>() < 0.01);
    CHECK(program.finish().status == 0);
}

TEST_CASE("nine in ten noisy measurements lie within the range, and the more samples the narrower it is") {
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
            line["samples"].push_back(sample("aws", truth,
                                             shapes[static_cast<std::size_t>(random.integer(0, 5))],
                                             random.integer(32, 256), noise()));
        std::vector<double> seconds;
        for (const Shape shape : shapes) {
            const int batch = random.integer(32, 256);
            line["predict"].push_back(question("aws", shape, batch));
            seconds.push_back(truth.iteration_seconds(shape, {batch, 0}) * noise());
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
    CHECK(inside > 0.8 * all);
    CHECK(many_width < few_width);
}

TEST_CASE("a GPU type measured on one GPU borrows synchronisation in units of computing") {
    const PolluxThroughput fast = slower(0.2);
    Json line{{"samples", Json::array()}, {"predict", Json::array()}};
    for (const Shape shape : shapes)
        for (const int batch : {32, 100, 256}) line["samples"].push_back(sample("aws", truth, shape, batch));
    for (const int batch : {32, 256}) line["samples"].push_back(sample("dgx", fast, {1, 1}, batch));
    for (const Shape shape : shapes) line["predict"].push_back(question("dgx", shape, 128));
    Program program = fit();
    const Json answer = ask(program, line);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const Json& prediction = answer["predictions"][i];
        const double seconds = fast.iteration_seconds(shapes[i], {128, 0});
        CHECK(relative_error(prediction, seconds) < 0.03);
        // Borrowed, so less sure than one's own measurements.
        const double width = std::log(prediction["high_s"].get<double>() / prediction["low_s"].get<double>());
        if (shapes[i].gpus > 1) CHECK(width > 0.4);
    }
    CHECK(answer["models"].size() == 2);
}

TEST_CASE("a GPU type measured on one and two GPUs borrows what further replicas add") {
    const PolluxThroughput slow = slower(3);
    Json line{{"samples", Json::array()}, {"predict", Json::array()}};
    for (const Shape shape : shapes)
        for (const int batch : {32, 100, 256}) line["samples"].push_back(sample("aws", truth, shape, batch));
    for (const Shape shape : {Shape{1, 1}, Shape{1, 2}})
        for (const int batch : {32, 64, 100, 256})
            line["samples"].push_back(sample("rtx", slow, shape, batch));
    line["predict"].push_back(question("rtx", {1, 8}, 128));
    Program program = fit();
    const Json prediction = ask(program, line)["predictions"][0];
    CHECK(relative_error(prediction, slow.iteration_seconds({1, 8}, {128, 0})) < 0.05);
}

TEST_CASE("a GPU type without measurements borrows the whole model, within a wide range") {
    Json line{{"samples", Json::array()},
              {"predict", {question("aws", {1, 2}, 64), question("rtx", {1, 2}, 64)}}};
    for (const Shape shape : shapes) line["samples"].push_back(sample("aws", truth, shape, 64));
    Program program = fit();
    const Json answer = ask(program, line);
    const Json &own = answer["predictions"][0], &borrowed = answer["predictions"][1];
    CHECK(borrowed["iteration_s"].get<double>() == doctest::Approx(own["iteration_s"].get<double>()));
    CHECK(borrowed["high_s"].get<double>() > 3 * own["high_s"].get<double>());
    CHECK(borrowed["low_s"].get<double>() < own["low_s"].get<double>() / 3);
    CHECK(!answer["models"].contains("rtx"));
}

TEST_CASE("a single measurement is enough for a finite answer about any shape") {
    Json line{{"samples", {sample("aws", truth, {1, 1}, 64)}}, {"predict", Json::array()}};
    for (const Shape shape : shapes) line["predict"].push_back(question("aws", shape, 64));
    Program program = fit();
    const Json answer = ask(program, line);
    for (const Json& prediction : answer.at("predictions")) {
        for (const char* name : {"iteration_s", "low_s", "high_s"})
            CHECK(std::isfinite(prediction[name].get<double>()));
        CHECK(prediction["low_s"].get<double>() > 0);
    }
}

TEST_CASE("a line that cannot be used says why, and the next is served as if it had not been there") {
    struct Case {
        Json line;
        std::vector<std::string> says;
    };
    const Json good_sample = sample("aws", truth, {1, 2}, 64);
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
        {with("step_s", nullptr), {"step_s", "null", "number"}},
        {with("sync_s", 100), {"sync_s", "100"}},
        {with("sync_s", -1), {"sync_s", "-1"}},
        {without("sync_s"), {"sync_s", "missing"}},
        {asking("gpus", 0), {"predict[0].gpus", "0"}},
        {asking("local_batch", 1LL << 40), {"predict[0].local_batch", "1099511627776"}},
        {asking("accumulation", nullptr), {"predict[0].accumulation", "null"}},
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
