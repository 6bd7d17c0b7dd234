#ifndef GOODPUT_PROOF_DETAIL_NODE_WEIGHTS_HPP
#define GOODPUT_PROOF_DETAIL_NODE_WEIGHTS_HPP

// The part of ProofLog that closes a node: the multipliers of all rows, and the bound that they prove.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/proof/detail/exact_numbers.hpp"
#include "goodput/proof/detail/proof_log.hpp"

namespace goodput::inline v0_1::detail {

template <class Whole>
void ProofLog<Whole>::weigh(std::span<const double> prices, const ExtraRow* extra) {
    multipliers_.clear();
    worth_ = worth_of_;
    bound_ = objective_rhs_;
    if (objective_) multipliers_.push_back(*objective_);
    for (std::size_t r = 0; r < std::min(rows_.size(), prices.size()); ++r) {
        const int bits = exact_.value_bits - rows_[r].bits;
        const Whole price = scaled<Whole>(prices[r], bits);
        if (price <= 0 || rows_[r].index == no_row) continue;
        multiply(rows_[r].index, price, bits);
        bound_ += price * rows_[r].capacity;
        for (const auto& [p, units] : rows_[r].uses) worth_[p] -= price * units;
    }
    if (extra) {
        multiply(extra->index, -extra->multiplier, exact_.value_bits);
        bound_ -= extra->multiplier * extra->rhs;
        for (const auto& [p, coefficient] : extra->entries) worth_[p] += extra->multiplier * coefficient;
    }
    for (std::size_t i = 0; i < path_.size(); ++i) {
        const auto same_group = [&](const SideRow& row) { return row.group == path_[i].group; };
        if (std::none_of(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(i), same_group))
            weigh_sides(path_[i].group);
    }
    weigh_jobs();
}

template <class Whole>
void ProofLog<Whole>::weigh_sides(std::size_t group) {
    std::vector<const SideRow*> rows;
    for (const SideRow& row : path_)
        if (row.group == group) rows.push_back(&row);
    const std::size_t at = job_at_[compact_->job[compact_->first_copy[group]]];
    if (at == no_row) return;
    const JobRow& job = jobs_[at];
    std::vector<Whole> left;  // worth of each option; the last entry may be for getting nothing
    std::vector<std::size_t> option;
    for (std::size_t p = job.begin; p < job.end; ++p)
        if (banned_[p] == 0) {
            left.push_back(worth_[p]);
            option.push_back(variables_[p] - exact_.first[job.job]);
        }
    if (!job.must) {
        left.emplace_back(0);
        option.push_back(rows.front()->forbidden.size() - 1);
    }
    const auto excluded = [&](std::size_t k) {
        return std::any_of(rows.begin(), rows.end(), [&](const SideRow* row) {
            return row->most_forbidden == 0 && row->forbidden[k] != 0;
        });
    };
    std::vector<Whole> prices(rows.size());
    price_shared(group, rows, left, option, excluded, prices);
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t o = 0; o < option.size(); ++o)
            if (rows[i]->forbidden[option[o]] != 0) left[o] -= prices[i];
    std::optional<Whole> best;
    for (std::size_t o = 0; o < option.size(); ++o)
        if (!excluded(option[o]) && (!best || left[o] > *best)) best = left[o];
    if (!best) best = -absolute(bound_) - 1;  // the job has no option left: a contradiction
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i]->most_forbidden == 0)
            for (std::size_t o = 0; o < option.size(); ++o)
                if (rows[i]->forbidden[option[o]] != 0)
                    prices[i] = std::max(prices[i], Whole(left[o] - *best));
        if (prices[i] > 0) count(*rows[i], prices[i]);
    }
}

