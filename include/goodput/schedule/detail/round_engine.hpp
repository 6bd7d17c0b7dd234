#ifndef GOODPUT_SCHEDULE_DETAIL_ROUND_ENGINE_HPP
#define GOODPUT_SCHEDULE_DETAIL_ROUND_ENGINE_HPP

// Implements round_engine.hpp, and the functions that joints.hpp only declares.

#include <cstddef>
#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/detail/asked_options.hpp"
#include "goodput/schedule/detail/domain_blocks.hpp"
#include "goodput/schedule/detail/plan_explainer.hpp"
#include "goodput/schedule/detail/price_groups.hpp"
#include "goodput/schedule/detail/round.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

inline std::vector<DecisionExplanation> explain_round(const RoundEngine& round, const Snapshot& snapshot,
                                                      const PolicyJoint& policy, const NotesOf& notes);

GOODPUT_BODY void allot_asked(HiddenState<AskedOptions>& kept, const AskedRound& asked,
                              const AllotOptions& options, bool again, AllotResult& result) {
    result = kept.get().allot(asked, options, again);
}

GOODPUT_BODY bool find_price_groups(HiddenState<PriceGroups>& kept, const Snapshot& snapshot) {
    return kept.get().find(snapshot);
}

GOODPUT_BODY void find_domain_blocks(DomainBlocks& blocks, const Topology& topology, const Snapshot& snapshot,
                                     const OpenNodes& open, const Offers& offers) {
    blocks.find(topology, snapshot, open, offers);
}

}  // namespace goodput::inline v0_1::detail

namespace goodput::inline v0_1 {

GOODPUT_BODY Plan& RoundEngine::plan(const Snapshot& given, const Joints& joints, const AllotOptions& options,
                                     const AfterStep& step) {
    // Made here and not in the constructor: a copy of the engine then has a copy of this state, and knows
    // the last plan.
    if (!kept_) kept_.set(detail::RoundState());
    return kept_.get().plan(given, joints, options, step);
}

GOODPUT_BODY const detail::RoundState& RoundEngine::state() const {
    static const detail::RoundState none;
    return kept_ ? *kept_ : none;
}

GOODPUT_BODY std::vector<DecisionExplanation> RoundEngine::explain(const Snapshot& snapshot,
                                                                   const PolicyJoint& policy,
                                                                   const NotesOf& notes) const {
    return detail::explain_round(*this, snapshot, policy, notes);
}

GOODPUT_BODY const Plan& RoundEngine::last_plan() const { return state().last_plan(); }
GOODPUT_BODY std::span<const Pool> RoundEngine::pools() const { return state().pools(); }
GOODPUT_BODY const AllotmentProblem& RoundEngine::problem() const { return state().problem(); }
GOODPUT_BODY const AllotResult& RoundEngine::allotted() const { return state().allotted(); }
GOODPUT_BODY Round RoundEngine::round_of(const Snapshot& snapshot) const {
    return state().round_of(snapshot);
}
GOODPUT_BODY std::span<const Option> RoundEngine::options_of(std::size_t job) const {
    return state().options_of(job);
}
GOODPUT_BODY std::span<const std::size_t> RoundEngine::chosen() const { return state().chosen(); }
GOODPUT_BODY bool RoundEngine::has_failed(std::size_t job) const { return state().has_failed(job); }
GOODPUT_BODY bool RoundEngine::is_set_aside(std::size_t job) const { return state().is_set_aside(job); }
GOODPUT_BODY LimitRow RoundEngine::row_of(const Snapshot& snapshot, std::size_t row) const {
    return state().row_of(snapshot, row);
}

}  // namespace goodput::inline v0_1

#endif
