#ifndef GOODPUT_SHARE_ALLOX_HPP
#define GOODPUT_SHARE_ALLOX_HPP

// AlloX (Le et al., EuroSys'20): the order of jobs on machines of several types that minimises the sum of
// their completion times. A job that is k-th from last on its machine delays k completions, including its
// own. So an order is an assignment of jobs to places (machine, k), and a place costs
//
//     k * seconds of the job on that type + seconds that it has waited
//
// Machines of one type are alike: there are as many places (type, k) as machines of that type, and k need
// not exceed jobs / machines. With `considered` < 1 only that fraction of the jobs is considered, those
// that have waited longest, but at least as many jobs as there are machines (the published alpha).
//
// AlloX was published for jobs of one GPU. We extend it: a job of g GPUs blocks g machines, and counts as a
// job on one machine that delays the others g times as long. Its cost is
//
//     ((k - 1) * g + 1) * seconds + waited

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/share/assignment.hpp"

namespace goodput::inline v0_1 {

/// A waiting job.
struct AlloxJob {
    std::vector<double> seconds{};  ///< by type of machine: how long it will run there; see allox_seconds()
    double waited_seconds = 0;      ///< since it was submitted
    int gpus = 1;                   ///< machines that it takes at once
};

/// Returns how long a job with this many examples left runs at a rate in examples/s. For a job that cannot
/// run there (rate 0), the published code assumes 1e-10 examples/s: finite, but never worth it.
[[nodiscard]] inline double allox_seconds(double examples, double rate) {
    return examples / (rate > 0 ? rate : 1e-10);
}

/// A job's place in the order.
struct AlloxPlace {
    bool considered = false;   ///< false: not among those that have waited longest; ignore the rest
    std::size_t type = 0;      ///< type of its machine
    std::size_t from_end = 0;  ///< k: number of jobs on its machine from this one to the last
    std::size_t before = 0;    ///< number of jobs before it on its machine; 0: it runs now
};

/// An order with the least total completion time, and its proof.
struct AlloxOrder {
    std::vector<AlloxPlace> places{};  ///< by job
    double objective = 0;              ///< sum of the costs above, over the jobs considered
    double bound = 0;                  ///< no order costs less; equals the objective up to rounding
};

/// Returns the best order of jobs on `machines`, the number of free machines of each type. `considered` is
/// in (0, 1]. Among equal jobs, those that have waited longest come first, then those listed first. Without
/// machines no job is considered. Refuses times that are negative or above 1e140, jobs with times for a
/// different number of types, and fewer than one GPU (std::invalid_argument naming job, field and value).
[[nodiscard]] inline AlloxOrder allox_order(std::span<const AlloxJob> jobs,
                                            std::span<const std::size_t> machines, double considered = 1) {
    if (!(considered > 0 && considered <= 1))
        bad_input("allox", "considered part", considered, "above 0 and at most 1");
    const std::size_t types = machines.size();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const auto subject = [&] { return "allox job " + text_of(j); };
        if (jobs[j].seconds.size() != types)
            bad_input(subject(), "number of types", jobs[j].seconds.size(),
                      text_of(types) + ", those of machines");
        require_between(subject, "gpus", jobs[j].gpus, 1, 1 << 20);
        require_at_least(subject, "waited", jobs[j].waited_seconds, 0);
        for (const double seconds : jobs[j].seconds)
            if (!(seconds >= 0 && seconds <= 1e140))
                bad_input(subject(), "seconds", seconds, "between 0 and 1e140");
    }

    AlloxOrder found;
    found.places.resize(jobs.size());
    const std::size_t all = std::accumulate(machines.begin(), machines.end(), std::size_t{0});
    if (all == 0 || jobs.empty()) return found;
    std::vector<std::size_t> rows(jobs.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
        return jobs[a].waited_seconds > jobs[b].waited_seconds;
    });
    const auto part = static_cast<std::size_t>(std::floor(considered * static_cast<double>(jobs.size())));
    rows.resize(std::min(jobs.size(), std::max(part, all)));

    struct Column {
        std::size_t type, from_end;
    };
    const auto cost = [&](std::size_t row, const Column& column) {
        const AlloxJob& job = jobs[rows[row]];
        return (static_cast<double>(column.from_end - 1) * job.gpus + 1) * job.seconds[column.type] +
               job.waited_seconds;
    };
    // Places further from the end cost more, so add deeper ones only when some job would prefer one.
    std::vector<Column> columns;
    std::vector<std::size_t> depth(types, rows.size() / all + 1);  // largest k of the places, by type
    Assignment assigned;
    for (bool deeper = true; deeper;) {
        columns.clear();
        std::vector<std::size_t> places;
        for (std::size_t type = 0; type < types; ++type) {
            if (machines[type] == 0) continue;
            depth[type] = std::min(depth[type], (rows.size() - 1) / machines[type] + 1);
            for (std::size_t k = 1; k <= depth[type]; ++k) columns.push_back({type, k});
            places.resize(columns.size(), machines[type]);
        }
        assigned = least_cost_assignment(rows.size(), places, [&](std::size_t row, std::size_t column) {
            return cost(row, columns[column]);
        });
        deeper = false;
        for (std::size_t type = 0; type < types; ++type) {
            if (depth[type] * machines[type] >= rows.size() || machines[type] == 0) continue;
            bool wanted = false;
            for (std::size_t row = 0; row < rows.size(); ++row)
                wanted |= cost(row, {type, depth[type] + 1}) < assigned.row_dual[row];
            if (wanted) depth[type] *= 2;
            deeper |= wanted;
        }
    }
    found.objective = assigned.cost;
    found.bound = assigned.bound;

    // Jobs of length 0 may leave earlier places empty, so the jobs of each type are numbered anew. Among
    // jobs with the same k, those that have waited longest run first.
    std::vector<std::vector<std::size_t>> of_type(types);
    for (std::size_t row = rows.size(); row-- > 0;)
        of_type[columns[assigned.column[row]].type].push_back(row);
    for (std::size_t type = 0; type < types; ++type) {
        std::vector<std::size_t>& line = of_type[type];
        std::stable_sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) {
            return columns[assigned.column[a]].from_end < columns[assigned.column[b]].from_end;
        });
        for (std::size_t i = 0; i < line.size(); ++i)
            found.places[rows[line[i]]] = {true, type, i / machines[type] + 1,
                                           (line.size() - 1 - i) / machines[type]};
    }
    // Equal jobs can exchange places at no cost. Those that have waited longest come first in `rows`, and
    // run first.
    const auto work = [&](std::size_t job) { return std::tie(jobs[job].seconds, jobs[job].gpus); };
    std::ranges::stable_sort(rows, {}, work);
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        std::vector<AlloxPlace> equal_places;
        for (; end < rows.size() && work(rows[end]) == work(rows[begin]); ++end)
            equal_places.push_back(found.places[rows[end]]);
        std::ranges::stable_sort(equal_places, {}, &AlloxPlace::before);
        for (std::size_t i = begin; i < end; ++i) found.places[rows[i]] = equal_places[i - begin];
    }
    return found;
}

}  // namespace goodput::inline v0_1

#endif
