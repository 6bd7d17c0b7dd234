#ifndef GOODPUT_PROGRAM_REPLAY_WORKLOAD_HPP
#define GOODPUT_PROGRAM_REPLAY_WORKLOAD_HPP

// What a replay is made of: a trace of jobs, a cluster, and what happens to it.

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
    std::vector<std::string> applications{};  ///< names, which Submission::application counts
    std::vector<goodput::Submission> submissions{};
};

/// A trace with the columns name,time,application,num_replicas,batch_size, in the order of its times.
/// std::runtime_error for what is missing or makes no sense.
Workload read_workload(const std::string& path);

/// The same jobs at the same times of submission (`time`: that member), but another job at each of them: the
/// seed says which. The list stays in the order of its times. The same seed gives the same on any machine.
template <class Job>
void shuffle_jobs(std::vector<Job>& jobs, double Job::*time, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    for (std::size_t left = jobs.size(); left > 1; --left) {
        Job &one = jobs[left - 1], &other = jobs[engine() % left];
        std::swap(one.*time, other.*time);
        std::swap(one, other);
    }
}

/// The cluster of a text such as "aws:6x4,aws:4x4/spot/8,dgx-ext:2x8": six nodes with four GPUs of type aws,
/// called aws-0 to aws-5; four spot nodes like them, called aws-spot-0 to aws-spot-3, each of which is lost
/// once in 8 hours on average; and two with eight GPUs of type dgx-ext. std::invalid_argument for any other
/// form.
goodput::Cluster parse_cluster(const std::string& text);

/// Nodes to rent, of a text such as "aws:6x4@3.91,aws:6x4@1.3/spot/8": up to six nodes with four GPUs of type
/// aws for $3.91 an hour each, and up to six spot nodes that are lost once in 8 hours on average. Offers are
/// called TYPE and TYPE-spot, with the GPUs of a node where that is not enough. std::invalid_argument for any
/// other form, and for types that are not the cluster's.
std::vector<goodput::RentOffer> parse_offers(const std::string& text, const goodput::Cluster& cluster,
                                             double start_seconds);

/// Events with the columns time,event,subject,gpu_type,gpus. An event is job_fails, node_fails, node_drains,
/// node_returns (the subject a job of the trace or a node; gpu_type and gpus empty), or node_added (the
/// subject a new name). Appends GPU types that only these have to the cluster's. std::runtime_error with line
/// and field for what makes no sense.
std::vector<goodput::Event> read_events(const std::string& path, goodput::Cluster& cluster,
                                        std::span<const goodput::Submission> submissions);

}  // namespace goodput::traces

namespace cli {
using namespace goodput::traces;  // as the program calls it
}

#endif
