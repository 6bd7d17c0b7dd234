#ifndef GOODPUT_PROGRAM_WORLDS_ELASTICFLOW_TRACE_HPP
#define GOODPUT_PROGRAM_WORLDS_ELASTICFLOW_TRACE_HPP

// Traces and speeds of ElasticFlow's comparison.
//
// A trace is a JSON document. Its jobs are arrays with the columns that job_columns names: i (the job's
// number), submit, iterations, model, batch, deadline (seconds), best_effort (1: the deadline does not
// count). Other columns are ignored. It also says what it was made for: cluster (nodes, gpus_per_node),
// gpu_type and slot_s (seconds).
//
// A document of speeds: {GPU type: {model: {batch: {gpus, iterations_per_s, max_gpu_ef, max_gpu_other}}}}.
// The first two are arrays of the same length. A rate of null or 0 means that the model cannot train on
// that number of GPUs.

#include <optional>
#include <string>
#include <vector>

#include "peers/elasticflow/elasticflow_job.hpp"

namespace cli {

/// The contents of a trace.
struct ElasticflowTrace {
    std::vector<goodput::peers::ElasticflowJob> jobs{};  ///< by submission, without speeds
    std::string gpu_type{};
    int nodes = 0, gpus_per_node = 0;
    double slot_seconds = 0;
};

/// Reads a trace. Jobs are named by their number. Throws std::runtime_error for a file that cannot be read
/// or is invalid.
ElasticflowTrace read_elasticflow_trace(const std::string& path);

/// Sets the jobs' speeds on a GPU type. Throws std::runtime_error for a file that cannot be read, is
/// invalid, or lacks what a job needs.
void read_elasticflow_speeds(const std::string& path, const std::string& gpu_type,
                             std::vector<goodput::peers::ElasticflowJob>& jobs);

}  // namespace cli

#endif
