#ifndef GOODPUT_PARALLEL_DETAIL_CONFIGURATION_SEARCH_HPP
#define GOODPUT_PARALLEL_DETAIL_CONFIGURATION_SEARCH_HPP

// Configurations of one part a pool, those first that are worth most at prices as far as is known.
//
// What a planner answers to one question bounds plans of other GPUs, too. "No plan has more than B of
// reward * throughput^power - price * GPUs" holds at all prices: a plan on n GPUs has a throughput of at most
// ((B + price * n) / reward)^(1 / power). "No plan on m GPUs has more than T" holds for all n <= m. The least
// of all these is the ceiling of n; it never falls as n grows. So of all configurations between `low` and
// `high` none is worth more than
//
//     value(ceiling(GPUs of high)) - price * GPUs of low                   value never falls with throughput
//
// and the box with the largest bound is cut in two until it is one configuration.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace goodput::detail {

/// What no plan on so many GPUs by pool exceeds.
class ThroughputCeiling {
public:
    void clear() {
        curves_.clear();
        limits_.clear();
    }
    /// reward * throughput^power - price * GPUs is at most `bound`; reward and power are above 0, and prices
    /// are infinite where nothing is said of plans on GPUs of that pool.
    void add_curve(double reward, double power, std::span<const double> price, double bound) {
        curves_.push_back({reward, 1 / power, bound, {price.begin(), price.end()}});
    }
    /// With at most these GPUs, throughput is at most `bound`.
    void add_limit(std::span<const int> gpus, double bound) {
        limits_.push_back({bound, {gpus.begin(), gpus.end()}});
    }
    /// Iterations a second; infinite where nothing is known.
    [[nodiscard]] double operator()(std::span<const int> gpus) const {
        double least = std::numeric_limits<double>::infinity();
        for (const Limit& limit : limits_)
            if (limit.bound < least &&
                std::equal(gpus.begin(), gpus.end(), limit.gpus.begin(), std::less_equal<>()))
                least = limit.bound;
        for (const Curve& curve : curves_) {
            double sum = curve.bound;
            for (std::size_t p = 0; p < gpus.size(); ++p)
                if (gpus[p] > 0) sum += curve.price[p] * gpus[p];
            const double base = std::max(sum / curve.reward, 0.0);
            least = std::min(least, curve.root == 1 ? base : std::pow(base, curve.root) * (1 + 1e-12));
        }
        return std::max(least, 0.0);
    }

private:
    struct Curve {
        double reward, root, bound;
        std::vector<double> price;
    };
    struct Limit {
        double bound;
        std::vector<int> gpus;
    };
    std::vector<Curve> curves_;
    std::vector<Limit> limits_;
};

/// What a job may hold of each pool, fewest GPUs first; the first choice is none.
using PoolChoices = std::vector<std::vector<PoolShare>>;

/// Calls visit(pools) for each choice of `count` of `pools` pools, in the order of their indices.
template <class Visit>
void for_each_pools(std::size_t pools, std::size_t count, Visit visit) {
    std::vector<std::size_t> chosen(std::min(count, pools));
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
    for (;;) {
        visit(std::as_const(chosen));
        std::size_t i = chosen.size();
        while (i > 0 && chosen[i - 1] == pools - chosen.size() + i - 1) --i;
        if (i == 0) return;
        ++chosen[i - 1];
        for (; i < chosen.size(); ++i) chosen[i] = chosen[i - 1] + 1;
    }
}

/// Goes through configurations.
class ConfigurationSearch {
public:
    /// A configuration by its choice for each pool, and the most that it can be worth.
    struct Leaf {
        double bound = 0;
        std::vector<std::size_t> choice{};
    };

    /// `price` by pool; all configurations of `least` to `most` GPUs of at most `most_pools` pools.
    ConfigurationSearch(const PoolChoices& choices, const ThroughputCeiling& ceiling,
                        const std::vector<double>& price, int least, int most, std::size_t most_pools)
        : choices_(&choices),
          ceiling_(&ceiling),
          price_(&price),
          least_(least),
          most_(most),
          most_pools_(most_pools) {}

