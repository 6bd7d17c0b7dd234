#ifndef GOODPUT_ALLOT_DETAIL_PRICES_HPP
#define GOODPUT_ALLOT_DETAIL_PRICES_HPP

// The prices. For prices pi >= 0 let every job take the option of largest value - pi . use. Then
//
//     D(pi) = sum_r pi_r C_r + sum_j max_k (v_jk - pi . a_jk)
//
// (k: getting nothing included, where allowed) is at least the value of any allotment, convex and piecewise
// linear in pi, and its least value equals the optimum of the linear relaxation. The least is found by
// cutting planes in price space (Kelley 1960; equivalently Dantzig-Wolfe column generation on the jobs): each
// evaluation gives a plane below D, a small linear program (PriceMaster) gives the next prices. Ends when
// plane and function meet, so prices and bound are exact up to rounding. An evaluation is one pass over the
// hull options of the groups; the number of passes grows with the number of resources (about five times), not
// with the number of jobs.
//
// The planes' own proposals jump about while few are known; a proposal is therefore drawn some way towards
// the best prices so far (Wentges 1997) until bound and planes are close. A new round begins where the last
// one ended: at the prices whose planes met in its optimum, which give the next one's master nearly all it
// needs.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/careful_bound.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/price_master.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::detail {

/// Units may be so small that nothing else bounds what one is worth.
inline constexpr double highest_price = 1e100 * largest_number;

class PriceSearch {
public:
    /// Finds the prices of least bound, beginning from what the last call found if `warm` (and that had as
    /// many resources), else from a guess. Stops early when the clock says so.
    void run(const CompactProblem& problem, bool warm, Clock& clock) {
        const std::size_t resources = problem.resources();
        warm = warm && best_prices_.size() == resources;
        passes_ = 0;
        complete_ = false;
        raises_ = 0;
        settled_ = 0;
        choices_.clear();
        proposal_.clear();
        drawn_ = 0;
        best_bound_ = std::numeric_limits<double>::infinity();
        trial_.assign(resources, 0);
        deal_to_blocks(problem);
        set_ceilings(problem);
        if (!warm) start_.clear();
        if (start_.empty()) guess(problem);
        // Room for so many passes beforehand, that rounds alike need no more.
        points_.clear();
        points_.reserve(usual_passes * resources);
        choices_.reserve(usual_passes * problem.groups());
        master_.reserve(usual_passes * blocks_, usual_passes * resources);
        careful_bound_.reserve(resources);
        column_of_.clear();
        column_of_.reserve(usual_passes * blocks_);
        basic_.reserve(usual_passes);
        for (std::size_t at = 0; passes_ == 0 || at < start_.size(); at += resources) {
            for (std::size_t r = 0; r < resources; ++r) trial_[r] = std::min(start_[at + r], ceiling_[r]);
            if (!evaluate(problem, clock)) break;
            if (passes_ == 1) master_.reset(problem.capacity, ceiling_, blocks_);
            add_columns();
            if (passes_ == 1) master_.begin();
        }
        taught_ = true;  // by no proposal yet
        const std::size_t most_passes = std::max(usual_passes, most_choices / (problem.groups() + 1));
        while (passes_ < most_passes && !master_.exhausted() && !clock.late()) {
            master_.solve(clock);
            const double below = master_.objective();
            if (best_bound_ - below <= problem.rounding()) {
                if (!settle(problem, below, clock) || raise_ceilings()) continue;
                complete_ = !clock.late();
                break;
            }
            if (!move(below)) {
                if (raise_ceilings()) continue;
                complete_ = !clock.late();
                break;
            }
            if (!evaluate(problem, clock)) break;
            add_columns();
        }
        master_.polish(clock);
        start_.assign(best_prices_.begin(), best_prices_.end());
        basic_.assign(passes_, 0);
        master_.for_each_basic_column([&](std::size_t column) { basic_[column_of_[column].pass] = 1; });
        for (std::size_t pass = 0; pass < passes_; ++pass) {
            if (basic_[pass] == 0) continue;
            const auto point = points_.begin() + static_cast<std::ptrdiff_t>(pass * resources);
            start_.insert(start_.end(), point, point + static_cast<std::ptrdiff_t>(resources));
        }
    }

    [[nodiscard]] const std::vector<double>& prices() const { return best_prices_; }
    [[nodiscard]] double bound() const { return best_bound_; }
    [[nodiscard]] std::size_t passes() const { return passes_; }
    /// Whether nothing cut it short.
    [[nodiscard]] bool complete() const { return complete_; }
    /// Whether the linear relaxation has a solution (jobs that must run may leave none); of what is known so
    /// far, if it was cut short.
    [[nodiscard]] bool relaxation_feasible() const { return master_.feasible(); }

