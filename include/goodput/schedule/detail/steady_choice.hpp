#ifndef GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_HPP
#define GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_HPP

// Among allotments of equal worth, the one that changes least: jobs keep what they hold where that costs
// nothing. The solver does not know who runs, and deals out the options of equal jobs as it likes.
//
// A job is changed if it was given something else than it holds, or was given something and holds nothing
// that it could keep. A changed job is put back: it gets what it holds, or waits.
//
// 1. Put all of them back, but for those who gain by their change and take nothing from anybody. If that is
//    worth as much, it is the answer. So is what is worth less by so little that the gap would have allowed
//    it, unless it is much to any of the jobs concerned: of the whole cluster, which the gap is about, one
//    job is always little. That is every round in which nothing has happened.
//
// 2. Otherwise put them back one by one. Where a pool is then exceeded, put back others that were given GPUs
//    of it, those first that lose least; so the change runs on through the pools until it fits. Where it fits
//    but is worth less (one large job went for the sake of a small one), put back others that gain from it,
//    or let somebody who was to start do so elsewhere. What ends up worth less is undone. This finds
//    exchanges of two and cycles of many; where jobs are of several sizes, or only a third job could fill a
//    gap, it may miss some.
//
// The pool of an option is the first resource that it takes. Where options take more (limits, several parts),
// an exchange that would exceed any of that is undone: fewer are found. Nobody is put back on what is worth
// nothing to him, except who must run.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput::detail {

/// The step after the solver that is described above. Keeps its buffers from round to round.
class SteadyChoice {
public:
    /// Values that differ by less, relative to the larger one, are equal: policies break ties by a millionth.
    static constexpr double tie = 2e-6;
    /// More than this part of what any of the jobs concerned was given is never lost, however wide the gap.
    static constexpr double little = 0.005;

