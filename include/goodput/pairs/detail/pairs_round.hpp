#ifndef GOODPUT_PAIRS_DETAIL_PAIRS_ROUND_HPP
#define GOODPUT_PAIRS_DETAIL_PAIRS_ROUND_HPP

// Rounds in which two jobs may hold the same GPUs at the same time (space sharing; for shares of time see
// share_pairs.hpp). Each pair is an additional job of the round, which takes its GPUs only once. Every job
// in a pair gets an additional row in the allotment problem:
//
//     A job's own options use 1 unit of its row, and a pair's options 1 unit of the rows of both its jobs.
//     Each such row has capacity 1, so every job runs once, alone or in one of its pairs.
//
// A pair is offered what both of its jobs are offered. To the policy, running together is one more option
// of each of the two jobs: the same GPUs with the goodput that the job has while sharing them. The pair's
// option is worth the sum of the two values. One Scheduler then chooses jobs and pairs together, and its
// bound holds for every way to pair them. A pair uses half of what each of its jobs alone would use of a
// limit.
//
// If many jobs are in pairs, these rows would take too long. Then prices choose disjoint pairs, and an
// allotment of these pairs and of single jobs decides which of the pairs run together
// (detail/pair_mix.hpp).
//
// The round is then planned again, in another pass, with only the chosen pairs. Each of them now holds what
// one of its jobs holds, so that it stays on that job's nodes. If a pair that holds GPUs is not chosen, the
// GPUs stay with whichever of its jobs is given the same number of GPUs there.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/pairs/detail/job_of_pair.hpp"
#include "goodput/pairs/detail/pair_choice.hpp"
#include "goodput/pairs/detail/pair_mix.hpp"
#include "goodput/pairs/detail/paired_parts.hpp"
#include "goodput/pairs/job_pair.hpp"
#include "goodput/pairs/pairs_engine.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Plans passes until the chosen pairs stay the same. Keeps its buffers.
class PairsRound {
public:
    const Plan& plan(const Snapshot& snapshot, std::span<const JobPair> pairs, const Joints& joints,
                     const AllotOptions& options, const AfterStep& step, std::span<const std::size_t> alone) {
        joints_ = joints;
        options_ = options;
        policy_ = {joints.policy, pairing_.get()};
        predictor_ = {joints.predictor};
        maker_ = PairedMaker(joints.maker, pairing_.get());
        factor_ = {joints.factor};
        find_pairs(snapshot, pairs);
        leave_alone(alone);
        const Clock clock(options.deadline);
        Pass pass = first_pass(), best = pass;
        double most = 0;
        bound_ = std::numeric_limits<double>::infinity();
        refused_.assign(pairing_->pairs.size(), 0);
        for (int n = 0;; ++n) {
            const Plan& found = plan_pass(pass, step);
            Pass next = pass_after(n, clock);
            step(PlanStep::allot);
            // Among equally good plans, take the last: it knows best which jobs stay where they are.
            if (n == 0 || found.objective >= most - options_.enough(found.objective)) {
                best = pass;
                most = found.objective;
            }
            if (next == pass || n + 1 == most_passes) break;
            pass = std::move(next);
            options_.deadline = clock.left();
        }
        if (!(best == pass)) plan_pass(best, step);
        take_plan();
        return plan_;
    }

    [[nodiscard]] std::vector<DecisionExplanation> explain(const PolicyJoint& policy,
                                                           const NotesOf& notes) const {
        std::vector<DecisionExplanation> all = engine_.explain(
            extended_, PairedPolicy{policy, pairing_.get()}.joint(), [&](const GivenOption& given) {
                return pair_of(given.job) ? std::vector<std::string>() : notes(given);
            });
        for (std::size_t i = 0; i < pairing_->planned.size(); ++i) {
            if (!runs(i)) continue;
            DecisionExplanation of_pair = all[jobs().size() + i];
            // Leave out the row that lets each job run once, because no other job competes for it.
            of_pair.price = price_of(job_of(i), chosen(i), engine_.allotted().prices);
            for (const std::size_t j : pairing_->pair(i).jobs) {
                all[j] = of_pair;
                all[j].job = jobs()[j].name;
                all[j].notes.push_back(plan_.decisions[j].verdict.reason);
            }
        }
        all.resize(jobs().size());
        return all;
    }

    [[nodiscard]] const Plan& last_plan() const { return plan_; }
    [[nodiscard]] const RoundEngine& engine() const { return engine_; }

private:
    static constexpr int most_passes = 10, most_mixes = 16;
    static constexpr std::size_t most_mix_states = 1 << 16;
    /// Up to this many jobs in pairs, the allotment itself chooses which of them run together.
    static constexpr std::ptrdiff_t most_allotted = 24;

