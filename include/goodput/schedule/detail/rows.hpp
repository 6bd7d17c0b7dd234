#ifndef GOODPUT_SCHEDULE_DETAIL_ROWS_HPP
#define GOODPUT_SCHEDULE_DETAIL_ROWS_HPP

// The allotment problem, without values (steps 3 and 6 of a round). Its rows are constraints on the sum of
// what the chosen options take. The first rows are the GPUs of the pools, followed by the rows of the
// limits. The last rows express what nodes can hold (node_blocks.hpp) and what domains of a topology can
// hold (domain_blocks.hpp).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/domain_blocks.hpp"
#include "goodput/schedule/detail/node_blocks.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// The problem of a round, with information about its rows and options. It keeps its buffers.
class Rows {
public:
    /// Finds the capacities. If pinned jobs exceed them, pose() raises them.
    void find_capacity(const Round& round, const OpenNodes& open, const LimitsJoint& limits) {
        problem.clear();
        problem.capacity.clear();
        last_part_ = {};
        for (const Pool& pool : open.pools()) problem.capacity.push_back(pool.gpus());
        pools_ = problem.capacity.size();
        limits.rows(limits.part, round, pools_, rows_);
        for (const LimitRow& row : rows_.all()) problem.capacity.push_back(row.capacity);
    }

    /// Adds all jobs, with options of value 0.
    void pose(const Snapshot& snapshot, const Round& round, const OpenNodes& open, const Offers& offers,
              const LimitsJoint& limits, std::vector<PlanFault>& faults) {
        problem.clear();
        problem.capacity.resize(pools_);  // the last round may have raised the limits' capacities
        for (const LimitRow& row : rows_.all()) problem.capacity.push_back(row.capacity);
        find_blocks(snapshot, open, offers);
        domains.begin(problem.capacity.size() + blocks_.rows().size());
        held.assign(snapshot.jobs.size(), no_option);
        forbidden.clear();
        conflicts.clear();
        posed_.assign(offers.end(), no_option);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Job& job = snapshot.jobs[j];
            const Configuration holds = round.held_by(job);
            const std::span<const Option> options = offers.options_of(j);
            // Waiting jobs that share their options take the same amounts of every row.
            std::size_t* const like =
                holds.empty() && rows_.all().empty() && !options.empty() && !domains.concern(job)
                    ? &posed_[offers.place_of(j)]
                    : nullptr;
            const bool must = open.keeps(j) || (job.must_run && !options.empty());
            if (like && *like != no_option) {
                problem.set_must(problem.add_job_like(*like), must);
                continue;
            }
            if (like) *like = j;
            problem.add_job(must);
            limits.start_job(limits.part, round, job);
            for (std::size_t k = 0; k < options.size(); ++k) {
                const bool keeps = !holds.empty() && options[k].configuration.same_gpus(holds);
                if (keeps && held[j] == no_option) held[j] = k;
                const auto failed = [&](std::string what) {
                    forbidden.emplace_back(j, k);
                    faults.push_back({j, options[k].configuration, "a limit " + std::move(what)});
                };
                find_uses(round, open, limits, job, j, options[k], keeps, failed);
                problem.add_option(0, uses_);
            }
        }
        if (!rows_.all().empty()) make_room_for_what_is_kept(open);
        for (const NodeBlocks::Row& row : blocks_.rows()) problem.capacity.push_back(row.capacity);
        for (const DomainBlocks::Row& row : domains.rows()) problem.capacity.push_back(row.capacity);
    }

    /// Finds what an option takes. If a limit throws, calls `failed(what)`.
    template <class Failed>
    std::span<const ResourceUse> find_uses(const Round& round, const OpenNodes& open,
                                           const LimitsJoint& limits, const Job& job, std::size_t j,
                                           const Option& option, bool keeps, Failed failed) {
        uses_.clear();
        if (keeps)
            uses_.assign(open.uses_to_keep(j).begin(), open.uses_to_keep(j).end());
        else if (option.configuration.is_single())
            uses_.push_back({pool_of(option.configuration.first(), open),
                             static_cast<double>(option.configuration.occupied_gpus())});
        else
            append_occupied(option.configuration, open.pools(), uses_);
        if (keeps)
            blocks_.append_uses_to_keep(j, job.placement, round.cluster, open, uses_);
        else
            blocks_.append_uses(option.configuration, open.pools(), uses_);
        domains.append_uses(job, j, option.configuration, keeps, open, uses_);
        if (rows_.all().empty()) return uses_;
        const std::size_t before_limits = uses_.size();
        if (!contained([&] { limits.uses(limits.part, round, job, option, uses_); }, failed))
            uses_.resize(before_limits);
        return uses_;
    }

    /// Lets every job wait unless it keeps what it holds. Returns whether there was any job that could not
    /// wait before.
    bool let_all_wait(const OpenNodes& open) {
        bool any = false;
        for (std::size_t j = 0; j < problem.jobs(); ++j) {
            any |= problem.must(j) && !open.keeps(j);
            problem.set_must(j, open.keeps(j));
        }
        return any;
    }

    /// Number of rows that are GPU pools.
    [[nodiscard]] std::size_t pools() const { return pools_; }
    /// The rows of limits, in the order of adding. In the problem they follow those of the pools.
    [[nodiscard]] std::span<const LimitRow> limits() const { return rows_.all(); }
    /// Returns the index in limits() of the limit to which a row belongs. The index is limits().size() or
    /// more if the row is not one of a limit.
    [[nodiscard]] std::size_t limit_of(std::size_t row) const {
        return row < pools_ ? limits().size() : row - pools_;
    }
    /// Describes a row that is not a pool.
    [[nodiscard]] LimitRow describe(std::size_t row, const Cluster& cluster, const OpenNodes& open) const {
        const std::size_t limit = limit_of(row);
        if (limit < limits().size()) return limits()[limit];
        const std::size_t block = limit - limits().size();
        return block < blocks_.rows().size() ? blocks_.describe(block, cluster, open)
                                             : domains.describe(block - blocks_.rows().size(), cluster, open);
    }

    AllotmentProblem problem;
    DomainBlocks domains;           ///< must be found before pose()
    std::vector<std::size_t> held;  ///< by job: option that it holds
    /// Job and option for which a limit failed.
    std::vector<std::pair<std::size_t, std::size_t>> forbidden;
    std::vector<LimitConflict> conflicts;  ///< rows of which pinned jobs take more than the capacity

