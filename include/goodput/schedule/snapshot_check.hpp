#ifndef GOODPUT_SCHEDULE_SNAPSHOT_CHECK_HPP
#define GOODPUT_SCHEDULE_SNAPSHOT_CHECK_HPP

// The border of a plan: what is wrong with a snapshot is named here, before anything is decided.
//
// One job or node that makes no sense is no reason to plan nothing for the others. Unless the snapshot is
// strict, the round is made of a copy in which such a node takes nobody new, and in which such a job is one
// that is not preemptible, needs no batch and no model, and holds what it holds, as far as that is there.
// Where jobs hold more of a node than there is, nobody new comes to that node: who of them is wrong cannot be
// known, and what one of them gives back may not be free.

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Finds what is wrong with snapshots. Keeps its buffers.
class SnapshotCheck {
public:
    /// The snapshot, or the copy of it to plan instead; valid until the next call. `warnings` become those of
    /// the snapshot, one sentence for each job or node that is set aside, and what probably is a slip.
    /// Refuses (std::invalid_argument naming job or node, field and value) what is no matter of single jobs
    /// or nodes, and in strict snapshots these as well. `topology`: the placer knows one.
    const Snapshot& operator()(const Snapshot& snapshot, bool topology, std::vector<std::string>& warnings);

    /// The job of that index is set aside in the last snapshot.
    [[nodiscard]] bool is_set_aside(std::size_t job) const {
        return std::any_of(set_aside_.begin(), set_aside_.end(),
                           [&](const SetAside& each) { return each.job == job; });
    }

    /// Makes the decisions of jobs that are set aside what they hold, all of it that is on nodes that are
    /// there.
    void give_what_is_held(const Snapshot& given, Plan& plan) const;

private:
    struct SetAside {
        std::size_t job = 0;
        std::string why{};
        Placement held{};  ///< on nodes that are there, as given
    };

    static bool is_planned(const Job& job) { return job.set_aside.empty(); }

    static void check_whole(const Snapshot& snapshot);

    void check_each(const Snapshot& snapshot, bool topology);

    /// Counts what it holds, unless it is refused.
    void check_job(const Job& job, const Cluster& cluster, bool topology);

    /// What `check` refuses, in words; empty where it refuses nothing.
    template <class Check>
    static std::string refusal(Check check) {
        try {
            check();
            return {};
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    }

    /// Refuses no name, and one that another has.
    static void require_own_name(const char* kind, const std::string& name, std::set<std::string>& names);

    void set_nodes_aside(const Cluster& cluster, std::vector<std::string>& warnings);

    void set_jobs_aside(const Snapshot& snapshot, bool topology, std::vector<std::string>& warnings);

    /// Numbers that are possible and yet hardly meant, of jobs that are not set aside.
    void warn_of_slips(const Snapshot& snapshot, std::vector<std::string>& warnings) const;

    [[nodiscard]] Placement on_nodes_that_are_there(Placement placement) const;

    /// A job that keeps of these shares what is left of their nodes.
    [[nodiscard]] Job stand_in_for(const Job& job, const Placement& shares);

    std::vector<const std::string*> names_;
    std::vector<int> held_;          // GPUs, by node
    std::vector<char> makes_sense_;  // by node
    Snapshot copy_;                  // where anything is set aside
    std::vector<SetAside> set_aside_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/snapshot_check.hpp"
#endif

#endif
