#ifndef GOODPUT_DEADLINES_ASKED_GPU_TIME_HPP
#define GOODPUT_DEADLINES_ASKED_GPU_TIME_HPP

// The GPU time that jobs with deadlines have asked for, and what it says about those to come: where more ask
// than fit, who should leave the GPUs to others?
//
// It is taken that as much will be asked for until a job's deadline as was asked for in as long a time
// before. Of those who ask, the GPUs serve most weight if the ones with most weight for their GPU time come
// first. If these alone fill the GPUs, then a promise to this job would cost several promises to others. So
// it waits: it runs on what is left, needs less for that, and asks again.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <vector>

#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"

namespace goodput {

/// GPU time that a job with a deadline needs for a promise.
struct GpuTimeNeed {
    double seconds = 0;         ///< that all GPUs would need if each worked as well as it does for this job
    double window_seconds = 0;  ///< until its deadline
    double weight = 1;          ///< of its promise

    /// Weight for a second of all GPUs.
    [[nodiscard]] double worth() const { return weight / std::max(seconds, 1e-300); }
};

/// What a job needs at least: on each GPU type its work at the size that does most for a GPU. All GPUs count
/// that the cluster has at any time, but for those that others have.
[[nodiscard]] inline GpuTimeNeed gpu_time_need(const ClusterOverTime& cluster, const DeadlineJob& job) {
    std::vector<double> best(cluster.gpu_types.size(), 0.0);  // work a second for a GPU
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

/// Remembers what was asked for.
class AskedGpuTime {
public:
    /// A job asks for the first time.
    void note(double now_seconds, const GpuTimeNeed& need) {
        asked_.push_back({now_seconds, need});
        if (asked_.size() > most_remembered) asked_.pop_front();
    }

    /// Whether jobs of more weight for their GPU time ask for so much that nothing would be left until the
    /// deadline of this one.
    [[nodiscard]] bool others_need_it(double now_seconds, const GpuTimeNeed& need) const {
        if (asked_.empty()) return false;
        const double window = need.window_seconds, back = windows_back * window;
        double asked = 0;
        for (const Asked& each : asked_) {
            if (each.at_seconds < now_seconds - back || each.need.worth() <= need.worth()) continue;
            // Who has more time can also have GPUs after the deadline of this one.
            asked += each.need.seconds * std::min(1.0, window / std::max(each.need.window_seconds, 1e-9));
        }
        // Before anybody asked, nothing is known; a time as long as the window is needed to say anything.
        const double known = now_seconds - asked_.front().at_seconds;
        return asked > usable * std::min(back, std::max(window, known));
    }

private:
    struct Asked {
        double at_seconds = 0;
        GpuTimeNeed need{};
    };
    /// Few ask in one window. Those long before say little about now.
    static constexpr double windows_back = 2;
    /// Part of the GPU time that plans make use of: jobs need more of it on more GPUs than on the size that
    /// does most for a GPU, and not all is filled.
    static constexpr double usable = 0.75;

    static constexpr std::size_t most_remembered = 4096;

    std::deque<Asked> asked_{};  // oldest first
};

}  // namespace goodput

#endif
