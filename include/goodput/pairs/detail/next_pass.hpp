#ifndef GOODPUT_PAIRS_DETAIL_NEXT_PASS_HPP
#define GOODPUT_PAIRS_DETAIL_NEXT_PASS_HPP

// Which pairs the next pass of a PairsRound (pairs_round.hpp) has as jobs, and what each of them holds.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/detail/clock.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/pairs/detail/pair_choice.hpp"
#include "goodput/pairs/detail/pair_mix.hpp"
#include "goodput/pairs/detail/paired_parts.hpp"
#include "goodput/pairs/detail/pairs_round.hpp"
#include "goodput/pairs/job_pair.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

inline std::vector<std::size_t> PairsRound::pairs_at_prices() {
    const AllotmentProblem& problem = engine_.problem();
    double bound = 0;
    for (std::size_t row = 0; row < problem.capacity.size(); ++row)
        if (!pairing_->is_place(row)) bound += problem.capacity[row] * prices_[row];
    std::vector<double> alone(jobs().size());
    for (std::size_t j = 0; j < jobs().size(); ++j)
        for (std::size_t k = 0; k < problem.options_of(j); ++k)
            alone[j] = std::max(alone[j], problem.value(j, k) - least_price_of(j, k));
    std::vector<char> kept(jobs().size());
    for (const JobPair& pair : pairing_->pairs)
        if (pairing_->is_kept(pair))
            for (const std::size_t job : pair.jobs) {
                alone[job] = 0;
                kept[job] = 1;
            }
    std::vector<std::size_t> pairs, of_weighed;
    std::vector<WeighedPair> weighed;
    for (std::size_t p = 0; p < pairing_->pairs.size(); ++p) {
        const JobPair& pair = pairing_->pairs[p];
        double worth = 0;
        for (const OnBoth& on : pairing_->on_both[p]) {
            double above = worth_of(on);
            for (std::size_t i = 0; i < 2; ++i) above -= least_price_of(pair.jobs[i], on.alone[i]) / 2;
            worth = std::max(worth, above);
        }
        if (pairing_->is_kept(pair)) {
            bound += worth;
            pairs.push_back(p);
        } else if (!kept[pair.jobs[0]] && !kept[pair.jobs[1]]) {
            weighed.push_back({pair.jobs, worth});
            of_weighed.push_back(p);
        }
    }
    const PairChoice choice =
        choose_pairs(alone, weighed, [&](std::size_t w) { return !refused_[of_weighed[w]]; });
    for (const auto* chosen : {&choice.pairs, &choice.spare})
        for (const std::size_t w : *chosen) pairs.push_back(of_weighed[w]);
    std::ranges::sort(pairs);
    bound_ = std::min(bound_, bound + choice.bound);
    return pairs;
}

inline void PairsRound::find_mix(const Clock& clock) {
    const AllotmentProblem& problem = engine_.problem();
    AllotOptions mixing = options_;
    mixing.most_states = std::min(mixing.most_states, most_mix_states);
    const auto counts = [&](std::size_t row) { return !pairing_->is_place(row); };
    prices_ = engine_.allotted().prices;
    mix_ = {};
    for (std::size_t p = 0; p < pairing_->pairs.size(); ++p)
        if (pairing_->is_kept(pairing_->pairs[p])) {
            mix_.pairs.push_back(p);
            mix_.wanted.push_back(configuration_of(held_by(pairing_->pairs[p]), real_.cluster));
        }
    double most = -std::numeric_limits<double>::infinity();
    for (int n = 0; n < most_mixes; ++n) {
        const std::vector<std::size_t> pairs = pairs_at_prices();
        const PairMixer mixer(problem, jobs().size(), prices_, counts);
        std::vector<MixedPair> mixed;
        std::vector<std::vector<Configuration>> configurations;
        for (const std::size_t p : pairs) pose(p, mixer, mixed, configurations.emplace_back());
        mixing.deadline = clock.left();
        if (n > 0 && mixing.deadline == std::chrono::nanoseconds(0)) break;
        const PairMix mix = mixer.mix(mixed, chooser_, mixing);
        if (mix.prices.empty()) break;
        if (mix.objective > most) {
            most = mix.objective;
            mix_ = {};
            for (std::size_t i = 0; i < pairs.size(); ++i)
                if (mix.offers[i] != no_option) {
                    mix_.pairs.push_back(pairs[i]);
                    mix_.wanted.push_back(configurations[i][mix.offers[i]]);
                }
        }
        if (bound_ - most <= options_.enough(bound_)) break;
        const double step = n == 0 ? 1 : 1.0 / (n + 1);
        for (std::size_t row = 0; row < prices_.size(); ++row)
            prices_[row] += step * (mix.prices[row] - prices_[row]);
    }
}

