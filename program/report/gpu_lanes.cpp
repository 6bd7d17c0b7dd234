#include "report/gpu_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace cli {

namespace {

/// Packs the holdings of jobs on one GPU type into its lane. Each stays where it is until the GPUs at the
/// top disappear. Jobs that return get their old place if it is free.
class Lane {
public:
    Lane(int gpus, double quantum_seconds)
        : quantum_seconds_(quantum_seconds), owned_(static_cast<std::size_t>(gpus)), there_(gpus) {}

    void begin(std::size_t job, int gpus, double seconds) { held_[job] = {seconds, take(job, gpus)}; }

    void end(std::size_t job, double seconds) {
        const auto found = held_.find(job);
        if (found == held_.end()) return;
        release(found->first, found->second, seconds);
        held_.erase(found);
    }

    void set_capacity(int gpus, double seconds) {
        there_ = gpus;
        std::vector<std::pair<std::size_t, int>> displaced;
        for (auto& [job, held] : held_) {
            const auto& runs = held.runs;
            if (std::none_of(runs.begin(), runs.end(),
                             [&](Run run) { return run.first + run.second > gpus; }))
                continue;
            int count = 0;
            for (const Run& run : runs) count += run.second;
            release(job, held, seconds);
            displaced.emplace_back(job, count);
        }
        for (const auto& [job, count] : displaced) begin(job, count, seconds);
    }

    [[nodiscard]] const std::vector<GpuBlock>& blocks() const { return blocks_; }

private:
    using Run = std::pair<int, int>;  ///< first GPU and number of GPUs
    struct Held {
        double since = 0;
        std::vector<Run> runs{};
    };

    [[nodiscard]] long quanta(double seconds) const { return std::lround(seconds / quantum_seconds_); }
    [[nodiscard]] bool free(int gpu) const { return !owned_[static_cast<std::size_t>(gpu)]; }

    void release(std::size_t job, const Held& held, double seconds) {
        const long begin = quanta(held.since), end = quanta(seconds);
        for (const Run& run : held.runs) {
            for (int gpu = run.first; gpu < run.first + run.second; ++gpu)
                owned_[static_cast<std::size_t>(gpu)] = false;
            if (begin < end) blocks_.push_back({job, begin, end, run.first, run.second});
        }
        if (!held.runs.empty()) last_place_[job] = held.runs.front().first;
    }

    std::vector<Run> take(std::size_t job, int gpus) {
        std::vector<Run> runs;
        for (int gpu = 0; gpu < there_; ++gpu) {
            if (!free(gpu)) continue;
            if (!runs.empty() && runs.back().first + runs.back().second == gpu)
                ++runs.back().second;
            else
                runs.emplace_back(gpu, 1);
        }
        const auto before = last_place_.find(job);
        Run whole{-1, gpus};
        for (const Run& run : runs) {
            if (run.second < gpus) continue;
            if (whole.first < 0) whole.first = run.first;
            if (before != last_place_.end() && run.first <= before->second &&
                before->second + gpus <= run.first + run.second)
                whole.first = before->second;
        }
        if (whole.first >= 0) runs = {whole};
        int missing = gpus;
        for (Run& run : runs) {
            run.second = std::min(run.second, missing);
            missing -= run.second;
            for (int gpu = run.first; gpu < run.first + run.second; ++gpu)
                owned_[static_cast<std::size_t>(gpu)] = true;
        }
        std::erase_if(runs, [](const Run& run) { return run.second == 0; });
        return runs;
    }

    double quantum_seconds_;
    std::vector<bool> owned_;  ///< by GPU
    int there_;                ///< GPUs below this index may be taken
    std::map<std::size_t, Held> held_;
    std::map<std::size_t, int> last_place_;
    std::vector<GpuBlock> blocks_;
};

}  // namespace

std::vector<GpuBlock> gpu_lane(std::span<const goodput::HeldPeriod> periods, std::size_t gpu_type, int gpus,
                               std::span<const goodput::Capacity> capacity, double quantum_seconds) {
    // At the same time, ends come first, then changes of the number of GPUs, then beginnings.
    enum class Kind { end, capacity, begin };
    struct Change {
        double seconds;
        Kind kind;
        std::size_t job;
        int gpus;
    };
    std::vector<Change> changes;
    for (const goodput::Capacity& step : capacity)
        changes.push_back({step.seconds, Kind::capacity, 0, std::min(step.gpus, gpus)});
    for (const goodput::HeldPeriod& period : periods) {
        if (period.configuration.first().gpu_type != gpu_type || !(period.begin_seconds < period.end_seconds))
            continue;
        changes.push_back({period.begin_seconds, Kind::begin, period.job, period.configuration.gpus()});
        changes.push_back({period.end_seconds, Kind::end, period.job, 0});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return std::tie(a.seconds, a.kind, a.job) < std::tie(b.seconds, b.kind, b.job);
    });
    Lane lane(gpus, quantum_seconds);
    for (const Change& change : changes) {
        if (change.kind == Kind::end)
            lane.end(change.job, change.seconds);
        else if (change.kind == Kind::capacity)
            lane.set_capacity(change.gpus, change.seconds);
        else
            lane.begin(change.job, change.gpus, change.seconds);
    }
    return lane.blocks();
}

}  // namespace cli
