#include "plan/fit.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/availability/interruption_fit.hpp"
#include "goodput/core/bytes.hpp"
#include "goodput/core/error.hpp"
#include "goodput/fit/convergence_fit.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/hosts/host_fit.hpp"
#include "goodput/hosts/host_profile.hpp"
#include "goodput/memory/memory.hpp"
#include "goodput/memory/memory_fit.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/statistics/gradient_by_batch.hpp"
#include "goodput/tasks/forecast.hpp"
#include "json/names.hpp"
#include "plan/samples.hpp"
#include "plan/stopwatch.hpp"

namespace cli {

namespace {

constexpr const char* subject = "job";

/// Returns a job's GPU types in the order in which they are first named.
class Job {
public:
    std::size_t type_of(const std::string& gpu_type) {
        const auto found = std::find(names.begin(), names.end(), gpu_type);
        if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
        names.push_back(gpu_type);
        samples.emplace_back();
        types.emplace_back();
        return names.size() - 1;
    }
    [[nodiscard]] bool measured() const {
        return std::any_of(samples.begin(), samples.end(),
                           [](const auto& of_type) { return !of_type.empty(); });
    }

    std::vector<std::string> names{};
    std::vector<std::vector<goodput::ThroughputSample>> samples{};
    std::vector<goodput::TypeFit> types{};
};

/// Returns the nearest parameters of Pollux's model (model/throughput.hpp). Computing and overlap stay as
/// they are. Straight lines replace the laws of synchronisation: they agree with these, without the factors
/// of single shapes, at two and at eight replicas, on one node and on two.
goodput::PolluxThroughput published_form(const goodput::RefinedThroughput& model) {
    goodput::RefinedThroughput laws = model;
    laws.shapes.clear();
    const auto line_on = [&](int nodes, double& alpha, double& beta) {
        alpha = laws.sync_seconds({nodes, 2});
        beta = std::max(0.0, (laws.sync_seconds({nodes, 8}) - alpha) / 6);
    };
    goodput::PolluxThroughput published{
        .alpha_c = model.alpha_c, .beta_c = model.beta_c, .gamma = model.gamma};
    line_on(2, published.alpha_n, published.beta_n);
    line_on(1, published.alpha_r, published.beta_r);
    return published;
}

Json json_of(const goodput::RefinedFit& fit) {
    const goodput::RefinedThroughput& model = fit.model;
    const goodput::PolluxThroughput published = published_form(model);
    Json json;
    json["alpha_c"] = published.alpha_c;
    json["beta_c"] = published.beta_c;
    json["alpha_n"] = published.alpha_n;
    json["beta_n"] = published.beta_n;
    json["alpha_r"] = published.alpha_r;
    json["beta_r"] = published.beta_r;
    json["gamma"] = published.gamma;

    if (model.launch_seconds > 0) json["launch_seconds"] = model.launch_seconds;
    json["alone"] = model.alone;
    json["straggling"] = model.straggling;
    json["node_seconds"] = model.node_seconds;
    json["node_gpus"] = model.node_gpus;
    json["network_seconds"] = model.network_seconds;
    json["network_gpus"] = model.network_gpus;
    json["network_nodes"] = model.network_nodes;
    json["network_ring"] = model.network_ring;
    Json& batches = json["batches"] = Json::array();
    for (const goodput::BatchFactor& at : model.batches)
        batches.push_back({{"local_batch", at.batch}, {"factor", at.factor}});
    Json& shapes = json["shapes"] = Json::array();
    for (const goodput::ShapeFactor& factor : model.shapes)
        shapes.push_back({{"nodes", factor.shape.nodes},
                          {"gpus", factor.shape.gpus},
                          {"compute", factor.compute},
                          {"sync", factor.sync}});
    Json& from_prior = json["from_prior"] = Json::array();
    for (std::size_t i = 0; i < fit.identified.size(); ++i)
        if (!fit.identified[i]) from_prior.push_back(goodput::refined_parameter_names[i]);
    return json;
}

Json json_of(const goodput::Forecast& forecast) {
    const goodput::Interval range = forecast.interval(0.9);
    Json json;
    json["iteration_s"] = forecast.median();
    json["low_s"] = range.low;
    json["high_s"] = range.high;
    return json;
}

/// Answers one entry of "predict".
struct Question {
    Field field;
    std::size_t type = 0;
    goodput::Shape shape{};
    goodput::BatchPlan plan{};
};

Question read_question(const Field& field, Job& job) {
    constexpr int most = 1 << 20;
    field.knows({"gpu_type", "nodes", "gpus", "local_batch", "accumulation"});
    Question question{field};
    question.type = job.type_of(field["gpu_type"].text());
    question.shape.nodes = field["nodes"].count(1, most);
    question.shape.gpus = field["gpus"].count(question.shape.nodes, most);
    question.plan.atomic_batch = field["local_batch"].count(1, 1 << 30);
    field["accumulation"].into(question.plan.accumulation_steps, 0, most);
    return question;
}

/// Reads [cores per GPU, GiB per GPU].
goodput::HostShare read_share(const Field& pair) {
    pair.require_size(2, "[cores a GPU, GiB a GPU]");
    return {pair[std::size_t{0}].number(), pair[std::size_t{1}].number()};
}

/// Answers with what measured speeds by cores and memory say about the shares that the job may be given, as
/// points that `plan` accepts, and with the share to measure next.
Json host_answer(const Field& host) {
    constexpr std::size_t most_rows = 1024;  // the fit compares all rows with all others
    host.knows({"samples", "cores_per_gpu", "memory_gib_per_gpu", "reference"});
    std::vector<goodput::HostSample> samples;
    if (host["samples"].size() > most_rows) host["samples"].refuse("at most 1024 measurements");
    host["samples"].for_each([&](const Field& sample) {
        sample.require_size(3, "[cores a GPU, GiB a GPU, speed]");
        samples.push_back({{sample[std::size_t{0}].number(), sample[std::size_t{1}].number()},
                           sample[std::size_t{2}].number()});
    });
    std::vector<goodput::HostShare> shares;
    if (host["cores_per_gpu"].size() * host["memory_gib_per_gpu"].size() > most_rows)
        host["cores_per_gpu"].refuse("at most 1024 shares together with the memories");
    host["cores_per_gpu"].for_each([&](const Field& cores) {
        host["memory_gib_per_gpu"].for_each([&](const Field& memory) {
            shares.push_back({cores.number(), memory.number()});
        });
    });
    const goodput::HostFit fit(samples, {.subject = "job"});
    const goodput::HostProfile profile = goodput::next_host_share(fit, shares);
    goodput::HostShare least = shares.front(), most = least;
    for (const goodput::HostShare& share : shares) {
        least.cores_per_gpu = std::min(least.cores_per_gpu, share.cores_per_gpu);
        least.memory_gib_per_gpu = std::min(least.memory_gib_per_gpu, share.memory_gib_per_gpu);
        most.cores_per_gpu = std::max(most.cores_per_gpu, share.cores_per_gpu);
        most.memory_gib_per_gpu = std::max(most.memory_gib_per_gpu, share.memory_gib_per_gpu);
    }
    Json answer;
    Json& speed = answer["speed"] = Json::array();
    for (const goodput::HostSpeed& point :
         goodput::host_speed_points(fit, least, most, read_share(host["reference"])))
        speed.push_back({point.cores_per_gpu, point.memory_gib_per_gpu, point.factor});
    answer["expected_error"] = profile.largest_error;
    answer["next"] = nullptr;
    if (profile.next) answer["next"] = {profile.next->cores_per_gpu, profile.next->memory_gib_per_gpu};
    return answer;
}

const char* name_of(goodput::MemoryKnowledge knowledge) {
    constexpr const char* names[] = {"measured", "fixed_assumed", "no_growth"};
    return names[static_cast<int>(knowledge)];
}

/// The memory that a batch needs by GPU type, and the largest batch that fits.
Json memory_answer(const Field& memory) {
    constexpr std::size_t most_rows = 1024;  // the fit compares all with all
    memory.knows({"samples", "fixed_gib", "gpu_gib"});
    if (memory["samples"].size() > most_rows) memory["samples"].refuse("at most 1024 measurements");
    std::vector<std::pair<std::string, std::vector<goodput::MemorySample>>> by_type;
    memory["samples"].for_each([&](const Field& sample) {
        sample.knows({"gpu_type", "local_batch", "gib"});
        const std::string type = sample["gpu_type"].text();
        auto found = std::find_if(by_type.begin(), by_type.end(),
                                  [&](const auto& entry) { return entry.first == type; });
        if (found == by_type.end()) found = by_type.insert(found, {type, {}});
        const double gib = sample["gib"].number_at_least(1e-9);
        if (gib > 1e8) sample["gib"].refuse("at most 1e8");
        found->second.push_back({sample["local_batch"].count(1, 1 << 30), gib * goodput::bytes_per_gib});
    });
    goodput::MemoryFitOptions options;
    if (const Field fixed = memory["fixed_gib"]; fixed.given())
        options.least_fixed_bytes = fixed.number_at_least(0) * goodput::bytes_per_gib;
    Json answer = Json::object();
    for (const auto& [type, samples] : by_type) {
        const std::string of_type = "memory of the job on " + type;
        options.subject = of_type;
        const goodput::MemoryFit fit = goodput::fit_memory(samples, options);
        Json& json = answer[type];
        json["fixed_gib"] = fit.model.fixed_bytes / goodput::bytes_per_gib;
        json["example_gib"] = fit.model.bytes_per_example / goodput::bytes_per_gib;
        json["knowledge"] = name_of(fit.knowledge);
        if (const Field gpus = memory["gpu_gib"]; gpus.given() && gpus[type].given())
            json["largest_local_batch"] = goodput::largest_atomic_batch(
                fit.model, {.capacity_bytes = gpus[type].number_at_least(0) * goodput::bytes_per_gib});
    }
    if (const Field gpus = memory["gpu_gib"]; gpus.given())
        for (const auto& [type, gib] : gpus.fields())
            if (!answer.contains(type)) gib.refuse("that of a GPU type with a sample");
    return answer;
}

Json json_of(double middle, const goodput::Interval& range) {
    return {{"median", middle}, {"low", range.low}, {"high", range.high}};
}

/// How often a node is interrupted, and for how long, from a log of nodes of one kind.
Json interruptions_answer(const Field& log) {
    constexpr std::size_t most_periods = 1 << 16;
    log.knows({"live_s", "running_s", "off_s"});
    const auto read = [&](const char* name, double least) {
        std::vector<double> seconds;
        const Field list = log[name];
        if (!list.given()) return seconds;
        if (list.size() > most_periods) list.refuse("at most 65536 periods");
        list.for_each([&](const Field& period) {
            const double length = period.number_at_least(least);
            if (length > goodput::longest_checkpoint_seconds)
                period.refuse("at most " + goodput::text_of(goodput::longest_checkpoint_seconds));
            seconds.push_back(length);
        });
        return seconds;
    };
    const goodput::InterruptionFit fit = goodput::fit_interruptions({.live_seconds = read("live_s", 1e-6),
                                                                     .running_seconds = read("running_s", 0),
                                                                     .off_seconds = read("off_s", 0)});
    Json answer;
    answer["interruptions_h"] = json_of(fit.interruptions.per_hour, fit.per_hour);
    answer["off_s"] = json_of(fit.interruptions.off_seconds, fit.off_seconds);
    answer["shape"] = json_of(fit.interruptions.shape, fit.shape);
    answer["evidence"] = fit.weibull_evidence;
    return answer;
}

/// A question may name a GPU type without measurements, but not a type whose name nearly equals another.
void warn_of_mistyped(const std::vector<Question>& questions, const Job& job) {
    std::vector<std::string_view> measured;
    for (std::size_t t = 0; t < job.names.size(); ++t)
        if (!job.samples[t].empty()) measured.push_back(job.names[t]);
    for (const Question& question : questions) {
        const std::string& name = job.names[question.type];
        if (std::find(measured.begin(), measured.end(), name) != measured.end()) continue;
        if (const std::string meant = did_you_mean(name, measured); !meant.empty())
            question.field["gpu_type"].warn_of_type(name,
                                                    "no sample is of GPU type \"" + name + "\"" + meant);
    }
}

/// Returns how much an example at a total batch is worth, compared with one at the initial batch, if the line
/// names an initial batch.
std::function<double(double)> read_efficiency(const Field& line) {
    const Field initial = line["initial_batch"], gradient = line["gradient"], gradients = line["gradients"];
    if (!initial.given()) {
        if (gradient.given() || gradients.given()) initial.refuse("given where there is a gradient");
        return {};
    }
    const int batch = initial.count(1, 1 << 30);
    const auto initial_batch = static_cast<double>(batch);
    if (gradients.given()) {
        if (gradient.given()) gradient.refuse("left out where gradients is given");
        std::vector<goodput::GradientAtBatch> measured;
        gradients.for_each([&](const Field& at) {
            at.knows({"total_batch", "sqr", "var"});
            measured.push_back({static_cast<double>(at["total_batch"].count(1, 1 << 30)),
                                {at["sqr"].number_at_least(0), at["var"].number_at_least(0)}});
            if (!(measured.back().gradient.variance > 0)) at["var"].refuse("above 0");
        });
        if (measured.empty()) gradients.refuse("an array of at least one gradient");
        return [found = goodput::efficiency_from_batches(measured, initial_batch)](double total) {
            return found.efficiency(total);
        };
    }
    goodput::NoiseScaleEfficiency found{.initial_batch = initial_batch};
    if (gradient.given()) found.gradient = read_gradient(gradient, batch);
    return [found](double total) { return found.efficiency(total); };
}

/// What whole trainings at several batches say of the noise scale, and of trainings at other batches. Without
/// a training, what the initial batch suggests.
Json convergence_answer(const Field& convergence, const Field& batches, const Field& initial) {
    constexpr std::size_t most_rows = 1024;
    constexpr int most_batch = 1 << 30;
    std::vector<goodput::MeasuredTraining> trainings;
    if (convergence.size() > most_rows) convergence.refuse("at most 1024 trainings");
    convergence.for_each([&](const Field& training) {
        training.knows({"batch", "examples", "runs", "std"});
        goodput::MeasuredTraining row{.batch = static_cast<double>(training["batch"].count(1, most_batch)),
                                      .examples = training["examples"].number()};
        if (row.examples < goodput::least_examples || row.examples > goodput::most_examples)
            training["examples"].refuse("between " + goodput::text_of(goodput::least_examples) + " and " +
                                        goodput::text_of(goodput::most_examples));
        training["runs"].into(row.runs, 1, most_batch);
        training["std"].into(row.deviation, 0);
        trainings.push_back(row);
    });
    const auto write = [](Json& json, const char* name, const goodput::ConvergenceEstimate& estimate) {
        json[name] = estimate.median;
        json["low"] = estimate.range.low;
        json["high"] = estimate.range.high;
    };
    Json answer;
    if (trainings.empty()) {
        if (!initial.given()) convergence.refuse("an array of at least one training, or initial_batch given");
        if (batches.given()) convergence.refuse("an array of at least one training with convergence_batches");
        write(answer, "median", goodput::usual_noise_scale(initial.count(1, most_batch)));
        answer["from_prior"] = {"low", "high"};
        answer["predictions"] = Json::array();
        return answer;
    }
    const goodput::ConvergenceFit fit(trainings, subject);
    write(answer, "median", fit.noise_scale());
    Json& from_prior = answer["from_prior"] = Json::array();
    if (fit.low_from_prior()) from_prior.push_back("low");
    if (fit.high_from_prior()) from_prior.push_back("high");
    Json& predictions = answer["predictions"] = Json::array();
    if (!batches.given()) return answer;
    if (batches.size() > most_rows) batches.refuse("at most 1024 batches");
    batches.for_each([&](const Field& batch) {
        Json prediction;
        prediction["batch"] = batch.count(1, most_batch);
        write(prediction, "examples", fit.examples(batch.count(1, most_batch)));
        predictions.push_back(std::move(prediction));
    });
    return answer;
}

Json serve(const Field& line, goodput::JobFitter& fitter) {
    line.knows({"samples", "predict", "host", "initial_batch", "gradient", "gradients", "memory",
                "interruptions", "convergence", "convergence_batches"});
    Job job;
    line["samples"].for_each([&](const Field& sample) {
        const std::size_t type = job.type_of(sample["gpu_type"].text());
        job.samples[type].push_back(read_sample(sample, subject));
    });
    std::vector<Question> questions;
    if (const Field predict = line["predict"]; predict.given())
        predict.for_each([&](const Field& question) { questions.push_back(read_question(question, job)); });
    if (!questions.empty() && !job.measured())
        questions.front().field["gpu_type"].refuse(
            "measured, or another GPU type measured: there are no samples");

    warn_of_mistyped(questions, job);

    const Stopwatch stopwatch;
    fitter(job.samples, job.types, subject);
    const double milliseconds = stopwatch.milliseconds();

    Json models = Json::object(), errors = Json::object(), predictions = Json::array();
    for (std::size_t t = 0; t < job.names.size(); ++t) {
        if (job.samples[t].empty()) continue;
        models[job.names[t]] = json_of(job.types[t].fit);
        errors[job.names[t]] = job.types[t].fit.step_rmsle;
    }
    const std::function<double(double)> efficiency = read_efficiency(line);
    for (const Question& question : questions) {
        const goodput::Forecast forecast(job.types[question.type].fit, question.shape, question.plan);
        Json prediction = json_of(forecast);
        if (efficiency) {
            const auto total = static_cast<double>(question.plan.total(question.shape.gpus));
            prediction["examples_s"] = total / forecast.median();
            prediction["efficiency"] = efficiency(total);
            prediction["goodput"] = total / forecast.median() * efficiency(total);
        }
        predictions.push_back(std::move(prediction));
    }
    Json answer;
    answer["models"] = std::move(models);
    answer["predictions"] = std::move(predictions);
    answer["rmsle"] = std::move(errors);
    if (const Field host = line["host"]; host.given()) answer["host"] = host_answer(host);
    if (const Field memory = line["memory"]; memory.given()) answer["memory"] = memory_answer(memory);
    if (const Field log = line["interruptions"]; log.given())
        answer["interruptions"] = interruptions_answer(log);
    const Field convergence = line["convergence"], batches = line["convergence_batches"];
    if (convergence.given())
        answer["noise_scale"] = convergence_answer(convergence, batches, line["initial_batch"]);
    else if (batches.given())
        convergence.refuse("given where there are convergence_batches");
    answer["milliseconds"] = milliseconds;
    return answer;
}

}  // namespace

ServeDocument fit_server() {
    return [fitter = std::make_shared<goodput::JobFitter>()](const Json& document, Warnings& warnings) {
        return serve(Field(document, subject, &warnings), *fitter);
    };
}

}  // namespace cli