private:
    /// Finds the rows of blocks. If jobs share their options, only one of the jobs is looked at.
    void find_blocks(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers) {
        blocks_.begin(open.pools().size());
        if (!NodeBlocks::are_plain(snapshot.cluster, open) || !NodeBlocks::are_powers_of_two(offers.all())) {
            posed_.assign(offers.end(), no_option);
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
                const std::span<const Option> options = offers.options_of(j);
                if (options.empty() || open.keeps(j) || posed_[offers.place_of(j)] != no_option) continue;
                posed_[offers.place_of(j)] = j;
                blocks_.note(options, open.pools());
            }
        }
        blocks_.find(snapshot.cluster, open, problem.capacity.size());
    }

    /// Options of one pool are consecutive, so each pool is looked up once.
    std::uint32_t pool_of(const PoolShare& part, const OpenNodes& open) {
        if (!part.same_pool(last_part_)) {
            last_part_ = part;
            last_pool_ = static_cast<std::uint32_t>(find_pool(open.pools(), part));
        }
        return last_pool_;
    }

    void make_room_for_what_is_kept(const OpenNodes& open) {
        kept_.assign(problem.capacity.size(), 0);
        for (std::size_t j = 0; j < problem.jobs(); ++j)
            if (open.keeps(j))
                for (const ResourceUse& use : problem.uses(j, 0)) kept_[use.resource] += use.units;
        for (std::size_t r = pools_; r < problem.capacity.size(); ++r) {
            if (kept_[r] <= problem.capacity[r] * (1 + 1e-9)) continue;
            problem.capacity[r] = kept_[r];
            LimitConflict& conflict = conflicts.emplace_back(LimitConflict{r - pools_, kept_[r], {}});
            for (std::size_t j = 0; j < problem.jobs(); ++j) {
                if (!open.keeps(j)) continue;
                for (const ResourceUse& use : problem.uses(j, 0))
                    if (use.resource == r && use.units > 0) conflict.jobs.push_back(j);
            }
        }
    }

    std::size_t pools_ = 0;
    PoolShare last_part_{};
    std::uint32_t last_pool_ = 0;
    LimitRows rows_;
    NodeBlocks blocks_;
    std::vector<ResourceUse> uses_;
    // For each place of a list of options: a job that has this list and holds nothing.
    std::vector<std::size_t> posed_;
    std::vector<double> kept_;  // by row: units of pinned jobs
};

}  // namespace goodput::inline v0_1::detail

#endif
