#ifndef GOODPUT_EXAMPLES_CLI_WORKLOAD_HPP
#define GOODPUT_EXAMPLES_CLI_WORKLOAD_HPP

// What a replay is made of: a trace of jobs and a cluster.

#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/sim/application.hpp"

namespace cli {

struct Workload {
    std::vector<std::string> applications{};  ///< names, which Submission::application counts
    std::vector<goodput::Submission> submissions{};
};

/// A trace with the columns name,time,application,num_replicas,batch_size, in the order of its times.
/// std::runtime_error for what is missing or makes no sense.
Workload read_workload(const std::string& path);

/// The cluster of a text such as "aws:6x4,dgx-ext:2x8": six nodes with four GPUs of type aws, and two with
/// eight of type dgx-ext. std::invalid_argument for any other form.
goodput::Cluster parse_cluster(const std::string& text);

}  // namespace cli

#endif
