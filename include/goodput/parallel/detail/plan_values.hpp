#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_VALUES_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_VALUES_HPP

// Lets a maker learn a round's prices and values by asking about hypothetical options: the price of a GPU
// of each pool, and what a goodput is worth whatever the GPUs.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/parallel/detail/configuration_search.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput::inline v0_1::detail {

/// Prices by pool, and values by goodput. The values are those of one round; prices change from call to
/// call.
class PlanValues {
public:
    /// Reads the prices with hypothetical options of that goodput, above 0, on GPUs that the job does not
    /// hold. Throws std::runtime_error if the worth of an option is not a function of its goodput minus a
    /// sum over its GPUs.
    void read(const AtPrices& at, const PoolChoices& choices, const Configuration& held, double goodput) {
        prices_.clear();
        std::vector<PoolShare> mixed;
        double least = 0, most = 0;
        for (const auto& of_pool : choices) {
            const auto [few, many] = probes(of_pool.back(), held);
            const double with_few = supposed(at, Configuration(few), goodput),
                         with_many = supposed(at, Configuration(many), goodput);
            const double gpus = many.occupied_gpus() - few.occupied_gpus();
            prices_.push_back(std::max((with_few - with_many) / gpus, 0.0));
            const double worth = with_few + prices_.back() * few.occupied_gpus();
            if (prices_.size() == 1) {
                probe_ = few;
                least = most = worth;
            }
            least = std::min(least, worth);
            most = std::max(most, worth);
            mixed.push_back(many);
        }
        double together = 0;
        for (std::size_t p = 0; p < mixed.size(); ++p) together += prices_[p] * mixed[p].occupied_gpus();
        if (!Configuration(mixed).same_gpus(held)) {
            const double worth = supposed(at, Configuration(mixed), goodput) + together;
            least = std::min(least, worth);
            most = std::max(most, worth);
        }
        if (!(most - least <= 1e-6 * (1 + std::abs(most) + together)))
            throw std::runtime_error(
                "what an option is worth is not its goodput's value less a price for each GPU, so nothing "
                "bounds the plans that are not listed");
    }
    /// Prices per GPU, by pool; at least 0.
    [[nodiscard]] const std::vector<double>& prices() const { return prices_; }
    /// Returns what a goodput is worth on GPUs that cost nothing.
    [[nodiscard]] double exact(const AtPrices& at, double goodput) const {
        return supposed(at, Configuration(probe_), goodput) + prices_.front() * probe_.occupied_gpus();
    }

    /// Prepares at_most() for goodputs up to `top`. Later values are taken to be those of the first call,
    /// up to a constant.
    void prepare(const AtPrices& at, double top) {
        if (table_.empty()) {
            top_ = top;
            double goodput = top;
            for (std::size_t i = 0; i < steps; ++i, goodput /= ratio) table_.push_back(exact(at, goodput));
        }
        offset_ = exact(at, top_) - table_.front();
    }
    /// Quickly returns a value that is at least exact(), and only a little more.
    [[nodiscard]] double at_most(const AtPrices& at, double goodput) const {
        if (goodput > top_) return exact(at, goodput);
        static const double log_ratio = std::log(ratio);
        const double below = std::log(top_ / goodput) / log_ratio * (1 - 1e-12);
        const auto step = static_cast<std::size_t>(std::min(below, steps - 1.0));
        return table_[step] + offset_ + 1e-12 * std::abs(table_[step]);
    }

private:
    static constexpr double ratio = 1.004;
    static constexpr std::size_t steps = 2000;

    /// Returns two amounts of GPUs, a small and a larger one, that the job does not hold.
    static std::pair<PoolShare, PoolShare> probes(PoolShare pool, const Configuration& held) {
        std::vector<PoolShare> found;
        for (int nodes = 1; found.size() < 2; ++nodes) {
            pool.shape = {nodes, nodes == 1 ? 1 : nodes * pool.gpus_per_node};
            if (!Configuration(pool).same_gpus(held)) found.push_back(pool);
        }
        return {found[0], found[1]};
    }
    static double supposed(const AtPrices& at, Configuration configuration, double goodput) {
        return at.suppose({std::move(configuration), {1, 0}, goodput, Knowledge::measured});
    }

    std::vector<double> prices_;
    PoolShare probe_{};
    std::vector<double> table_;
    double top_ = 0, offset_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
