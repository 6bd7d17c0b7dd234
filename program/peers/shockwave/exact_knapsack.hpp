#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_EXACT_KNAPSACK_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_EXACT_KNAPSACK_HPP

// Chooses things so that their sizes fit and the sum of their gains is largest, exactly.
//
// Consider a price per unit of size at which the things worth their price just fit. Add price * room to the
// sum of gain - price * size over all things for which it is above 0. This is an upper bound on any choice
// (Dantzig 1957). Let d be this bound minus the gain of a good choice. If |gain - price * size| of a thing
// exceeds d, every better choice takes the thing (if the difference is above 0) or leaves it out (Martello
// and Toth 1990, chapter 2). The remaining things, the core, are few if gains differ or sizes are small.
// The core is solved for every possible room.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput::peers {

/// A thing that may be taken.
struct KnapsackThing {
    double gain = 0;        ///< above 0
    int size = 1;           ///< at least 1
    std::size_t owner = 0;  ///< a number of the caller's
};

/// Orders by gain per size, largest first, then by size, largest first. Equal things keep their order.
inline bool denser(const KnapsackThing& a, const KnapsackThing& b) {
    const double first = a.gain * b.size, second = b.gain * a.size;
    return first != second ? first > second : a.size > b.size;
}

/// Solves knapsacks. Reusing it saves allocations.
class ExactKnapsack {
public:
    /// Finds the choice of largest gain within `room` (at least 0), from things in the order of denser().
    /// taken()[i] says whether the i-th is in. Takes O(things), and O(core * room) bits and time for the
    /// core.
    void solve(std::span<const KnapsackThing> things, std::int64_t room) {
        taken_.assign(things.size(), false);
        price_ = 0;
        std::int64_t left = room;
        std::size_t broken = things.size();  // the first thing that does not fit
        double missed = 0;                   // the bound minus the gain of the greedy choice
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
    /// Per unit of room; 0 if everything fits.
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
        // Greedy choices after things[broken] are all in the core, so those outside the core precede it.
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
