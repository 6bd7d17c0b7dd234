#ifndef GOODPUT_SCHEDULE_DETAIL_OFFERS_HPP
#define GOODPUT_SCHEDULE_DETAIL_OFFERS_HPP

// Lists the options of every job and predicts their goodput, multiplied by the factors of the round
// (concepts.hpp). These are steps 4 and 5 of a round.
//
// It is a fault if a maker (the part that lists options), a predictor or a policy throws, or returns NaN or
// infinity. The plan names the fault, and the job loses the affected option. A job for which everything
// failed keeps what it holds, or waits. So a part that fails for all jobs stops none of them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/model/job_model.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/question.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the round as a job may see it: without spot nodes if the job may not run on them.
inline Round round_for(const Job& job, const Round& round, const OpenNodes& open) {
    return {round.time_seconds, round.cluster, open.pools_for(job), round.capacity, round.jobs};
}

/// The options of all jobs. It keeps its buffers from round to round.
class Offers {
public:
    /// Asks maker, predictor and factors about all jobs.
    void make(const Snapshot& snapshot, const Round& round, const OpenNodes& open, const Joints& joints,
              std::vector<PlanFault>& faults) {
        const std::size_t jobs = snapshot.jobs.size();
        asked_.clear(jobs);
        listed_.clear();
        range_.assign(jobs, {});
        failed_.assign(jobs, 0);
        if (joints.maker.begin_round) joints.maker.begin_round(joints.maker.part, round);
        for (std::size_t j = 0; j < jobs; ++j) {
            const std::size_t before = listed_.size();
            const auto failed = [&](std::string what) {
                listed_.resize(before);
                range_[j] = {before, 0};
                failed_[j] = 1;
                faults.push_back({j, {}, std::move(what)});
            };
            contained([&] { offer(snapshot, round, j, open, joints, faults); }, failed);
        }
        multiply(snapshot, round, joints.factor);
        offer_what_is_kept(snapshot, round, open, joints);
    }

    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return all().subspan(range_[job].first, range_[job].size);
    }
    /// All options of all jobs, in no particular order.
    [[nodiscard]] std::span<const Option> all() const { return multiplied_ ? times_factors_ : listed_; }
    /// Returns the index of a job's first option. Jobs that share their options have the same one.
    [[nodiscard]] std::size_t place_of(std::size_t job) const { return range_[job].first; }
    /// Returns the end of these indices.
    [[nodiscard]] std::size_t end() const { return all().size(); }
    /// Whether the maker, the predictor or the policy failed for all options of the job.
    [[nodiscard]] bool has_failed(std::size_t job) const { return failed_[job] != 0; }
    /// Marks a job as one for which everything failed.
    void set_failed(std::size_t job) { failed_[job] = 1; }

    /// If everything failed for a job that keeps what it holds, replaces its options by what it holds.
    void offer_what_is_kept(const Snapshot& snapshot, const Round& round, const OpenNodes& open,
                            const Joints& joints) {
        for (std::size_t j = 0; j < range_.size(); ++j)
            if (failed_[j] && open.keeps(j)) offer_what_it_holds(snapshot, round, j, joints);
    }

    /// Appends options to those of some jobs. `added[job]` is empty for most.
    void append(std::span<const std::vector<Option>> added) {
        std::vector<Option>& options = this->options();
        for (std::size_t j = 0; j < range_.size(); ++j) {
            if (added[j].empty()) continue;
            const OptionRange listed = std::exchange(range_[j], {options.size(), 0});
            for (std::size_t k = 0; k < listed.size; ++k)
                options.push_back(Option(options[listed.first + k]));
            options.insert(options.end(), added[j].begin(), added[j].end());
            range_[j].size = options.size() - range_[j].first;
        }
    }