template <class Whole>
template <class Excluded>
void ProofLog<Whole>::price_shared(std::size_t group, const std::vector<const SideRow*>& rows,
                                   const std::vector<Whole>& left, const std::vector<std::size_t>& option,
                                   Excluded excluded, std::vector<Whole>& prices) {
    AllotmentProblem shared;
    std::vector<std::size_t> row_of;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i]->most_forbidden > 0) {
            row_of.push_back(i);
            shared.capacity.push_back(static_cast<double>(rows[i]->most_forbidden));
        }
    if (row_of.empty()) return;
    shared.add_job(true);
    std::vector<ResourceUse> uses;
    for (std::size_t o = 0; o < option.size(); ++o) {
        if (excluded(option[o])) continue;
        uses.clear();
        for (std::uint32_t s = 0; s < row_of.size(); ++s)
            if (rows[row_of[s]]->forbidden[option[o]] != 0) uses.push_back({s, 1});
        shared.add_option(std::clamp(to_double(left[o], exact_.value_bits), -largest_number, largest_number),
                          uses);
    }
    for (std::uint32_t copy = 1; copy < compact_->copies(group); ++copy) shared.add_job_like(0);
    const RelaxedAllotment relaxed = sharing_.relax(shared);
    for (std::size_t s = 0; s < row_of.size(); ++s)
        prices[row_of[s]] = scaled<Whole>(std::max(0.0, relaxed.prices[s]), exact_.value_bits);
}

template <class Whole>
void ProofLog<Whole>::weigh_jobs() {
    gain_.resize(jobs_.size());
    regret_.resize(variables_.size());
    std::vector<Whole> ban_price(zeros_.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        const JobRow& job = jobs_[j];
        std::optional<Whole> best;
        if (!job.must) best = 0;
        for (std::size_t p = job.begin; p < job.end; ++p)
            if (banned_[p] == 0 && (!best || worth_[p] > *best)) best = worth_[p];
        gain_[j] = best ? *best : Whole(-absolute(bound_) - 1);
        bound_ += gain_[j];
        multiply(job.index, gain_[j], exact_.value_bits);
        for (std::size_t p = job.begin; p < job.end; ++p) {
            regret_[p] = gain_[j] - worth_[p];
            if (banned_[p] != 0 && regret_[p] < 0)
                ban_price[banned_[p] - 1] = std::max(ban_price[banned_[p] - 1], Whole(-regret_[p]));
        }
    }
    for (std::size_t z = 0; z < zeros_.size(); ++z) {
        multiply(zeros_[z].index, ban_price[z], exact_.value_bits);
        for (const std::uint32_t p : zeros_[z].positions) regret_[p] += ban_price[z];
    }
}

template <class Whole>
bool ProofLog<Whole>::close_as_contradiction(const UseRow& row) {
    if (row.index == no_row || row.capacity >= 0) return false;
    multipliers_.clear();
    multiply(row.index, 1, 0);
    for (const auto& [p, units] : row.uses) multiply(variables_[p], -units, row.bits);
    close_by_multipliers(true);
    return true;
}

template <class Whole>
bool ProofLog<Whole>::close_as_contradiction(std::size_t group) {
    const std::size_t at = job_at_[compact_->job[compact_->first_copy[group]]];
    if (at == no_row) return false;
    const JobRow job = jobs_[at];
    const auto excluded = [&](std::size_t k) {
        return std::any_of(path_.begin(), path_.end(), [&](const SideRow& row) {
            return row.group == group && row.most_forbidden == 0 && row.forbidden[k] != 0;
        });
    };
    if (!job.must && !excluded(exact_.first[job.job + 1] - exact_.first[job.job])) return false;
    for (std::size_t p = job.begin; p < job.end; ++p)
        if (banned_[p] == 0 && !excluded(variables_[p] - exact_.first[job.job])) return false;
    multipliers_.clear();
    worth_.assign(variables_.size(), 0);
    bound_ = 0;
    for (const SideRow& row : path_)
        if (row.group == group && row.most_forbidden == 0)
            count(row, Whole(1) << static_cast<unsigned>(exact_.value_bits));
    weigh_jobs();
    close_by_weights(true);
    return true;
}

template <class Whole>
void ProofLog<Whole>::close_by_weights(bool absurd) {
    if (goal_ != ProofGoal::bound && bound_ >= 0) failed_ = true;
    begin_node(absurd);
    const auto several =
        std::count_if(regret_.begin(), regret_.end(), [](const Whole& regret) { return regret != 0; });
    begin_multipliers("lin", multipliers_.size() + static_cast<std::size_t>(several));
    for (const Multiplier& m : multipliers_) text_.entry(m.row, m.number, m.bits);
    for (std::size_t p = 0; p < regret_.size(); ++p)
        if (regret_[p] != 0) text_.entry(variables_[p], Whole(-regret_[p]), exact_.value_bits);
    text_.add(" } -1\n");
}

}  // namespace goodput::inline v0_1::detail

#endif