inline PairsRound::Pass PairsRound::pass_after(int number, const Clock& clock) {
    const Plan& plan = engine_.last_plan();
    Pass pass{.together_only = pairing_->together_only};
    std::vector<Configuration> wanted;  // by pair
    if (pairing_->pairs.empty()) {
        bound_ = plan.bound;
    } else if (pairing_->together_only) {
        bool refused = number == 0;
        for (std::size_t i = 0; i < pairing_->planned.size(); ++i)
            if (!runs(i)) {
                refused_[pairing_->planned[i]] = 1;
                refused = true;
            }
        if (refused) find_mix(clock);
        pass.pairs = mix_.pairs;
        wanted = mix_.wanted;
    } else {
        prices_ = engine_.allotted().prices;
        (void)pairs_at_prices();
        const auto stays_on_drained = [&](const JobPair& pair) {
            return pair.together && on_drained(held_by(pair), real_.cluster);
        };
        if (number == 0 && std::ranges::none_of(pairing_->pairs, stays_on_drained))
            bound_ = std::min(bound_, plan.bound);
        for (std::size_t i = 0; i < pairing_->planned.size(); ++i)
            if (runs(i)) {
                pass.pairs.push_back(pairing_->planned[i]);
                wanted.push_back(plan.decisions[job_of(i)].option.configuration);
            }
    }
    find_holders(plan, wanted, pass);
    return pass;
}

inline void PairsRound::find_holders(const Plan& plan, std::span<const Configuration> wanted,
                                     Pass& pass) const {
    for (const Job& job : jobs()) pass.of_jobs.push_back(job.placement);
    pass.of_pairs.resize(pass.pairs.size());
    const auto is_on = [&](const Configuration& given, const Placement& held) {
        return given.same_gpus(configuration_of(held, real_.cluster));
    };
    const auto is_of = [&](std::size_t i, std::size_t job) {
        return std::ranges::count(pairing_->pairs[pass.pairs[i]].jobs, job) > 0;
    };
    for (std::size_t p = 0; p < pairing_->pairs.size(); ++p) {
        const JobPair& pair = pairing_->pairs[p];
        if (!pair.together) continue;
        for (const std::size_t job : pair.jobs) pass.of_jobs[job].clear();
        const Placement& held = held_by(pair);
        auto [keeper, other] = pair.jobs;
        const Decision &first = plan.decisions[keeper], &second = plan.decisions[other];
        const bool on[] = {is_on(first.option.configuration, held), is_on(second.option.configuration, held)};
        if (on[0] == on[1] ? second.value > first.value : on[1]) std::swap(keeper, other);
        Placement* holder = &pass.of_jobs[keeper];
        for (std::size_t i = 0; i < pass.pairs.size(); ++i)
            if (pass.pairs[i] == p || (pass.of_pairs[i].empty() && (is_of(i, keeper) || is_of(i, other)) &&
                                       !on[0] && !on[1] && is_on(wanted[i], held))) {
                holder = &pass.of_pairs[i];
                break;
            }
        *holder = held;
    }
    for (std::size_t i = 0; i < pass.pairs.size(); ++i) {
        auto [keeper, other] = pairing_->pairs[pass.pairs[i]].jobs;
        if (jobs()[other].restart_cost_seconds > jobs()[keeper].restart_cost_seconds)
            std::swap(keeper, other);
        for (const std::size_t job : {keeper, other})
            if (Placement& held = pass.of_jobs[job];
                pass.of_pairs[i].empty() && !held.empty() && is_on(wanted[i], held))
                pass.of_pairs[i] = std::exchange(held, {});
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
