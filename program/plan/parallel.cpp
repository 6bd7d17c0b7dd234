#include "plan/parallel.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/core/bytes.hpp"
#include "goodput/core/error.hpp"
#include "goodput/parallel/layer_profile_fit.hpp"
#include "goodput/parallel/parallel_fit.hpp"
#include "goodput/parallel/parallel_planner.hpp"
#include "goodput/parallel/refined_constants.hpp"
#include "json/json_lines.hpp"
#include "json/names.hpp"
#include "plan/parallel_profiles.hpp"
#include "plan/stopwatch.hpp"
#include "report/parallel_report.hpp"
#include "report/result_file.hpp"

namespace cli {

namespace {

constexpr const char* subject = "parallel question";
constexpr int most_gpus = 1 << 24;  // most GPUs of a type in a zone

struct TimeModel {
    const char* name;
    goodput::ParallelConstants (*constants)(bool consumer_gpus);
};
constexpr std::array<TimeModel, 2> time_models{{
    {"published", [](bool) { return goodput::ParallelConstants(); }},
    {"refined",
     [](bool consumer_gpus) {
         return goodput::refined_constants(consumer_gpus ? goodput::consumer_gpu_fixed_bytes
                                                         : goodput::gh200_fixed_bytes);
     }},
}};

double bytes_per_parameter(const Field& optimizer) {
    if (optimizer.is("SGD")) return 20;
    if (optimizer.given() && !optimizer.is("Adam")) optimizer.refuse("\"Adam\" or \"SGD\"");
    return 24;
}

/// Returns the index of the thing with that name. If there is none, refuses the field, which must be
/// `expected` one of the list.
template <class List, class Name>
std::size_t index_of(const std::string& text, const List& list, Name name, const Field& field,
                     const char* expected) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& thing) { return name(thing) == text; });
    if (found == list.end()) field.refuse(expected + joined(list, name));
    return static_cast<std::size_t>(found - list.begin());
}

/// Returns the index of the thing that a field names.
template <class List, class Name>
std::size_t index_of(const Field& field, const List& list, Name name) {
    return index_of(field.text(), list, name, field, "one of ");
}

constexpr const char* named = "named by one of ";  // for a field whose own name is wrong

const auto own_name = [](const auto& thing) -> const std::string& { return thing.name; };
constexpr std::identity itself;

const char* name_of(goodput::PlanStatus status) {
    constexpr const char* names[] = {"optimal", "feasible", "none", "unknown"};
    return names[static_cast<int>(status)];
}

Json to_json(const goodput::ParallelPlan& plan, const goodput::ParallelCluster& cluster) {
    Json json, stages = Json::array();
    for (const goodput::PlanStage& stage : plan.stages) {
        Json replicas = Json::array();
        for (const goodput::ReplicaGroup& group : stage.replicas) {
            Json group_json;
            group_json["gpu_type"] = cluster.types[group.gpu_type].name;
            group_json["tensor_parallel"] = group.tensor_parallel;
            group_json["zone"] = cluster.zones[group.zone];
            group_json["count"] = group.count;
            replicas.push_back(std::move(group_json));
        }
        Json stage_json;
        stage_json["layers"] = {stage.first_layer, stage.last_layer};
        stage_json["replicas"] = std::move(replicas);
        stages.push_back(std::move(stage_json));
    }
    json["microbatch"] = plan.microbatch;
    json["global_batch"] = plan.global_batch;
    json["stages"] = std::move(stages);
    return json;
}

/// Answers one line after the other, with the profiles read only once.
class Planner {
public:
    Planner(const std::string& folder, bool strict, const TimeModel& time_model)
        : time_model_(time_model),
          profiles_(read_parallel_profiles(folder, strict)),
          types_(profiles_.cluster.types) {}

    Json serve(const Json& document, Warnings& warnings) {
        const Field line(document, subject, &warnings);
        line.knows({"model", "optimizer", "prices", "plan", "gpus", "global_batch", "objective", "most_usd",
                    "least_throughput", "mixed_stages", "gap", "deadline_ms", "measured", "estimate_times"});
        const std::size_t index = index_of(line["model"], profiles_.models, own_name);
        const Field estimate = line["estimate_times"];
        filled_ = estimate.given() && estimate.boolean() ? &fill(index) : nullptr;
        goodput::LayeredModel& model = filled_ ? filled_->model : profiles_.models[index];
        model.bytes_per_parameter = bytes_per_parameter(line["optimizer"]);
        read_prices(line["prices"]);
        return line["plan"].given() ? evaluate(line, model) : answer(line, model);
    }

