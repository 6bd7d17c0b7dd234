// Who held which GPUs when: one lane a GPU type, as high as it has GPUs, and one path a job and lane. Paths
// have whole quanta to the right and whole GPUs downwards, so the script can read them.

#include <algorithm>
#include <map>
#include <ostream>
#include <tuple>
#include <utility>

#include "charts.hpp"
#include "markup.hpp"

namespace cli {

namespace {

constexpr double lane_gap = 14, least_height = 36;
constexpr double mark_part = 0.4;  ///< of a block's height that the mark of a restart takes

/// GPUs [first, first + length) of a lane for quanta [begin, end).
struct Block {
    long begin = 0, end = 0;
    int first = 0, length = 0;
};
using BlocksByJob = std::map<std::size_t, std::vector<Block>>;

/// Packs what jobs hold of one GPU type into its lane: each stays where it is until the GPUs at the top are
/// gone; jobs that come back get their old place if it is free.
class Lane {
public:
    Lane(int gpus, const TimeAxis& axis)
        : axis_(&axis), owned_(static_cast<std::size_t>(gpus)), there_(gpus) {}

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

    [[nodiscard]] const BlocksByJob& blocks() const { return blocks_; }

private:
    using Run = std::pair<int, int>;  ///< first GPU and number of GPUs
    struct Held {
        double since = 0;
        std::vector<Run> runs{};
    };

    bool free(int gpu) const { return !owned_[static_cast<std::size_t>(gpu)]; }

    void release(std::size_t job, const Held& held, double seconds) {
        const long begin = axis_->at(held.since), end = axis_->at(seconds);
        for (const Run& run : held.runs) {
            for (int gpu = run.first; gpu < run.first + run.second; ++gpu)
                owned_[static_cast<std::size_t>(gpu)] = false;
            if (begin < end) blocks_[job].push_back({begin, end, run.first, run.second});
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

    const TimeAxis* axis_;
    std::vector<bool> owned_;  ///< by GPU
    int there_;                ///< GPUs from 0 on that may be taken
    std::map<std::size_t, Held> held_;
    std::map<std::size_t, int> last_place_;
    BlocksByJob blocks_;
};

BlocksByJob packed(std::span<const goodput::HeldPeriod> periods, std::size_t gpu_type, int gpus,
                   std::span<const goodput::Capacity> capacity, const TimeAxis& axis) {
    // What ends at a time comes first, then how many GPUs there are, then what begins.
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
    Lane lane(gpus, axis);
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

/// How many GPUs there are, as a course from the left end to the right.
void write_course(std::ostream& out, std::span<const goodput::Capacity> capacity, int gpus,
                  const TimeAxis& axis) {
    for (std::size_t i = 0; i < capacity.size(); ++i) {
        if (i > 0) out << 'H' << axis.at(capacity[i].seconds);
        out << 'V' << gpus - capacity[i].gpus;
    }
    out << 'H' << axis.end;
}

void write_blocks(std::ostream& out, const BlocksByJob& blocks, int gpus, const ReplayedTrace& trace) {
    for (const auto& [job, of_job] : blocks) {
        const goodput::Submission& submission = trace.submissions[job];
        out << "<path class=\"b a" << colour_of(submission.application) << "\" data-j=\"" << job << "\" d=\"";
        for (const Block& block : of_job)
            out << 'M' << block.begin << ' ' << gpus - block.first - block.length << 'h'
                << block.end - block.begin << 'v' << block.length << 'h' << block.begin - block.end << 'z';
        out << "\"><title>" << escaped(submission.name) << "</title></path>\n";
    }
}

void write_restart_marks(std::ostream& out, const BlocksByJob& blocks, int gpus,
                         std::span<const Restart> restarts, const TimeAxis& axis) {
    bool any = false;
    for (const Restart& restart : restarts) {
        const auto found = blocks.find(restart.job);
        if (found == blocks.end()) continue;
        const long at = axis.at(restart.seconds);
        for (const Block& block : found->second) {
            if (at < block.begin || at >= block.end) continue;
            out << (any ? "" : "<path class=\"restart\" d=\"") << 'M' << at << ' '
                << gpus - block.first - block.length << 'v' << trimmed(mark_part * block.length, 1);
            any = true;
        }
    }
    if (any) out << "\"/>\n";
}

}  // namespace

void write_gpus(std::ostream& out, const ReplayedTrace& trace, const PolicyReplay& replay,
                const TimeAxis& axis, std::size_t index) {
    std::vector<int> gpus(trace.cluster.gpu_types.size());
    for (const goodput::Node& node : trace.cluster.nodes) gpus[node.gpu_type] += node.gpus;
    int all = 0;
    for (const int count : gpus) all += count;
    const double lanes_height = std::clamp(4.0 * all, 260.0, 560.0);
    const auto height = [&](int count) {
        return std::max(least_height, lanes_height * count / std::max(all, 1));
    };
    Frame frame{.height = -lane_gap};
    for (const int count : gpus)
        if (count > 0) frame.height += height(count) + lane_gap;
    begin_picture(out, 1160, frame.bottom() + 40, "GPUs held by each job over time under " + replay.policy,
                  " id=\"gpus" + std::to_string(index) + "\" data-policy=\"" + std::to_string(index) + "\"");
    write_time_axis(out, frame, axis);
    double top = frame.top;
    for (std::size_t type = 0; type < gpus.size(); ++type) {
        if (gpus[type] == 0) continue;
        const Frame lane{.top = top, .height = height(gpus[type])};
        const std::string& name = trace.cluster.gpu_types[type];
        out << "<text class=\"row\" x=\"" << trimmed(lane.left - 8, 1) << "\" y=\""
            << trimmed(lane.top + lane.height / 2 - 2, 1) << "\">" << escaped(shortened(name, 12))
            << "<title>" << escaped(name) << "</title></text><text class=\"row pale\" x=\""
            << trimmed(lane.left - 8, 1) << "\" y=\"" << trimmed(lane.top + lane.height / 2 + 13, 1) << "\">"
            << gpus[type] << " GPUs</text>\n";
        begin_time_view(out, lane, axis, gpus[type], " data-type=\"" + escaped(name) + '"',
                        lane.height < 2 * gpus[type] ? " fine" : "");
        out << "<rect class=\"lane\" width=\"" << axis.end << "\" height=\"" << gpus[type] << "\"/>\n";
        std::span<const goodput::Capacity> capacity;
        if (type < replay.rounds.capacity.size()) capacity = replay.rounds.capacity[type];
        const BlocksByJob blocks = packed(replay.result.held_periods, type, gpus[type], capacity, axis);
        const bool changes = std::any_of(capacity.begin(), capacity.end(),
                                         [&](const auto& step) { return step.gpus != gpus[type]; });
        if (changes) {
            out << "<path class=\"gone\" d=\"M0 0";
            write_course(out, capacity, gpus[type], axis);
            out << "V0z\"><title>no GPUs here at this time</title></path>\n";
        }
        write_blocks(out, blocks, gpus[type], trace);
        write_restart_marks(out, blocks, gpus[type], replay.rounds.restarts, axis);
        if (changes) {
            out << "<path class=\"capacity\" d=\"M0 " << gpus[type] - capacity.front().gpus;
            write_course(out, capacity, gpus[type], axis);
            out << "\"/>\n";
        }
        end_time_view(out);
        top += lane.height + lane_gap;
    }
    end_picture(out);
}

}  // namespace cli
