#ifndef GOODPUT_PROGRAM_REPLAY_WORKLOAD_HPP
#define GOODPUT_PROGRAM_REPLAY_WORKLOAD_HPP

// Reads the inputs of a replay: a trace of jobs, a cluster, and events.

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/renting.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/sim/application.hpp"
#include "goodput/sim/events.hpp"

namespace goodput::traces {

struct Workload {
    std::vector<std::string> applications{};  ///< names; Submission::application is an index into them
    std::vector<goodput::Submission> submissions{};
};

/// Reads a trace with the columns name,time,application,num_replicas,batch_size, in the order of its times.
/// Throws std::runtime_error for anything missing or invalid.
Workload read_workload(const std::string& path);

/// Keeps the times of submission (the member `time`), but shuffles the jobs that are submitted at them with
/// the seed. The list stays in the order of its times. The same seed gives the same order on any machine.
template <class Job>
void shuffle_jobs(std::vector<Job>& jobs, double Job::*time, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    for (std::size_t left = jobs.size(); left > 1; --left) {
        Job &one = jobs[left - 1], &other = jobs[engine() % left];
        std::swap(one.*time, other.*time);
        std::swap(one, other);
    }
}

/// Reads a cluster from a text such as "aws:6x4,aws:4x4/spot/8,dgx-ext:2x8": six nodes with four GPUs of
/// type aws, called aws-0 to aws-5; four spot nodes of the same kind, called aws-spot-0 to aws-spot-3, each
/// of which is lost once in 8 hours on average; and two nodes with eight GPUs of type dgx-ext. Throws
/// std::invalid_argument for any other form.
goodput::Cluster parse_cluster(const std::string& text);

/// Reads nodes to rent from a text such as "aws:6x4@3.91,aws:6x4@1.3/spot/8": up to six nodes with four
/// GPUs of type aws for $3.91 per hour each, and up to six spot nodes that are lost once in 8 hours on
/// average. Offers are called TYPE and TYPE-spot, followed by the GPUs of a node if that is ambiguous.
/// Throws std::invalid_argument for any other form, and for types that the cluster does not have.
std::vector<goodput::RentOffer> parse_offers(const std::string& text, const goodput::Cluster& cluster,
                                             double start_seconds);

/// Reads events with the columns time,event,subject,gpu_type,gpus. An event is job_fails, node_fails,
/// node_drains, node_returns (the subject is a job of the trace or a node; gpu_type and gpus are empty), or
/// node_added (the subject is a new name). Adds GPU types that only these nodes have to the cluster's.
/// Throws std::runtime_error with line and field for anything invalid.
std::vector<goodput::Event> read_events(const std::string& path, goodput::Cluster& cluster,
                                        std::span<const goodput::Submission> submissions);

}  // namespace goodput::traces

namespace cli {
using namespace goodput::traces;  // as the program calls it
}

#endif
