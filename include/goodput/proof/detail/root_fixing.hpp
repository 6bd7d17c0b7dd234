#ifndef GOODPUT_PROOF_DETAIL_ROOT_FIXING_HPP
#define GOODPUT_PROOF_DETAIL_ROOT_FIXING_HPP

// The bodies of ProofLog::fix(). The prices of the root (the node before any decision) rule out options of
// large reduced cost. These are left out of the rows that nodes use. So the line of a node lists only the
// options that are still open, not all of them.
//
// The gap is the distance from the root's bound to the bound that the proof needs. Options that lose at
// least the gap are out. A job is settled if it has one option left, and must run or would lose at least
// the gap without it. If a job that need not run would lose at least the gap, and has several options left,
// it is served: it takes one of them. All of this together is one assumption, and the root's prices close
// its opposite at once. Under the assumption, every row that nodes use is derived anew.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/proof/detail/exact_numbers.hpp"
#include "goodput/proof/detail/exact_problem.hpp"
#include "goodput/proof/detail/proof_log.hpp"

namespace goodput::inline v0_1::detail {

/// Branches at the root. On one side, no option that loses too much is taken, and every job that would lose
/// too much without an option takes one. The root's prices close the other side. The search continues with
/// the rows that are derived on the first side.
template <class Whole>
void ProofLog<Whole>::fix(std::span<const double> prices) {
    if (goal_ == ProofGoal::infeasible) return;
    weigh(prices, nullptr);
    const Whole gap = bound_ - target_;
    if (gap <= 0) return;
    Fixing fixing = fates(gap);
    ExtraRow some{no_row, 1 - fixing.served, {}, gap};
    for (std::size_t j = 0; j < jobs_.size(); ++j)
        for (std::size_t p = jobs_[j].begin; p < jobs_[j].end; ++p)
            if (const int coefficient = fixing.coefficient(j, p, banned_[p] != 0); coefficient != 0)
                some.entries.emplace_back(static_cast<std::uint32_t>(p), coefficient);
    if (some.entries.empty()) return;
    const auto assume_extra = [&](const char* sense, std::int64_t rhs) {
        const std::size_t index = begin_line(sense);
        text_.whole(rhs);
        text_.index(some.entries.size());
        for (const auto& [p, coefficient] : some.entries) text_.entry(variables_[p], coefficient > 0);
        text_.add(" { asm } -1\n");
        return index;
    };
    Frame frame;
    frame.second_assumed = some.index = assume_extra(" G ", some.rhs);
    weigh(prices, &some);
    close_by_weights();
    frame.first_done = std::exchange(last_, Derived{});
    frame.first_assumed = fixing.assumed = assume_extra(" L ", some.rhs - 1);
    fixings_.push_back(std::move(frame));
    if (worth_at_root_.empty()) worth_at_root_ = worth_of_;
    derive_settled(fixing);
    for (UseRow& row : rows_) derive_row(row, fixing);
    derive_objective(fixing);
    derive_jobs(fixing);
    keep_open(fixing);
}

template <class Whole>
typename ProofLog<Whole>::Fixing ProofLog<Whole>::fates(const Whole& gap) const {
    Fixing fixing{std::vector<Fate>(variables_.size(), Fate::out),
                  std::vector<std::size_t>(jobs_.size(), no_row), std::vector<std::uint8_t>(jobs_.size(), 0)};
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        const JobRow& job = jobs_[j];
        std::size_t open = 0, last = no_row;
        for (std::size_t p = job.begin; p < job.end; ++p)
            if (banned_[p] == 0 && regret_[p] < gap) {
                fixing.fate[p] = Fate::open;
                last = p;
                ++open;
            }
        const bool needs_one = job.must || job.served || gain_[j] >= gap;
        if (open == 1 && needs_one) {
            fixing.fate[last] = Fate::settled;
            fixing.settles[j] = last;
            ++fixing.settled;
        }
        if ((open == 1 && needs_one) || (open > 1 && !job.must && !job.served && gain_[j] >= gap)) {
            fixing.serves[j] = 1;
            ++fixing.served;
        }
    }
    return fixing;
}

