#ifndef GOODPUT_ALLOT_SEARCH_HPP
#define GOODPUT_ALLOT_SEARCH_HPP

// The exact search. At prices pi let the regret of an option be how much its reduced value lies below the
// job's best. Then
//
//     bound(pi) - value of an allotment = sum of its regrets + pi . (unused capacity),
//
// so an option whose regret exceeds bound - incumbent can be in no better allotment. What is left is the
// core: the jobs with more than one option left. It is searched level by level, one job a level (branch and
// bound, breadth first): a state is what the jobs so far took from the capacities and what they are worth.
// Two states of a level that leave the same capacities are one, the more valuable (dynamic programming: this
// is what tames many equal jobs and tied values). A state is dropped when its value plus a bound on the
// remaining jobs, the least of the Lagrangian bounds at several price vectors, cannot beat the incumbent by
// more than the gap asked for.
//
// Of each level only the `width` states of largest bound go on at once. Passes with growing width give strong
// incumbents early, which shrink the core; the bound of what they set aside is an honest bound for all of it.
// The last width sets nothing aside for good: what did not go on waits on a stack and is searched afterwards,
// so that the search is complete. Worst case exponential, as the problem is NP-hard; memory is limited by
// AllotOptions::memory_states.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/incumbent.hpp"
#include "goodput/allot/result.hpp"

namespace goodput {

/// A branching rule orders the jobs of the core: those of small key are decided first. It sees the regrets of
/// the job's options that are left, ascending, the first one 0.
template <class B>
concept BranchingRule = requires(const B& branching, std::span<const double> regrets) {
    { branching(regrets) } -> std::convertible_to<double>;
};

/// The default: jobs whose second option costs least first, so that many states meet in equal capacities
/// early.
struct LeastRegretFirst {
    double operator()(std::span<const double> regrets) const { return regrets[1]; }
};

/// A bounding rule appends the price vectors (resources numbers each) at which states are bounded, besides
/// the best ones.
template <class B>
concept BoundingRule = requires(const B& bounding, std::span<const double> prices,
                                std::vector<double>& vectors) {
    bounding(prices, vectors);
};

/// The default: every price alone somewhat lower and higher, because a state that has used much of one
/// resource is bounded best at a higher price of it. With many resources all prices together only.
struct NearbyPrices {
    static constexpr std::array<double, 4> factors{0.8, 0.95, 1.05, 1.25};
    std::size_t most_separate_resources = 8;

    void operator()(std::span<const double> prices, std::vector<double>& vectors) const {
        const std::size_t resources = prices.size();
        const bool separate = resources <= most_separate_resources;
        for (std::size_t varied = 0; varied < (separate ? resources : 1); ++varied)
            for (const double factor : factors)
                for (std::size_t r = 0; r < resources; ++r)
                    vectors.push_back(prices[r] * (!separate || r == varied ? factor : 1));
    }
};

namespace detail {

/// States of one level, in contiguous memory.
struct StateBlock {
    std::vector<double> left;  ///< resources numbers a state
    std::vector<double> value;
    std::vector<double> bound;
    std::vector<std::uint32_t> parent;  ///< index into the block of the level above
    std::vector<std::uint32_t> option;  ///< that led here, of the core's options

    [[nodiscard]] std::size_t size() const { return value.size(); }
    void clear() {
        left.clear();
        value.clear();
        bound.clear();
        parent.clear();
        option.clear();
    }
    void append(const StateBlock& from, std::size_t i, std::size_t resources) {
        const auto begin = from.left.begin() + static_cast<std::ptrdiff_t>(i * resources);
        left.insert(left.end(), begin, begin + static_cast<std::ptrdiff_t>(resources));
        value.push_back(from.value[i]);
        bound.push_back(from.bound[i]);
        parent.push_back(from.parent[i]);
        option.push_back(from.option[i]);
    }
};

/// Finds a state of a block that leaves the same capacities: open addressing over the numbers' bits.
class StateTable {
public:
    void clear(std::size_t most_states) {
        const std::size_t size = std::bit_ceil(2 * most_states + 16);
        if (slots_.size() < size) slots_.resize(size);
        mask_ = size - 1;
        std::fill(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(size), none);
    }
    /// The slot of the state with these capacities left, or the empty slot where it belongs.
    std::uint32_t& slot(const double* left, std::size_t resources, const StateBlock& block) {
        std::uint64_t hash = 0x9E3779B97F4A7C15u;
        for (std::size_t r = 0; r < resources; ++r) {
            hash ^= std::bit_cast<std::uint64_t>(left[r] + 0.0);
            hash *= 0xD6E8FEB86659FD93u;
            hash ^= hash >> 32;
        }
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            const std::uint32_t state = slots_[at];
            if (state == none || std::equal(left, left + resources, block.left.data() + state * resources))
                return slots_[at];
        }
    }

private:
    std::vector<std::uint32_t> slots_;
    std::size_t mask_ = 0;
};

template <BranchingRule Branching, BoundingRule Bounding>
class CoreSearch {
public:
    struct Outcome {
        double bound = 0;
        StopReason stopped = StopReason::proven;
        std::size_t nodes = 0;
    };

