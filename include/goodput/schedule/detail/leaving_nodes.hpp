#ifndef GOODPUT_SCHEDULE_DETAIL_LEAVING_NODES_HPP
#define GOODPUT_SCHEDULE_DETAIL_LEAVING_NODES_HPP

// Options on nodes that are announced to leave (Node::leaves_seconds) before the job has ended. The job will
// have to restart there after `stay` seconds, so of these and the restart it works only for `stay` seconds: a
// value falls to the part stay / (stay + restart cost). What a job holds keeps its value.

#include <cstddef>
#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/plan.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

/// Lowers values in a round's problem. Keeps its buffers.
class LeavingNodes {
public:
    /// Lowers the values of options that need more nodes of a pool than stay there as long as the job.
    void lower_values(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers, Rows& rows);

    /// For running jobs that these decisions restart on nodes that leave: whether any change would cost more
    /// work than it brings. The value of such an option becomes at most that of what the job holds.
    bool take_back_vain_changes(const Snapshot& snapshot, const Offers& offers, Rows& rows,
                                std::span<const std::size_t> chosen, std::span<const Decision> decisions);

private:
    bool any_leaves_ = false;                   // in this round
    std::vector<std::vector<double>> leaving_;  // by pool: when its open nodes leave, the last ones first
};

}  // namespace goodput::detail

#ifndef GOODPUT_COMPILED
#include "goodput/schedule/detail/leaving_nodes_bodies.hpp"
#endif

#endif
