#ifndef GOODPUT_PROVING_DETAIL_WHOLE_RESOURCES_HPP
#define GOODPUT_PROVING_DETAIL_WHOLE_RESOURCES_HPP

// Chooses the resources that become knapsacks of their own, solved exactly over whole units
// (job_prices.hpp). All uses of such a resource must be multiples of some number that is not too small (the
// granule), and no option may use two of the chosen resources. The most valuable resources (price times
// capacity) come first.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"

namespace goodput::inline v0_1::detail {

class WholeResources {
public:
    /// Chooses the resources at these prices. Returns false if there are more than most_resources, or if
    /// the chosen ones are worth less than half of all capacities, because their knapsacks would tell
    /// little.
    bool assign(const CompactProblem& problem, std::span<const double> prices) {
        const std::size_t count = problem.resources();
        if (count > most_resources) return false;
        read(problem);
        const auto worth_of = [&](std::size_t r) { return prices[r] * problem.capacity[r]; };
        order_.resize(count);
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return worth_of(a) != worth_of(b) ? worth_of(a) > worth_of(b) : a < b;
        });
        room_.assign(count, 0);
        double worth = 0, worth_of_whole = 0;
        bool any = false;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t r = order_[i];
            worth += worth_of(r);
            if (!whole_[r]) continue;
            const double room = std::floor((problem.capacity[r] + problem.tolerance[r]) / granule_[r]);
            bool possible = room < most_units;
            for (std::size_t j = 0; j < i; ++j)
                possible = possible && !(whole_[order_[j]] && together_[r * count + order_[j]]);
            whole_[r] = possible ? 1 : 0;
            if (!possible) continue;
            room_[r] = static_cast<std::uint32_t>(room);
            worth_of_whole += worth_of(r);
            any = true;
        }
        return any && worth_of_whole >= worth / 2;
    }

    [[nodiscard]] std::size_t count() const { return room_.size(); }
    [[nodiscard]] bool whole(std::size_t resource) const { return whole_[resource] != 0; }
    /// granule(): every use of the resource is a multiple of this. room(): how many granules the capacity
    /// holds.
    [[nodiscard]] double granule(std::size_t resource) const { return granule_[resource]; }
    [[nodiscard]] std::uint32_t room(std::size_t resource) const { return room_[resource]; }

private:
    static constexpr double most_units = 1 << 20;
    /// Limits the memory of together_, which has an entry for each pair of resources.
    static constexpr std::size_t most_resources = 1024;

    void read(const CompactProblem& problem) {
        const std::size_t count = problem.resources();
        problem.find_granules(granule_);
        together_.assign(count * count, 0);
        for (std::uint32_t k = 0; k < problem.count; ++k) {
            const std::span<const ResourceUse> uses = problem.uses_of(k);
            for (const ResourceUse& use : uses)
                for (const ResourceUse& other : uses) together_[use.resource * count + other.resource] = 1;
        }
        whole_.clear();
        for (const double granule : granule_) whole_.push_back(granule > 0 && std::isfinite(granule) ? 1 : 0);
    }

    // By resource. together_ is by pair of resources: 1 if some option uses both.
    std::vector<double> granule_;
    std::vector<std::uint8_t> whole_, together_;
    std::vector<std::uint32_t> order_, room_;
};

}  // namespace goodput::inline v0_1::detail

#endif
