#ifndef GOODPUT_SHARE_THEMIS_HPP
#define GOODPUT_SHARE_THEMIS_HPP

// Themis' policy (Mahajan et al., NSDI'20): finish-time fairness by auction. With a job's isolated rate, that
// of 1 / jobs of the cluster for itself (Gavel's isolated throughput),
//
//     ideal = examples of the whole job / isolated rate
//     rho   = (age + examples left / isolated rate) / ideal              how unfair, if all is fair from now
//     on
//
// the part 1 - f of the jobs with the largest rho bid for the GPUs, at least one. A bid for an option is
//
//     V = ideal / (age + examples left / goodput + restart)     V(nothing) = ideal / (age + lease + left /
//     isolated)
//
// and the partial allocation mechanism (share/partial_allocation.hpp) finds the bundles of the largest
// product of V and what part of its bundle each winner keeps. What is left over goes to everybody else, by
// rho.
//
// Published: f = 0.8, lease 20 minutes. What differs from the published system, our own reading:
// - All GPUs are auctioned every round; a lease is only the time that a job without GPUs expects to wait.
// - A bundle is cut to the largest option of the same pool with at most `kept` of the GPUs. An option of a
// job
//   of a fixed size has no parts, and is kept whole.
// - What is left over goes by rho, not at random.
// - A job bids for itself. The published bidders are applications of many jobs (hyperparameter search).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/work_left.hpp"
#include "goodput/share/partial_allocation.hpp"

namespace goodput {

/// Finish-time fairness by auction among those that are worst off; a RoundPolicy.
struct Themis {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    double fairness = 0.8;                        ///< f, in [0, 1]: the larger, the fewer bid
    double lease_seconds = 1200;                  ///< that a job without GPUs expects to wait
    double assumed_seconds = 3600;  ///< left of a job of which nothing is known, on its best option

    /// Refuses an f outside [0, 1] and times that are none (std::invalid_argument).
    void validate() const {
        if (!(fairness >= 0 && fairness <= 1))
            bad_input("policy themis", "fairness", fairness, "between 0 and 1");
        require_at_least("policy themis", "lease", lease_seconds, 0);
        require_positive("policy themis", "assumed", assumed_seconds);
    }

    /// Values that give 1 to what is won and to what the others get of the rest.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        std::vector<Bidder> all(rows.size());
        for (std::size_t r = 0; r < rows.size(); ++r) all[r] = bidder(round, rows[r], rows.size());
        std::vector<std::size_t> order(rows.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return all[a].rho > all[b].rho; });

        std::vector<std::size_t> bidders;
        const double part = std::ceil((1 - fairness) * static_cast<double>(rows.size()) - 1e-9);
        const auto most = static_cast<std::size_t>(std::max(1.0, part));
        for (const std::size_t r : order)
            if (bidders.size() < most && all[r].isolated > 0 && !rows[r].job.keeps_what_it_holds())
                bidders.push_back(r);
        std::vector<std::size_t> won(rows.size(), no_index);
        auction(round, rows, all, bidders, won);
        std::stable_partition(order.begin(), order.end(), [&](std::size_t r) { return won[r] != no_index; });
        detail::serve_assigned(round, rows, order, won);
    }

private:
    struct Bidder {
        double isolated = 0;  // examples/s; 0: it is offered nothing
        double left = 0;      // examples
        double age = 0;
        double rho = 0;
    };

    [[nodiscard]] Bidder bidder(const Round& round, const OptionRow& row, std::size_t jobs) const {
        Bidder its{detail::isolated_goodput(round, row, jobs), detail::examples_left(row, assumed_seconds),
                   round.age_of(row.job), 0};
        const double examples = its.left + row.job.done_examples.value_or(0);
        if (its.isolated > 0 && examples > 0) its.rho = (its.age * its.isolated + its.left) / examples;
        return its;
    }

    /// ln(V(option) / V(nothing)).
    [[nodiscard]] double bid(const OptionRow& row, const Bidder& its, std::size_t option,
                             std::size_t held) const {
        const double goodput = row.options[option].goodput;
        if (goodput <= 0) return 0;
        const double restart = option == held ? 0 : row.job.restart_cost_seconds;
        const double with = its.age + its.left / goodput + restart;
        const double without = its.age + lease_seconds + its.left / its.isolated;
        return with > 0 && without > 0 ? std::log(without / with) : 0;
    }

    /// Fills in the options that the bidders win.
    void auction(const Round& round, std::span<const OptionRow> rows, std::span<const Bidder> all,
                 std::span<const std::size_t> bidders, std::vector<std::size_t>& won) const {
        AllotmentProblem problem;
        problem.capacity.assign(round.capacity.begin(), round.capacity.end());
        for (const OptionRow& row : rows)
            if (row.job.keeps_what_it_holds() && !row.options.empty())
                for (const ResourceUse& use : row.uses(0))
                    problem.capacity[use.resource] =
                        std::max(0.0, problem.capacity[use.resource] - use.units);
        bool divisible = false;
        for (const std::size_t r : bidders) {
            problem.add_job();
            const std::size_t held = detail::held_option(round, rows[r]);
            for (std::size_t k = 0; k < rows[r].options.size(); ++k) {
                problem.add_option(bid(rows[r], all[r], k, held), rows[r].uses(k));
                divisible |= cut_to(rows[r], k, rows[r].options[k].configuration.gpus() - 1) != k;
            }
        }
        PartialAllocation found;
        if (divisible) {
            found = partial_allocation(problem);
        } else {
            found.won = allot(problem);
            found.kept.assign(bidders.size(), 1);
        }
        for (std::size_t b = 0; b < bidders.size(); ++b) {
            const std::size_t choice = found.won.choice[b];
            if (choice == no_option) continue;
            const OptionRow& row = rows[bidders[b]];
            const double kept = found.kept[b] * row.options[choice].configuration.gpus();
            won[bidders[b]] = cut_to(row, choice, kept * (1 + 1e-6));
        }
    }

    /// The option itself if it has at most so many GPUs, else the largest of the same pool that has; the
    /// option itself if there is none.
    static std::size_t cut_to(const OptionRow& row, std::size_t option, double gpus) {
        const Configuration& bundle = row.options[option].configuration;
        std::size_t best = option;
        if (bundle.gpus() <= gpus || !bundle.is_single()) return best;
        int most = 0;
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            const Configuration& other = row.options[k].configuration;
            if (row.options[k].goodput <= 0 || !other.is_single() ||
                !other.first().same_pool(bundle.first()) || other.gpus() > gpus || other.gpus() <= most)
                continue;
            most = other.gpus();
            best = k;
        }
        return best;
    }
};

static_assert(RoundPolicy<Themis>);

}  // namespace goodput

#endif
