#ifndef GOODPUT_SIM_EVENTS_HPP
#define GOODPUT_SIM_EVENTS_HPP

// Events that may happen to a cluster during a replay: nodes fail, are drained, return or are added (even
// of a GPU type without nodes so far), and jobs fail.
//
// The order of things that happen at one time is: training up to it and completions; job failures; node
// failures, drains, returns, additions; submissions; the decision. Things of one kind are ordered by name,
// with numbers in names compared as numbers (job-9 before job-10). So neither the order of the events nor
// that of simultaneous submissions matters.
//
// Failures strike at their second. Everything else takes effect with the next decision, when schedulers
// learn of it. Until then, the jobs on a drained node continue, and a node that returned stays idle.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::inline v0_1 {

/// The kinds of events.
enum class EventKind {
    job_fails,     ///< the job starts again on the GPUs that it holds, from its last checkpoint
    node_fails,    ///< the jobs on it lose all their GPUs and start again from their last checkpoint
    node_drains,   ///< the jobs on it save a checkpoint and leave it at the next decision
    node_returns,  ///< a node that failed or was drained may be used again
    node_added     ///< a node that was not there before may be used
};

/// An event at a given time. It changes nothing if the state that it leads to is already there: for
/// example, a job fails that holds nothing, or a node returns that is there.
struct Event {
    double time_seconds = 0;                ///< when it happens, at least 0
    EventKind kind = EventKind::job_fails;  ///< what happens
    std::string subject{};                  ///< name of the job or node
    std::size_t gpu_type = 0;               ///< GPU type of a node_added: index into Cluster::gpu_types
    int gpus = 0;                           ///< GPUs of a node_added, at least 1
};

/// Returns whether name `a` comes before `b`, with runs of digits compared as numbers.
[[nodiscard]] bool name_before(std::string_view a, std::string_view b);

namespace detail {

inline constexpr std::size_t no_node = static_cast<std::size_t>(-1);

/// An event with its subject looked up: an index into the jobs, or into all nodes of the replay.
struct Happening {
    double time_seconds = 0;
    EventKind kind = EventKind::job_fails;
    std::size_t index = 0;
};

/// The nodes over time. Throws std::invalid_argument, naming the subject, for events that make no sense.
class Timeline {
public:
    /// `more` are nodes that settle() may add and remove.
    Timeline(const Cluster& start, std::span<const Event> events, std::span<const Job> jobs,
             std::span<const Node> more = {});

    /// Returns the nodes that are usable since the last settle().
    [[nodiscard]] const Cluster& cluster() const { return cluster_; }
    /// Returns the GPUs that exist now: those of cluster() except on nodes that failed since.
    [[nodiscard]] int gpus() const { return gpus_; }

    /// Returns, in order, what happens up to `now` and was not returned by an earlier call.
    [[nodiscard]] std::span<const Happening> until(double now) {
        const std::size_t first = next_;
        while (next_ < happenings_.size() && happenings_[next_].time_seconds <= now) ++next_;
        return std::span<const Happening>(happenings_).subspan(first, next_ - first);
    }
    /// Returns the time of the next event, or infinity if there is none.
    [[nodiscard]] double next_seconds() const {
        return next_ < happenings_.size() ? happenings_[next_].time_seconds
                                          : std::numeric_limits<double>::infinity();
    }
    /// Returns whether the event strikes, at its second, a job with this placement on cluster().
    [[nodiscard]] bool strikes(const Happening& happening, std::size_t job,
                               const Placement& placement) const {
        if (happening.kind == EventKind::job_fails) return happening.index == job && !placement.empty();
        return happening.kind == EventKind::node_fails &&
               std::any_of(placement.begin(), placement.end(),
                           [&](const NodeShare& share) { return index_of_[share.node] == happening.index; });
    }
    /// Records the effect of an event on its node. Returns whether GPUs disappear with it at once.
    bool note(const Happening& happening) {
        if (happening.kind == EventKind::job_fails) return false;
        const std::size_t node = happening.index;
        wanted_[node] = happening.kind == EventKind::node_returns || happening.kind == EventKind::node_added;
        if (happening.kind != EventKind::node_fails || !there_[node]) return false;
        there_[node] = 0;
        gpus_ -= nodes_[node].gpus;
        return true;
    }
    /// Updates cluster() to the nodes for which `may_be_there(node)` holds, where `node` is an index into
    /// all nodes of the replay: those at the start, `more`, and those added. Returns the present index, or
    /// no_node, of each earlier node. Returns an empty list if nothing changed.
    template <class MayBeThere>
    std::vector<std::size_t> settle(MayBeThere may_be_there) {
        const std::vector<std::size_t> before = index_of_;
        for (std::size_t node = 0; node < nodes_.size(); ++node)
            there_[node] = wanted_[node] != 0 && may_be_there(node);
        rebuild();
        if (before == index_of_) return {};
        std::vector<std::size_t> now_at(nodes_.size(), no_node), moved;
        for (std::size_t i = 0; i < index_of_.size(); ++i) now_at[index_of_[i]] = i;
        for (const std::size_t node : before) moved.push_back(now_at[node]);
        return moved;
    }
    /// Returns whether no failure or drain prevents the use of a node.
    [[nodiscard]] bool healthy(std::size_t node) const { return wanted_[node] != 0; }
    /// Returns the index into all nodes of the replay for a node of cluster().
    [[nodiscard]] std::size_t index_of(std::size_t node) const { return index_of_[node]; }

private:
    void rebuild() {
        cluster_.nodes.clear();
        index_of_.clear();
        gpus_ = 0;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (!there_[node]) continue;
            cluster_.nodes.push_back(nodes_[node]);
            index_of_.push_back(node);
            gpus_ += nodes_[node].gpus;
        }
    }

