#ifndef GOODPUT_PROGRAM_WORLDS_ELASTICFLOW_TRACE_HPP
#define GOODPUT_PROGRAM_WORLDS_ELASTICFLOW_TRACE_HPP

// Traces and speeds of ElasticFlow's comparison.
//
// A trace is a JSON document: jobs, an array for each of them with the columns that job_columns names: i (its
// number), submit, iterations, model, batch, deadline (seconds), best_effort (1: the deadline does not
// count); other columns are left alone. It also says what it was made for: cluster (nodes, gpus_per_node),
// gpu_type and slot_s (seconds).
//
// A document of speeds: {GPU type: {model: {batch: {gpus, iterations_per_s, max_gpu_ef, max_gpu_other}}}},
// where the first two are arrays of one length; null or 0: it cannot train on so many.

#include <optional>
#include <string>
#include <vector>

#include "peers/elasticflow/elasticflow_job.hpp"

namespace cli {

/// What a trace says.
struct ElasticflowTrace {
    std::vector<goodput::peers::ElasticflowJob> jobs{};  ///< by submission, without speeds
    std::string gpu_type{};
    int nodes = 0, gpus_per_node = 0;
    double slot_seconds = 0;
};

/// Reads a trace; its jobs are called by their number. std::runtime_error for a file that cannot be read or
/// makes no sense.
ElasticflowTrace read_elasticflow_trace(const std::string& path);

/// Gives the jobs their speeds on a GPU type. std::runtime_error for a file that cannot be read, makes no
/// sense, or lacks what a job needs.
void read_elasticflow_speeds(const std::string& path, const std::string& gpu_type,
                             std::vector<goodput::peers::ElasticflowJob>& jobs);

}  // namespace cli

#endif
