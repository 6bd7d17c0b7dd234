#ifndef GOODPUT_PROOF_DETAIL_ROOT_ROWS_HPP
#define GOODPUT_PROOF_DETAIL_ROOT_ROWS_HPP

// The part of ProofLog that derives rows before the first branching: the objective is better than a
// multiple of the granule; options that are too large are not taken; capacities are rounded down; and cuts
// hold.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/proof/detail/exact_numbers.hpp"
#include "goodput/proof/detail/proof_log.hpp"

namespace goodput::inline v0_1::detail {

template <class Whole>
void ProofLog<Whole>::assume_more() {
    Uses multiples;
    for (std::uint32_t v = 0; v < worth_of_.size(); ++v)
        if (worth_of_[v] != 0) multiples.emplace_back(v, worth_of_[v] / granule());
    for (const bool more : {true, false}) {
        (more ? more_assumed_ : most_assumed_) = begin_line(more ? " G " : " L ");
        text_.whole(whole_.most + (more ? 1 : 0));
        append_uses(multiples, 0);
        text_.add(" { asm } -1\n");
    }
    objective_ = Multiplier{more_assumed_, -granule(), exact_.value_bits};
    objective_rhs_ = -granule() * (whole_.most + 1);
}

template <class Whole>
Whole ProofLog<Whole>::conclude_whole() {
    const std::size_t not_more = begin_line(" L ");
    text_.whole(whole_.most);
    Uses multiples;
    std::vector<Whole> rest = exact_.value;
    for (std::uint32_t v = 0; v < all_worth().size(); ++v) {
        if (all_worth()[v] != 0) multiples.emplace_back(v, all_worth()[v] / granule());
        rest[v] -= all_worth()[v];
    }
    text_.index(multiples.size());
    for (const auto& [v, number] : multiples) text_.entry(v, number, 0);
    text_.add(" { uns");
    for (const std::size_t index : {last_.index, more_assumed_, most_assumed_, most_assumed_})
        text_.index(index);
    text_.add(" } -1\n");
    multipliers_.clear();
    multiply(not_more, granule(), exact_.value_bits);
    Whole bound = granule() * whole_.most;
    for (std::size_t job = 0; job < exact_.jobs(); ++job) {
        Whole most = 0;
        for (std::size_t v = exact_.first[job]; v < exact_.first[job + 1]; ++v)
            most = std::max(most, rest[v]);
        multiply(exact_.row_of_job(job), most, exact_.value_bits);
        bound += most;
        for (std::size_t v = exact_.first[job]; v < exact_.first[job + 1]; ++v)
            multiply(v, rest[v] - most, exact_.value_bits);
    }
    begin_line(" L ");
    text_.fraction(bound, exact_.value_bits);
    text_.add(" OBJ");
    append_multipliers();
    return bound;
}

template <class Whole>
void ProofLog<Whole>::ban_too_large() {
    for (const UseRow& row : rows_) {
        ZeroRow zero;
        Whole least = 0;
        for (const auto& [v, units] : row.uses)
            if (banned_[v] == 0 && units > row.capacity) {
                zero.positions.push_back(v);
                if (least == 0 || units < least) least = units;
            }
        if (zero.positions.empty()) continue;
        // Rounding needs whole coefficients, but these quotients are not binary fractions. So assume
        // the opposite, which contradicts the capacity.
        SideRow some{.at_most = false, .rhs = 1, .positions = zero.positions};
        SideRow no{.at_most = true, .rhs = 0, .positions = zero.positions};
        assume(some);
        multipliers_.clear();
        multiply(row.index, 1, 0);
        multiply(some.index, -least, exact_.unit_bits);
        std::vector<std::uint8_t> too_large(variables_.size(), 0);
        for (const std::uint32_t v : zero.positions) too_large[v] = 1;
        for (const auto& [v, units] : row.uses)
            multiply(v, too_large[v] != 0 ? Whole(least - units) : -units, exact_.unit_bits);
        rule_out(some, no);
        zero.index = next_ - 1;
        zeros_.push_back(std::move(zero));
        for (const std::uint32_t v : zeros_.back().positions)
            banned_[v] = static_cast<std::uint32_t>(zeros_.size());
    }
}

template <class Whole>
void ProofLog<Whole>::rule_out(const SideRow& assumed, SideRow& other) {
    const std::size_t absurd = begin_line(" L -1 0");
    append_multipliers();
    assume(other);
    const std::size_t assumption = other.index;
    other.index = begin_line(other.at_most ? " L " : " G ");
    text_.whole(other.rhs);
    text_.index(other.positions.size());
    for (const std::uint32_t p : other.positions) text_.entry(variables_[p]);
    text_.add(" { uns");
    for (const std::size_t index : {absurd, assumed.index, assumption, assumption}) text_.index(index);
    text_.add(" } -1\n");
}

template <class Whole>
void ProofLog<Whole>::tighten(const CompactProblem& tight) {
    const std::size_t capacities = rows_.size();
    // Derive sum of floor(units / size) <= floor(capacity / size): multiply the capacity's row by 1 / size
    // and round.
    const auto derive = [&](const UseRow& from, const Whole& size) {
        UseRow row{no_row, 0, from.capacity / size, {}};
        multipliers_.clear();
        const auto multiply_part = [&](std::size_t index, const Whole& part) { multiply(index, part, 0); };
        multiply_part(from.index, Whole(1) << static_cast<unsigned>(from.bits));
        for (const auto& [p, units] : from.uses) {
            if (units >= size) row.uses.emplace_back(p, units / size);
            multiply_part(variables_[p], -(units % size));
        }
        row.index = begin_line(" L ");
        text_.fraction(row.capacity, 0);
        append_uses(row.uses, 0);
        append_multipliers("rnd", size);
        return row;
    };
    const std::vector<UseRow> given = rows_;
    std::vector<double> granules;
    compact_->find_granules(granules);
    std::size_t next = capacities;
    for (std::size_t r = 0; r < capacities; ++r) {
        const double granule = granules[r];
        double least = std::numeric_limits<double>::infinity();
        for (const ResourceUse& use : compact_->uses)
            if (use.resource == r && use.units > granule) least = std::min(least, use.units);
        if (tight.capacity[r] < compact_->capacity[r]) {
            const Whole size = scaled<Whole>(granule, exact_.unit_bits);
            UseRow row = derive(rows_[r], size);
            multipliers_.clear();
            multiply(row.index, size, exact_.unit_bits);
            row.bits = exact_.unit_bits;
            row.capacity *= size;
            for (auto& [p, units] : row.uses) units *= size;
            row.index = begin_line(" L ");
            text_.fraction(row.capacity, row.bits);
            append_uses(row.uses, row.bits);
            append_multipliers();
            rows_[r] = std::move(row);
        }
        // The added rows are in order of their resources.
        if (granule > 0 && std::isfinite(least) && next < tight.resources() &&
            counts(tight, next, r, least)) {
            rows_.push_back(derive(given[r], scaled<Whole>(least, exact_.unit_bits)));
            ++next;
        }
    }
    while (rows_.size() < tight.resources()) rows_.push_back({no_row, 0, 0, {}});
}

/// Returns whether a row counts how many times options, and the capacity, contain `size` units of a
/// resource.
template <class Whole>
bool ProofLog<Whole>::counts(const CompactProblem& tight, std::size_t row, std::size_t resource,
                             double size) {
    const double all = tight.capacity[resource] + tight.tolerance[resource];
    if (tight.capacity[row] != std::floor(all / size)) return false;
    for (std::uint32_t k = 0; k < tight.count; ++k)
        if (units_of(tight.uses_of(k), row) != std::floor(units_of(tight.uses_of(k), resource) / size))
            return false;
    return true;
}

template <class Whole>
void ProofLog<Whole>::cut(std::size_t source, std::span<const double> thresholds, std::size_t most) {
    const int bits = rows_[source].bits;
    SideRow more{.at_most = false, .rhs = static_cast<std::int64_t>(most) + 1};
    std::vector<std::pair<Whole, std::size_t>> smallest;  // least use of a job in the cut, and the job
    std::vector<Whole> units_of(variables_.size());
    for (const auto& [p, units] : rows_[source].uses) units_of[p] = units;
    for (std::size_t group = 0; group < compact_->groups(); ++group) {
        if (!std::isfinite(thresholds[group])) continue;
        // The search added uses up in doubles, so allow for rounding.
        const Whole threshold = scaled<Whole>(thresholds[group] * (1 - 1e-12), bits);
        for (std::uint32_t copy = compact_->first_copy[group]; copy < compact_->first_copy[group + 1];
             ++copy) {
            const std::size_t at = job_at_[compact_->job[copy]];
            std::optional<Whole> least;
            for (std::size_t p = jobs_[at].begin; p < jobs_[at].end; ++p)
                if (banned_[p] == 0 && units_of[p] >= threshold) {
                    more.positions.push_back(static_cast<std::uint32_t>(p));
                    if (!least || units_of[p] < *least) least = units_of[p];
                }
            if (least) smallest.emplace_back(*least, at);
        }
    }
    rows_.push_back({no_row, 0, static_cast<std::int64_t>(most), {}});
    // Even the `most` + 1 jobs with the least uses exceed the capacity together. `each` is the use of the
    // largest of them. A job that uses less makes up for the difference by its own row.
    std::sort(smallest.begin(), smallest.end());
    Whole left = rows_[source].capacity;
    for (std::size_t i = 0; i <= most && i < smallest.size(); ++i) left -= smallest[i].first;
    // Leave the row out if it says nothing or is not valid: bounds hold without it.
    if (smallest.size() <= most || left >= 0) return;
    const Whole each = smallest[most].first;
    assume(more);
    multipliers_.clear();
    multiply(rows_[source].index, 1, 0);
    multiply(more.index, -each, bits);
    for (const std::uint32_t p : more.positions) units_of[p] -= each;
    for (std::size_t i = 0; i < most; ++i) {
        const JobRow& job = jobs_[smallest[i].second];
        const Whole back = each - smallest[i].first;
        multiply(job.index, back, bits);
        for (std::size_t p = job.begin; p < job.end; ++p) units_of[p] += back;
    }
    for (std::size_t p = 0; p < variables_.size(); ++p) multiply(variables_[p], -units_of[p], bits);
    SideRow less = more;
    less.at_most = true;
    less.rhs = static_cast<std::int64_t>(most);
    rule_out(more, less);
    rows_.back().index = less.index;
    for (const std::uint32_t p : less.positions) rows_.back().uses.emplace_back(p, 1);
}

}  // namespace goodput::inline v0_1::detail

#endif