private:
    [[nodiscard]] std::vector<Option>& options() { return multiplied_ ? times_factors_ : listed_; }

    /// Gives every job its own copy of the options that it shares with others, because factors depend on
    /// the job.
    void multiply(const Snapshot& snapshot, const Round& round, const FactorJoint& factor) {
        multiplied_ = factor.begin_round(factor.part, round);
        times_factors_.clear();
        for (std::size_t j = 0; multiplied_ && j < range_.size(); ++j) {
            const OptionRange shared = std::exchange(range_[j], {times_factors_.size(), range_[j].size});
            for (std::size_t k = 0; k < shared.size; ++k) {
                times_factors_.push_back(listed_[shared.first + k]);
                factor.apply(factor.part, snapshot.jobs[j], times_factors_.back());
            }
        }
    }

    void offer(const Snapshot& snapshot, const Round& round, std::size_t j, const OpenNodes& open,
               const Joints& joints, std::vector<PlanFault>& faults) {
        const PolicyJoint& policy = joints.policy;
        const MakerJoint& maker = joints.maker;
        const Job& job = snapshot.jobs[j];
        const JobModel& model = model_of(snapshot, j);
        const bool keeps = open.keeps(j);
        if (!keeps) find_most_gpus(policy, snapshot, j, most_gpus_);
        // What a job holds is always among its options, even if it would not be listed for any other job.
        const Configuration held = keeps || !may_hold(job, round) ? Configuration() : round.held_by(job);
        const bool is_usual =
            held.empty() || is_listed(job, held, open.pools_for(job), std::span<const int>(most_gpus_));
        // Only the nodes that the job holds can give it this option.
        const bool only_there = !held.empty() && (open.may_stay_on_drained(j) || open.shares_nodes(j));
        // Jobs whose questions (question.hpp) are equal share one list.
        const bool alike = joints.predictor.name_inputs && maker.name_inputs && !maker.predict && !keeps &&
                           is_usual && !only_there;
        if (alike) {
            ask_about(job, model, joints);
            if (const auto same = asked_.find(question_)) {
                range_[j] = *same;
                return;
            }
        }
        const std::size_t first = listed_.size();
        if (!keeps) {
            maker.list(maker.part, round_for(job, round, open), job, most_gpus_, listed_);
            // What the job holds is added to the list. This is needed for GPUs that only a drained or a
            // shared node has, because the maker does not know about them. For other GPUs the maker may
            // have its own reasons to leave out what the job holds. For a job that must run, only the maker
            // knows which options suffice.
            if ((!is_usual || only_there) && !job.must_run) {
                insert_held(job, held, open.used_pools(), first, listed_);
                if (maker.list_kept && only_there) list_held_as_kept(round, job, maker, first, listed_);
            }
        } else if (maker.list_kept) {
            maker.list_kept(maker.part, round, job, listed_);
        } else {
            listed_.push_back({round.held_by(job), {}, 0, Knowledge::unknown});
        }
        range_[j] = {first, listed_.size() - first};
        const std::span<Option> options = std::span(listed_).subspan(first);
        predict_as_valued(joints, job, model, options);
        const std::size_t before = faults.size();
        for (Option& option : options) {
            if (std::isfinite(option.goodput)) continue;
            faults.push_back(
                {j, option.configuration, "the predicted goodput is " + text_of(option.goodput)});
            option.goodput = 0;
        }
        if (alike && faults.size() == before) asked_.add(question_, range_[j]);
    }

    /// Collects everything on which the options of a job depend.
    void ask_about(const Job& job, const JobModel& model, const Joints& joints) {
        const PolicyJoint& policy = joints.policy;
        const std::optional<GradientStatistics> gradient =
            policy.expected_gradient ? policy.expected_gradient(policy.part, job) : job.gradient;
        question_.clear();
        question_(job.spot_allowed);
        question_(gradient.has_value());
        question_(gradient ? gradient->squared_norm : 0);
        question_(gradient ? gradient->variance : 0);
        joints.predictor.name_inputs(joints.predictor.part, job, model, question_);
        joints.maker.name_inputs(joints.maker.part, job, question_);
        for (const int most : most_gpus_) question_(most);
    }

    /// If only the job's own nodes can give it what it holds, replaces that option in the list by the
    /// maker's variants of it (for example with other cores and memory).
    static void list_held_as_kept(const Round& round, const Job& job, const MakerJoint& maker,
                                  std::size_t first, std::vector<Option>& options) {
        const Configuration held = round.held_by(job);
        const auto begin = options.begin() + static_cast<std::ptrdiff_t>(first);
        const auto at = std::find_if(begin, options.end(),
                                     [&](const Option& option) { return option.configuration == held; });
        if (at == options.end()) return;
        const auto place = at - options.begin();
        options.erase(at);
        const auto size = static_cast<std::ptrdiff_t>(options.size());
        maker.list_kept(maker.part, round, job, options);
        std::rotate(options.begin() + place, options.begin() + size, options.end());
    }

    /// Whether the job may keep what it holds: none of it is on spot nodes, or the job may use these.
    static bool may_hold(const Job& job, const Round& round) {
        return job.spot_allowed ||
               std::none_of(job.placement.begin(), job.placement.end(),
                            [&](const NodeShare& share) { return round.cluster.nodes[share.node].spot; });
    }

    /// Offers a job what it holds, if the predictor can say anything about it.
    void offer_what_it_holds(const Snapshot& snapshot, const Round& round, std::size_t j,
                             const Joints& joints) {
        const JobModel& model = model_of(snapshot, j);
        Option option{round.held_by(snapshot.jobs[j]), {}, 0, Knowledge::unknown};
        const std::size_t type = option.configuration.first().gpu_type;
        if (!predict_one(joints, snapshot, j, false, option) && type < model.types.size())
            option.plan = model.types[type].last_plan;
        range_[j] = {options().size(), 1};
        options().push_back(std::move(option));
    }

    std::vector<OptionRange> range_;  // by job
    std::vector<char> failed_;        // by job
    std::vector<int> most_gpus_;      // by GPU type, for the job whose options are being listed
    Question question_;               // about the job whose options are being listed
    AskedQuestions asked_;
    std::vector<Option> listed_;
    bool multiplied_ = false;            // whether any factor changes options
    std::vector<Option> times_factors_;  // options of all jobs if multiplied_
};

}  // namespace goodput::inline v0_1::detail

#endif