/// Derives the assumption for the settled positions (places in variables_) alone, without those that are
/// out or open.
template <class Whole>
void ProofLog<Whole>::derive_settled(Fixing& fixing) {
    if (fixing.settled == 0) return;
    multipliers_.clear();
    multiply(fixing.assumed, 1, 0);
    std::vector<std::uint8_t> used(zeros_.size(), 0);
    std::vector<int> left(variables_.size(), 0);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        const bool taken_back = fixing.serves[j] != 0 && fixing.settles[j] == no_row;
        if (taken_back) multiply(jobs_[j].index, 1, 0);
        for (std::size_t p = jobs_[j].begin; p < jobs_[j].end; ++p) {
            left[p] = fixing.coefficient(j, p, banned_[p] != 0) + (taken_back ? 1 : 0);
            if (banned_[p] != 0 && left[p] < 0) used[banned_[p] - 1] = 1;
        }
    }
    for (std::size_t z = 0; z < zeros_.size(); ++z)
        if (used[z] != 0) multiply(zeros_[z].index, 1, 0);
    for (std::size_t p = 0; p < variables_.size(); ++p)
        if (fixing.fate[p] != Fate::settled)
            multiply(variables_[p], -left[p] - (banned_[p] != 0 ? used[banned_[p] - 1] : 0), 0);
    fixing.index = begin_line(" L ");
    text_.whole(-fixing.settled);
    text_.index(static_cast<std::size_t>(fixing.settled));
    for (const std::size_t p : fixing.settles)
        if (p != no_row) {
            text_.entry(variables_[p], false);
        }
    append_multipliers();
}

/// Derives a row without the positions that are out or settled. Those that are out have x >= 0, and the use
/// of the settled ones is known.
template <class Whole>
void ProofLog<Whole>::derive_row(UseRow& row, const Fixing& fixing) {
    if (row.index == no_row) return;
    std::vector<Whole> units(variables_.size());
    bool changes = false;
    for (const auto& [p, used] : row.uses) {
        units[p] = used;
        changes = changes || fixing.fate[p] != Fate::open;
    }
    if (!changes) return;
    Whole most = 0;
    for (const std::size_t p : fixing.settles)
        if (p != no_row) most = std::max(most, units[p]);
    multipliers_.clear();
    multiply(row.index, 1, 0);
    if (most > 0) {
        multiply(fixing.index, most, row.bits);
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            const std::size_t settled = fixing.settles[j];
            if (settled == no_row) continue;
            const Whole back = most - units[settled];
            row.capacity -= units[settled];
            multiply(jobs_[j].index, back, row.bits);
            for (std::size_t p = jobs_[j].begin; p < jobs_[j].end; ++p) units[p] += back;
            units[settled] = 0;
        }
    }
    std::erase_if(row.uses, [&](const auto& use) { return fixing.fate[use.first] != Fate::open; });
    for (std::size_t p = 0; p < variables_.size(); ++p)
        if (fixing.fate[p] == Fate::out) multiply(variables_[p], -units[p], row.bits);
    row.index = begin_line(" L ");
    text_.fraction(row.capacity, row.bits);
    append_uses(row.uses, row.bits);
    append_multipliers();
}