    /// One pass: the pairs that are jobs in it, and what jobs and pairs hold before it.
    struct Pass {
        bool together_only = false;         ///< jobs of these pairs run in them or not at all
        std::vector<std::size_t> pairs{};   ///< indices into of_->pairs
        std::vector<Placement> of_pairs{};  ///< what pairs hold, by index in `pairs`
        std::vector<Placement> of_jobs{};   ///< what jobs hold
        friend bool operator==(const Pass&, const Pass&) = default;
    };

    [[nodiscard]] const std::vector<Job>& jobs() const { return real_.jobs; }

    /// Index of the job that represents a pair of this pass, in the snapshot of the pass.
    [[nodiscard]] std::size_t job_of(std::size_t index) const { return jobs().size() + index; }
    [[nodiscard]] bool runs(std::size_t index) const {
        return !engine_.last_plan().decisions[job_of(index)].placement.empty();
    }
    [[nodiscard]] std::size_t chosen(std::size_t index) const { return engine_.chosen()[job_of(index)]; }
    /// Placement of both jobs of a pair that runs together now.
    [[nodiscard]] const Placement& held_by(const JobPair& pair) const {
        return jobs()[pair.jobs[0]].placement;
    }

    /// Finds the pairs that may be given GPUs, and prepares the snapshot to plan.
    void find_pairs(const Snapshot& snapshot, std::span<const JobPair> pairs) {
        real_ = snapshot;
        left_.clear();
        warnings_.clear();
        pairing_->given = &real_;
        pairing_->pairs.clear();
        pairing_->in_pair.clear();
        std::set<std::array<std::size_t, 2>> known;
        std::set<std::size_t> together;
        for (const JobPair& pair : pairs) try {
                validate(pair, snapshot.jobs, snapshot.cluster);
                const auto subject = [&] { return name_of(pair, snapshot.jobs); };
                std::array<std::size_t, 2> both = pair.jobs;
                std::ranges::sort(both);
                if (known.contains(both)) bad_input(subject(), "jobs", "given twice", "given once");
                if (pair.together && (together.contains(both[0]) || together.contains(both[1])))
                    bad_input(subject(), "together", "true of two pairs of a job", "true of one at most");
                known.insert(both);
                if (pair.together) together.insert(both.begin(), both.end());
                pairing_->pairs.push_back(pair);
            } catch (const std::invalid_argument& error) {
                if (snapshot.strict) throw;
                warnings_.push_back(std::string(error.what()) + "; the pair is left out");
            }
        if (pairing_->pairs.empty()) return;
        Snapshot once = snapshot;  // GPUs that two jobs share are held once
        for (const JobPair& pair : pairing_->pairs)
            if (pair.together) once.jobs[pair.jobs[1]].placement.clear();
        std::vector<std::string> repeated;  // dropped: the Scheduler gives these warnings again
        check_(once, joints_.placer.lies_within != nullptr, repeated);
        std::erase_if(pairing_->pairs, [&](const JobPair& pair) { return !may_run(pair); });
        pairing_->in_pair.assign(jobs().size(), 0);
    }
    /// Separates the pairs of these jobs, except pairs that cannot be separated now.
    void leave_alone(std::span<const std::size_t> alone) {
        const auto is_of = [&](const JobPair& pair) {
            return std::ranges::any_of(pair.jobs,
                                       [&](std::size_t job) { return std::ranges::count(alone, job) > 0; });
        };
        std::erase_if(pairing_->pairs, [&](const JobPair& pair) { return !pair.together && is_of(pair); });
        for (JobPair& pair : pairing_->pairs)
            if (is_of(pair) && !pairing_->is_kept(pair))
                std::ranges::fill(pair.parts, std::array<double, 2>{});
        std::ranges::fill(pairing_->in_pair, 0);
        for (const JobPair& pair : pairing_->pairs)
            for (const std::size_t job : pair.jobs) pairing_->in_pair[job] = 1;
    }
    /// Returns whether the round plans a pair. If one job of a pair that runs together is set aside, both
    /// jobs stay as they are, and the pair is left out.
    bool may_run(const JobPair& pair) {
        const auto [first, second] = pair.jobs;
        const bool aside[] = {check_.is_set_aside(first), check_.is_set_aside(second)};
        if (pair.together && (aside[0] || aside[1])) {
            const std::size_t keeper = aside[0] ? first : second, other = aside[0] ? second : first;
            left_.push_back({other, keeper});
            Job& left = real_.jobs[other];
            left.placement.clear();
            left.set_aside = "it has the same GPUs as job '" + jobs()[keeper].name + "', which is set aside";
            return false;
        }
        if (pair.together) return true;
        return !aside[0] && !aside[1] && may_pair(pair, jobs()[first], jobs()[second]);
    }
    /// Returns the job that represents a pair in the round.
    [[nodiscard]] Job as_job(const JobPair& pair, const Placement& held) const {
        return job_of_pair(pair, jobs()[pair.jobs[0]], jobs()[pair.jobs[1]], held);
    }

