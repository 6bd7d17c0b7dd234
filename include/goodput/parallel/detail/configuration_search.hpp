#ifndef GOODPUT_PARALLEL_DETAIL_CONFIGURATION_SEARCH_HPP
#define GOODPUT_PARALLEL_DETAIL_CONFIGURATION_SEARCH_HPP

// Searches configurations with one part per pool, those that may be worth most at given prices first.
//
// An answer of the planner bounds plans on other GPUs, too. "No plan has more than B of
// reward * throughput^power - price * GPUs" holds at all prices: a plan on n GPUs has a throughput of at most
// ((B + price * n) / reward)^(1 / power). "No plan on m GPUs has more than T" holds for all n <= m. The
// ceiling of n is the least of all these bounds. It never falls as n grows. So no configuration between
// `low` and `high` is worth more than
//
//     value(ceiling(GPUs of high)) - price * GPUs of low
//
// because the value never falls with the throughput. The search halves the box with the largest bound until
// it is a single configuration.

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

namespace goodput::inline v0_1::detail {

/// An upper bound on the throughput of any plan, by its GPUs in each pool.
class ThroughputCeiling {
public:
    void clear() {
        curves_.clear();
        limits_.clear();
    }
    /// Notes that reward * throughput^power - price * GPUs is at most `bound`. Reward and power are above
    /// 0. An infinite price means that this says nothing about plans on GPUs of that pool.
    void add_curve(double reward, double power, std::span<const double> price, double bound) {
        curves_.push_back({reward, 1 / power, bound, {price.begin(), price.end()}});
    }
    /// Notes that throughput is at most `bound` with at most these GPUs.
    void add_limit(std::span<const int> gpus, double bound) {
        limits_.push_back({bound, {gpus.begin(), gpus.end()}});
    }
    /// Returns the ceiling in iterations per second; infinite if nothing is known.
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

/// What a job may hold of each pool, fewest GPUs first. The first choice of each pool is no GPUs.
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

/// Searches configurations.
class ConfigurationSearch {
public:
    /// A configuration, by its choice for each pool, and an upper bound on its worth.
    struct Leaf {
        double bound = 0;
        std::vector<std::size_t> choice{};
    };

    /// Searches all configurations of `least` to `most` GPUs in at most `most_pools` pools. `price` is by
    /// pool.
    ConfigurationSearch(const PoolChoices& choices, const ThroughputCeiling& ceiling,
                        const std::vector<double>& price, int least, int most, std::size_t most_pools)
        : choices_(&choices),
          ceiling_(&ceiling),
          price_(&price),
          least_(least),
          most_(most),
          most_pools_(most_pools) {}

    /// Starts with all configurations. `value(throughput)` must never fall; it may be slightly too large.
    template <class Value>
    void start(Value value) {
        queue_ = {};
        // If a configuration may span only some pools, each such set of pools gets a box. Its
        // configurations have GPUs of all pools in the set.
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
    /// Returns an upper bound on the worth of all remaining configurations; minus infinity if none remains.
    [[nodiscard]] double bound() const {
        return queue_.empty() ? -std::numeric_limits<double>::infinity() : queue_.top().bound;
    }
    /// Takes out the configuration of largest bound, if that bound is above `least` and `steps` suffice.
    /// Returns whether it did.
    template <class Value>
    bool next(Value value, double least, std::size_t& steps, Leaf& leaf) {
        while (!queue_.empty() && queue_.top().bound > least && steps > 0) {
            --steps;
            Box box = queue_.top();
            queue_.pop();
            // More may be known now than when the box was queued.
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

    /// Returns the GPUs of a choice, by pool.
    [[nodiscard]] std::vector<int> gpus_of(std::span<const std::size_t> choice) const {
        std::vector<int> gpus;
        for (std::size_t p = 0; p < choice.size(); ++p) gpus.push_back((*choices_)[p][choice[p]].shape.gpus);
        return gpus;
    }
    /// Returns the configuration of a choice.
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
    /// Returns the pool where a cut tells most: the one with the most money between low and high. Returns
    /// the number of pools if the box is one configuration.
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

}  // namespace goodput::inline v0_1::detail

#endif
