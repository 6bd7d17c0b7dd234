#ifndef GOODPUT_PROVING_DETAIL_LATER_KNAPSACKS_HPP
#define GOODPUT_PROVING_DETAIL_LATER_KNAPSACKS_HPP

// Bounds what the later levels of the core (the undecided choices, core.hpp) can still be worth, by prices
// on jobs (job_prices.hpp). For every level and every whole resource (one that is used in whole units)
// there is a table: the most that the jobs of later levels are worth to the resource beyond their prices,
// by the units that are left for them. A bound is the sum of a state's value, the prices of the later jobs,
// and one number of each table. That is as quick as a bound by prices on capacities, but takes into account
// that options are whole.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/core.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/proving/detail/job_prices.hpp"
#include "goodput/proving/detail/table_rows.hpp"

namespace goodput::inline v0_1::detail {

class LaterKnapsacks {
public:
    /// Sets the prices on jobs, by copy, for the searches to come. The relaxation and the prices must live
    /// as long.
    void know(const JobPrices& relaxation, std::span<const double> job_prices) {
        relaxation_ = &relaxation;
        job_prices_ = job_prices;
    }
    /// Forgets the prices: bound() is infinite from now on.
    void forget() {
        relaxation_ = nullptr;
        made_ = false;
    }

    /// Makes the tables for the levels of a core whose moves lead away from the allotment `base`, if prices
    /// on jobs are known. `prices`: those of the resources that are not whole. Makes none if they would
    /// have more than `most_kept` numbers, or if time runs out.
    void assign(const CompactProblem& problem, const Core& core, const Incumbent& base,
                std::span<const double> prices, std::size_t most_kept, Clock& clock) {
        made_ = false;
        if (relaxation_ == nullptr) return;
        const JobPrices& relaxation = *relaxation_;
        const std::size_t count = problem.resources(), levels = core.levels();
        base_.assign(base.left.begin(), base.left.end());
        for (const Bunch& bunch : core.bunches())
            for (const ResourceUse& use : problem.uses_of(bunch.option))
                base_[use.resource] += bunch.copies * use.units;
        resources_.clear();
        tables_.clear();
        rows_.assign(levels * count, 0);
        later_.assign(levels * count, 0);
        constant_.assign(levels, 0);
        in_core_.assign(problem.count, 0);
        for (std::size_t r = 0; r < count; ++r) {
            base_[r] += problem.tolerance[r];
            const bool whole = relaxation.whole(r);
            const double granule = whole ? relaxation.granule(r) : 0;
            const double room = whole ? std::floor(base_[r] / granule) : 0;
            if (room < 0 || room >= static_cast<double>(most_kept)) return;
            resources_.push_back(
                {granule, whole ? 0 : prices[r], static_cast<std::size_t>(room) + 1, tables_.size()});
            tables_.resize(tables_.size() + resources_.back().width, 0);
            base_[r] = problem.tolerance[r];
        }
        double constant = 0;
        for (std::size_t level = levels; level-- > 0;) {
            constant_[level] = constant;
            for (std::size_t r = 0; r < count; ++r) {
                later_[level * count + r] = base_[r];
                rows_[level * count + r] = resources_[r].last;
            }
            if (!core.level(level).begins) continue;
            const Bunch& bunch = core.bunches()[core.level(level).bunch];
            for (const ResourceUse& use : problem.uses_of(bunch.option))
                base_[use.resource] += bunch.copies * use.units;
            in_core_[bunch.option] = 1;
            for (const BunchOption& candidate : core.candidates(bunch)) in_core_[candidate.option] = 1;
            for (std::uint32_t copy = bunch.first_copy; copy < bunch.first_copy + bunch.copies; ++copy) {
                constant += job_prices_[copy] - problem.value[bunch.option];
                if (!add(relaxation, copy, job_prices_[copy], constant, most_kept, clock)) return;
            }
            in_core_[bunch.option] = 0;
            for (const BunchOption& candidate : core.candidates(bunch)) in_core_[candidate.option] = 0;
        }
        made_ = true;
    }

    /// Returns the largest sum that a state can still reach after `level`. All copies of the level's bunch
    /// must be decided.
    [[nodiscard]] double bound(double value, const double* left, std::size_t level) const {
        if (!made_) return std::numeric_limits<double>::infinity();
        const std::size_t count = resources_.size();
        double sum = value + constant_[level];
        for (std::size_t r = 0; r < count; ++r) {
            const Resource& resource = resources_[r];
            const double room = left[r] + later_[level * count + r];
            if (resource.granule == 0) {
                sum += resource.price * room;
                continue;
            }
            if (room < 0) return -std::numeric_limits<double>::infinity();
            const auto units = static_cast<std::size_t>(room / resource.granule);
            sum += tables_[rows_[level * count + r] + std::min(units, resource.width - 1)];
        }
        return sum;
    }

private:
    struct Resource {
        double granule, price;  ///< granule is 0 if the resource is not whole and has a price
        std::size_t width;
        std::size_t last;  ///< start of the row made last
    };

    /// Adds a copy's options, in new rows of the resources that they use. Returns false if memory or time
    /// runs out.
    bool add(const JobPrices& relaxation, std::size_t copy, double price, double& constant,
             std::size_t most_kept, Clock& clock) {
        double idle = 0;
        for (std::uint32_t k = relaxation.first(copy); k < relaxation.end(copy);) {
            const std::uint32_t r = relaxation.resource(k);
            std::uint32_t end = k;
            while (end < relaxation.end(copy) && relaxation.resource(end) == r) ++end;
            if (r == none) {
                for (; k < end; ++k)
                    if (interesting(relaxation, k)) idle = std::max(idle, relaxation.value(k) - price);
                continue;
            }
            const std::size_t width = resources_[r].width;
            bool first = true;
            for (; k < end; ++k) {
                const double worth = relaxation.value(k) - price;
                const std::size_t units = relaxation.units(k);
                if (!interesting(relaxation, k) || worth <= 0 || units >= width) continue;
                if (first && !begin_row(r, most_kept, clock)) return false;
                first = false;
                double* after = tables_.data() + resources_[r].last;
                larger_of(after + units, tables_.data() + previous_, worth, after + units, width - units);
            }
        }
        constant += idle;
        return true;
    }
    [[nodiscard]] bool interesting(const JobPrices& relaxation, std::uint32_t option) const {
        return relaxation.allowed(option) && in_core_[relaxation.original(option)] != 0;
    }
    bool begin_row(std::size_t r, std::size_t most_kept, Clock& clock) {
        const std::size_t width = resources_[r].width;
        if (tables_.size() + width > most_kept || clock.late(4 * width)) return false;
        previous_ = resources_[r].last;
        resources_[r].last = tables_.size();
        tables_.resize(tables_.size() + width);
        std::copy_n(tables_.data() + previous_, width, tables_.data() + resources_[r].last);
        return true;
    }

    const JobPrices* relaxation_ = nullptr;
    std::span<const double> job_prices_;
    bool made_ = false;  ///< whether the tables belong to the present core
    std::vector<Resource> resources_;
    std::vector<double> tables_;
    std::size_t previous_ = 0;
    std::vector<std::uint8_t> in_core_;  // by option of the problem
    std::vector<double> base_;           // by resource
    // By level and resource: the row for what comes after the level; what later bunches use at the base.
    std::vector<std::size_t> rows_;
    std::vector<double> later_;
    // By level: the job prices of all later copies, less their values at the base.
    std::vector<double> constant_;
};

}  // namespace goodput::inline v0_1::detail

#endif