    /// Returns the first pass: all pairs or, if many jobs are in pairs, only the pairs that run together
    /// now. Pairs that run together hold their present GPUs.
    [[nodiscard]] Pass first_pass() const {
        Pass pass{.together_only = std::ranges::count(pairing_->in_pair, 1) > most_allotted};
        for (const Job& job : jobs()) pass.of_jobs.push_back(job.placement);
        for (std::size_t p = 0; p < pairing_->pairs.size(); ++p) {
            const JobPair& pair = pairing_->pairs[p];
            if (pass.together_only && !pair.together) continue;
            pass.pairs.push_back(p);
            pass.of_pairs.push_back(pair.together ? held_by(pair) : Placement());
            if (pair.together)
                for (const std::size_t job : pair.jobs) pass.of_jobs[job].clear();
        }
        return pass;
    }

    /// Returns the price of an option at these prices, without the rows that let each job run once.
    [[nodiscard]] double price_of(std::size_t job, std::size_t option, std::span<const double> prices) const {
        double price = 0;
        for (const ResourceUse& use : engine_.problem().uses(job, option))
            if (!pairing_->is_place(use.resource)) price += use.units * prices[use.resource];
        return price;
    }
    /// Returns the price of an option at prices_, or 0 for what the job holds, and may keep, on drained
    /// nodes.
    [[nodiscard]] double least_price_of(std::size_t job, std::size_t option) const {
        const Placement& held = jobs()[job].placement;
        return on_drained(held, real_.cluster) && engine_.options_of(job)[option].configuration.same_gpus(
                                                      configuration_of(held, real_.cluster))
                   ? 0
                   : price_of(job, option, prices_);
    }

    /// Chooses disjoint pairs that may be worth running together at prices_. Lowers the bound to the sum of
    ///
    ///     price * capacity over all rows, and
    ///     the largest total of value - price that single jobs and disjoint pairs can have.
    [[nodiscard]] std::vector<std::size_t> pairs_at_prices();

    /// Finds which pairs run together, and on what, in steps that alternate: prices choose the pairs, and
    /// the best mix of these pairs and of single jobs sets the next prices. Keeps the best mix found.
    void find_mix(const Clock& clock);
    template <class Mixer>
    void pose(std::size_t p, const Mixer& mixer, std::vector<MixedPair>& mixed,
              std::vector<Configuration>& configurations) const {
        const JobPair& pair = pairing_->pairs[p];
        MixedPair& posed = mixed.emplace_back(MixedPair{.jobs = pair.jobs});
        if (pairing_->is_kept(pair)) {
            posed.must = true;
            const auto at = std::ranges::find(pairing_->planned, p);
            const std::size_t job = job_of(static_cast<std::size_t>(at - pairing_->planned.begin()));
            posed.offers.push_back({engine_.problem().value(job, 0), mixer.uses(job, 0)});
            configurations.push_back(configuration_of(held_by(pair), real_.cluster));
            return;
        }
        for (const OnBoth& on : pairing_->on_both[p]) {
            if (!(worth_of(on) > 0)) continue;
            posed.offers.push_back({worth_of(on), mixer.both_uses(pair.jobs, on.alone, 0.5)});
            configurations.push_back(on.configuration);
        }
    }

    /// Returns the pairs to plan with next, and what jobs and pairs hold then. The pairs are those to which
    /// the last pass gave GPUs or, if only chosen pairs were planned (together_only), those of the best
    /// mix.
    [[nodiscard]] Pass pass_after(int number, const Clock& clock);

    /// Decides who holds, before the next pass, the GPUs that two jobs share now. If the pair is planned
    /// again, it keeps them. If its jobs separate, the job to which the plan gives the same GPUs keeps them
    /// or, if the plan gives them to both or to neither, the job of larger value. If to neither, another
    /// pair of one of the jobs comes first if it should get the same GPUs. Pairs that hold nothing then
    /// take over what one of their jobs holds if they should get the same GPUs.
    void find_holders(const Plan& plan, std::span<const Configuration> wanted, Pass& pass) const;

