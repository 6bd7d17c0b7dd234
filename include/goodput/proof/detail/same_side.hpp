#ifndef GOODPUT_PROOF_DETAIL_SAME_SIDE_HPP
#define GOODPUT_PROOF_DETAIL_SAME_SIDE_HPP

// Assigns dominated options to a side of a branching. An option dominates another one of the same job if it
// is worth at least as much and uses no more of any resource. The compact problem has no dominated options,
// so a branching of a search does not mention them. The given problem has them. Each of them goes to the
// side of an option that dominates it. There it is never better than an option that the search has counted.
// Getting nothing counts as an option as well: it may dominate others, or be dominated.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"

namespace goodput::inline v0_1::detail {

class SameSide {
public:
    SameSide(const AllotmentProblem& problem, const CompactProblem& compact)
        : problem_(&problem), compact_(&compact), kept_(compact.groups()) {}

    /// Returns, for each given option of the group's jobs and then for getting nothing, whether it is on
    /// the side of these options of the compact problem.
    std::vector<std::uint8_t> with(std::size_t group, std::span<const std::uint32_t> options) {
        std::vector<std::uint32_t>& kept = kept_[group];
        if (kept.empty()) find(group, kept);
        std::vector<std::uint8_t> in(kept.size(), 0);
        for (std::size_t k = 0; k < kept.size(); ++k)
            in[k] = std::find(options.begin(), options.end(), kept[k]) != options.end() ? 1 : 0;
        return in;
    }

private:
    /// Finds, for each given option and then for getting nothing, the option of the compact problem with
    /// which it goes, or `none` if it cannot be taken.
    void find(std::size_t group, std::vector<std::uint32_t>& kept) const {
        const std::size_t job = compact_->job[compact_->first_copy[group]];
        const std::size_t options = problem_->options_of(job);
        kept.assign(options + 1, none);
        for (std::uint32_t k = compact_->first[group]; k < compact_->first[group + 1]; ++k)
            kept[std::min<std::size_t>(compact_->original[k], options)] = k;
        std::vector<double> units(compact_->resources(), 0);
        for (std::size_t k = 0; k <= options; ++k) {
            if (kept[k] != none) continue;
            const double value = k < options ? problem_->value(job, k) : 0;
            std::fill(units.begin(), units.end(), 0);
            if (k < options)
                for (const ResourceUse& use : problem_->uses(job, k)) units[use.resource] += use.units;
            for (std::uint32_t c = compact_->first[group]; c < compact_->first[group + 1]; ++c) {
                const auto uses = compact_->uses_of(c);
                if (compact_->value[c] < value ||
                    std::any_of(uses.begin(), uses.end(),
                                [&](const ResourceUse& use) { return use.units > units[use.resource]; }))
                    continue;
                kept[k] = c;
                break;
            }
        }
    }

    const AllotmentProblem* problem_;
    const CompactProblem* compact_;
    std::vector<std::vector<std::uint32_t>> kept_;
};

}  // namespace goodput::inline v0_1::detail

#endif
