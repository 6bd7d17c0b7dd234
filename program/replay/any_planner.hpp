#ifndef GOODPUT_PROGRAM_REPLAY_ANY_PLANNER_HPP
#define GOODPUT_PROGRAM_REPLAY_ANY_PLANNER_HPP

#include <functional>
#include <memory>
#include <utility>

#include "goodput/schedule/snapshot.hpp"

namespace cli {

/// Hides any planner behind one type, so that only one replay per world is compiled.
struct AnyPlanner {
    std::function<const goodput::Plan&(const goodput::Snapshot&)> planner{};
    const goodput::Plan& plan(const goodput::Snapshot& snapshot) { return planner(snapshot); }
};
template <class Planner>
AnyPlanner any_planner(Planner planner) {
    return {[kept = std::make_shared<Planner>(std::move(planner))](
                const goodput::Snapshot& snapshot) -> const goodput::Plan& { return kept->plan(snapshot); }};
}

}  // namespace cli

#endif
