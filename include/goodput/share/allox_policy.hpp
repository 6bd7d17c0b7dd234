#ifndef GOODPUT_SHARE_ALLOX_POLICY_HPP
#define GOODPUT_SHARE_ALLOX_POLICY_HPP

// AlloX' policy (Le et al., EuroSys'20): waiting jobs are put in that order on the free GPUs which makes the
// sum of completion times least (share/allox.hpp), and those that come first on their GPU start, on the type
// where the order has them. Who runs keeps what it holds to its end; nobody is preempted.
//
// Published, and in Gavel's form of it: jobs of one GPU; a time of examples left / rate; the part of the jobs
// that have waited longest. Our own reading:
// - A gang of g GPUs counts with its volume, g GPUs x seconds (share/allox.hpp). Of a type, jobs start in the
//   order of the line as long as they fit; one that does not fit yet is passed by those behind it.
// - GPUs of one type in nodes of different sizes are types of their own, as everywhere here.
// - A job that may hold several sizes is put in line with the fastest option of each type.
// - What is left of a job that declared nothing is what jobs of its kind need (Job::expected_examples), else
//   `assumed_seconds` on its best option.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/work_left.hpp"
#include "goodput/share/allox.hpp"

namespace goodput {

/// Least sum of completion times of the jobs that wait, without preemption; a RoundPolicy.
struct Allox {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    double considered = 1;          ///< part of the waiting jobs, those that have waited longest (alpha)
    double assumed_seconds = 3600;  ///< left of a job of which nothing is known

    /// Refuses a part outside (0, 1] and a time that is none (std::invalid_argument).
    void validate() const {
        if (!(considered > 0 && considered <= 1))
            bad_input("policy allox", "considered", considered, "above 0 and at most 1");
        require_positive("policy allox", "assumed", assumed_seconds);
    }

    /// Values that give 1 to what runs on and to what starts.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        std::vector<std::size_t> order, waiting;
        std::vector<double> left(round.capacity.begin(), round.capacity.end());
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const std::size_t held = detail::held_option(round, rows[r]);
            if (held == no_index && !rows[r].job.keeps_what_it_holds()) {
                // Who can run nowhere would only stand in the way.
                if (std::any_of(rows[r].options.begin(), rows[r].options.end(),
                                [](const Option& option) { return option.goodput > 0; }))
                    waiting.push_back(r);
                continue;
            }
            order.push_back(r);
            if (held == no_index) continue;
            for (const ResourceUse& use : rows[r].uses(held)) left[use.resource] -= use.units;
        }
        std::vector<std::size_t> machines;
        for (std::size_t p = 0; p < round.pools.size(); ++p)
            machines.push_back(static_cast<std::size_t>(std::max(0.0, left[p] + 1e-9)));

        std::vector<AlloxJob> jobs;
        std::vector<std::vector<std::size_t>> fastest;  // of each waiting job, by pool: its option
        for (const std::size_t r : waiting) jobs.push_back(job_in_line(round, rows[r], fastest));
        const AlloxOrder line = allox_order(jobs, machines, considered);

        std::vector<std::size_t> first(waiting.size());
        std::iota(first.begin(), first.end(), std::size_t{0});
        std::stable_sort(first.begin(), first.end(), [&](std::size_t a, std::size_t b) {
            return line.places[a].before != line.places[b].before
                       ? line.places[a].before < line.places[b].before
                       : jobs[a].waited_seconds > jobs[b].waited_seconds;
        });
        std::vector<std::size_t> starts(rows.size(),
                                        no_index);  // the option that a waiting job may start with
        for (const std::size_t w : first) {
            if (!line.places[w].considered) continue;
            starts[waiting[w]] = fastest[w][line.places[w].type];
            if (starts[waiting[w]] != no_index) order.push_back(waiting[w]);
        }
        detail::serve_assigned(round, rows, order, starts);
    }

private:
    /// A waiting job; its fastest option of each pool is appended to `fastest`.
    AlloxJob job_in_line(const Round& round, const OptionRow& row,
                         std::vector<std::vector<std::size_t>>& fastest) const {
        std::vector<std::size_t>& its = fastest.emplace_back(round.pools.size(), no_index);
        const Option* best = nullptr;
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            const Option& option = row.options[k];
            if (option.goodput <= 0 || !option.configuration.is_single()) continue;
            const PoolShare& part = option.configuration.first();
            const std::size_t pool = find_pool(round.pools, part);
            if (pool == its.size()) continue;
            if (its[pool] == no_index || option.goodput > row.options[its[pool]].goodput) its[pool] = k;
            // Of equally fast ones that with fewest GPUs, in whichever order they come.
            if (!best || option.goodput > best->goodput ||
                (option.goodput == best->goodput && option.configuration.gpus() < best->configuration.gpus()))
                best = &option;
        }
        AlloxJob job{std::vector<double>(round.pools.size()), round.age_of(row.job), 1};
        if (best) job.gpus = best->configuration.gpus();
        const double examples = detail::examples_left(row, assumed_seconds);
        for (std::size_t p = 0; p < its.size(); ++p)
            job.seconds[p] = std::min(
                1e100, allox_seconds(examples, its[p] == no_index ? 0 : row.options[its[p]].goodput));
        return job;
    }
};

static_assert(RoundPolicy<Allox>);

}  // namespace goodput

#endif
