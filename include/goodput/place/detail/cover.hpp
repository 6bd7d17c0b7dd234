#ifndef GOODPUT_PLACE_DETAIL_COVER_HPP
#define GOODPUT_PLACE_DETAIL_COVER_HPP

// Cheapest cover of several needs by groups of options (of each group at most one):
//
//     min sum_g cost(o_g)   subject to   sum_g gain_r(o_g) >= need_r   for every row r
//
// the multiple-choice covering problem that evictions pose (a group is a node, an option a set of jobs to
// evict, a row a size of block that is short). Method:
//
//  1. A minimal cover uses at most U = sum_r need_r groups, and an option that is not among the U cheapest of
//     the same gain can be exchanged for one of them: only those are looked at.
//  2. Dynamic program over groups with the vector of what is still needed, if its work stays under a limit:
//     exact, O(options * prod_r (need_r + 1)).
//  3. Otherwise prices per row (Lagrange multipliers): D(p) = p.need + sum_g min(0, min_o cost_o - p.gain_o)
//     bounds every cover from below. The options chosen at the best prices are repaired in the order of their
//     regret, trimmed, and the groups that are nearest to indifferent are settled by 2. The bound is honest,
//     the cover nearly always within a fraction of a percent of it.
//
// Integers throughout, so that bounds are exact; all choices break ties by position.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

namespace goodput::detail {

inline constexpr std::size_t cover_rows = 6;
using CoverVector = std::array<int, cover_rows>;

/// One way to gain: `group` non-decreasing over the list, cost >= 0, gains >= 0 (0 in rows not in use).
struct CoverOption {
    std::size_t group = 0;
    std::int64_t cost = 0;
    CoverVector gain{};
};

struct CoverResult {
    bool covered = false;    ///< some choice covers the need
    std::int64_t cost = 0;   ///< of the choice
    std::int64_t bound = 0;  ///< no cover costs less
};

/// Keeps its buffers from call to call.
class CoverSolver {
public:
    /// The cheapest cover found; exact (cost == bound) whenever the dynamic program fits into `work_limit`
    /// steps. Costs may sum to at most 2^60.
    CoverResult solve(std::span<const CoverOption> options, const CoverVector& need, std::size_t work_limit) {
        options_ = options;
        need_ = need;
        chosen_.clear();
        if (none_needed(need)) return {true, 0, 0};
        shortlist();
        std::vector<std::size_t>& all = scope_;
        all.resize(group_start_.size() - 1);
        for (std::size_t g = 0; g < all.size(); ++g) all[g] = g;
        if (states(need) <= work_limit / std::max<std::size_t>(options_of_.size(), 1)) {
            pick_.assign(all.size(), none);
            const std::int64_t cost = dynamic_program(need);
            if (cost == unreachable) return {};
            collect();
            return {true, cost, cost};
        }
        return by_prices(work_limit);
    }

    /// Positions of the options that the last solve() chose, ascending.
    [[nodiscard]] std::span<const std::size_t> chosen() const { return chosen_; }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    static constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max();

    static bool none_needed(const CoverVector& need) {
        return std::all_of(need.begin(), need.end(), [](int n) { return n <= 0; });
    }
    static std::size_t states(const CoverVector& need) {
        double product = 1;
        for (const int n : need) product *= std::max(n, 0) + 1.0;
        return product < 1e15 ? static_cast<std::size_t>(product) : none;
    }

