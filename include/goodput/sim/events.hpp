#ifndef GOODPUT_SIM_EVENTS_HPP
#define GOODPUT_SIM_EVENTS_HPP

// What may happen to a cluster while a trace is replayed: nodes fail, are drained, come back or are new (of a
// GPU type that had none before, too), jobs fail.
//
// Total order of what happens at one time: training up to it and completions; job failures; node failures,
// drains, returns, additions; submissions; the decision. Equal kinds go by name, numbers in names as numbers
// (job-9 before job-10). So neither the order of the events nor that of simultaneous submissions matters.
//
// Failures strike at their second; everything else takes effect with the next decision, as schedulers learn
// of it then: until then the jobs on a drained node go on, and a node that came back stays idle.

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

namespace goodput {

/// What may happen.
enum class EventKind {
    job_fails,     ///< the job starts again on the GPUs that it holds, from its last checkpoint
    node_fails,    ///< the jobs on it lose all their GPUs and start again from their last checkpoint
    node_drains,   ///< the jobs on it save a checkpoint and leave it at the next decision
    node_returns,  ///< a node that failed or was drained may be used again
    node_added     ///< a node that was not there before may be used
};

/// Something that happens at a given time. One that finds its state already there (the failure of a job that
/// holds nothing, the return of a node that is there) changes nothing.
struct Event {
    double time_seconds = 0;                ///< when it happens, at least 0
    EventKind kind = EventKind::job_fails;  ///< what happens
    std::string subject{};                  ///< name of the job or node
    std::size_t gpu_type = 0;               ///< of a node_added: index into Cluster::gpu_types, and its GPUs
    int gpus = 0;                           ///< of a node_added, at least 1
};

/// Whether name `a` comes before `b`, where runs of digits compare as numbers.
[[nodiscard]] bool name_before(std::string_view a, std::string_view b);

namespace detail {

inline constexpr std::size_t no_node = static_cast<std::size_t>(-1);

/// An event with its subject looked up: index into the jobs, or into all nodes that ever are.
struct Happening {
    double time_seconds = 0;
    EventKind kind = EventKind::job_fails;
    std::size_t index = 0;
};

/// The nodes over time. Refuses events that make no sense (std::invalid_argument naming the subject).
class Timeline {
public:
    /// `more`: nodes that settle() may let come and go.
    Timeline(const Cluster& start, std::span<const Event> events, std::span<const Job> jobs,
             std::span<const Node> more = {});

    /// The nodes that may be used since the last settle().
    [[nodiscard]] const Cluster& cluster() const { return cluster_; }
    /// GPUs that are there now: those of cluster() but the nodes that failed since.
    [[nodiscard]] int gpus() const { return gpus_; }

    /// What happens up to `now` and did not before, in its order.
    [[nodiscard]] std::span<const Happening> until(double now) {
        const std::size_t first = next_;
        while (next_ < happenings_.size() && happenings_[next_].time_seconds <= now) ++next_;
        return std::span<const Happening>(happenings_).subspan(first, next_ - first);
    }
    /// When the next thing happens; infinity if nothing does any more.
    [[nodiscard]] double next_seconds() const {
        return next_ < happenings_.size() ? happenings_[next_].time_seconds
                                          : std::numeric_limits<double>::infinity();
    }
    /// Whether it strikes a job with that placement on cluster() at its second.
    [[nodiscard]] bool strikes(const Happening& happening, std::size_t job,
                               const Placement& placement) const {
        if (happening.kind == EventKind::job_fails) return happening.index == job && !placement.empty();
        return happening.kind == EventKind::node_fails &&
               std::any_of(placement.begin(), placement.end(),
                           [&](const NodeShare& share) { return index_of_[share.node] == happening.index; });
    }
    /// Notes what happened to its node; returns whether GPUs are gone with it at once.
    bool note(const Happening& happening) {
        if (happening.kind == EventKind::job_fails) return false;
        const std::size_t node = happening.index;
        wanted_[node] = happening.kind == EventKind::node_returns || happening.kind == EventKind::node_added;
        if (happening.kind != EventKind::node_fails || !there_[node]) return false;
        there_[node] = 0;
        gpus_ -= nodes_[node].gpus;
        return true;
    }
    /// Lets cluster() follow, with those nodes for which `may_be_there(node)`, an index into all that ever
    /// are: those at the start, `more`, those added. Returns for each node before its index now, or no_node;
    /// empty: nothing changed.
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
    /// No failure or drain stands in the way of using it.
    [[nodiscard]] bool healthy(std::size_t node) const { return wanted_[node] != 0; }
    /// Index into all nodes that ever are, of a node of cluster().
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

    std::vector<Node> nodes_;           // all that ever are
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
    // The digits from `at` on without leading zeros: of two, the longer one is the larger number.
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
    // Additions in their order, so that the nodes' order does not hang on that of the events.
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

}  // namespace goodput

#endif
