#ifndef GOODPUT_SCHEDULE_DETAIL_JOB_HISTORY_HPP
#define GOODPUT_SCHEDULE_DETAIL_JOB_HISTORY_HPP

// Implements JobHistory of job_kinds.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <variant>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/schedule/job_kinds.hpp"

namespace goodput::inline v0_1 {

GOODPUT_BODY void JobHistory::add(std::size_t gpu_type, const ThroughputSample& sample,
                                  std::string_view subject) {
    validate(sample, subject);
    grow(gpu_type + 1);
    OfType& type = types_[gpu_type];
    type.most_replicas = std::max(type.most_replicas, sample.shape.gpus);
    type.last_plan = sample.plan;
    const std::size_t i = index_of(type, sample.shape, sample.plan.atomic_batch, sample.microbatches());
    if (i == type.samples.size()) {
        append(type, sample, 1);
        return;
    }
    ThroughputSample* const known = &type.samples[i];
    const int count = ++type.counts[i];
    const auto average_in = [&](double& mean, double value) {
        if (value == mean) return;
        mean += (value - mean) / count;
        type.changed = true;
    };
    const double step_before = known->step_seconds;
    average_in(known->step_seconds, sample.step_seconds);
    // If one of the two measurements has no synchronisation time, assume that synchronisation is the same
    // fraction of the step in both.
    if (!sample.sync_known) {
        known->sync_seconds *= known->step_seconds / step_before;
    } else if (!known->sync_known) {
        known->sync_seconds = sample.sync_seconds * (known->step_seconds / sample.step_seconds);
        known->sync_known = type.changed = true;
    } else {
        average_in(known->sync_seconds, sample.sync_seconds);
    }
    // Rounding may make the synchronisation as long as the step.
    known->sync_seconds = std::min(known->sync_seconds, std::nextafter(known->step_seconds, 0.0));
}

GOODPUT_BODY void JobHistory::begin(const Job& job) {
    if (!begun()) reference_batch_ = job.initial_batch;
    grow(job.types.size());
    for (std::size_t t = 0; t < job.types.size(); ++t) {
        const double rate = job.types[t].reference_rate;
        if (rate == types_[t].declared_rate) continue;
        types_[t].declared_rate = rate;
        if (const double seconds = seconds_of_rate(job.types[t]); seconds > 0)
            declare(types_[t], {{1, 1}, {job.types[t].max_atomic_batch, 0}, seconds, 0});
    }
}

GOODPUT_BODY double JobHistory::seconds_of_rate(const TypeLimits& limits) {
    if (!(limits.reference_rate > 0) || limits.max_atomic_batch == 0) return 0;
    const double seconds = limits.max_atomic_batch / limits.reference_rate;
    return seconds >= least_step_seconds && seconds <= most_step_seconds ? seconds : 0;
}

GOODPUT_BODY bool JobHistory::has_begun_with(const Job& job) const {
    if (!begun() || job.types.size() > types_.size()) return false;
    for (std::size_t t = 0; t < job.types.size(); ++t)
        if (job.types[t].reference_rate != types_[t].declared_rate) return false;
    return true;
}

GOODPUT_BODY const ThroughputSample* JobHistory::measured(std::size_t gpu_type, Shape shape, int atomic_batch,
                                                          int microbatches) const {
    if (gpu_type >= types_.size()) return nullptr;
    const OfType& type = types_[gpu_type];
    const std::size_t i = index_of(type, shape, atomic_batch, microbatches);
    return i < type.samples.size() && type.counts[i] > 0 ? &type.samples[i] : nullptr;
}

GOODPUT_BODY std::size_t JobHistory::measured_batches(std::size_t gpu_type, Shape shape) const {
    if (gpu_type >= types_.size()) return 0;
    const auto& samples = types_[gpu_type].samples;
    return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(),
                                                  [&](const auto& sample) { return sample.shape == shape; }));
}

GOODPUT_BODY std::size_t JobHistory::index_of(const OfType& type, Shape shape, int atomic_batch,
                                              int microbatches) {
    const auto found =
        std::find_if(type.samples.begin(), type.samples.end(), [&](const ThroughputSample& sample) {
            return sample.shape == shape && sample.plan.atomic_batch == atomic_batch &&
                   sample.microbatches() == microbatches;
        });
    return static_cast<std::size_t>(found - type.samples.begin());
}

GOODPUT_BODY void JobHistory::append(OfType& type, const ThroughputSample& sample, int count) {
    if (type.samples.size() == most_samples) forget_one(type);
    type.samples.push_back(sample);
    type.counts.push_back(count);
    type.changed = true;
}