    /// The last plans that were answered or evaluated.
    [[nodiscard]] const std::vector<ReportedPlan>& reported() const { return reported_; }

private:
    [[nodiscard]] goodput::ParallelCluster& cluster() { return profiles_.cluster; }

    /// Returns the constants for the GPUs of a line: software takes less memory of consumer GPUs than of
    /// server GPUs.
    [[nodiscard]] goodput::ParallelConstants constants() {
        bool consumer_gpus = true;
        for (std::size_t t = 0; t < types_.size(); ++t)
            if (cluster().gpus_of(t) > 0 && types_[t].name.find("RTX") == std::string::npos)
                consumer_gpus = false;
        return time_model_.constants(consumer_gpus);
    }

    /// Returns a model with estimates of the times that were not measured. Each model is filled only once.
    goodput::LayerProfileFit& fill(std::size_t model) {
        const auto found = fills_.find(model);
        if (found != fills_.end()) return found->second;
        return fills_.emplace(model, goodput::fill_layer_times(profiles_.models[model])).first->second;
    }

    /// Lists the estimated times that a plan uses, by GPU type, micro-batch and degree.
    [[nodiscard]] Json estimated_of(const goodput::ParallelPlan& plan) const {
        const auto uses = [&](const goodput::FilledProfile& profile) {
            return profile.key.microbatch == plan.microbatch &&
                   std::ranges::any_of(plan.stages, [&](const goodput::PlanStage& stage) {
                       return std::ranges::any_of(stage.replicas, [&](const goodput::ReplicaGroup& group) {
                           return group.gpu_type == profile.gpu_type &&
                                  group.tensor_parallel == profile.key.tensor_parallel;
                       });
                   });
        };
        Json list = Json::array();
        for (const goodput::FilledProfile& profile : filled_->filled)
            if (uses(profile))
                list.push_back({{"gpu_type", types_[profile.gpu_type].name},
                                {"microbatch", profile.key.microbatch},
                                {"tensor_parallel", profile.key.tensor_parallel},
                                {"deviation", profile.deviation}});
        return list;
    }

    void read_prices(const Field& prices) {
        cluster().types = types_;
        if (!prices.given()) return;
        for (const auto& [name, price] : prices.fields())
            cluster().types[index_of(name, types_, own_name, price, named)].usd_per_hour =
                price.number_at_least(0);
    }

    void read_gpus(const Field& gpus) {
        for (auto& zone : cluster().gpus) std::fill(zone.begin(), zone.end(), 0);
        if (!gpus.given()) return;
        for (const auto& [zone_name, by_type] : gpus.fields()) {
            const std::size_t zone = index_of(zone_name, cluster().zones, itself, by_type, named);
            for (const auto& [type_name, number] : by_type.fields())
                cluster().gpus[zone][index_of(type_name, types_, own_name, number, named)] =
                    number.count(0, most_gpus);
        }
    }

    /// A plan; `line_batch` counts where it says no batch.
    goodput::ParallelPlan read_plan(const Field& field, const Field& line_batch,
                                    const goodput::LayeredModel& model) {
        field.knows({"microbatch", "global_batch", "stages"});
        goodput::ParallelPlan plan;
        plan.microbatch = field["microbatch"].count(1, 1 << 20);
        const Field own_batch = field["global_batch"];
        plan.global_batch = (own_batch.given() ? own_batch : line_batch).count(1, 1 << 30);
        field["stages"].for_each([&](const Field& stage_field) {
            stage_field.knows({"layers", "replicas"});
            goodput::PlanStage stage;
            const Field layers = stage_field["layers"];
            layers.require_size(2, "a pair [first, last]");
            const auto last = static_cast<int>(model.layers) - 1;
            stage.first_layer = static_cast<std::size_t>(layers[std::size_t{0}].count(0, last));
            stage.last_layer =
                static_cast<std::size_t>(layers[1].count(static_cast<int>(stage.first_layer), last));
            stage_field["replicas"].for_each([&](const Field& group) {
                group.knows({"gpu_type", "tensor_parallel", "zone", "count"});
                stage.replicas.push_back({.gpu_type = index_of(group["gpu_type"], types_, own_name),
                                          .tensor_parallel = group["tensor_parallel"].count(1, 1 << 10),
                                          .zone = index_of(group["zone"], cluster().zones, itself),
                                          .count = group["count"].count(1, 1 << 20)});
            });
            if (stage.replicas.empty()) stage_field["replicas"].refuse("an array of at least one group");
            plan.stages.push_back(std::move(stage));
        });
        if (plan.stages.empty()) field["stages"].refuse("an array of at least one stage");
        return plan;
    }