    /// Changes choice and objective of `allotted`, the solver's answer to the problem, for jobs that hold
    /// these options of theirs (no_option: none). The bound changes only where it was below the new objective
    /// by rounding.
    void keep(const AllotmentProblem& problem, std::span<const std::size_t> held, double gap,
              AllotResult& allotted) {
        find_changes(problem, held, allotted.choice);
        if (changes_.empty()) return;
        find_loads(problem, allotted.choice);
        find_alike();
        const double objective = objective_of(problem, allotted.choice);
        if (!put_all_back(gap, allotted.bound, objective)) exchange_all(problem);
        bool any = false;
        for (const Change& change : changes_) {
            std::size_t& choice = allotted.choice[change.job];
            any |= choice != change.present().option;
            choice = change.present().option;
        }
        if (!any) return;
        allotted.objective = objective_of(problem, allotted.choice);
        allotted.bound = std::max(allotted.bound, allotted.objective);
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t longest_chain = 64;
    static constexpr std::size_t most_passes = 4;
    static constexpr std::size_t most_looks = std::size_t{1} << 20;  // some milliseconds

    /// What a job gets: an option, or nothing.
    struct Share {
        std::size_t option = no_option;
        std::size_t pool = none;
        double gpus = 0;
        double value = 0;
        std::span<const ResourceUse> more{};  ///< what it takes besides
    };
    /// A changed job.
    struct Change {
        std::size_t job = 0;
        Share given, held;      ///< what is held is worth keeping, or else nothing
        bool waits = false;     ///< holds nothing that it could keep
        bool back = false;      ///< is put back on what it holds
        std::size_t alike = 0;  ///< index of those that are alike

        [[nodiscard]] const Share& present() const { return back ? held : given; }

        /// What putting it back loses; below 0 if it gains.
        [[nodiscard]] double loss() const { return given.value - held.value; }
        [[nodiscard]] double larger() const { return std::max(std::abs(given.value), std::abs(held.value)); }
        [[nodiscard]] bool loses_nothing() const { return loss() <= tie * larger(); }
        [[nodiscard]] auto same_pools_and_gpus() const {
            return std::tuple(given.pool, given.gpus, held.pool, held.gpus);
        }
        /// GPUs that putting it back frees in the pool of what was given, and takes in that of what it holds.
        [[nodiscard]] double freed() const { return given.gpus - (given.pool == held.pool ? held.gpus : 0); }
        [[nodiscard]] double taken() const { return held.gpus - (given.pool == held.pool ? given.gpus : 0); }
    };
    /// Changes between the same GPUs of the same pools, the one that loses least first.
    struct Alike {
        std::size_t next = 0;  ///< all before it are put back
        std::size_t end = 0;
    };
    enum class First { who_runs, who_waits };

    static Share share_of(const AllotmentProblem& problem, std::size_t job, std::size_t option) {
        if (option == no_option) return {};
        const std::span<const ResourceUse> uses = problem.uses(job, option);
        if (uses.empty()) return {option, none, 0, problem.value(job, option)};
        return {option, uses.front().resource, uses.front().units, problem.value(job, option),
                uses.subspan(1)};
    }

    static double objective_of(const AllotmentProblem& problem, std::span<const std::size_t> choice) {
        double objective = 0;
        for (std::size_t j = 0; j < problem.jobs(); ++j)
            if (choice[j] != no_option) objective += problem.value(j, choice[j]);
        return objective;
    }

    void find_changes(const AllotmentProblem& problem, std::span<const std::size_t> held,
                      std::span<const std::size_t> choice) {
        changes_.clear();
        for (std::size_t j = 0; j < problem.jobs(); ++j) {
            std::size_t keeps = held[j];
            if (keeps != no_option && !problem.must(j) && problem.value(j, keeps) <= 0) keeps = no_option;
            if (keeps == choice[j] || (keeps == no_option && problem.must(j))) continue;
            changes_.push_back({j, share_of(problem, j, choice[j]), share_of(problem, j, keeps),
                                keeps == no_option, false, 0});
        }
        gained_ = 0;
    }

    void find_loads(const AllotmentProblem& problem, std::span<const std::size_t> choice) {
        left_.assign(problem.capacity.begin(), problem.capacity.end());
        tolerance_.clear();
        for (const double capacity : problem.capacity) tolerance_.push_back(capacity_tolerance(capacity));
        for (std::size_t j = 0; j < problem.jobs(); ++j) take(share_of(problem, j, choice[j]), 1);
    }

    void find_alike() {
        std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
            const auto first = a.same_pools_and_gpus(), second = b.same_pools_and_gpus();
            if (first != second) return first < second;
            return a.loss() != b.loss() ? a.loss() < b.loss() : a.job < b.job;
        });
        alike_.clear();
        first_alike_.clear();
        for (std::size_t c = 0; c < changes_.size(); ++c) {
            Change& change = changes_[c];
            if (c == 0 || changes_[c - 1].same_pools_and_gpus() != change.same_pools_and_gpus()) {
                const std::size_t pool = std::min(change.given.pool, left_.size());
                while (first_alike_.size() <= pool) first_alike_.push_back(alike_.size());
                alike_.push_back({c, c});
            }
            change.alike = alike_.size() - 1;
            alike_.back().end = c + 1;
        }
        while (first_alike_.size() <= left_.size()) first_alike_.push_back(alike_.size());
    }

    void put_back(std::size_t c) {
        Change& change = changes_[c];
        move(change.given, change.held);
        change.back = true;
    }
    void change_again(std::size_t c) {
        Change& change = changes_[c];
        move(change.held, change.given);
        change.back = false;
        if (change.waits) change.held = {};
        Alike& alike = alike_[change.alike];
        alike.next = std::min(alike.next, c);
    }
    void move(const Share& from, const Share& to) {
        take(from, -1);
        take(to, 1);
        gained_ += to.value - from.value;
    }
    void take(const Share& share, double sign) {
        if (share.pool != none) left_[share.pool] -= sign * share.gpus;
        for (const ResourceUse& use : share.more) left_[use.resource] -= sign * use.units;
    }

    /// A pool that is exceeded.
    [[nodiscard]] std::size_t exceeded() const {
        for (std::size_t pool = 0; pool < left_.size(); ++pool)
            if (left_[pool] < -tolerance_[pool]) return pool;
        return none;
    }
    [[nodiscard]] bool has_room(std::size_t pool, double gpus) const {
        return pool == none || gpus <= left_[pool] + tolerance_[pool];
    }
    /// Whether there is room for what a change takes besides GPUs of its pool.
    [[nodiscard]] bool has_room_besides(const Share& from, const Share& to) {
        if (from.more.empty() && to.more.empty()) return true;
        take(from, -1);
        take(to, 1);
        const bool room = std::all_of(to.more.begin(), to.more.end(), [&](const ResourceUse& use) {
            return left_[use.resource] >= -tolerance_[use.resource];
        });
        take(to, -1);
        take(from, 1);
        return room;
    }

    /// Step 1. Those who are put back lose a small part of what one of them was given, or stay as they were.
    bool put_all_back(double gap, double bound, double objective) {
        left_before_ = left_;
        for (std::size_t c = 0; c < changes_.size(); ++c) put_back(c);
        if (exceeded() == none) {
            change_where_free();
            double concerned = 0, least = std::numeric_limits<double>::infinity();
            for (const Change& change : changes_) {
                if (!change.back || change.given.value <= 0) continue;
                concerned += change.given.value;
                least = std::min(least, change.given.value);
            }
            const double loss = -gained_;
            if (loss <= tie * concerned) return true;
            if (loss <= little * least && bound - (objective + gained_) <= gap * std::abs(bound)) return true;
        }
        for (Change& change : changes_) change.back = false;
        left_ = left_before_;
        gained_ = 0;
        return false;
    }

    /// Lets those have their change who gain by it and take nothing from anybody.
    void change_where_free() {
        bool any = true;
        for (std::size_t pass = 0; any && pass < most_passes; ++pass) {
            any = false;
            for (std::size_t c = 0; c < changes_.size(); ++c) {
                const Change& change = changes_[c];
                if (!change.back || change.loses_nothing() || !has_room(change.given.pool, change.freed()) ||
                    !has_room_besides(change.held, change.given))
                    continue;
                change_again(c);
                any = true;
            }
        }
    }

    /// Step 2. One exchange may make room for another, so there are several passes.
    void exchange_all(const AllotmentProblem& problem) {
        looks_ = 0;
        bool any = true;
        for (std::size_t pass = 0; any && pass < most_passes; ++pass) {
            any = false;
            for (std::size_t c = 0; c < changes_.size(); ++c)
                if (!changes_[c].back && !changes_[c].waits)
                    any |= exchange(problem, c, First::who_runs) || exchange(problem, c, First::who_waits);
            change_where_free();
            take_as_given();
        }
    }

    /// Puts one back and as many others as it takes; false if that cannot be had for nothing.
    bool exchange(const AllotmentProblem& problem, std::size_t start, First first) {
        const double gained_before = gained_;
        double largest = 0;
        chain_.clear();
        for (std::size_t next = start;;) {
            if (next != none) {
                if (chain_.size() == longest_chain) break;
                put_back(next);
                chain_.push_back(next);
                largest = std::max(largest, changes_[next].larger());
            }
            if (looks_ >= most_looks) break;
            if (const std::size_t pool = exceeded(); pool != none) {
                next = least_loss(pool, first);
                if (next == none) break;
            } else if (gained_ - gained_before >= -tie * largest) {
                return true;
            } else {
                next = most_gain();
                if (next == none && !start_elsewhere(problem)) break;
            }
        }
        for (const std::size_t c : chain_) change_again(c);
        gained_ = gained_before;
        return false;
    }

    /// Gives an option of another pool to one of the chain that was to wait after all: one that there is room
    /// for, or else one where others may have to make room in turn.
    bool start_elsewhere(const AllotmentProblem& problem) {
        Change* best = nullptr;
        Share share;
        bool fits = false;
        for (const std::size_t c : chain_) {
            Change& change = changes_[c];
            if (!change.waits || change.held.option != no_option) continue;
            looks_ += problem.options_of(change.job);
            for (std::size_t k = 0; k < problem.options_of(change.job); ++k) {
                const Share option = share_of(problem, change.job, k);
                const bool room = has_room(option.pool, option.gpus);
                if (!has_room_besides({}, option)) continue;
                if (option.value <= 0 || (fits && !room) || (!room && option.pool == change.given.pool))
                    continue;
                if (fits == room && option.value <= share.value) continue;
                best = &change;
                share = option;
                fits = room;
            }
        }
        if (best == nullptr) return false;
        move({}, share);
        best->held = share;
        return true;
    }

    /// Who has started elsewhere is as good as given that by the solver.
    void take_as_given() {
        bool any = false;
        for (Change& change : changes_) {
            if (!change.back || !change.waits || change.held.option == no_option) continue;
            change.given = change.held;
            change.held = {};
            change.back = false;
            any = true;
        }
        if (any) find_alike();
    }

    /// The first of changes that are alike that is not put back.
    std::size_t head(Alike& alike) {
        ++looks_;
        while (alike.next < alike.end && changes_[alike.next].back) ++alike.next;
        return alike.next < alike.end ? alike.next : none;
    }

    /// Who makes room in the pool for the least value a GPU that is wanted there. Of those who lose nothing,
    /// those who run would keep what they hold, and those who wait take nothing from others: both are worth
    /// trying first.
    std::size_t least_loss(std::size_t pool, First first) {
        std::size_t best = none;
        bool best_first = false;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t k = first_alike_[pool]; k < first_alike_[pool + 1]; ++k) {
            const std::size_t c = head(alike_[k]);
            if (c == none || changes_[c].freed() <= 0) continue;
            const Change& change = changes_[c];
            const bool comes_first =
                change.waits == (first == First::who_waits) && (change.waits || change.loses_nothing());
            if (best_first && !comes_first) continue;
            const double loss = change.loss() / std::min(change.freed(), -left_[pool]);
            if (comes_first == best_first && loss >= least) continue;
            best = c;
            best_first = comes_first;
            least = loss;
        }
        return best;
    }

    /// Who gains most value a GPU by being put back where there is room.
    std::size_t most_gain() {
        std::size_t best = none;
        double most = 0;
        for (Alike& alike : alike_) {
            const std::size_t c = head(alike);
            if (c == none || changes_[c].loss() >= 0) continue;
            const Change& change = changes_[c];
            if (!has_room(change.held.pool, change.taken()) || !has_room_besides(change.given, change.held))
                continue;
            const double gain = change.taken() > 0 ? -change.loss() / change.taken()
                                                   : std::numeric_limits<double>::infinity();
            if (gain <= most) continue;
            best = c;
            most = gain;
        }
        return best;
    }

    std::vector<Change> changes_;                         // those that are alike side by side
    std::vector<Alike> alike_;                            // by pool of what was given
    std::vector<std::size_t> first_alike_;                // by pool, and that of those who were given nothing
    std::vector<double> left_, left_before_, tolerance_;  // by pool
    std::vector<std::size_t> chain_;
    double gained_ = 0;  // by all that are put back
    std::size_t looks_ = 0;
};

}  // namespace goodput::detail

#endif
