#include "report/parallel_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/core/bytes.hpp"
#include "goodput/core/error.hpp"
#include "report/markup.hpp"
#include "report/page.hpp"
#include "report/pipeline_schedule.hpp"

namespace cli {

namespace {

std::string seconds_text(double seconds) {
    if (!std::isfinite(seconds)) return "unknown";
    return seconds < 0.1 ? trimmed(seconds * 1000, 2) + " ms" : trimmed(seconds, 3) + " s";
}

std::string gpus_text(const ReportedPlan& reported, const goodput::PlanStage& stage) {
    std::string text;
    for (const goodput::ReplicaGroup& group : stage.replicas) {
        if (!text.empty()) text += ", ";
        text += goodput::text_of(group.count) + " \xC3\x97 " + goodput::text_of(group.tensor_parallel) + " " +
                reported.cluster->types[group.gpu_type].name + " in " + reported.cluster->zones[group.zone];
    }
    return text;
}

/// Returns the times of a stage for a micro-batch. Its score has the sum of forward and backward of its
/// slowest replicas, and the sum of what it sends. The profile divides the first sum. A stage in the middle
/// sends about as much forward as backward.
PipelineStage pipeline_stage(const ReportedPlan& reported, std::size_t s) {
    const goodput::PlanStage& stage = reported.plan.stages[s];
    const goodput::StageScore& score = reported.score.stages[s];
    double forward = 0, slowest = 0;
    for (const goodput::ReplicaGroup& group : stage.replicas) {
        const auto* times =
            reported.model->times_of(group.gpu_type, {reported.plan.microbatch, group.tensor_parallel});
        double forwards = 0, both = 0;
        for (std::size_t l = stage.first_layer; times != nullptr && l <= stage.last_layer; ++l) {
            forwards += (*times)[l].forward_seconds;
            both += (*times)[l].forward_seconds + (*times)[l].backward_seconds;
        }
        if (both <= slowest) continue;
        slowest = both;
        forward = forwards / both * score.compute_seconds;
    }
    const bool first = s == 0, last = s + 1 == reported.plan.stages.size();
    const double sends = score.send_seconds;
    return {.forward = forward,
            .send_forward = first  ? sends
                            : last ? 0
                                   : sends / 2,
            .backward = score.compute_seconds - forward,
            .send_backward = first  ? 0
                             : last ? sends
                                    : sends / 2};
}

/// Draws what each stage computes over time, up to the update. If there are many micro-batches, draws only
/// some.
Json timeline_of(const ReportedPlan& reported) {
    const std::size_t count = reported.plan.stages.size();
    const int all = reported.plan.microbatches();
    const int drawn = std::min(all, static_cast<int>(count) + 8);
    std::vector<PipelineStage> stages;
    double update = 0, reduce = 0, computed = 0;
    for (std::size_t s = 0; s < count; ++s) {
        stages.push_back(pipeline_stage(reported, s));
        update = std::max(update, reported.score.stages[s].update_seconds);
        reduce = std::max(reduce, reported.score.stages[s].reduce_seconds);
    }
    Json blocks = Json::array();
    const auto add = [&](std::size_t stage, const char* kind, double begin, double end,
                         const std::string& what) {
        if (end > begin)
            blocks.push_back(
                {{"stage", stage}, {"kind", kind}, {"begin_s", begin}, {"end_s", end}, {"what", what}});
    };
    std::vector<double> ends(count, 0);
    for (const PipelineStep& step : pipeline_schedule(stages, drawn)) {
        const std::string number = goodput::text_of(step.microbatch + 1);
        const char* direction = step.forward ? "forward" : "backward";
        add(step.stage, direction, step.begin, step.computed,
            direction + (" of micro-batch " + number + " in stage " + goodput::text_of(step.stage + 1)) +
                ": " + seconds_text(step.computed - step.begin));
        add(step.stage, "sending", step.computed, step.end,
            "sending: " + seconds_text(step.end - step.computed));
        ends[step.stage] = std::max(ends[step.stage], step.end);
        computed = std::max(computed, step.end);
    }
    for (std::size_t s = 0; s < count; ++s) {
        const goodput::StageScore& score = reported.score.stages[s];
        add(s, "update", ends[s], ends[s] + score.reduce_seconds + score.update_seconds,
            "reduction of gradients: " + seconds_text(score.reduce_seconds) +
                ", update: " + seconds_text(score.update_seconds));
    }
    const std::string hint =
        drawn < all ? "The first " + goodput::text_of(drawn) + " of " + goodput::text_of(all) +
                          " micro-batches of a replica are drawn; the others repeat what is in the middle."
                    : counted(static_cast<std::size_t>(all), "micro-batch", "micro-batches") +
                          " of a replica, all drawn.";
    return {{"hint", hint}, {"end_s", computed + update + reduce}, {"blocks", std::move(blocks)}};
}

/// Returns a stage with its memory: that of the fullest GPU, and the capacity of the stage's smallest type.
Json stage_of(const ReportedPlan& reported, std::size_t s) {
    const goodput::PlanStage& stage = reported.plan.stages[s];
    const goodput::StageScore& score = reported.score.stages[s];
    double limit = std::numeric_limits<double>::infinity();
    for (const goodput::ReplicaGroup& group : stage.replicas)
        limit = std::min(limit, reported.cluster->types[group.gpu_type].memory_gib);
    return {{"layers", goodput::text_of(stage.first_layer) + " to " + goodput::text_of(stage.last_layer)},
            {"gpus", gpus_text(reported, stage)},
            {"compute", seconds_text(score.compute_seconds)},
            {"send", seconds_text(score.send_seconds)},
            {"reduce", seconds_text(score.reduce_seconds)},
            {"update", seconds_text(score.update_seconds)},
            {"memory_gib", score.memory_bytes / goodput::bytes_per_gib},
            {"limit_gib", limit},
            {"memory", fixed(score.memory_bytes / goodput::bytes_per_gib, 1) + " of " + trimmed(limit, 1) +
                           " GiB" + (score.fits ? "" : ": too much")},
            {"fits", score.fits}};
}

std::string summary_of(const ReportedPlan& reported) {
    std::string parts;
    int all = 0;
    for (std::size_t z = 0; z < reported.cluster->zones.size(); ++z)
        for (std::size_t t = 0; t < reported.cluster->types.size(); ++t)
            if (const int gpus = reported.plan.gpus(z, t); gpus > 0) {
                all += gpus;
                parts += (parts.empty() ? "" : ", ") + goodput::text_of(gpus) + " " +
                         reported.cluster->types[t].name + " in " + reported.cluster->zones[z];
            }
    std::string text = counted(reported.plan.stages.size(), "stage", "stages") + " on " +
                       counted(static_cast<std::size_t>(all), "GPU", "GPUs") + " (" + parts + "), " +
                       counted(static_cast<std::size_t>(reported.plan.stages.front().replica_count()),
                               "replica", "replicas") +
                       " of each, micro-batches of " + goodput::text_of(reported.plan.microbatch) +
                       " out of a batch of " + goodput::text_of(reported.plan.global_batch) + ". ";
    if (std::isfinite(reported.score.iteration_seconds))
        text += "An iteration takes " + seconds_text(reported.score.iteration_seconds) + " and costs " +
                trimmed(reported.score.usd(), 4) + " dollars: " + trimmed(reported.score.compute_usd, 4) +
                " for GPUs, " + trimmed(reported.score.traffic_usd, 4) + " for traffic between zones. ";
    else
        text += "How long an iteration takes cannot be told. ";
    return text + reported.proof;
}

}  // namespace

void write_parallel_report(std::ostream& out, const std::vector<ReportedPlan>& plans) {
    Json data = Json::array();
    const ReportedPlan* fastest = nullptr;
    for (const ReportedPlan& reported : plans) {
        Json stages = Json::array();
        for (std::size_t s = 0; s < reported.plan.stages.size(); ++s) stages.push_back(stage_of(reported, s));
        const bool known = std::isfinite(reported.score.iteration_seconds);
        data.push_back({{"model", reported.model->name},
                        {"summary", summary_of(reported)},
                        {"stages", std::move(stages)},
                        {"timeline", known ? timeline_of(reported) : Json()}});
        if (known && (!fastest || reported.score.iteration_seconds < fastest->score.iteration_seconds))
            fastest = &reported;
    }
    const std::string sentence =
        !fastest
            ? "How long an iteration takes cannot be told of any plan."
            : (plans.size() == 1 ? "An iteration takes " : "The shortest iteration takes ") +
                  seconds_text(fastest->score.iteration_seconds) + " and costs " +
                  trimmed(fastest->score.usd(), 4) + " dollars" +
                  (plans.size() == 1 ? "." : ": plan " + goodput::text_of(fastest - plans.data() + 1) + ".");
    write_page(out, {counted(plans.size(), "parallelism plan", "parallelism plans"),
                     sentence,
                     "parallel.js",
                     {{"plans", std::move(data)}}});
}

}  // namespace cli