    /// The linear relaxation's optimal mixture of choices: by option, how many of its group's copies take it.
    void mixture(const CompactProblem& problem, std::vector<double>& copies) const {
        copies.assign(problem.value.size(), 0);
        master_.for_each_weight([&](std::size_t column, double weight) {
            const auto [pass, block] = column_of_[column];
            const std::uint32_t* choice = choices_.data() + pass * problem.groups();
            for (std::size_t group = 0; group < problem.groups(); ++group)
                if (block_of_[group] == block) copies[choice[group]] += weight * problem.copies(group);
        });
    }

private:
    /// D at the trial prices; keeps the choice as a column and the best prices. The first time always, later
    /// only if there is the time: else false, and it is as if it had not been asked for.
    bool evaluate(const CompactProblem& problem, Clock& clock) {
        ++passes_;
        points_.insert(points_.end(), trial_.begin(), trial_.end());
        usage_.assign(blocks_ * problem.resources(), 0);
        value_.assign(blocks_, 0);
        double reduced_sum = 0, size = 0;
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            if (clock.late(problem.first_use[problem.end_hull[group]] -
                           problem.first_use[problem.first[group]] + 1) &&
                passes_ > 1) {
                --passes_;
                points_.resize(passes_ * problem.resources());
                choices_.resize(passes_ * problem.groups());
                return false;
            }
            std::uint32_t chosen = problem.first[group];
            double best = problem.reduced_value(chosen, trial_);
            const auto look = [&](auto reduced_value) {
                for (std::uint32_t k = chosen + 1; k < problem.end_hull[group]; ++k) {
                    const double reduced = reduced_value(k);
                    if (reduced > best) {
                        best = reduced;
                        chosen = k;
                    }
                }
            };
            if (problem.single[group])
                look([&](std::uint32_t k) {
                    const ResourceUse& use = problem.main_use[k];
                    return problem.value[k] - trial_[use.resource] * use.units;
                });
            else
                look([&](std::uint32_t k) { return problem.reduced_value(k, trial_); });
            choices_.push_back(chosen);
            const double copies = problem.copies(group);
            reduced_sum += copies * best;
            size += std::abs(copies * best);
            value_[block_of_[group]] += copies * problem.value[chosen];
            double* const usage = usage_.data() + block_of_[group] * problem.resources();
            for (const ResourceUse& use : problem.uses_of(chosen)) usage[use.resource] += copies * use.units;
        }
        double bound = reduced_sum;
        for (std::size_t r = 0; r < problem.resources(); ++r) {
            bound += trial_[r] * problem.capacity[r];
            size += trial_[r] * problem.capacity[r];
        }
        if (size > 4 * problem.magnitude)
            bound = careful_bound_(problem, trial_,
                                   std::span(choices_).subspan((passes_ - 1) * problem.groups()));
        const bool better = bound < best_bound_;
        if (better || passes_ == 1) {
            if (better) best_bound_ = bound;
            best_prices_.assign(trial_.begin(), trial_.end());
        }
        trial_bound_ = bound;
        return true;
    }

    /// The next prices to try: the master's proposal, drawn some way towards the best ones while the planes
    /// are far from them. Where that taught the master nothing, the proposal itself; where that did not
    /// either, rounding has stopped the progress: false.
    bool move(double below) {
        constexpr double drawn = 0.3, close = 1e-3;
        const std::span<const double> next = master_.prices();
        const bool same = std::ranges::equal(next, proposal_);
        if ((same || !taught_) && drawn_ == 0) return false;
        drawn_ = !same && best_bound_ - below > close * std::abs(best_bound_) ? drawn : 0;
        proposal_.assign(next.begin(), next.end());
        for (std::size_t r = 0; r < trial_.size(); ++r) {
            const double price = next[r] == 0 ? 0 : next[r] + drawn_ * (best_prices_[r] - next[r]);
            trial_[r] = std::clamp(price, 0.0, ceiling_[r]);
        }
        return true;
    }

    /// Of all best prices takes the master's, which lie at a corner: those hold over a range of capacities.
    /// False if the master learned from them that they are not best.
    bool settle(const CompactProblem& problem, double below, Clock& clock) {
        if (settled_++ > 2 * trial_.size() || std::ranges::equal(master_.prices(), best_prices_)) return true;
        drawn_ = 0;
        for (std::size_t r = 0; r < trial_.size(); ++r)
            trial_[r] = std::clamp(master_.prices()[r], 0.0, ceiling_[r]);
        if (!evaluate(problem, clock)) return true;
        add_columns();
        if (trial_bound_ - below > problem.rounding()) return !taught_;
        best_prices_.assign(trial_.begin(), trial_.end());
        best_bound_ = trial_bound_;  // regrets at these prices are measured from it
        return true;
    }

    /// Above a resource's largest value per unit nobody uses it, so that no higher price is better (twice
    /// that, to be clear of ties). Jobs that must run are first driven to other options by all that the
    /// others are worth; prices that have to drive several on may be higher still, see raise_ceilings(). An
    /// option may use next to nothing: at the best prices a whole capacity costs no more than all jobs are
    /// worth, or so many times as much where jobs must run.
    void set_ceilings(const CompactProblem& problem) {
        const double everything = problem.magnitude > 0 ? problem.magnitude : 1;
        ceiling_.assign(problem.resources(), 0);
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::uint32_t k = problem.first[group]; k < problem.end_hull[group]; ++k) {
                const double worth = problem.must[group] ? 4 * everything : 2 * problem.value[k];
                for (const ResourceUse& use : problem.uses_of(k))
                    if (worth > ceiling_[use.resource] * use.units)
                        ceiling_[use.resource] = std::min(worth / use.units, highest_price);
            }
        for (std::size_t r = 0; r < problem.resources(); ++r)
            if (problem.capacity[r] > 0)
                ceiling_[r] = std::min(ceiling_[r], far_above * everything / problem.capacity[r]);
    }

    /// Where resources are many, most are shared by few jobs (a quota by those of a team). The jobs that
    /// share the same rarest resource are a block, whose choices mix apart from those of the others: so there
    /// are many more mixtures of as many passes, and far fewer passes are needed.
    void deal_to_blocks(const CompactProblem& problem) {
        const std::size_t resources = problem.resources();
        blocks_ = 1;
        block_of_.assign(problem.groups(), 0);
        if (resources <= most_resources_in_one_block) return;
        groups_of_.assign(resources, 0);
        constexpr std::uint32_t unseen = none;
        rarest_.assign(resources, unseen);  // first the last group that used it
        for (std::uint32_t group = 0; group < problem.groups(); ++group)
            for (const ResourceUse& use : uses_of_group(problem, group))
                if (std::exchange(rarest_[use.resource], group) != group) ++groups_of_[use.resource];
        rarest_.assign(resources, unseen);  // then the block
        blocks_ = 0;
        for (std::uint32_t group = 0; group < problem.groups(); ++group) {
            std::size_t rare = resources;
            for (const ResourceUse& use : uses_of_group(problem, group))
                if (rare == resources || groups_of_[use.resource] < groups_of_[rare] ||
                    (groups_of_[use.resource] == groups_of_[rare] && use.resource < rare))
                    rare = use.resource;
            if (rare == resources) continue;  // in the first block
            if (rarest_[rare] == unseen) rarest_[rare] = static_cast<std::uint32_t>(blocks_++ % most_blocks);
            block_of_[group] = rarest_[rare];
        }
        blocks_ = std::clamp<std::size_t>(blocks_, 1, most_blocks);
    }
    static std::span<const ResourceUse> uses_of_group(const CompactProblem& problem, std::uint32_t group) {
        return {problem.uses.data() + problem.first_use[problem.first[group]],
                problem.uses.data() + problem.first_use[problem.end_hull[group]]};
    }

    /// What the last pass found becomes columns of the master.
    void add_columns() {
        const std::size_t resources = trial_.size();
        taught_ = false;
        for (std::size_t block = 0; block < blocks_; ++block)
            if (master_.add_column(block, value_[block],
                                   std::span(usage_).subspan(block * resources, resources))) {
                column_of_.push_back({passes_ - 1, block});
                taught_ = true;
            }
    }

    /// Prices at which the capacities together cost a third of what the jobs could be worth at most.
    void guess(const CompactProblem& problem) {
        const double share = problem.magnitude / (3 * static_cast<double>(problem.resources()));
        for (std::size_t r = 0; r < problem.resources(); ++r)
            start_.push_back(problem.capacity[r] > 0 ? share / problem.capacity[r] : ceiling_[r]);
    }

    /// Where the jobs that must run do not fit at the ceilings, tries higher ones some times.
    bool raise_ceilings() {
        if (master_.feasible() || raises_ == 3) return false;
        ++raises_;
        for (double& ceiling : ceiling_) ceiling *= 1e3;
        master_.move_ceilings(ceiling_);
        taught_ = true;
        return true;
    }

    static constexpr double far_above = 0x1p30;
    static constexpr std::size_t usual_passes = 64;
    static constexpr std::size_t most_resources_in_one_block = 8, most_blocks = 64;
    /// Most numbers of choices_, unless the usual passes take more.
    static constexpr std::size_t most_choices = std::size_t{1} << 26;

    PriceMaster master_;
    CarefulBound careful_bound_;
    bool complete_ = true;
    int raises_ = 0;
    std::vector<double> ceiling_, trial_, usage_, best_prices_;
    std::vector<double> proposal_;        // the master's last one
    double drawn_ = 0;                    // how far the last trial was drawn away from it
    std::vector<double> points_;          // by column and resource: the prices that gave it
    std::vector<double> start_;           // points to begin the next search with
    std::vector<std::uint32_t> choices_;  // by column and group
    double trial_bound_ = 0, best_bound_ = 0;
    std::size_t passes_ = 0, settled_ = 0;
    bool taught_ = true;  // whether the last pass gave the master a column that it did not have
    std::size_t blocks_ = 1;
    std::vector<std::uint32_t> block_of_, groups_of_, rarest_;  // by group; by resource
    std::vector<double> value_;                                 // of the last pass, by block
    struct Origin {
        std::size_t pass, block;
    };
    std::vector<Origin> column_of_;    // by column of the master
    std::vector<std::uint8_t> basic_;  // by pass: whether one of its columns is
};

}  // namespace goodput::detail

#endif