    /// Begins with all configurations. `value(throughput)` never falls, and may be a little too large.
    template <class Value>
    void start(Value value) {
        queue_ = {};
        // Where few pools are to be together, a box for each few, of configurations that have GPUs of all.
        const std::size_t pools = choices_->size();
        const std::size_t first = most_pools_ < pools ? 1 : pools;
        for (std::size_t count = first; count <= std::min(most_pools_, pools); ++count)
            for_each_pools(pools, count, [&](const std::vector<std::size_t>& chosen) {
                Box box{0, std::vector<std::size_t>(pools), std::vector<std::size_t>(pools)};
                for (const std::size_t p : chosen) {
                    box.low[p] = count < pools ? 1 : 0;
                    box.high[p] = (*choices_)[p].size() - 1;
                }
                push(std::move(box), value);
            });
    }
    /// No configuration that is left is worth more; minus infinity where none is left.
    [[nodiscard]] double bound() const {
        return queue_.empty() ? -std::numeric_limits<double>::infinity() : queue_.top().bound;
    }
    /// Takes the configuration of largest bound out, if that bound is above `least`, within so many steps:
    /// whether it did.
    template <class Value>
    bool next(Value value, double least, std::size_t& steps, Leaf& leaf) {
        while (!queue_.empty() && queue_.top().bound > least && steps > 0) {
            --steps;
            Box box = queue_.top();
            queue_.pop();
            // More may be known of it than when it came.
            if (const double now = bound_of(box, value); now < box.bound) {
                box.bound = now;
                if (now > -std::numeric_limits<double>::infinity() && now <= bound()) {
                    queue_.push(std::move(box));
                    continue;
                }
                if (!(now > least)) {
                    if (now > -std::numeric_limits<double>::infinity()) queue_.push(std::move(box));
                    continue;
                }
            }
            const std::size_t axis = axis_of(box);
            if (axis == choices_->size()) {
                leaf = {box.bound, std::move(box.low)};
                return true;
            }
            const std::size_t middle = (box.low[axis] + box.high[axis]) / 2;
            Box upper = box;
            upper.low[axis] = middle + 1;
            box.high[axis] = middle;
            push(std::move(upper), value);
            push(std::move(box), value);
        }
        return false;
    }

    /// GPUs by pool of a choice.
    [[nodiscard]] std::vector<int> gpus_of(std::span<const std::size_t> choice) const {
        std::vector<int> gpus;
        for (std::size_t p = 0; p < choice.size(); ++p) gpus.push_back((*choices_)[p][choice[p]].shape.gpus);
        return gpus;
    }
    /// The configuration of a choice.
    [[nodiscard]] Configuration configuration_of(std::span<const std::size_t> choice) const {
        std::vector<PoolShare> parts;
        for (std::size_t p = 0; p < choice.size(); ++p) parts.push_back((*choices_)[p][choice[p]]);
        return Configuration(std::move(parts));
    }

private:
    struct Box {
        double bound = 0;
        std::vector<std::size_t> low{}, high{};  // choices by pool
        friend bool operator<(const Box& a, const Box& b) {
            if (a.bound != b.bound) return a.bound < b.bound;
            return std::tie(a.low, a.high) < std::tie(b.low, b.high);
        }
    };

    template <class Value>
    double bound_of(const Box& box, Value value) const {
        constexpr double no_plan = -std::numeric_limits<double>::infinity();
        int fewest = 0, largest = 0;
        double price = 0;
        gpus_.clear();
        for (std::size_t p = 0; p < choices_->size(); ++p) {
            const PoolShare &low = (*choices_)[p][box.low[p]], &high = (*choices_)[p][box.high[p]];
            gpus_.push_back(high.shape.gpus);
            fewest += low.shape.gpus;
            largest += high.shape.gpus;
            price += (*price_)[p] * low.occupied_gpus();
        }
        if (fewest > most_ || largest < least_) return no_plan;
        const double throughput = (*ceiling_)(gpus_);
        return throughput > 0 ? value(throughput) - price : no_plan;
    }
    template <class Value>
    void push(Box box, Value value) {
        box.bound = bound_of(box, value);
        if (box.bound > -std::numeric_limits<double>::infinity()) queue_.push(std::move(box));
    }
    /// Where a cut tells most: the pool with most money between low and high; none for one configuration.
    [[nodiscard]] std::size_t axis_of(const Box& box) const {
        std::size_t best = choices_->size();
        std::pair<double, int> most{-1, 0};
        for (std::size_t p = 0; p < choices_->size(); ++p) {
            if (box.low[p] == box.high[p]) continue;
            const int gpus = (*choices_)[p][box.high[p]].shape.gpus - (*choices_)[p][box.low[p]].shape.gpus;
            if (const std::pair<double, int> here{(*price_)[p] * gpus, gpus}; here > most) {
                most = here;
                best = p;
            }
        }
        return best;
    }

    const PoolChoices* choices_;
    const ThroughputCeiling* ceiling_;
    const std::vector<double>* price_;
    int least_, most_;
    std::size_t most_pools_;
    std::priority_queue<Box> queue_;
    mutable std::vector<int> gpus_;
};

}  // namespace goodput::detail

#endif
