// The C interface's fits of step times.

#include <vector>

#include "goodput/fit/job_fit.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/tasks/forecast.hpp"
#include "round.hpp"
#include "support.hpp"

struct goodput_fitter {
    goodput::c::LastError error{};
    goodput::JobFitter fit{};
    std::vector<goodput::TypeFit> types{};
};

namespace goodput::c {

namespace {

constexpr const char* subject = "job";

/// The samples by GPU type.
std::vector<std::vector<ThroughputSample>> samples_by_type(const goodput_fit_input& input) {
    require_between(subject, "gpu_type_count",
                    static_cast<long long>(std::min<std::size_t>(input.gpu_type_count, 1 << 20)), 1, 1024);
    if (input.sample_count == 0) bad_input(subject, "sample_count", input.sample_count, "at least 1");
    const Elements<goodput_sample> samples(input.sample, input.sample_count, input.sample_size, "sample");
    std::vector<std::vector<ThroughputSample>> by_type(input.gpu_type_count);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const goodput_sample from = samples[i];
        if (from.gpu_type >= input.gpu_type_count)
            bad_input(subject, "samples.gpu_type", from.gpu_type,
                      "below the number of GPU types, " + text_of(input.gpu_type_count));
        by_type[from.gpu_type].push_back(sample_of(from, subject, 1));
    }
    return by_type;
}

goodput_prediction predict(const TypeFit& type, const goodput_question& question) {
    const Shape shape{question.nodes, question.gpus};
    const BatchPlan plan{question.local_batch, question.accumulation};
    require_between("question", "nodes", shape.nodes, 1, 1 << 20);
    require_between("question", "gpus", shape.gpus, shape.nodes, 1 << 20);
    require_between("question", "local_batch", plan.atomic_batch, 1, 1 << 30);
    require_between("question", "accumulation", plan.accumulation_steps, 0, 1 << 20);
    require_between("question", "initial_batch", question.initial_batch, 0, 1 << 30);
    const Forecast forecast(type.fit, shape, plan);
    const Interval range = forecast.interval(0.9);
    goodput_prediction answer{};
    answer.iteration_s = forecast.median();
    answer.low_s = range.low;
    answer.high_s = range.high;
    const auto total = static_cast<double>(plan.total(shape.gpus));
    answer.examples_s = total / answer.iteration_s;
    answer.efficiency = 1;
    if (question.initial_batch > 0) {
        const GradientStatistics gradient{question.gradient_sqr, question.gradient_var};
        validate(gradient, "question");
        answer.efficiency = NoiseScaleEfficiency{.initial_batch = static_cast<double>(question.initial_batch),
                                                 .gradient = gradient}
                                .efficiency(total);
    }
    answer.goodput = answer.examples_s * answer.efficiency;
    return answer;
}

}  // namespace

}  // namespace goodput::c

using namespace goodput::c;

extern "C" {

goodput_fitter* goodput_fitter_create(void) {
    try {
        return new goodput_fitter;
    } catch (...) {
        return nullptr;
    }
}

void goodput_fitter_destroy(goodput_fitter* fitter) { delete fitter; }

const char* goodput_fitter_error(const goodput_fitter* fitter) {
    return fitter ? fitter->error.text() : "the handle is null";
}

goodput_status goodput_fitter_fit(goodput_fitter* fitter, const goodput_fit_input* input, double* rmsle,
                                  size_t rmsle_capacity) {
    return guarded(fitter, [&] {
        const goodput_fit_input asked = read_sized(input, "goodput_fit_input");
        if (rmsle && rmsle_capacity < asked.gpu_type_count)
            throw Failure(GOODPUT_TOO_SMALL, "fit: rmsle_capacity is " + goodput::text_of(rmsle_capacity) +
                                                 ", but must be at least " +
                                                 goodput::text_of(asked.gpu_type_count));
        const auto samples = samples_by_type(asked);
        std::vector<goodput::TypeFit> types(asked.gpu_type_count);
        fitter->fit(samples, types, subject);
        fitter->types = std::move(types);
        if (!rmsle) return;
        for (std::size_t t = 0; t < samples.size(); ++t)
            rmsle[t] = samples[t].empty() ? 0 : fitter->types[t].fit.step_rmsle;
    });
}

goodput_status goodput_fitter_predict(goodput_fitter* fitter, const goodput_question* question, size_t count,
                                      size_t question_size, goodput_prediction* prediction,
                                      size_t prediction_size) {
    return guarded(fitter, [&] {
        if (fitter->types.empty()) throw Failure(GOODPUT_NOT_YET, "fit: there are no models yet");
        const Elements<goodput_question> questions(question, count, question_size, "question");
        if (count == 0) return;
        require_given(prediction, "prediction", "array");
        require_size<goodput_prediction>(prediction_size, "prediction_size");
        for (std::size_t i = 0; i < count; ++i) {
            const goodput_question asked = questions[i];
            if (asked.gpu_type >= fitter->types.size())
                goodput::bad_input(
                    "question", "gpu_type", asked.gpu_type,
                    "below the number of GPU types, " + goodput::text_of(fitter->types.size()));
            write_element(prediction, i, prediction_size, predict(fitter->types[asked.gpu_type], asked));
        }
    });
}

}  // extern "C"