/// Derives: objective - sum of worth over the open positions <= value of the settled ones. If a job must
/// take something, the worth of its options is raised by more than any option can cost at the prices of a
/// node. So the job's row need only say that it takes at most one option.
template <class Whole>
void ProofLog<Whole>::derive_objective(const Fixing& fixing) {
    Whole must_run = 0;
    for (const Whole& worth : worth_of_) must_run = std::max(must_run, absolute(worth));
    must_run += must_run + scaled<Whole>(most_paid_, exact_.value_bits) + 1;
    std::vector<Whole> paid(variables_.size());  // sum of the multipliers' terms, less the worth
    for (std::size_t p = 0; p < paid.size(); ++p) paid[p] = -worth_of_[p];
    // Multipliers of the job rows; those of settled jobs are less by `most`.
    std::vector<Whole> gain(jobs_.size());
    multipliers_.clear();
    if (objective_) multipliers_.push_back(*objective_);
    Whole most = 0;  // multiplier of the assumption
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        JobRow& job = jobs_[j];
        const std::size_t settled = fixing.settles[j];
        Whole best_out = 0;
        bool changes = false;
        for (std::size_t p = job.begin; p < job.end; ++p) {
            changes = changes || fixing.fate[p] == Fate::out;
            if (banned_[p] == 0 && fixing.fate[p] == Fate::out) best_out = std::max(best_out, worth_of_[p]);
        }
        if (settled != no_row) {
            gain[j] = worth_of_[settled];
            most = std::max(most, Whole(best_out - gain[j]));
        } else if (fixing.serves[j] != 0) {
            gain[j] = best_out;
            most = std::max(most, Whole(must_run + best_out));
            job.served = true;
        } else if (job.must && changes) {
            gain[j] = -must_run;
            most = std::max(most, Whole(must_run + best_out));
            job.must = false;
            job.served = true;
        } else {
            most = std::max(most, best_out);
        }
    }
    multiply(fixing.assumed, most, exact_.value_bits);
    objective_rhs_ -= most * fixing.served;
    std::vector<Whole> ban_price(zeros_.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        if (fixing.settles[j] != no_row) gain[j] += most;
        multiply(jobs_[j].index, gain[j], exact_.value_bits);
        objective_rhs_ += gain[j];
        for (std::size_t p = jobs_[j].begin; p < jobs_[j].end; ++p) {
            paid[p] += gain[j] + most * fixing.coefficient(j, p, banned_[p] != 0);
            if (banned_[p] != 0)
                ban_price[banned_[p] - 1] = std::max(ban_price[banned_[p] - 1], Whole(-paid[p]));
        }
    }
    for (std::size_t z = 0; z < zeros_.size(); ++z)
        multiply(zeros_[z].index, ban_price[z], exact_.value_bits);
    std::vector<Whole> says;  // coefficient of each variable in the row
    if (goal_ == ProofGoal::bound) says = exact_.value;
    says.resize(exact_.variables());
    for (std::size_t p = 0; p < variables_.size(); ++p) {
        if (banned_[p] != 0) paid[p] += ban_price[banned_[p] - 1];
        if (fixing.fate[p] == Fate::open) {
            says[variables_[p]] += paid[p];
            worth_of_[p] = -paid[p];
        } else {
            multiply(variables_[p], -paid[p], exact_.value_bits);
        }
    }
    objective_ = Multiplier{begin_line(" L "), 1, 0};
    text_.fraction(objective_rhs_, exact_.value_bits);
    text_.index(static_cast<std::size_t>(
        std::count_if(says.begin(), says.end(), [](const auto& n) { return n != 0; })));
    for (std::size_t v = 0; v < says.size(); ++v)
        if (says[v] != 0) text_.entry(v, says[v], exact_.value_bits);
    append_multipliers();
}

template <class Whole>
void ProofLog<Whole>::derive_jobs(const Fixing& fixing) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        JobRow& job = jobs_[j];
        if (fixing.settles[j] != no_row) continue;
        multipliers_.clear();
        multiply(job.index, 1, 0);
        Uses open;
        for (std::size_t p = job.begin; p < job.end; ++p) {
            if (fixing.fate[p] == Fate::out) multiply(variables_[p], -1, 0);
            if (fixing.fate[p] == Fate::open) open.emplace_back(static_cast<std::uint32_t>(p), 1);
        }
        if (multipliers_.size() == 1 || open.empty()) continue;
        job.index = begin_line(" L ");
        text_.add('1');
        append_uses(open, 0);
        append_multipliers();
    }
}

/// Keeps only the open positions, and renumbers them.
template <class Whole>
void ProofLog<Whole>::keep_open(const Fixing& fixing) {
    std::vector<std::uint32_t> now(variables_.size()), variables;
    std::vector<Whole> worth;
    std::vector<JobRow> jobs;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        JobRow job = jobs_[j];
        job.begin = variables.size();
        for (std::size_t p = jobs_[j].begin; p < jobs_[j].end; ++p)
            if (fixing.fate[p] == Fate::open) {
                now[p] = static_cast<std::uint32_t>(variables.size());
                variables.push_back(variables_[p]);
                worth.push_back(worth_of_[p]);
            }
        job.end = variables.size();
        const std::size_t settled = fixing.settles[j], first = exact_.first[job.job];
        job_at_[job.job] = no_row;
        if (job.begin == job.end && !job.must) {
            settled_[job.job] =
                settled != no_row ? variables_[settled] - first : exact_.first[job.job + 1] - first;
        } else if (settled != no_row) {
            settled_[job.job] = variables_[settled] - first;
        } else {
            job_at_[job.job] = jobs.size();
            jobs.push_back(job);
        }
    }
    for (UseRow& row : rows_)
        for (auto& [p, units] : row.uses) p = now[p];
    variables_ = std::move(variables);
    worth_of_ = std::move(worth);
    jobs_ = std::move(jobs);
    zeros_.clear();
    banned_.assign(variables_.size(), 0);
}

}  // namespace goodput::inline v0_1::detail

#endif
