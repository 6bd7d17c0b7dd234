#include "worlds/paired_rounds.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "goodput/availability/lost_time.hpp"
#include "goodput/pairs/paired_scheduler.hpp"
#include "goodput/policies/balanced_slowdown.hpp"
#include "goodput/schedule/concepts.hpp"

namespace cli {

namespace {

using goodput::GavelWorld;

/// Makes the pairs of each round, and remembers which jobs share GPUs.
template <class Scheduler>
class PairedRounds {
public:
    PairedRounds(const GavelWorld& world, Scheduler scheduler)
        : world_(&world), scheduler_(std::move(scheduler)), partner_(world.jobs().size()) {}

    const goodput::Plan& plan(const goodput::Snapshot& snapshot) {
        std::vector<std::size_t> jobs;  // by index in the world
        for (const goodput::Job& job : snapshot.jobs) jobs.push_back(world_->index_of(job.name));
        pairs_.clear();
        for (std::size_t second = 0; second < jobs.size(); ++second)
            for (std::size_t first = 0; first < second; ++first)
                add_pair(snapshot, {first, second}, {jobs[first], jobs[second]});
        const goodput::Plan& plan = scheduler_.plan(snapshot, pairs_);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            partner_[jobs[j]].reset();
            if (const auto with = plan.decisions[j].shares_with) partner_[jobs[j]] = jobs[*with];
        }
        return plan;
    }

private:
    void add_pair(const goodput::Snapshot& snapshot, std::array<std::size_t, 2> indices,
                  std::array<std::size_t, 2> jobs) {
        if (world_->gpus(jobs[0]) != world_->gpus(jobs[1])) return;
        goodput::JobPair pair{.jobs = indices};
        bool gains = false;
        for (std::size_t t = 0; t < snapshot.cluster.gpu_types.size(); ++t) {
            std::array<double, 2>& parts = pair.parts.emplace_back();
            for (std::size_t i = 0; i < 2; ++i)
                if (const double alone = world_->rate(jobs[i], t); alone > 0)
                    parts[i] = world_->pair_rate(jobs[i], jobs[1 - i], t) / alone;
            gains = gains || parts[0] + parts[1] > 1;
        }
        const goodput::Placement& held = snapshot.jobs[indices[0]].placement;
        pair.together =
            partner_[jobs[0]] == jobs[1] && !held.empty() && held == snapshot.jobs[indices[1]].placement;
        if (gains || pair.together) pairs_.push_back(std::move(pair));
    }

    const GavelWorld* world_;
    Scheduler scheduler_;
    std::vector<std::optional<std::size_t>> partner_;  // by job of the world: its partner after the last plan
    std::vector<goodput::JobPair> pairs_;
};

}  // namespace

AnyPlanner goodput_of_pairs(const GavelWorld& world) {
    using Predictor = decltype(world.predictor());
    using Factor = goodput::Factors<goodput::LostTime>;
    using Scheduler =
        goodput::PairedScheduler<goodput::BalancedSlowdown, goodput::LeastMovesPlacer, goodput::Allotter<>,
                                 Predictor, goodput::Limits<>, goodput::ListedShapes, Factor>;
    return any_planner(PairedRounds<Scheduler>(
        world, Scheduler(typename Scheduler::Parts{.predictor = world.predictor(),
                                                   .factor = Factor(goodput::LostTime())})));
}

}  // namespace cli
