#include "fit.hpp"

#include <cmath>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "job_fit.hpp"
#include "json_lines.hpp"
#include "samples.hpp"
#include "stopwatch.hpp"

namespace cli {

namespace {

constexpr const char* subject = "job";

Json json_of(const goodput::PolluxThroughput& model) {
    Json json;
    json["alpha_c"] = model.alpha_c;
    json["beta_c"] = model.beta_c;
    json["alpha_n"] = model.alpha_n;
    json["beta_n"] = model.beta_n;
    json["alpha_r"] = model.alpha_r;
    json["beta_r"] = model.beta_r;
    json["gamma"] = model.gamma;
    return json;
}

Json json_of(const Prediction& prediction) {
    Json json;
    json["iteration_s"] = prediction.seconds;
    json["low_s"] = prediction.low_seconds;
    json["high_s"] = prediction.high_seconds;
    return json;
}

/// What is asked for: one entry of "predict".
struct Question {
    Field field;
    std::string gpu_type{};
    goodput::Shape shape{};
    goodput::BatchPlan plan{};
};

Question read_question(const Field& field) {
    constexpr int most = 1 << 20;
    Question question{field};
    question.gpu_type = field["gpu_type"].text();
    question.shape.nodes = field["nodes"].count(1, most);
    question.shape.gpus = field["gpus"].count(question.shape.nodes, most);
    question.plan.atomic_batch = field["local_batch"].count(1, 1 << 30);
    question.plan.accumulation_steps = field["accumulation"].count(0, most);
    return question;
}

Json serve(const Json& document, goodput::ThroughputFitter& fitter) {
    const Field line(document, subject);
    JobFit job;
    line["samples"].for_each(
        [&](const Field& sample) { job.add(sample["gpu_type"].text(), read_sample(sample, subject)); });
    std::vector<Question> questions;
    if (const Field predict = line["predict"]; predict.given())
        predict.for_each([&](const Field& question) { questions.push_back(read_question(question)); });

    const Stopwatch stopwatch;
    job.fit(fitter, subject);
    const double milliseconds = stopwatch.milliseconds();

    Json models = Json::object(), errors = Json::object(), predictions = Json::array();
    for (const JobFit::OfType& type : job.types()) {
        models[type.name] = json_of(type.fit.model);
        errors[type.name] = type.fit.step_rmsle;
    }
    for (const Question& question : questions) {
        const std::optional<Prediction> prediction =
            job.predict(question.gpu_type, question.shape, question.plan);
        if (!prediction)
            question.field["gpu_type"].refuse("measured, or another GPU type measured: there are no samples");
        predictions.push_back(json_of(*prediction));
    }
    Json answer;
    answer["models"] = std::move(models);
    answer["predictions"] = std::move(predictions);
    answer["rmsle"] = std::move(errors);
    answer["milliseconds"] = milliseconds;
    return answer;
}

}  // namespace

int run_fit() {
    goodput::ThroughputFitter fitter;
    return serve_lines(std::cin, std::cout, [&](const Json& document) { return serve(document, fitter); });
}

}  // namespace cli