    /// Describes a plan, in the order of the format.
    Json describe(const goodput::ParallelPlan& plan, const goodput::PlanScore& score) {
        const bool some = !plan.stages.empty();
        const auto known = [&](double number) { return some ? Json(number) : Json(); };
        Json json, memory = Json::array();
        for (const goodput::StageScore& stage : score.stages)
            memory.push_back(stage.memory_bytes / goodput::bytes_per_gib);
        json["plan"] = some ? to_json(plan, cluster()) : Json();
        json["iteration_s"] = known(score.iteration_seconds);
        json["throughput"] = std::isfinite(score.iteration_seconds) ? known(score.throughput()) : Json();
        json["usd"] = known(score.usd());
        json["compute_usd"] = known(score.compute_usd);
        json["traffic_usd"] = known(score.traffic_usd);
        json["memory_gib"] = std::move(memory);
        json["fits"] = some && score.fits;
        return json;
    }

    void report(const goodput::LayeredModel& model, const goodput::ParallelPlan& plan,
                const goodput::PlanScore& score, std::string proof) {
        constexpr std::size_t most = 20;
        if (plan.stages.empty()) return;
        if (reported_.size() == most) reported_.erase(reported_.begin());
        reported_.push_back({&model, &cluster(), plan, score, std::move(proof)});
    }

    /// Lets a plan use any number of GPUs.
    static void give_enough(goodput::ParallelCluster& cluster, const goodput::ParallelPlan& plan) {
        for (const goodput::PlanStage& stage : plan.stages)
            for (const goodput::ReplicaGroup& group : stage.replicas)
                cluster.gpus[group.zone][group.gpu_type] = most_gpus;
    }

    /// Constants fitted to the measured runs of a line, and how far they are off each run.
    struct Measured {
        goodput::ParallelConstants constants{};
        Json errors{};  ///< null: the line has no runs
    };
    Measured read_measured(const Field& line, const goodput::LayeredModel& model) {
        constexpr std::size_t most_runs = 256;
        const Field list = line["measured"];
        if (!list.given()) return {constants(), {}};
        if (list.size() > most_runs) list.refuse("at most 256 runs");
        goodput::ParallelCluster enough = cluster();
        std::vector<goodput::ParallelRun> runs;
        list.for_each([&](const Field& field) {
            field.knows({"plan", "iteration_s", "memory_gib"});
            goodput::ParallelRun& run = runs.emplace_back();
            run.name = "measured run " + goodput::text_of(runs.size() - 1);
            run.model = &model;
            run.cluster = &enough;
            run.plan = read_plan(field["plan"], line["global_batch"], model);
            give_enough(enough, run.plan);
            const auto read = [&](const char* name) -> std::optional<double> {
                if (!field[name].given()) return std::nullopt;
                const double number = field[name].number_at_least(0);
                if (!(number > 0 && number <= 1e9)) field[name].refuse("above 0 and at most 1e9");
                return number;
            };
            run.iteration_seconds = read("iteration_s");
            if (const std::optional<double> gib = read("memory_gib"))
                run.most_bytes = *gib * goodput::bytes_per_gib;
        });
        const goodput::ParallelFit fit = goodput::fit_parallel_constants(runs, {.start = constants()});
        Measured measured{runs.empty() ? constants() : fit.on(0), Json::array()};
        for (std::size_t i = 0; i < runs.size(); ++i)
            measured.errors.push_back(
                {{"iteration", runs[i].iteration_seconds ? Json(fit.time_errors[i]) : Json()},
                 {"memory", runs[i].most_bytes ? Json(fit.bytes_errors[i]) : Json()}});
        return measured;
    }

    Json evaluate(const Field& line, const goodput::LayeredModel& model) {
        const goodput::ParallelPlan plan = read_plan(line["plan"], line["global_batch"], model);
        read_gpus(line["gpus"]);
        if (!line["gpus"].given()) give_enough(cluster(), plan);
        const Measured measured = read_measured(line, model);
        const Stopwatch watch;
        const goodput::PlanScore score = goodput::score_plan(model, cluster(), plan, measured.constants);
        const double milliseconds = watch.milliseconds();
        std::vector<std::string> why;
        if (score.fault) why.push_back(*score.fault);
        for (std::size_t s = 0; s < score.stages.size(); ++s)
            if (!score.stages[s].fits)
                why.push_back("stage " + goodput::text_of(s + 1) +
                              " does not fit into the memory of its GPUs");
        Json json = describe(plan, score);
        for (const char* unasked : {"objective", "bound", "gap"}) json[unasked] = nullptr;
        json["status"] = "evaluated";
        json["searched"] = 0;
        json["why"] = why;
        json["milliseconds"] = milliseconds;
        if (!measured.errors.is_null()) json["errors"] = measured.errors;
        if (filled_) json["estimated"] = estimated_of(plan);
        report(model, plan, score, score.fault ? "Nobody should run it: " + *score.fault + "." : "");
        return json;
    }

