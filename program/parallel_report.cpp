#include "parallel_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <locale>
#include <ostream>
#include <string>

#include "charts.hpp"
#include "goodput/core/error.hpp"
#include "markup.hpp"
#include "pipeline_schedule.hpp"

namespace cli {

namespace {

constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;
constexpr double row_height = 26;

std::string seconds_text(double seconds) {
    if (!std::isfinite(seconds)) return "unknown";
    return seconds < 0.1 ? trimmed(seconds * 1000, 2) + " ms" : trimmed(seconds, 3) + " s";
}

std::string counted(std::size_t number, const std::string& thing) {
    return goodput::text_of(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string gpus_text(const ReportedPlan& of, const goodput::PlanStage& stage) {
    std::string text;
    for (const goodput::ReplicaGroup& group : stage.replicas) {
        if (!text.empty()) text += ", ";
        text += goodput::text_of(group.count) + " \xC3\x97 " + goodput::text_of(group.tensor_parallel) + " " +
                of.cluster->types[group.gpu_type].name + " in " + of.cluster->zones[group.zone];
    }
    return text;
}

/// What a stage does for a micro-batch. Its score has the sum of forward and backward of its slowest
/// replicas, and of what it sends: the profile divides the first, and of the second a stage in the middle
/// sends about as much forward as backward.
PipelineStage pipeline_stage(const ReportedPlan& of, std::size_t s) {
    const goodput::PlanStage& stage = of.plan.stages[s];
    const goodput::StageScore& score = of.score.stages[s];
    double forward = 0, slowest = 0;
    for (const goodput::ReplicaGroup& group : stage.replicas) {
        const auto* times = of.model->times_of(group.gpu_type, {of.plan.microbatch, group.tensor_parallel});
        double forwards = 0, both = 0;
        for (std::size_t l = stage.first_layer; times != nullptr && l <= stage.last_layer; ++l) {
            forwards += (*times)[l].forward_seconds;
            both += (*times)[l].forward_seconds + (*times)[l].backward_seconds;
        }
        if (both <= slowest) continue;
        slowest = both;
        forward = forwards / both * score.compute_seconds;
    }
    const bool first = s == 0, last = s + 1 == of.plan.stages.size();
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

void write_block(std::ostream& out, const char* colour, double x, double y, double width,
                 const std::string& what) {
    if (!(width > 0)) return;
    out << "<rect class=\"b " << colour << "\" x=\"" << trimmed(x, 2) << "\" y=\"" << trimmed(y, 2)
        << "\" width=\"" << trimmed(width, 2) << "\" height=\"" << trimmed(row_height - 6, 2) << "\"><title>"
        << escaped(what) << "</title></rect>";
}

void write_row_name(std::ostream& out, const Frame& frame, std::size_t s) {
    out << "<text class=\"row\" x=\"" << trimmed(frame.left - 8, 1) << "\" y=\""
        << trimmed(frame.top + (static_cast<double>(s) + 0.5) * row_height + 4, 1) << "\">stage "
        << goodput::text_of(s + 1) << "</text>\n";
}

/// Marks from 0 up to what the frame shows, below it.
void write_scale_below(std::ostream& out, const Frame& frame, const Scale& scale, double shown,
                       const char* name) {
    out << "<g class=\"axis\">";
    for (const double mark : scale.marks) {
        if (mark > shown * (1 + 1e-9)) break;
        const std::string x = trimmed(frame.left + mark / shown * frame.width, 1);
        out << "<path d=\"M" << x << ' ' << trimmed(frame.top, 1) << 'V' << trimmed(frame.bottom(), 1)
            << "\"/><text x=\"" << x << "\" y=\"" << trimmed(frame.bottom() + 15, 1) << "\">"
            << fixed(mark, scale.digits) << "</text>";
    }
    out << "</g>\n<text class=\"name\" x=\"" << trimmed(frame.left + frame.width / 2, 1) << "\" y=\""
        << trimmed(frame.bottom() + 31, 1) << "\">" << name << "</text>\n";
}

Frame frame_of(std::size_t rows) {
    Frame frame;
    frame.height = static_cast<double>(rows) * row_height;
    return frame;
}

/// One row a stage: what it computes when, up to the update. Of many micro-batches only some are drawn.
void write_timeline(std::ostream& out, const ReportedPlan& of) {
    const std::size_t count = of.plan.stages.size();
    const int all = of.plan.microbatches();
    const int drawn = std::min(all, static_cast<int>(count) + 8);
    std::vector<PipelineStage> stages;
    double update = 0, reduce = 0;
    for (std::size_t s = 0; s < count; ++s) {
        stages.push_back(pipeline_stage(of, s));
        update = std::max(update, of.score.stages[s].update_seconds);
        reduce = std::max(reduce, of.score.stages[s].reduce_seconds);
    }
    const std::vector<PipelineStep> steps = pipeline_schedule(stages, drawn);
    double computed = 0;
    for (const PipelineStep& step : steps) computed = std::max(computed, step.end);
    const double shown = computed + update + reduce;

    out << "<h3>Timeline</h3>\n";
    out << "<p class=\"legend\"><span><i class=\"a0\"></i>forward</span> <span><i class=\"a1\"></i>backward"
           "</span> <span><i class=\"a7\"></i>sending</span> <span><i class=\"a2\"></i>reduction of gradients"
           " and update</span></p>\n<p class=\"hint\">";
    if (drawn < all)
        out << "The first " << drawn << " of " << all
            << " micro-batches of a replica; the others repeat what is in the middle. ";
    else
        out << all << (all == 1 ? " micro-batch" : " micro-batches") << " of a replica, all drawn. ";
    out << "Every stage computes one micro-batch forward, then one backward, as soon as its neighbours let "
           "it.</p>\n";
    const Frame frame = frame_of(count);
    begin_picture(out, frame.right() + 12, frame.bottom() + 38, "When each stage computes which micro-batch");
    write_scale_below(out, frame, scale_to(shown, 10), shown, "seconds since the iteration began");
    const auto x_of = [&](double seconds) { return frame.left + seconds / shown * frame.width; };
    const auto y_of = [&](std::size_t s) { return frame.top + static_cast<double>(s) * row_height + 3; };
    for (std::size_t s = 0; s < count; ++s) write_row_name(out, frame, s);
    std::vector<double> ends(count, 0);
    for (const PipelineStep& step : steps) {
        const std::string number = goodput::text_of(step.microbatch + 1);
        const double x = x_of(step.begin), width = x_of(step.computed) - x, y = y_of(step.stage);
        write_block(out, step.forward ? "a0" : "a1", x, y, width,
                    std::string(step.forward ? "forward" : "backward") + " of micro-batch " + number +
                        " in stage " + goodput::text_of(step.stage + 1) + ": " +
                        seconds_text(step.computed - step.begin));
        write_block(out, "a7", x + width, y, x_of(step.end) - x - width,
                    "sending: " + seconds_text(step.end - step.computed));
        if (width > 9 * static_cast<double>(number.size()))
            out << "<text class=\"name\" style=\"fill:#fff\" x=\"" << trimmed(x + width / 2, 2) << "\" y=\""
                << trimmed(y + row_height / 2 + 1, 2) << "\" pointer-events=\"none\">" << number << "</text>";
        out << '\n';
        ends[step.stage] = std::max(ends[step.stage], step.end);
    }
    for (std::size_t s = 0; s < count; ++s) {
        const goodput::StageScore& score = of.score.stages[s];
        const double after = score.reduce_seconds + score.update_seconds;
        write_block(out, "a2", x_of(ends[s]), y_of(s), x_of(ends[s] + after) - x_of(ends[s]),
                    "reduction of gradients: " + seconds_text(score.reduce_seconds) +
                        ", update: " + seconds_text(score.update_seconds));
        out << '\n';
    }
    end_picture(out);
}

/// One bar a stage: its fullest GPU, beside the memory of its smallest type.
void write_memory(std::ostream& out, const ReportedPlan& of) {
    const std::size_t count = of.plan.stages.size();
    std::vector<double> limits;
    double most = 0;
    for (std::size_t s = 0; s < count; ++s) {
        limits.push_back(std::numeric_limits<double>::infinity());
        for (const goodput::ReplicaGroup& group : of.plan.stages[s].replicas)
            limits.back() = std::min(limits.back(), of.cluster->types[group.gpu_type].memory_gib);
        most = std::max({most, limits.back(), of.score.stages[s].memory_bytes / bytes_per_gib});
    }
    const Scale scale = scale_to(most, 8);
    out << "<h3>Memory of the fullest GPU of each stage</h3>\n";
    Frame frame = frame_of(count);
    frame.width -= 130;  // for what the bars come to
    begin_picture(out, frame.right() + 142, frame.bottom() + 38, "Memory by stage");
    write_scale_below(out, frame, scale, scale.most(), "GiB");
    for (std::size_t s = 0; s < count; ++s) {
        const goodput::StageScore& score = of.score.stages[s];
        const double gib = score.memory_bytes / bytes_per_gib;
        const double y = frame.top + static_cast<double>(s) * row_height + 3;
        write_row_name(out, frame, s);
        const std::string text = fixed(gib, 1) + " of " + trimmed(limits[s], 1) + " GiB";
        write_block(out, score.fits ? "a2" : "a5", frame.left, y, gib / scale.most() * frame.width, text);
        const std::string x = trimmed(frame.left + limits[s] / scale.most() * frame.width, 1);
        out << "<path class=\"capacity\" d=\"M" << x << ' ' << trimmed(y - 2, 1) << 'V'
            << trimmed(y + row_height - 4, 1) << "\"/><text class=\"pale\" x=\""
            << trimmed(frame.right() + 10, 1) << "\" y=\"" << trimmed(y + row_height / 2 + 1, 1) << "\">"
            << text << (score.fits ? "" : ": too much") << "</text>\n";
    }
    end_picture(out);
    out << "<p class=\"hint\">The line is the memory of the stage's smallest GPU.</p>\n";
}

void write_table(std::ostream& out, const ReportedPlan& of) {
    out << "<div class=\"wide\"><table>\n<tr><th>Stage</th><th class=\"text\">Layers</th><th class=\"text\">"
           "Replicas \xC3\x97 GPUs of each</th><th>computes a micro-batch in</th><th>sends it in</th>"
           "<th>reduces gradients in</th><th>updates in</th><th>Memory, GiB</th></tr>\n";
    for (std::size_t s = 0; s < of.plan.stages.size(); ++s) {
        const goodput::PlanStage& stage = of.plan.stages[s];
        const goodput::StageScore& score = of.score.stages[s];
        out << "<tr><td>" << goodput::text_of(s + 1) << "</td><td class=\"text\">"
            << goodput::text_of(stage.first_layer) << " to " << goodput::text_of(stage.last_layer)
            << "</td><td class=\"text\">" << escaped(gpus_text(of, stage)) << "</td><td>"
            << seconds_text(score.compute_seconds) << "</td><td>" << seconds_text(score.send_seconds)
            << "</td><td>" << seconds_text(score.reduce_seconds) << "</td><td>"
            << seconds_text(score.update_seconds) << "</td><td>"
            << fixed(score.memory_bytes / bytes_per_gib, 1) << "</td></tr>\n";
    }
    out << "</table></div>\n";
}

void write_summary(std::ostream& out, const ReportedPlan& of) {
    std::vector<std::string> parts;
    int all = 0;
    for (std::size_t z = 0; z < of.cluster->zones.size(); ++z)
        for (std::size_t t = 0; t < of.cluster->types.size(); ++t)
            if (const int gpus = of.plan.gpus(z, t); gpus > 0) {
                all += gpus;
                parts.push_back(goodput::text_of(gpus) + " " + of.cluster->types[t].name + " in " +
                                of.cluster->zones[z]);
            }
    out << "<p>" << counted(of.plan.stages.size(), "stage") << " on "
        << counted(static_cast<std::size_t>(all), "GPU") << " (";
    for (std::size_t i = 0; i < parts.size(); ++i) out << (i == 0 ? "" : ", ") << escaped(parts[i]);
    out << "), " << counted(static_cast<std::size_t>(of.plan.stages.front().replica_count()), "replica")
        << " of each, micro-batches of " << of.plan.microbatch << " out of a batch of "
        << of.plan.global_batch << ". ";
    if (std::isfinite(of.score.iteration_seconds))
        out << "An iteration takes " << seconds_text(of.score.iteration_seconds) << " and costs "
            << trimmed(of.score.usd(), 4) << " dollars: " << trimmed(of.score.compute_usd, 4) << " for GPUs, "
            << trimmed(of.score.traffic_usd, 4) << " for traffic between zones. ";
    else
        out << "How long an iteration takes cannot be told. ";
    out << escaped(of.proof) << "</p>\n";
}

}  // namespace

void write_parallel_report(std::ostream& out, const std::vector<ReportedPlan>& plans) {
    const std::locale before = out.imbue(std::locale::classic());
    out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
           "content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>"
           "Parallelism plans</title>\n<style>"
        << report_style << "</style></head>\n<body>\n<h1>" << counted(plans.size(), "parallelism plan")
        << "</h1>\n";
    for (std::size_t p = 0; p < plans.size(); ++p) {
        const ReportedPlan& of = plans[p];
        out << "<section id=\"plan" << p + 1 << "\"><h2>" << p + 1 << ". " << escaped(of.model->name)
            << "</h2>\n";
        write_summary(out, of);
        if (std::isfinite(of.score.iteration_seconds)) write_timeline(out, of);
        write_memory(out, of);
        write_table(out, of);
        out << "</section>\n";
    }
    out << "</body>\n</html>\n";
    out.imbue(before);
}

}  // namespace cli