GOODPUT_BODY void JobHistory::declare(OfType& type, const ThroughputSample& sample) {
    type.most_replicas = std::max(type.most_replicas, 1);
    if (type.last_plan.atomic_batch == 0) type.last_plan = sample.plan;
    const std::size_t i = index_of(type, sample.shape, sample.plan.atomic_batch, sample.microbatches());
    if (i == type.samples.size()) {
        append(type, sample, 0);
    } else if (type.counts[i] == 0) {
        type.samples[i] = sample;
        type.changed = true;
    }
}

GOODPUT_BODY void JobHistory::OfType::check_saved() const {
    const std::string_view subject = "saved memory";
    require_at_least(subject, "declared_rate", declared_rate, 0);
    require_between(subject, "most_replicas", most_replicas, 0, 1 << 20);
    require_between(subject, "last_plan.atomic_batch", last_plan.atomic_batch, 0, 1 << 30);
    require_between(subject, "last_plan.accumulation_steps", last_plan.accumulation_steps, 0, 1 << 20);
    if (samples.size() != counts.size() || samples.size() > most_samples)
        bad_input(subject, "samples", samples.size(),
                  "as many as there are counts, " + text_of(counts.size()) + ", and at most " +
                      text_of(most_samples));
    for (const int count : counts)
        require_between(subject, "counts", count, 0, std::numeric_limits<int>::max());
    for (const ThroughputSample& sample : samples) validate(sample, subject);
}

GOODPUT_BODY void JobHistory::check_saved() const {
    const std::string_view subject = "saved memory";
    require_between(subject, "reference_batch", reference_batch_, 0.0, 1 << 30);
    const std::size_t count = types_.size();
    if (model_.types.size() > count || fits_.size() > count)
        bad_input(subject, "models", std::max(model_.types.size(), fits_.size()),
                  "at most one for each GPU type, " + text_of(count));
    const auto believed = [](const ParameterEvidence& evidence) {
        return std::isfinite(evidence.value) && evidence.variance > 0;
    };
    for (const TypeFit& type : fits_)
        if ((type.fit.samples != 0 && !is_whole(type.fit)) || !is_valid(type.fit.model) ||
            (type.fit.samples != 0 && !std::ranges::all_of(type.evidence, believed)))
            bad_input(subject, "fit", type.fit.report(), "one that models can be made from");
}

GOODPUT_BODY void JobHistory::refit(const SeparateFitter& fitter, std::string_view subject) {
    tell_model();
    for (std::size_t t = 0; t < types_.size(); ++t) {
        OfType& type = types_[t];
        if (!type.changed) continue;
        const PolluxThroughput* last = std::get_if<PolluxThroughput>(&model_.types[t].throughput);
        const SeparateFit fit = fitter(type.samples, type.has_start ? last : nullptr, subject);
        model_.types[t].throughput = fit.model;
        type.has_start = fit.from_samples;
        type.changed = false;
    }
}

GOODPUT_BODY void JobHistory::refit(JobFitter& fitter, std::string_view subject) {
    tell_model();
    if (!has_changed()) return;
    fits_.resize(types_.size());
    fitter([&](std::size_t t) -> std::span<const ThroughputSample> { return types_[t].samples; },
           std::span<TypeFit>(fits_), subject, [&](std::size_t t) { return types_[t].changed; },
           reference_batch_);
    for (std::size_t t = 0; t < types_.size(); ++t) {
        model_.types[t].throughput = fits_[t].fit.model;
        model_.types[t].fitted = true;
        types_[t].changed = false;
    }
}

GOODPUT_BODY void JobHistory::tell_model() {
    model_.types.resize(types_.size());
    for (std::size_t t = 0; t < types_.size(); ++t) {
        model_.types[t].most_replicas = types_[t].most_replicas;
        model_.types[t].last_plan = types_[t].last_plan;
    }
}

GOODPUT_BODY void JobHistory::forget_one(OfType& type) {
    std::map<Shape, int> count;
    for (const ThroughputSample& sample : type.samples) ++count[sample.shape];
    const auto most = std::max_element(count.begin(), count.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto oldest = std::find_if(type.samples.begin(), type.samples.end(),
                                     [&](const ThroughputSample& s) { return s.shape == most->first; });
    type.counts.erase(type.counts.begin() + (oldest - type.samples.begin()));
    type.samples.erase(oldest);
}

}  // namespace goodput::inline v0_1

#endif
