#ifndef GOODPUT_MODEL_PIPELINE_HPP
#define GOODPUT_MODEL_PIPELINE_HPP

// Iteration time of a job that is pipeline parallel within a replica and data parallel between replicas (Sia,
// SOSP'23, hybrid parallel jobs):
//
//     forward(b)  = alpha_c + beta_c b                       one microbatch of b examples on one stage
//     iteration   = 3 (P - 1 + m) forward(b) + sync(n, K)    P stages, m microbatches, K replicas on n nodes
//
// The pipeline fills in P - 1 steps and then finishes a microbatch in each; backward takes twice as long as
// forward, hence 3. Replicas synchronise once an iteration, and nothing of it is hidden. Stages are taken as
// equally long, and what they send each other as part of forward.

#include "goodput/core/batch.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/model/pollux.hpp"

namespace goodput {

class PipelineThroughput {
public:
    /// `stage.compute_seconds` is the forward time of a microbatch on one stage, `stage.sync_seconds` the
    /// synchronisation of replicas; its gamma is not used. Refuses `stages` below 1 (std::invalid_argument).
    PipelineThroughput(const PolluxThroughput& stage, int stages) : stage_(stage), stages_(stages) {
        require_between("pipeline", "stages", stages, 1, 1 << 20);
    }

    /// GPUs of one replica.
    [[nodiscard]] int stages() const { return stages_; }

    /// Seconds of one iteration. `shape.gpus` counts replicas, not GPUs; the plan's atomic batch is the
    /// microbatch, and each replica handles accumulation_steps + 1 of them.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const double steps = stages_ - 1.0 + plan.accumulation_steps + 1.0;
        return 3 * steps * stage_.compute_seconds(plan.atomic_batch) + stage_.sync_seconds(shape);
    }

private:
    PolluxThroughput stage_;
    int stages_;
};

}  // namespace goodput

#endif
