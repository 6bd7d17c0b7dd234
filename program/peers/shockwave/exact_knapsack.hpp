#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_EXACT_KNAPSACK_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_EXACT_KNAPSACK_HPP

// Which things to take so that their sizes fit and their gains sum to most, exactly.
//
// With a price on size that makes the things worth taking just fit, the sum of gain - price * size over those
// above 0, and price * room, bound what can be had (Dantzig 1957). Whatever lies further from the price than
// that bound from a good choice is in, or out, in every better one (Martello and Toth 1990, chapter 2). What
// is left, the core, is small wherever gains differ or sizes are small, and is solved for every room there
// is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput::peers {

/// Something that may be taken.
struct KnapsackThing {
    double gain = 0;        ///< above 0
    int size = 1;           ///< at least 1
    std::size_t owner = 0;  ///< the caller's
};

/// More gain for its size comes first, then larger sizes; what is equal stays as it stands.
inline bool denser(const KnapsackThing& a, const KnapsackThing& b) {
    const double first = a.gain * b.size, second = b.gain * a.size;
    return first != second ? first > second : a.size > b.size;
}

/// What knapsacks are solved in; kept between calls to save allocations.
class ExactKnapsack {
public:
    /// The choice of largest gain within `room` (at least 0) of things in the order of denser(): taken()[i]
    /// says whether the i-th is in. Takes O(things), and O(core * room) bits and time for the core.
    void solve(std::span<const KnapsackThing> things, std::int64_t room) {
        taken_.assign(things.size(), false);
        price_ = 0;
        std::int64_t left = room;
        std::size_t broken = things.size();  // the first that does not fit
        double missed = 0;                   // what the bound has beyond the greedy choice
        for (std::size_t i = 0; i < things.size(); ++i) {
            if (things[i].size <= left) {
                taken_[i] = true;
                left -= things[i].size;
                if (broken < things.size()) missed -= things[i].gain;
                continue;
            }
            if (broken < things.size()) continue;
            broken = i;
            price_ = things[i].gain / things[i].size;
            missed = price_ * static_cast<double>(left);
        }
        if (missed > 0) search_core(things, room, broken, missed);
    }
    /// By thing.
    [[nodiscard]] const std::vector<bool>& taken() const { return taken_; }
    /// Of a unit of room; 0 if everything fits.
    [[nodiscard]] double price() const { return price_; }

private:
    void search_core(std::span<const KnapsackThing> things, std::int64_t room, std::size_t broken,
                     double missed) {
        const double rounding = 1e-12 * things[broken].gain;
        core_.clear();
        double greedy = 0;
        std::int64_t in = 0, all = 0;
        for (std::size_t i = 0; i < things.size(); ++i) {
            const double reduced = things[i].gain - price_ * things[i].size;
            const double distance = i < broken ? reduced : -reduced;
            if (distance > missed + rounding) {
                if (i < broken) in += things[i].size;
                continue;
            }
            core_.push_back(i);
            all += things[i].size;
            if (taken_[i]) greedy += things[i].gain;
        }
        // Greedy choices outside the core lie before the broken thing: those behind it are all in the core.
        const auto space = static_cast<std::size_t>(std::min(room - in, all));
        best_.assign(space + 1, 0.0);
        const std::size_t width = space + 1;
        better_.assign(core_.size() * width, false);
        for (std::size_t c = 0; c < core_.size(); ++c) {
            const KnapsackThing& thing = things[core_[c]];
            const auto size = static_cast<std::size_t>(thing.size);
            for (std::size_t s = space; s >= size && s <= space; --s)
                if (best_[s - size] + thing.gain > best_[s]) {
                    best_[s] = best_[s - size] + thing.gain;
                    better_[c * width + s] = true;
                }
        }
        if (best_[space] <= greedy) return;
        for (std::size_t i = 0; i < things.size(); ++i) taken_[i] = i < broken;
        std::size_t s = space;
        for (std::size_t c = core_.size(); c-- > 0;) {
            taken_[core_[c]] = better_[c * width + s];
            if (better_[c * width + s]) s -= static_cast<std::size_t>(things[core_[c]].size);
        }
    }

    std::vector<bool> taken_;
    double price_ = 0;
    std::vector<std::size_t> core_;
    std::vector<double> best_;
    std::vector<bool> better_;
};

}  // namespace goodput::peers

#endif