    const Plan& plan_pass(const Pass& pass, const AfterStep& step) {
        pairing_->planned = pass.pairs;
        pairing_->together_only = pass.together_only;
        pairing_->partners.clear();
        extended_ = real_;
        std::set<std::string> names;
        for (std::size_t j = 0; j < jobs().size(); ++j) {
            extended_.jobs[j].placement = pass.of_jobs[j];
            if (!pass.pairs.empty()) names.insert(jobs()[j].name);
        }
        for (std::size_t i = 0; i < pass.pairs.size(); ++i) {
            const JobPair& pair = pairing_->pair(i);
            Job both = as_job(pair, pass.of_pairs[i]);
            while (!names.insert(both.name).second) both.name += "'";
            both.user = PairedJob{i};
            auto& partners =
                pairing_->partners.emplace_back(std::array{jobs()[pair.jobs[0]], jobs()[pair.jobs[1]]});
            for (Job& partner : partners) partner.placement = pass.of_pairs[i];
            extended_.jobs.push_back(std::move(both));
        }
        if (!extended_.models.empty()) extended_.models.resize(extended_.jobs.size());
        limits_ = Limits(PairedLimits(joints_.limits, pairing_.get()));
        return engine_.plan(extended_,
                            {policy_.joint(), predictor_.joint(), maker_.joint(), limits_joint(limits_),
                             factor_.joint(), joints_.placer, joints_.solver, joints_.station},
                            options_, step);
    }

    /// Turns the last pass into a plan for the snapshot's jobs.
    void take_plan();

    /// Replaces each pair of the pass by its two jobs, and names every job once.
    void name_jobs_of_pairs(std::vector<std::size_t>& named) const;

    /// Gives a job whose partner is set aside the same decision as its partner.
    void leave_as_it_is();

    /// Gives a pair's jobs what the pair was given.
    void give(std::size_t index);
    static std::string rounded(double part) { return rounded_text_of(std::round(part * 1000) / 1000); }

    std::unique_ptr<PairRound> pairing_ = std::make_unique<PairRound>();  // the wrapped parts point to it
    Joints joints_;                                                       // joints of the caller's parts
    AllotOptions options_;                                                // options of the next pass
    PairedPolicy policy_;
    PairedPredictor predictor_;
    PairedMaker maker_;
    PairedFactor factor_;
    Limits<PairedLimits> limits_;
    RoundEngine engine_;
    SnapshotCheck check_;
    Snapshot real_;      // the jobs of the snapshot as they are
    Snapshot extended_;  // the snapshot of a pass, with its pairs as jobs
    // By left-out pair that shares GPUs: a job, and its partner, which is set aside.
    std::vector<std::pair<std::size_t, std::size_t>> left_;
    std::vector<std::string> warnings_;
    Allotter<> chooser_;
    std::vector<double> prices_;  // by row: the prices at which pairs are chosen
    struct {
        std::vector<std::size_t> pairs{};
        std::vector<Configuration> wanted{};
    } mix_;                      // pairs that should run together, and on what
    std::vector<char> refused_;  // by pair: it got nothing in this round
    double bound_ = 0;
    Plan plan_;
};

}  // namespace goodput::inline v0_1::detail

namespace goodput::inline v0_1 {

GOODPUT_BODY PairsEngine::PairsEngine() : round_(std::make_unique<detail::PairsRound>()) {}
GOODPUT_BODY PairsEngine::PairsEngine(PairsEngine&&) noexcept = default;
GOODPUT_BODY PairsEngine& PairsEngine::operator=(PairsEngine&&) noexcept = default;
GOODPUT_BODY PairsEngine::~PairsEngine() = default;

GOODPUT_BODY const Plan& PairsEngine::plan(const Snapshot& snapshot, std::span<const JobPair> pairs,
                                           const Joints& joints, const AllotOptions& options,
                                           const AfterStep& step, std::span<const std::size_t> alone) {
    return round_->plan(snapshot, pairs, joints, options, step, alone);
}
GOODPUT_BODY std::vector<DecisionExplanation> PairsEngine::explain(const PolicyJoint& policy,
                                                                   const NotesOf& notes) const {
    return round_->explain(policy, notes);
}
GOODPUT_BODY const Plan& PairsEngine::last_plan() const { return round_->last_plan(); }

}  // namespace goodput::inline v0_1

#include "goodput/pairs/detail/next_pass.hpp"
#include "goodput/pairs/detail/plan_of_pairs.hpp"

#endif