    /// Improves `incumbent` until it is proven within the gap. `prices` and `bound`: the least Lagrangian
    /// bound.
    template <class OutOfTime>
    Outcome run(const CompactProblem& problem, std::span<const double> prices, double bound,
                Incumbent& incumbent, const AllotOptions& options, OutOfTime out_of_time,
                Branching branching = {}, Bounding bounding = {}) {
        Outcome outcome{bound, StopReason::proven, 0};
        nodes_ = 0;
        for (std::size_t width = 64;; width *= 4) {
            build(problem, prices, bound, incumbent, options, branching, bounding);
            const std::size_t widest =
                std::clamp<std::size_t>(options.memory_states / (4 * jobs_.size() + 1), 64, 1 << 16);
            const bool complete = width >= widest;
            const Pass pass = levels() == 0 ? finish_without_levels(problem, incumbent)
                                            : search(problem, std::min(width, widest), complete, options,
                                                     incumbent, out_of_time);
            outcome.nodes = nodes_;
            if (pass == Pass::finished)
                outcome.bound = std::min(outcome.bound, std::max(incumbent.value, set_aside_bound_));
            outcome.bound = std::max(outcome.bound, incumbent.value);
            if (outcome.bound - incumbent.value <= allowance(incumbent, bound, options) + problem.rounding())
                return outcome;
            if (pass != Pass::finished) {
                outcome.stopped = pass == Pass::out_of_time ? StopReason::deadline : StopReason::memory;
                return outcome;
            }
        }
    }

    /// How far a bound may lie above the incumbent and still count as proven.
    static double allowance(const Incumbent& incumbent, double bound, const AllotOptions& options) {
        const bool same_sign = (incumbent.value > 0) == (bound > 0);
        return options.gap *
               std::max(1.0, same_sign ? std::min(std::abs(incumbent.value), std::abs(bound)) : 1.0);
    }

private:
    enum class Pass { finished, out_of_time, out_of_memory };

    [[nodiscard]] std::size_t levels() const { return jobs_.size(); }

