#include "job_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "goodput/fit/prediction_interval.hpp"

namespace cli {

namespace {

using goodput::BatchPlan;
using goodput::PolluxThroughput;
using goodput::Shape;
using goodput::ThroughputFit;

// By which factor, up or down, what is borrowed may be wrong in one of ten cases: rounded from what the
// published measurements of Sia show between GPU types.
constexpr double synchronising_factor = 7;
constexpr double computing_factor = 5;

// Where ThroughputFit::identified says so of these parameters.
constexpr std::size_t alpha_n = 2, beta_n = 3, alpha_r = 4, beta_r = 5;
std::size_t alpha_of(Shape shape) { return shape.nodes > 1 ? alpha_n : alpha_r; }

/// How far down and up a prediction reaches, in logarithms. Causes that know nothing of each other add up as
/// squares.
struct Reach {
    double down = 0, up = 0;
    void widen(Reach by) {
        down = std::hypot(down, by.down);
        up = std::hypot(up, by.up);
    }
};

Reach reach_of(const ThroughputFit& fit, Shape shape, BatchPlan plan) {
    const double seconds = fit.model.iteration_seconds(shape, plan);
    const goodput::Interval interval = goodput::predict_interval(fit, shape, plan, 0.9);
    return {std::log(seconds / interval.low), std::log(interval.high / seconds)};
}

/// What it means that `guessed` of the seconds of synchronising may be wrong by a factor.
Reach reach_of_guess(const PolluxThroughput& model, Shape shape, BatchPlan plan, double guessed) {
    const double compute = model.compute_seconds(plan.atomic_batch), sync = model.sync_seconds(shape);
    const auto seconds = [&](double changed) {
        return plan.accumulation_steps * compute + model.step_seconds(compute, sync - guessed + changed);
    };
    return {std::log(seconds(guessed) / seconds(guessed / synchronising_factor)),
            std::log(seconds(guessed * synchronising_factor) / seconds(guessed))};
}

Prediction predicted(const PolluxThroughput& model, Shape shape, BatchPlan plan, Reach reach) {
    const double seconds = model.iteration_seconds(shape, plan);
    return {seconds, seconds * std::exp(-reach.down), seconds * std::exp(reach.up)};
}

/// From a type's own samples; what each replica after the second adds may be borrowed.
Prediction predict_alone(const ThroughputFit& own, const ThroughputFit* lender, double ratio, Shape shape,
                         BatchPlan plan) {
    ThroughputFit fit = own;
    PolluxThroughput& model = fit.model;
    const auto borrows = [&](std::size_t beta) {
        return lender && own.identified[beta - 1] && !own.identified[beta] && lender->identified[beta];
    };
    if (borrows(beta_r)) model.beta_r = ratio * lender->model.beta_r;
    if (borrows(beta_n)) model.beta_n = ratio * lender->model.beta_n;
    if (!own.identified[alpha_n] && own.identified[alpha_r]) {
        model.alpha_n = 1.1 * model.alpha_r;
        model.beta_n = 1.1 * model.beta_r;
    }
    double guessed = 0;
    if (shape.gpus > 1) {
        const std::size_t alpha = alpha_of(shape);
        const double further = shape.gpus - 2, beta = shape.nodes > 1 ? model.beta_n : model.beta_r;
        if (own.identified[alpha] && !own.identified[alpha + 1]) guessed = beta * further;
    }
    Reach reach = reach_of(fit, shape, plan);
    reach.widen(reach_of_guess(model, shape, plan, guessed));
    return predicted(model, shape, plan, reach);
}

/// Computing from a type's own samples, all of the synchronisation from the lender's.
Prediction predict_by_ratio(const ThroughputFit& own, const ThroughputFit& lender, double ratio, Shape shape,
                            BatchPlan plan) {
    PolluxThroughput model = own.model;
    model.alpha_r = ratio * lender.model.alpha_r;
    model.beta_r = ratio * lender.model.beta_r;
    model.alpha_n = ratio * lender.model.alpha_n;
    model.beta_n = ratio * lender.model.beta_n;
    model.gamma = lender.model.gamma;
    Reach reach = reach_of(own, {1, 1}, plan);
    reach.widen(reach_of(lender, shape, plan));
    reach.widen(reach_of_guess(model, shape, plan, model.sync_seconds(shape)));
    return predicted(model, shape, plan, reach);
}

/// Everything from the lender.
Prediction predict_by_other(const ThroughputFit& lender, Shape shape, BatchPlan plan) {
    Reach reach = reach_of(lender, shape, plan);
    reach.widen({std::log(computing_factor), std::log(computing_factor)});
    return predicted(lender.model, shape, plan, reach);
}

}  // namespace

void JobFit::add(const std::string& gpu_type, const goodput::ThroughputSample& sample) {
    auto type =
        std::find_if(types_.begin(), types_.end(), [&](const OfType& t) { return t.name == gpu_type; });
    if (type == types_.end()) type = types_.insert(types_.end(), {gpu_type, {}, {}, 0});
    type->samples.push_back(sample);
    type->most_replicas = std::max(type->most_replicas, sample.shape.gpus);
}

void JobFit::fit(goodput::ThroughputFitter& fitter, const std::string& subject) {
    goodput::FitOptions options;
    for (OfType& type : types_) {
        const std::string name = subject + " on " + type.name;
        options.subject = name;
        type.fit = fitter.fit(type.samples, options);
    }
}

std::optional<Prediction> JobFit::predict(const std::string& gpu_type, Shape shape, BatchPlan plan) const {
    const auto own =
        std::find_if(types_.begin(), types_.end(), [&](const OfType& type) { return type.name == gpu_type; });
    const ThroughputFit* lender = lender_to(gpu_type, shape);
    if (own == types_.end())
        return lender ? std::optional(predict_by_other(*lender, shape, plan)) : std::nullopt;
    const double batch = plan.atomic_batch;
    const double ratio =
        lender ? own->fit.model.compute_seconds(batch) / lender->model.compute_seconds(batch) : 1;
    const bool has_synchronised =
        own->fit.identified[alpha_r] || (shape.nodes > 1 && own->fit.identified[alpha_n]);
    if (shape.gpus > 1 && !has_synchronised && lender && lender->identified[alpha_of(shape)])
        return predict_by_ratio(own->fit, *lender, ratio, shape, plan);
    return predict_alone(own->fit, lender, ratio, shape, plan);
}

const ThroughputFit* JobFit::lender_to(const std::string& gpu_type, Shape shape) const {
    const OfType* best = nullptr;
    const auto rank = [&](const OfType& type) {
        return std::pair(shape.gpus > 1 && type.fit.identified[alpha_of(shape)], type.most_replicas);
    };
    for (const OfType& type : types_)
        if (type.name != gpu_type && (!best || rank(type) > rank(*best))) best = &type;
    return best ? &best->fit : nullptr;
}

}  // namespace cli