    void shortlist() {
        std::size_t uses = 0;
        for (const int n : need_) uses += static_cast<std::size_t>(std::max(n, 0));
        order_.clear();
        clipped_.resize(options_.size());
        for (std::size_t o = 0; o < options_.size(); ++o) {
            for (std::size_t r = 0; r < cover_rows; ++r)
                clipped_[o][r] = std::min(options_[o].gain[r], std::max(need_[r], 0));
            if (none_needed(clipped_[o])) continue;
            // Equal gains in one group would count twice among the U cheapest.
            std::size_t i = order_.size();
            while (i > 0 && options_[order_[i - 1]].group == options_[o].group &&
                   clipped_[order_[i - 1]] != clipped_[o])
                --i;
            if (i == 0 || options_[order_[i - 1]].group != options_[o].group)
                order_.push_back(o);
            else if (options_[o].cost < options_[order_[i - 1]].cost)
                order_[i - 1] = o;
        }
        if (order_.size() > uses) {
            std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
                return std::tie(clipped_[a], options_[a].cost, a) <
                       std::tie(clipped_[b], options_[b].cost, b);
            });
            std::size_t kept = 0, same = 0;
            for (std::size_t i = 0; i < order_.size(); ++i) {
                same = i > 0 && clipped_[order_[i]] == clipped_[order_[kept - 1]] ? same + 1 : 0;
                if (same < uses) order_[kept++] = order_[i];
            }
            order_.resize(kept);
            std::sort(order_.begin(), order_.end());
        }
        options_of_.clear();
        group_start_.assign(1, 0);
        for (const std::size_t o : order_) {
            if (!options_of_.empty() && options_[o].group != options_[options_of_.back()].group)
                group_start_.push_back(options_of_.size());
            options_of_.push_back(o);
        }
        group_start_.push_back(options_of_.size());
        if (options_of_.empty()) group_start_.assign(1, 0);
    }

    [[nodiscard]] std::span<const std::size_t> group(std::size_t g) const {
        return std::span(options_of_).subspan(group_start_[g], group_start_[g + 1] - group_start_[g]);
    }

    // Settles the groups in scope_ at least cost for `need`, writes their picks, returns the cost.
    std::int64_t dynamic_program(const CoverVector& need) {
        CoverVector stride{};
        std::size_t total = 1;
        for (std::size_t r = 0; r < cover_rows; ++r) {
            stride[r] = static_cast<int>(total);
            total *= static_cast<std::size_t>(std::max(need[r], 0)) + 1;
        }
        cheapest_.assign(total, unreachable);
        cheapest_[0] = 0;
        taken_.assign(scope_.size() * total, 0);
        CoverVector left{};
        for (std::size_t i = 0; i < scope_.size(); ++i) {
            const auto members = group(scope_[i]);
            std::uint16_t* taken = taken_.data() + i * total;
            for (std::size_t r = 0; r < cover_rows; ++r) left[r] = std::max(need[r], 0);
            // Downwards, because a state is reached from smaller ones, which must still be the old ones.
            for (std::size_t state = total; state-- > 0;) {
                for (std::size_t m = 0; m < members.size(); ++m) {
                    const CoverVector& gain = clipped_[members[m]];
                    int rest = 0;
                    for (std::size_t r = 0; r < cover_rows; ++r)
                        rest += std::max(left[r] - gain[r], 0) * stride[r];
                    const std::int64_t before = cheapest_[static_cast<std::size_t>(rest)];
                    if (before == unreachable) continue;
                    const std::int64_t cost = before + options_[members[m]].cost;
                    if (cost >= cheapest_[state]) continue;
                    cheapest_[state] = cost;
                    taken[state] = static_cast<std::uint16_t>(m + 1);
                }
                for (std::size_t r = 0; r < cover_rows; ++r) {
                    if (left[r]-- > 0) break;
                    left[r] = std::max(need[r], 0);
                }
            }
        }
        if (cheapest_[total - 1] == unreachable) return unreachable;
        for (std::size_t r = 0; r < cover_rows; ++r) left[r] = std::max(need[r], 0);
        for (std::size_t i = scope_.size(); i-- > 0;) {
            std::size_t state = 0;
            for (std::size_t r = 0; r < cover_rows; ++r)
                state += static_cast<std::size_t>(left[r] * stride[r]);
            const std::uint16_t m = taken_[i * total + state];
            pick_[scope_[i]] = m == 0 ? none : group(scope_[i])[m - 1u];
            if (m == 0) continue;
            const CoverVector& gain = clipped_[pick_[scope_[i]]];
            for (std::size_t r = 0; r < cover_rows; ++r) left[r] = std::max(left[r] - gain[r], 0);
        }
        return cheapest_[total - 1];
    }

    using Prices = std::array<std::int64_t, cover_rows>;

    [[nodiscard]] std::int64_t reduced(std::size_t option, const Prices& prices) const {
        std::int64_t cost = options_[option].cost;
        for (std::size_t r = 0; r < cover_rows; ++r) cost -= prices[r] * clipped_[option][r];
        return cost;
    }

    // D(prices); `short_` is what the cheapest choices at these prices leave uncovered (negative: too much).
    std::int64_t dual(const Prices& prices, std::vector<std::size_t>* picks = nullptr) {
        short_ = need_;
        std::int64_t value = 0;
        for (std::size_t r = 0; r < cover_rows; ++r) value += prices[r] * std::max(need_[r], 0);
        for (std::size_t g = 0; g + 1 < group_start_.size(); ++g) {
            std::int64_t least = 0;
            std::size_t best = none;
            for (std::size_t i = group_start_[g]; i < group_start_[g + 1]; ++i) {
                const std::int64_t cost = reduced(options_of_[i], prices);
                if (cost < least) least = cost, best = options_of_[i];
            }
            value += least;
            if (picks) (*picks)[g] = best;
            if (best == none) continue;
            for (std::size_t r = 0; r < cover_rows; ++r) short_[r] -= clipped_[best][r];
        }
        return value;
    }

    Prices best_prices(std::int64_t& bound) {
        std::int64_t dearest = 1;
        for (const std::size_t o : options_of_) dearest = std::max(dearest, options_[o].cost + 1);
        std::int64_t units = 1;
        std::size_t rows = 0;
        for (const int n : need_) units += std::max(n, 0), rows += n > 0 ? 1 : 0;
        dearest = std::min(dearest, (std::int64_t{1} << 61) / units);
        Prices prices{}, best{};
        const auto keep = [&](std::int64_t value) {
            if (value > bound) bound = value, best = prices;
        };
        bound = 0;
        // Row by row first: D is concave, so its slope (short_) tells on which side the best price lies.
        for (int sweep = 0; sweep < (rows > 1 ? 2 : 1); ++sweep)
            for (std::size_t r = 0; r < cover_rows; ++r) {
                if (need_[r] <= 0) continue;
                std::int64_t low = 0, high = dearest;
                while (low < high && (rows == 1 || high - low > dearest / 1024)) {
                    prices[r] = low + (high - low) / 2;
                    keep(dual(prices));
                    if (short_[r] > 0)
                        low = prices[r] + 1;
                    else
                        high = prices[r];
                }
                prices[r] = high;
                keep(dual(prices));
            }
        if (rows < 2) return best;
        // Then together, by steps along the slope that shrink while nothing is gained.
        double step = 0.02 * static_cast<double>(dearest);
        for (int round = 0; round < 40; ++round) {
            prices = best;
            dual(prices);
            double norm = 0;
            for (std::size_t r = 0; r < cover_rows; ++r)
                if (need_[r] > 0) norm += static_cast<double>(short_[r]) * short_[r];
            if (norm == 0) break;
            const CoverVector slope = short_;
            for (std::size_t r = 0; r < cover_rows; ++r) {
                if (need_[r] <= 0) continue;
                const double moved = static_cast<double>(best[r]) + step * slope[r] / std::sqrt(norm);
                prices[r] = static_cast<std::int64_t>(std::clamp(moved, 0.0, static_cast<double>(dearest)));
            }
            const std::int64_t before = bound;
            keep(dual(prices));
            step *= bound > before ? 1.5 : 0.6;
            if (step < 1) break;
        }
        return best;
    }

    CoverResult by_prices(std::size_t work_limit) {
        const std::size_t groups = group_start_.size() - 1;
        std::int64_t bound = 0;
        pick_.assign(groups, none);
        const Prices prices = best_prices(bound);
        dual(prices, &pick_);
        if (!repair(prices)) return {};
        trim();
        std::int64_t cost = cost_of_picks();
        for (std::size_t size = std::min<std::size_t>(groups, 64); size >= 8 && cost > bound; size /= 2)
            if (settle_core(prices, size, work_limit, cost)) break;
        collect();
        return {true, cost, std::min(bound, cost)};
    }

    [[nodiscard]] std::int64_t cost_of_picks() const {
        std::int64_t cost = 0;
        for (const std::size_t o : pick_) cost += o == none ? 0 : options_[o].cost;
        return cost;
    }

    // Takes further options in the order of their regret until everything is covered.
    bool repair(const Prices& prices) {
        const auto shortage = [&](const CoverVector& left) {
            std::int64_t sum = 0;
            for (const int l : left) sum += std::max(l, 0);
            return sum;
        };
        const auto changed = [&](std::size_t g, std::size_t option) {
            CoverVector left = short_;
            for (std::size_t r = 0; r < cover_rows; ++r)
                left[r] += (pick_[g] == none ? 0 : clipped_[pick_[g]][r]) - clipped_[option][r];
            return left;
        };
        regrets_.clear();
        for (std::size_t g = 0; g < pick_.size(); ++g) {
            const std::int64_t least = pick_[g] == none ? 0 : reduced(pick_[g], prices);
            for (const std::size_t o : group(g))
                if (o != pick_[g]) regrets_.push_back({reduced(o, prices) - least, g, o});
        }
        std::sort(regrets_.begin(), regrets_.end());
        for (bool progress = true; progress && shortage(short_) > 0;) {
            progress = false;
            for (const auto& [regret, g, option] : regrets_) {
                if (shortage(short_) == 0) break;
                const CoverVector left = changed(g, option);
                if (shortage(left) >= shortage(short_)) continue;
                short_ = left;
                pick_[g] = option;
                progress = true;
            }
        }
        if (shortage(short_) == 0) return true;
        // Last resort: of every group the option with the largest gain in all.
        short_ = need_;
        for (std::size_t g = 0; g < pick_.size(); ++g) {
            const auto members = group(g);
            const auto sum = [&](std::size_t o) {
                std::int64_t gain = 0;
                for (const int value : clipped_[o]) gain += value;
                return gain;
            };
            pick_[g] = *std::max_element(members.begin(), members.end(),
                                         [&](std::size_t a, std::size_t b) { return sum(a) < sum(b); });
            for (std::size_t r = 0; r < cover_rows; ++r) short_[r] -= clipped_[pick_[g]][r];
        }
        return none_needed(short_);
    }

    // Gives back, dearest first, what is not needed.
    void trim() {
        order_.clear();
        for (std::size_t g = 0; g < pick_.size(); ++g)
            if (pick_[g] != none) order_.push_back(g);
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            const std::int64_t of_a = options_[pick_[a]].cost, of_b = options_[pick_[b]].cost;
            return of_a != of_b ? of_a > of_b : a < b;
        });
        for (const std::size_t g : order_) {
            CoverVector without = short_;
            for (std::size_t r = 0; r < cover_rows; ++r) without[r] += clipped_[pick_[g]][r];
            std::size_t cheapest = none_needed(without) ? none : pick_[g];
            for (const std::size_t o : group(g)) {
                if (cheapest == none || options_[o].cost >= options_[cheapest].cost) continue;
                CoverVector left = without;
                for (std::size_t r = 0; r < cover_rows; ++r) left[r] -= clipped_[o][r];
                if (none_needed(left)) cheapest = o;
            }
            pick_[g] = cheapest;
            short_ = without;
            if (cheapest == none) continue;
            for (std::size_t r = 0; r < cover_rows; ++r) short_[r] -= clipped_[cheapest][r];
        }
    }

    // Settles the `size` groups nearest to indifferent exactly, the others staying as they are; false if that
    // is more work than allowed.
    bool settle_core(const Prices& prices, std::size_t size, std::size_t work_limit, std::int64_t& cost) {
        regrets_.clear();
        for (std::size_t g = 0; g < pick_.size(); ++g) {
            const std::int64_t here = pick_[g] == none ? 0 : reduced(pick_[g], prices);
            std::int64_t nearest = pick_[g] == none ? unreachable : std::abs(here);
            for (const std::size_t o : group(g))
                if (o != pick_[g]) nearest = std::min(nearest, std::abs(reduced(o, prices) - here));
            regrets_.push_back({nearest, g, none});
        }
        std::sort(regrets_.begin(), regrets_.end());
        scope_.clear();
        for (std::size_t i = 0; i < size; ++i) scope_.push_back(std::get<1>(regrets_[i]));
        std::sort(scope_.begin(), scope_.end());
        CoverVector left = short_;
        std::size_t members = 0;
        for (const std::size_t g : scope_) {
            members += group(g).size();
            if (pick_[g] == none) continue;
            for (std::size_t r = 0; r < cover_rows; ++r) left[r] += clipped_[pick_[g]][r];
        }
        if (states(left) > work_limit / std::max<std::size_t>(members, 1)) return false;
        if (dynamic_program(left) == unreachable) return false;
        cost = cost_of_picks();
        return true;
    }

    void collect() {
        for (const std::size_t o : pick_)
            if (o != none) chosen_.push_back(o);
        std::sort(chosen_.begin(), chosen_.end());
    }

    std::span<const CoverOption> options_;
    CoverVector need_{}, short_{};
    std::vector<CoverVector> clipped_;
    std::vector<std::size_t> order_, options_of_, group_start_, scope_, pick_, chosen_;
    std::vector<std::int64_t> cheapest_;
    std::vector<std::uint16_t> taken_;
    std::vector<std::tuple<std::int64_t, std::size_t, std::size_t>> regrets_;
};

}  // namespace goodput::detail

#endif
