#ifndef GOODPUT_SCHEDULE_DETAIL_WORTH_HPP
#define GOODPUT_SCHEDULE_DETAIL_WORTH_HPP

// Values every option under the policy (step 7 of a round). The values are written directly into the
// allotment problem.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Asks the policy for values. It keeps its buffers.
class Worth {
public:
    /// Values options_of(job) for all jobs for which not everything failed; the number of options is the
    /// same as in the offers. If the policy fails for all options of a job, everything has failed for that
    /// job. Options without goodput are worth nothing, except for those that the job must keep.
    template <class OptionsOf>
    void find(const Snapshot& snapshot, const Round& round, const PolicyJoint& policy, Offers& offers,
              Rows& rows, std::vector<PlanFault>& faults, OptionsOf options_of) {
        AllotmentProblem& problem = rows.problem;
        rows_.clear();
        job_of_.clear();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            if (offers.has_failed(j)) continue;
            rows_.push_back(row_of(snapshot, offers, problem, j));
            rows_.back().options = options_of(j);
            job_of_.push_back(j);
        }
        failed_.assign(problem.options(), 0);
        first_.assign(1, 0);
        for (const OptionRow& row : rows_) first_.push_back(first_.back() + row.options.size());
        ask(round, policy, faults);
        for (std::size_t r = 0; r < rows_.size(); ++r) judge(r, offers, problem, faults);
        for (const auto& [job, option] : rows.forbidden) problem.set_value(job, option, 0);
    }

    /// Returns a job's options with the places of their values.
    static OptionRow row_of(const Snapshot& snapshot, const Offers& offers, AllotmentProblem& problem,
                            std::size_t j) {
        const AllotmentProblem& read = problem;
        return {snapshot.jobs[j], offers.options_of(j), problem.values(j),
                OptionUses(read.uses(j), read.use_offsets(j))};
    }

private:
    void ask(const Round& round, const PolicyJoint& policy, std::vector<PlanFault>& faults) {
        policy.values(policy.part, round, rows_, [&](std::size_t row, std::size_t option, std::string what) {
            if (row == no_index) {
                std::fill(failed_.begin(), failed_.end(), 1);
                faults.push_back({std::nullopt, {}, std::move(what)});
            } else if (option == no_index) {
                for (std::size_t f = first_[row]; f < first_[row + 1]; ++f) failed_[f] = 1;
                faults.push_back({job_of_[row], {}, std::move(what)});
            } else {
                failed_[first_[row] + option] = 1;
                faults.push_back({job_of_[row], rows_[row].options[option].configuration, std::move(what)});
            }
        });
    }

    void judge(std::size_t r, Offers& offers, const AllotmentProblem& problem,
               std::vector<PlanFault>& faults) {
        const OptionRow& row = rows_[r];
        std::size_t failures = 0;
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            char& failed = failed_[first_[r] + k];
            if (!failed && !std::isfinite(row.values[k])) {
                failed = 1;
                faults.push_back(
                    {job_of_[r], row.options[k].configuration, "the value is " + text_of(row.values[k])});
            }
            failures += failed ? 1 : 0;
            if (failed || (row.options[k].goodput <= 0 && !problem.must(job_of_[r]))) row.values[k] = 0;
        }
        if (failures > 0 && failures == row.options.size()) offers.set_failed(job_of_[r]);
    }

    std::vector<OptionRow> rows_;
    std::vector<std::size_t> job_of_;  // job of each row
    std::vector<std::size_t> first_;   // by row: index of its first option among all options
    std::vector<char> failed_;         // by option of the rows
};

}  // namespace goodput::inline v0_1::detail

#endif