    Json answer(const Field& line, const goodput::LayeredModel& model) {
        goodput::PlanQuestion question;
        const Field objective = line["objective"];
        if (!objective.is("throughput") && !objective.is("cost"))
            objective.refuse("\"throughput\" or \"cost\" (or a plan to evaluate given)");
        question.objective =
            objective.is("cost") ? goodput::PlanObjective::cost : goodput::PlanObjective::throughput;
        question.global_batch = line["global_batch"].count(1, 1 << 30);
        if (!line["gpus"].given()) line["gpus"].refuse("an object: GPUs by zone and type");
        read_gpus(line["gpus"]);
        line["most_usd"].into(question.most_usd, 0);
        line["least_throughput"].into(question.least_throughput, 0);
        line["mixed_stages"].into(question.mixed_stages);
        line["gap"].into(question.gap, 0);
        std::optional<double> deadline_ms;
        line["deadline_ms"].into(deadline_ms, 0);

        const Measured measured = read_measured(line, model);
        const Stopwatch watch;
        const goodput::PlanAnswer found = goodput::find_plan(
            model, cluster(), question, [&] { return deadline_ms && watch.milliseconds() >= *deadline_ms; },
            measured.constants);
        const double milliseconds = watch.milliseconds();
        const bool none = found.status == goodput::PlanStatus::none;
        const bool some = !found.plan.stages.empty();
        std::vector<std::string> why = found.why;
        if (found.status == goodput::PlanStatus::unknown && why.empty())
            why.push_back((found.searched < question.most_searched
                               ? std::string("the deadline passed")
                               : goodput::text_of(found.searched) + " partial plans were looked at") +
                          " before a plan was found");
        Json json = describe(found.plan, found.score);
        json["objective"] = some ? Json(found.objective) : Json();
        json["bound"] = none ? Json() : Json(found.bound);
        json["gap"] = some ? Json(found.gap()) : Json();
        json["status"] = name_of(found.status);
        json["searched"] = found.searched;
        json["why"] = why;
        json["milliseconds"] = milliseconds;
        if (!measured.errors.is_null()) json["errors"] = measured.errors;
        if (filled_) json["estimated"] = estimated_of(found.plan);
        const bool cost = question.objective == goodput::PlanObjective::cost;
        const std::string unit = cost ? " dollars an iteration" : " iterations/s";
        report(model, found.plan, found.score,
               found.status == goodput::PlanStatus::optimal && question.gap == 0
                   ? std::string("No other plan is ") + (cost ? "cheaper" : "faster") +
                         " within the model: proven."
                   : std::string("No plan is ") + (cost ? "cheaper" : "faster") + " than " +
                         goodput::rounded_text_of(found.bound) + unit + " within the model.");
        return json;
    }

    TimeModel time_model_;
    ParallelProfiles profiles_;
    std::vector<goodput::GpuType> types_;  ///< with the prices that hold if a line gives none
    std::vector<ReportedPlan> reported_{};
    std::map<std::size_t, goodput::LayerProfileFit> fills_{};  ///< by model; reported plans point to them
    goodput::LayerProfileFit* filled_ = nullptr;               ///< of this line, if it asks for estimates
};

}  // namespace

std::vector<std::string> time_model_names() {
    std::vector<std::string> names;
    for (const TimeModel& model : time_models) names.emplace_back(model.name);
    return names;
}

int run_parallel(const ParallelCommand& command, std::istream& in, std::ostream& out) {
    const auto time_model = std::find_if(time_models.begin(), time_models.end(), [&](const TimeModel& model) {
        return model.name == command.time_model;
    });
    if (time_model == time_models.end())
        goodput::bad_input("parallel", "--time-model", std::string_view(command.time_model),
                           "one of " + joined(time_model_names()));
    ResultFile page(command.report);
    Planner planner(command.profiles, command.strict, *time_model);
    const int status = serve_lines(in, out, command.strict, [&](const Json& document, Warnings& warnings) {
        return planner.serve(document, warnings);
    });
    page.finish([&](std::ostream& file) { write_parallel_report(file, planner.reported()); });
    return status;
}

}  // namespace cli