    void build(const CompactProblem& problem, std::span<const double> prices, double bound,
               const Incumbent& incumbent, const AllotOptions& options, const Branching& branching,
               const Bounding& bounding) {
        resources_ = problem.resources();
        cut_ = incumbent.value + std::max(allowance(incumbent, bound, options), problem.rounding());
        set_aside_bound_ = -std::numeric_limits<double>::infinity();
        fixed_.assign(problem.jobs(), none);
        root_left_ = problem.capacity;
        root_value_ = 0;
        jobs_.clear();
        regrets_.clear();
        candidates_.clear();
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            const std::size_t first = candidates_.size();
            double best = -std::numeric_limits<double>::infinity();
            if (!problem.must[job]) candidates_.push_back({0, none});
            for (std::uint32_t k = problem.first[job]; k < problem.first[job + 1]; ++k) {
                double reduced = problem.value[k];
                for (const Use& use : problem.uses_of(k)) reduced -= prices[use.resource] * use.units;
                candidates_.push_back({reduced, k});
            }
            for (std::size_t i = first; i < candidates_.size(); ++i)
                best = std::max(best, candidates_[i].regret);
            std::size_t kept = first;
            for (std::size_t i = first; i < candidates_.size(); ++i) {
                const double regret = best - candidates_[i].regret;
                if (regret > 0 && is_cut(problem, bound - regret)) continue;
                candidates_[kept++] = {regret, candidates_[i].option};
            }
            candidates_.resize(kept);
            if (kept - first == 1) {
                take(problem, job, candidates_[first].option);
                candidates_.resize(first);
                continue;
            }
            std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end(),
                      [](const Candidate& a, const Candidate& b) {
                          return a.regret != b.regret ? a.regret < b.regret : a.option < b.option;
                      });
            regrets_.clear();
            for (std::size_t i = first; i < kept; ++i) regrets_.push_back(candidates_[i].regret);
            jobs_.push_back({job, first, kept, branching(std::span<const double>(regrets_))});
        }
        std::stable_sort(jobs_.begin(), jobs_.end(),
                         [](const CoreJob& a, const CoreJob& b) { return a.key < b.key; });
        lay_out(problem, prices, bounding);
    }

    void take(const CompactProblem& problem, std::size_t job, std::uint32_t option) {
        fixed_[job] = option;
        if (option == none) return;
        root_value_ += problem.value[option];
        for (const Use& use : problem.uses_of(option)) root_left_[use.resource] -= use.units;
    }

    /// The core's options in the order of its levels, usage as full vectors, and the bounds on what remains.
    void lay_out(const CompactProblem& problem, std::span<const double> prices, const Bounding& bounding) {
        first_option_.assign(1, 0);
        option_id_.clear();
        option_value_.clear();
        option_use_.clear();
        for (const CoreJob& job : jobs_) {
            for (std::size_t i = job.first; i < job.last; ++i) {
                const std::uint32_t option = candidates_[i].option;
                option_id_.push_back(option);
                option_value_.push_back(option == none ? 0 : problem.value[option]);
                option_use_.resize(option_use_.size() + resources_, 0);
                if (option == none) continue;
                double* use_row = option_use_.data() + (option_id_.size() - 1) * resources_;
                for (const Use& use : problem.uses_of(option)) use_row[use.resource] = use.units;
            }
            first_option_.push_back(option_id_.size());
        }
        vectors_.assign(prices.begin(), prices.end());
        bounding(prices, vectors_);
        const std::size_t count = resources_ > 0 ? vectors_.size() / resources_ : 1;
        remaining_.assign((levels() + 1) * count, 0);
        for (std::size_t level = levels(); level-- > 0;)
            for (std::size_t q = 0; q < count; ++q) {
                double best = -std::numeric_limits<double>::infinity();
                for (std::size_t k = first_option_[level]; k < first_option_[level + 1]; ++k) {
                    double reduced = option_value_[k];
                    for (std::size_t r = 0; r < resources_; ++r)
                        reduced -= vectors_[q * resources_ + r] * option_use_[k * resources_ + r];
                    best = std::max(best, reduced);
                }
                remaining_[level * count + q] = remaining_[(level + 1) * count + q] + best;
            }
        vector_count_ = count;
    }

    /// Whether nothing below `bound` is of interest; what is dropped within the gap counts for the final
    /// bound.
    bool is_cut(const CompactProblem& problem, double bound) {
        const double possible = problem.round_down(bound);
        if (possible > cut_) return false;
        set_aside_bound_ = std::max(set_aside_bound_, possible);
        return true;
    }

    [[nodiscard]] double bound_of(double value, const double* left, std::size_t level) const {
        double least = std::numeric_limits<double>::infinity();
        const double* remaining = remaining_.data() + level * vector_count_;
        for (std::size_t q = 0; q < vector_count_; ++q) {
            double bound = remaining[q];
            for (std::size_t r = 0; r < resources_; ++r) bound += vectors_[q * resources_ + r] * left[r];
            least = std::min(least, bound);
        }
        return value + least;
    }

    /// Every job is decided by its regret alone.
    Pass finish_without_levels(const CompactProblem& problem, Incumbent& incumbent) {
        for (std::size_t r = 0; r < resources_; ++r)
            if (root_left_[r] < -capacity_tolerance(problem.capacity[r])) return Pass::finished;
        if (root_value_ > incumbent.value) adopt(problem, incumbent, [](auto&&) {});
        return Pass::finished;
    }

    template <class OutOfTime>
    Pass search(const CompactProblem& problem, std::size_t width, bool complete, const AllotOptions& options,
                Incumbent& incumbent, OutOfTime out_of_time) {
        if (blocks_.size() < levels() + 1) {
            blocks_.resize(levels() + 1);
            waiting_.resize(levels() + 1);
        }
        for (std::size_t level = 0; level <= levels(); ++level) {
            blocks_[level].clear();
            waiting_[level].clear();
        }
        StateBlock& root = blocks_[0];
        root.left = root_left_;
        root.value.push_back(root_value_);
        root.bound.push_back(bound_of(root_value_, root_left_.data(), 0));
        root.parent.push_back(none);
        root.option.push_back(none);
        std::size_t level = 0, states_waiting = 0;
        while (true) {
            if (!expand(problem, level, incumbent, options, out_of_time)) return Pass::out_of_time;
            ++level;
            if (level < levels()) {
                states_waiting += choose(problem, level, children_, width, complete);
                if (states_waiting > options.memory_states) return Pass::out_of_memory;
            }
            if (level == levels() || blocks_[level].size() == 0) {
                while (level > 0 && (level == levels() || waiting_[level].size() == 0)) --level;
                if (level == 0) return Pass::finished;
                std::swap(children_, waiting_[level]);
                waiting_[level].clear();
                states_waiting -= children_.size();
                states_waiting += choose(problem, level, children_, width, true);
            }
        }
    }

    /// The best `width` states go into the level's block; the others wait or are set aside. Returns how many
    /// wait.
    std::size_t choose(const CompactProblem& problem, std::size_t level, const StateBlock& from,
                       std::size_t width, bool wait) {
        order_.resize(from.size());
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        if (from.size() > width)
            std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(width),
                             order_.end(), [&](std::uint32_t a, std::uint32_t b) {
                                 return from.bound[a] != from.bound[b] ? from.bound[a] > from.bound[b]
                                                                       : a < b;
                             });
        blocks_[level].clear();
        std::size_t waiting = 0;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            if (is_cut(problem, from.bound[order_[i]])) continue;
            if (i < width) {
                blocks_[level].append(from, order_[i], resources_);
            } else if (wait) {
                waiting_[level].append(from, order_[i], resources_);
                ++waiting;
            } else {
                set_aside_bound_ = std::max(set_aside_bound_, problem.round_down(from.bound[order_[i]]));
            }
        }
        return waiting;
    }

    /// All children of the level's block into children_ (or, from the last level, into the incumbent).
    template <class OutOfTime>
    bool expand(const CompactProblem& problem, std::size_t level, Incumbent& incumbent,
                const AllotOptions& options, OutOfTime out_of_time) {
        const StateBlock& block = blocks_[level];
        const std::size_t first = first_option_[level], last = first_option_[level + 1];
        const bool to_leaf = level + 1 == levels();
        children_.clear();
        if (!to_leaf) table_.clear(block.size() * (last - first));
        left_.resize(resources_);
        for (std::size_t i = 0; i < block.size(); ++i) {
            if (i % 64 == 0 && out_of_time()) return false;
            for (std::size_t k = first; k < last; ++k) {
                if (!leaves(problem, block.left.data() + i * resources_, option_use_.data() + k * resources_))
                    continue;
                const double value = block.value[i] + option_value_[k];
                const double bound = to_leaf ? value : bound_of(value, left_.data(), level + 1);
                if (to_leaf ? value <= incumbent.value + problem.rounding() : is_cut(problem, bound))
                    continue;
                ++nodes_;
                if (to_leaf) {
                    adopt(problem, incumbent, [&](auto set) {
                        set(level, k);
                        std::size_t state = i;
                        for (std::size_t up = level; up > 0; --up) {
                            set(up - 1, blocks_[up].option[state]);
                            state = blocks_[up].parent[state];
                        }
                    });
                    cut_ = std::max(cut_, incumbent.value + std::max(allowance(incumbent, bound, options),
                                                                     problem.rounding()));
                } else {
                    merge(value, bound, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(k));
                }
            }
        }
        return true;
    }

    /// left_ = left - use; false if a capacity is exceeded.
    bool leaves(const CompactProblem& problem, const double* left, const double* use) {
        for (std::size_t r = 0; r < resources_; ++r) {
            left_[r] = left[r] - use[r];
            if (left_[r] < 0 && left_[r] < -capacity_tolerance(problem.capacity[r])) return false;
        }
        return true;
    }

    void merge(double value, double bound, std::uint32_t parent, std::uint32_t option) {
        std::uint32_t& slot = table_.slot(left_.data(), resources_, children_);
        if (slot == none) {
            slot = static_cast<std::uint32_t>(children_.size());
            children_.left.insert(children_.left.end(), left_.begin(), left_.end());
            children_.value.push_back(value);
            children_.bound.push_back(bound);
            children_.parent.push_back(parent);
            children_.option.push_back(option);
        } else if (value > children_.value[slot]) {
            children_.value[slot] = value;
            children_.bound[slot] = bound;
            children_.parent[slot] = parent;
            children_.option[slot] = option;
        }
    }

    /// Replaces the incumbent by the fixed jobs plus what `path` sets: path(set) calls set(level, core
    /// option).
    template <class Path>
    void adopt(const CompactProblem& problem, Incumbent& incumbent, Path path) {
        incumbent.clear(problem);
        for (std::size_t job = 0; job < fixed_.size(); ++job)
            if (fixed_[job] != none) incumbent.set(problem, job, fixed_[job]);
        path([&](std::size_t level, std::size_t option) {
            if (option_id_[option] != none) incumbent.set(problem, jobs_[level].job, option_id_[option]);
        });
        incumbent.recount(problem);
    }

    struct Candidate {
        double regret;
        std::uint32_t option;
    };
    struct CoreJob {
        std::size_t job, first, last;
        double key;
    };

    std::size_t resources_ = 0, vector_count_ = 0, nodes_ = 0;
    double cut_ = 0, set_aside_bound_ = 0, root_value_ = 0;
    std::vector<std::uint32_t> fixed_;
    std::vector<double> root_left_, regrets_, vectors_, remaining_, left_;
    std::vector<CoreJob> jobs_;
    std::vector<Candidate> candidates_;
    std::vector<std::size_t> first_option_;
    std::vector<std::uint32_t> option_id_, order_;
    std::vector<double> option_value_, option_use_;
    std::vector<StateBlock> blocks_, waiting_;
    StateBlock children_;
    StateTable table_;
};

}  // namespace detail
}  // namespace goodput

#endif
