#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_EVENTS_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_EVENTS_HPP

// The clock of ElasticFlow's public simulator. Rounds end with events: submissions, planned ends of jobs
// and planned changes of their GPUs.

#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace goodput::peers {

/// Future events, by time.
class ElasticflowEvents {
public:
    [[nodiscard]] bool empty() const { return events_.empty(); }
    /// Returns the time of the first event; there must be one.
    [[nodiscard]] double first() const { return events_.begin()->first; }

    void submit(double seconds) { events_[seconds].submits = true; }
    /// Adds a change of a job's GPUs. Published, and kept: the change is forgotten when the last of the
    /// ends planned for the same time is moved.
    void change(double seconds) { events_[seconds]; }
    void end(std::size_t job, double seconds) { events_[seconds].ends.insert(job); }
    /// Moves the planned end of a job from its earlier time.
    void move_end(std::size_t job, double from, double to) {
        if (from == to) return;
        drop_end(job, from);
        end(job, to);
    }
    void drop_end(std::size_t job, double seconds) {
        const auto at = events_.find(seconds);
        if (at == events_.end()) return;
        at->second.ends.erase(job);
        if (at->second.ends.empty() && !at->second.submits && !at->second.decides) events_.erase(at);
    }
    /// Moves the time of the planner's next decision from its earlier time.
    void decide(double seconds) {
        for (auto at = events_.begin(); at != events_.end(); ++at) {
            if (!std::exchange(at->second.decides, false)) continue;
            if (at->second.ends.empty() && !at->second.submits) events_.erase(at);
            break;
        }
        events_[seconds].decides = true;
    }
    [[nodiscard]] bool ends(std::size_t job, double seconds) const {
        const auto at = events_.find(seconds);
        return at != events_.end() && at->second.ends.contains(job);
    }
    /// Removes the events at that time, which are over.
    void pass(double seconds) { events_.erase(seconds); }

    /// Returns the end of the round that begins now: the time of the first event, of which there must be
    /// one. If that is at most a slot away, and other events follow, the round ends after the slot, and all
    /// its events wait until then.
    double round_until(double now, double slot) {
        if (events_.size() > 1 && std::trunc(first() - now) <= slot) {
            Event merged;
            do {
                merged.submits |= events_.begin()->second.submits;
                merged.decides |= events_.begin()->second.decides;
                merged.ends.merge(events_.begin()->second.ends);
                events_.erase(events_.begin());
            } while (!events_.empty() && first() - now <= slot);
            events_[now + slot] = std::move(merged);
        }
        return first();
    }

private:
    struct Event {
        bool submits = false, decides = false;
        std::set<std::size_t> ends{};
    };

    std::map<double, Event> events_;
};

}  // namespace goodput::peers

#endif
