#ifndef GOODPUT_DEADLINES_ASKED_GPU_TIME_HPP
#define GOODPUT_DEADLINES_ASKED_GPU_TIME_HPP

// Remembers the GPU time that jobs with deadlines ask for. If jobs ask for more than there is, the record
// decides which job should leave the GPUs to others.
//
// The time until a job's deadline is the job's window. We assume that jobs will ask for GPU time within the
// window at the same rate as in the two windows before now. The GPUs serve the most weight if the jobs with
// the most weight per GPU time come first. If those jobs alone fill the GPUs, a promise to this job would
// cost promises of more weight to others. The job then waits: it runs on what is left over, and asks again
// when it needs less for a promise.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <vector>

#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"

namespace goodput::inline v0_1 {

/// The GPU time that a job with a deadline needs for a promise.
struct GpuTimeNeed {
    /// Seconds that all GPUs together would need for the job's work, if each of them did as much as a GPU
    /// does at the job's most efficient size on that GPU type.
    double seconds = 0;
    double window_seconds = 0;  ///< time until the job's deadline
    double weight = 1;          ///< weight of the job's promise

    /// Returns the weight per second of all GPUs.
    [[nodiscard]] double worth() const { return weight / std::max(seconds, 1e-300); }
};

/// Returns the least GPU time that a job needs: on each GPU type, its work at the size that does the most
/// work per GPU. This counts all GPUs that the cluster has at any time, except those that other jobs hold.
[[nodiscard]] inline GpuTimeNeed gpu_time_need(const ClusterOverTime& cluster, const DeadlineJob& job) {
    std::vector<double> best(cluster.gpu_types.size(), 0.0);  // work per second and GPU
    const auto count = [&](std::size_t type, double speed, double gpus) {
        best[type] = std::max(best[type], speed / gpus);
    };
    for (std::size_t type = 0; type < job.speed.size(); ++type)
        for (std::size_t power = 0; power < job.speed[type].size(); ++power)
            count(type, job.speed[type][power], std::ldexp(1.0, static_cast<int>(power)));
    for (const SpeedWith& other : job.other_sizes) count(other.held.gpu_type, other.speed, other.held.gpus);
    double speed = 0;
    for (const NodesOverTime& nodes : cluster.nodes)
        speed += best[nodes.gpu_type] * nodes.nodes * (nodes.gpus_per_node - nodes.taken);
    return {job.work_left / std::max(speed, 1e-300), job.deadline_seconds, job.weight};
}

/// Remembers the GPU time that jobs asked for.
class AskedGpuTime {
public:
    /// Records that a job asks for the first time.
    void note(double now_seconds, const GpuTimeNeed& need) {
        asked_.push_back({now_seconds, need});
        if (asked_.size() > most_remembered) asked_.pop_front();
    }

    /// Returns whether jobs with more weight per GPU time ask for so much that nothing would be left before
    /// this job's deadline.
    [[nodiscard]] bool others_need_it(double now_seconds, const GpuTimeNeed& need) const {
        if (asked_.empty()) return false;
        const double window = need.window_seconds, back = windows_back * window;
        double asked = 0;
        for (const Asked& each : asked_) {
            if (each.at_seconds < now_seconds - back || each.need.worth() <= need.worth()) continue;
            // A job with more time can also use GPUs after this job's deadline.
            asked += each.need.seconds * std::min(1.0, window / std::max(each.need.window_seconds, 1e-9));
        }
        // Nothing is known about the time before the first job asked, but at least one window counts.
        const double known = now_seconds - asked_.front().at_seconds;
        return asked > usable * std::min(back, std::max(window, known));
    }

private:
    struct Asked {
        double at_seconds = 0;
        GpuTimeNeed need{};
    };
    /// Number of windows before now that count. Few jobs ask within one window, and jobs of long ago say
    /// little about the present.
    static constexpr double windows_back = 2;
    /// The part of the GPU time that jobs can be promised, counted in the least GPU time that they need. At
    /// sizes larger than the most efficient one they need more, and plans leave gaps.
    static constexpr double usable = 0.75;

    static constexpr std::size_t most_remembered = 4096;

    std::deque<Asked> asked_{};  // oldest first
};

}  // namespace goodput::inline v0_1

#endif
