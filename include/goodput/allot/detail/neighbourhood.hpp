#ifndef GOODPUT_ALLOT_DETAIL_NEIGHBOURHOOD_HPP
#define GOODPUT_ALLOT_DETAIL_NEIGHBOURHOOD_HPP

// Which part of an allotment should be searched again, so that something better may be found? All jobs of a
// few resources at once, the rest as it is (large neighbourhood search; Shaw 1998). Resources go together
// whose jobs could change places at little loss: by how much the bound falls if a job of one takes an option
// of the other (job_prices.hpp). Which resource comes first goes round; a generator of its own with a fixed
// seed varies the others.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/job_prices.hpp"

namespace goodput::detail {

class Neighbourhood {
public:
    /// Begins anew, whatever was chosen before.
    void reset() {
        first_ = 0;
        state_ = 1;
    }
    /// Looks at the losses that the last bound() found; `slack`: the largest that is of interest. `chosen`:
    /// each copy's option of the compact problem.
    void assign(const JobPrices& relaxation, std::span<const std::uint32_t> chosen, double slack) {
        count_ = relaxation.resources();
        affinity_.assign(count_ * count_, 0);
        resource_.assign(relaxation.copies(), none);
        for (std::size_t copy = 0; copy < relaxation.copies(); ++copy)
            for (std::uint32_t k = relaxation.first(copy); k < relaxation.end(copy); ++k)
                if (relaxation.original(k) == chosen[copy]) resource_[copy] = relaxation.resource(k);
        for (std::size_t copy = 0; copy < relaxation.copies(); ++copy) {
            const std::uint32_t own = resource_[copy];
            for (std::uint32_t k = relaxation.first(copy); k < relaxation.end(copy) && own != none; ++k) {
                const std::uint32_t other = relaxation.resource(k);
                if (!relaxation.allowed(k) || other == own || other == none) continue;
                const double near = std::exp(-4 * relaxation.loss(k) / slack);
                affinity_[own * count_ + other] += near;
                affinity_[other * count_ + own] += near;
            }
        }
    }

    /// Chooses resources that serve about so many copies together, two at least; free() tells whose are among
    /// them.
    void next(std::size_t copies) {
        chosen_.assign(count_, 0);
        served_.assign(count_, 0);
        for (const std::uint32_t r : resource_)
            if (r != none) ++served_[r];
        std::size_t sum = 0, number = 0;
        for (std::size_t tried = 0; tried < count_ && served_[first_ % count_] == 0; ++tried) ++first_;
        for (std::size_t r = first_++ % count_; r < count_ && (sum < copies || number < 2); ++number) {
            chosen_[r] = 1;
            sum += served_[r];
            r = nearest();
        }
    }
    /// Whether a copy is to be searched again: it has an option on one of these resources, or on none.
    [[nodiscard]] bool free(std::size_t copy) const {
        return resource_[copy] == none || chosen_[resource_[copy]] != 0;
    }

private:
    std::size_t nearest() {
        std::size_t best = count_;
        double most = 0;
        for (std::size_t r = 0; r < count_; ++r) {
            if (chosen_[r] || served_[r] == 0) continue;
            double near = 1e-9;
            for (std::size_t other = 0; other < count_; ++other)
                if (chosen_[other]) near += affinity_[r * count_ + other];
            near *= random();
            if (near > most) {
                most = near;
                best = r;
            }
        }
        return best;
    }
    /// In (0, 1]: Knuth's linear congruential generator, its upper bits.
    double random() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return (static_cast<double>(state_ >> 11) + 1) * 0x1p-53;
    }

    std::size_t count_ = 0, first_ = 0;
    std::uint64_t state_ = 1;
    std::vector<double> affinity_;         // by two resources
    std::vector<std::uint32_t> resource_;  // by copy
    std::vector<std::uint8_t> chosen_;     // by resource
    std::vector<std::size_t> served_;
};

}  // namespace goodput::detail

#endif