    std::vector<Node> nodes_;           // all nodes of the replay
    std::vector<char> wanted_, there_;  // by node: after the next decision, and now
    std::vector<Happening> happenings_;
    std::size_t next_ = 0;
    Cluster cluster_;
    std::vector<std::size_t> index_of_;  // by node of cluster_: index into nodes_
    int gpus_ = 0;
};

}  // namespace detail

// ---------------------------------------------------------------------------------------------------------

inline bool name_before(std::string_view a, std::string_view b) {
    const auto digit = [](char letter) { return letter >= '0' && letter <= '9'; };
    // Find the digits from `at` on without leading zeros. The longer of two is the larger number.
    const auto take_number = [&](std::string_view text, std::size_t& at) {
        while (at < text.size() && text[at] == '0') ++at;
        const std::size_t begin = at;
        while (at < text.size() && digit(text[at])) ++at;
        return text.substr(begin, at - begin);
    };
    const auto by_length = [](std::string_view x, std::string_view y) {
        return x.size() != y.size() ? x.size() < y.size() : x < y;
    };
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (digit(a[i]) && digit(b[j])) {
            const std::string_view x = take_number(a, i), y = take_number(b, j);
            if (x != y) return by_length(x, y);
        } else {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i, ++j;
        }
    }
    const std::size_t rest_a = a.size() - i, rest_b = b.size() - j;
    return rest_a != rest_b ? rest_a < rest_b : a < b;
}

namespace detail {

inline Timeline::Timeline(const Cluster& start, std::span<const Event> events, std::span<const Job> jobs,
                          std::span<const Node> more) {
    for (const Event& event : events)
        require_at_least("event of '" + event.subject + "'", "time", event.time_seconds, 0);
    std::vector<Event> sorted(events.begin(), events.end());
    std::ranges::stable_sort(sorted, [](const Event& a, const Event& b) {
        if (a.time_seconds != b.time_seconds) return a.time_seconds < b.time_seconds;
        return a.kind != b.kind ? a.kind < b.kind : name_before(a.subject, b.subject);
    });
    Cluster everything{start.gpu_types, start.nodes};
    everything.nodes.insert(everything.nodes.end(), more.begin(), more.end());
    // Add nodes in a fixed order, so that the order of nodes does not depend on the order of the events.
    for (const Event& event : sorted)
        if (event.kind == EventKind::node_added)
            everything.nodes.push_back({event.subject, event.gpu_type, event.gpus});
    if (!sorted.empty() || !more.empty()) validate(everything);
    nodes_ = std::move(everything.nodes);
    there_.assign(nodes_.size(), 0);
    std::fill_n(there_.begin(), start.nodes.size(), char{1});
    wanted_ = there_;
    std::fill_n(wanted_.begin(), start.nodes.size() + more.size(), char{1});

    std::map<std::string_view, std::size_t> node_names, job_names;
    for (std::size_t i = 0; i < nodes_.size() && !sorted.empty(); ++i) node_names.emplace(nodes_[i].name, i);
    for (std::size_t i = 0; i < jobs.size() && !sorted.empty(); ++i) job_names.emplace(jobs[i].name, i);
    std::vector<char> known = wanted_;
    for (const Event& event : sorted) {
        const bool of_job = event.kind == EventKind::job_fails;
        const auto& names = of_job ? job_names : node_names;
        const auto found = names.find(event.subject);
        if (found == names.end())
            bad_input("event", "subject", "'" + event.subject + "'",
                      of_job ? "the name of a job" : "the name of a node");
        const std::size_t index = found->second;
        if (event.kind == EventKind::node_added) known[index] = 1;
        if (!of_job && !known[index])
            bad_input("event of '" + event.subject + "'", "time", event.time_seconds,
                      "after the node's addition");
        happenings_.push_back({event.time_seconds, event.kind, index});
    }
    cluster_.gpu_types = start.gpu_types;
    rebuild();
}

}  // namespace detail

}  // namespace goodput::inline v0_1

#endif
