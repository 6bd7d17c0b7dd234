#ifndef GOODPUT_SCHEDULE_PREDICTION_HPP
#define GOODPUT_SCHEDULE_PREDICTION_HPP

// What the parts of a round say of one job: how large it may become, and how good its options are.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Most GPUs of each type that the policy offers a job this round.
inline void find_most_gpus(const PolicyJoint& policy, const Snapshot& snapshot, std::size_t job,
                           std::vector<int>& most) {
    most.assign(snapshot.cluster.gpu_types.size(), std::numeric_limits<int>::max());
    for (std::size_t type = 0; policy.most_gpus && type < most.size(); ++type)
        most[type] = policy.most_gpus(policy.part, snapshot.jobs[job], model_of(snapshot, job), type);
}

/// Fills in options of a job as their maker does, or else as `ask(options)` does.
inline void predict_options(const MakerJoint& maker, const Job& job,
                            const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                            const AskPredictor& ask) {
    if (maker.predict)
        maker.predict(maker.part, job, gradient, options, ask);
    else
        predict_options(options, ask);
}

/// Fills in options of a job with the gradient statistics that the policy expects.
inline void predict_as_valued(const Joints& joints, const Job& job, const JobModel& model,
                              std::span<Option> options) {
    const PredictorJoint& predictor = joints.predictor;
    const PolicyJoint& policy = joints.policy;
    if (policy.expected_gradient) {
        const std::optional<GradientStatistics> gradient = policy.expected_gradient(policy.part, job);
        const auto ask = [&](std::span<Option> asked) {
            predictor.predict_with(predictor.part, job, model, asked, gradient);
        };
        predict_options(joints.maker, job, gradient, options, std::cref(ask));  // which takes no memory
    } else {
        const auto ask = [&](std::span<Option> asked) {
            predictor.predict(predictor.part, job, model, asked);
        };
        predict_options(joints.maker, job, job.gradient, options, std::cref(ask));
    }
}

/// Predicts one option as the job would run it now: with its present gradient statistics and, on the GPUs
/// that it holds, with the batch plan that it runs with, where the predictor says how long it keeps that.
/// Where predictor or maker fails the option stays as it is, and the answer is false.
inline bool predict_one(const Joints& joints, const Snapshot& snapshot, std::size_t j, bool keeps_plan,
                        Option& option) {
    const Job& job = snapshot.jobs[j];
    const JobModel& model = model_of(snapshot, j);
    const PredictorJoint& predictor = joints.predictor;
    const auto ask = [&](std::span<Option> options) {
        predictor.predict(predictor.part, job, model, options);
        if (!keeps_plan || !predictor.keep_running_plan) return;
        for (Option& asked : options)
            if (asked.configuration.same_gpus(configuration_of(job.placement, snapshot.cluster)))
                predictor.keep_running_plan(predictor.part, job, model, asked);
    };
    Option predicted = option;
    if (!detail::contained([&] {
            predict_options(joints.maker, job, job.gradient, std::span<Option>(&predicted, 1),
                            std::cref(ask));
        }))
        return false;
    joints.factor.apply(joints.factor.part, job, predicted);
    if (!std::isfinite(predicted.goodput)) return false;
    option = predicted;
    return true;
}

}  // namespace goodput

// What it costs a job to get the same GPUs on other nodes.

namespace goodput::detail {

/// Seconds that a move of a job costs, as far as placers take them.
inline double move_cost(const Job& job) { return std::min(job.restart_cost_seconds, 1e9); }

/// Whether a configuration has the GPUs that the job of that index holds.
inline bool is_held(const Snapshot& snapshot, std::size_t j, const Configuration& configuration) {
    return configuration.same_gpus(configuration_of(snapshot.jobs[j].placement, snapshot.cluster));
}

/// Who holds the same GPUs, but on other nodes, pays for the move.
inline double move_cost_of(const Snapshot& snapshot, std::size_t j, const Placement& placement) {
    const Job& job = snapshot.jobs[j];
    const bool moves = !job.placement.empty() && placement != job.placement &&
                       is_held(snapshot, j, configuration_of(placement, snapshot.cluster));
    return moves ? move_cost(job) : 0;
}

}  // namespace goodput::detail

#endif
