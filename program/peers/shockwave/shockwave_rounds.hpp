#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_ROUNDS_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_ROUNDS_HPP

// Shockwave's market (shockwave_market.hpp) as a planner of its world.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/world_parts.hpp"
#include "peers/gavel/kept_nodes.hpp"
#include "peers/shockwave/shockwave_market.hpp"
#include "peers/shockwave/shockwave_world.hpp"

namespace goodput::peers {

/// Plans each round of this world.
class ShockwaveRounds {
public:
    /// The caller keeps `world` alive.
    ShockwaveRounds(const ShockwaveWorld& world, const ShockwaveMarketRules& rules)
        : world_(&world), market_(rules), here_(world.jobs().size()) {}

    /// Returns the jobs that run in the next round.
    const Plan& plan(const Snapshot& snapshot) {
        std::vector<std::size_t> jobs;
        std::vector<bool> still(here_.size());
        for (const Job& job : snapshot.jobs) {
            jobs.push_back(world_->index_of(job.name));
            still[jobs.back()] = true;
        }
        if (started_) ++round_;
        started_ = true;
        for (const Job& known : snapshot.jobs) {
            if (known.placement.empty()) continue;
            const std::size_t job = world_->index_of(known.name);
            const RoundRun& run = world_->last_run(job);
            if (run.empty) continue;
            market_.ran(job, round_,
                        {.steps_per_second = run.steps / run.ran_seconds,
                         .batch = run.batch,
                         .epochs_done = static_cast<int>(world_->training(job).epochs_done())});
        }
        for (std::size_t job = 0; job < here_.size(); ++job)
            if (here_[job] && !still[job]) market_.leave(job);
        for (const std::size_t job : jobs)
            if (!here_[job]) join(job, snapshot.time_seconds);
        here_ = still;
        int gpus = 0;
        for (const Node& node : snapshot.cluster.nodes) gpus += node.gpus;

        plan_ = {};
        plan_.decisions.resize(jobs.size());
        std::vector<bool> runs(here_.size());
        for (const std::size_t job : market_.choose(round_, gpus)) runs[job] = true;
        wanted_.assign(jobs.size(), {});
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (runs[jobs[j]]) wanted_[j] = {world_->gpus(jobs[j]), 0};
        place_on_kept_nodes(snapshot, wanted_, plan_);
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (runs[jobs[j]])
                plan_.decisions[j].option.goodput = world_->rate(jobs[j], 0);
            else
                plan_.decisions[j].verdict = {Outcome::waits, "the market gives this round to others"};
        return plan_;
    }

    /// The market that it plans with.
    [[nodiscard]] const ShockwaveMarket& market() const { return market_; }
    /// Number of finished rounds when it last planned.
    [[nodiscard]] int round() const { return round_; }

private:
    void join(std::size_t job, double now) {
        const ShockwaveProfile& profile = world_->profile(job);
        market_.join(job, {.gpus = world_->gpus(job),
                           .joined_seconds = now,
                           .batches = profile.batches,
                           .epoch_seconds = profile.seconds,
                           .examples = profile.epoch_examples});
    }

    const ShockwaveWorld* world_;
    ShockwaveMarket market_;
    std::vector<bool> here_;  // by job of the world
    bool started_ = false;
    int round_ = 0;  // number of finished rounds
    std::vector<WantedGpus> wanted_;
    Plan plan_;
};

}  // namespace goodput::peers

#endif
