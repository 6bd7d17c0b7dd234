#ifndef GOODPUT_EXAMPLES_SLURM_TRAINING_FILES_HPP
#define GOODPUT_EXAMPLES_SLURM_TRAINING_FILES_HPP

// The two files in a job's folder through which its training and the controller communicate.
//
//     goodput-ID.reports   the training appends a line every now and then:
//         {"gpu_type": "t4", "nodes": 1, "gpus": 4, "local_batch": 64, "accumulation": 0,
//          "step_s": 0.21, "sync_s": 0.05, "gradient": {"sqr": 1.2, "var": 40.1}, "done_examples": 81000,
//          "start_s": 21.5}
//     goodput-ID.plan      the controller writes it anew when the job's batch size should be another:
//         {"local_batch": 128, "accumulation": 1}
//
// The fields are those of `goodput plan`. "gradient" (at the initial batch size), "done_examples" and
// "start_s" (seconds from the start to the end of the first step) may be missing.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/sample.hpp"
#include "state.hpp"

namespace slurm {

struct Report {
    std::string gpu_type{};
    goodput::ThroughputSample sample{};
    std::optional<goodput::GradientStatistics> gradient{};
    std::optional<double> done_examples{};
    std::optional<double> start_seconds{};
};

/// Reads what a job's training has reported since the last call. Invalid lines are counted and ignored. An
/// unfinished line waits for the next call.
class ReportReader {
public:
    std::vector<Report> read_new(const Job& job);
    [[nodiscard]] std::size_t refused() const { return refused_; }

private:
    std::size_t position_ = 0;
    std::size_t refused_ = 0;
};

/// Writes a job's plan unless the file has it already. Throws std::runtime_error if that fails.
void write_plan(const Job& job, goodput::BatchPlan plan);

}  // namespace slurm

#endif
