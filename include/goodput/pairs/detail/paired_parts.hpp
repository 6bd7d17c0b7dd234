#ifndef GOODPUT_PAIRS_DETAIL_PAIRED_PARTS_HPP
#define GOODPUT_PAIRS_DETAIL_PAIRED_PARTS_HPP

// Wrappers of a scheduler's exchangeable parts (policy, predictor, maker of options, factor, limits) for
// rounds in which each pair of jobs is an additional job, listed after the snapshot's jobs
// (paired_scheduler.hpp). For a job they ask the part inside; for a pair they ask it about both partners.

#include <algorithm>
#include <any>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/pairs/job_pair.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// In Job::user of a job that represents a pair: the index of the pair in the pass.
struct PairedJob {
    std::size_t index = 0;
};

/// Returns the index, in the pass, of the pair that a job represents; nothing for a job of the snapshot.
inline std::optional<std::size_t> pair_of(const Job& job) {
    const PairedJob* pair = std::any_cast<PairedJob>(&job.user);
    return pair ? std::optional(pair->index) : std::nullopt;
}

/// GPUs that both jobs of a pair are offered, and on which the pair may run.
struct OnBoth {
    Configuration configuration{};
    std::array<std::size_t, 2> alone{};  ///< by job: index of its option with these GPUs alone
    /// By job: index of its option in the pair, among all options that are valued.
    std::array<std::size_t, 2> beside{};
    std::array<double, 2> values{};  ///< by job: value of its option in the pair
};

/// What all parts know about the round that is planned.
struct PairRound {
    const Snapshot* given = nullptr;  ///< the snapshot, in which two jobs that share GPUs both hold them
    std::vector<JobPair> pairs{};     ///< all pairs that may be given GPUs in this round
    std::vector<char> in_pair{};      ///< by job: whether it is in any of them; empty without pairs

    // About the present pass:
    std::vector<std::size_t> planned{};  ///< the pairs that are jobs
    bool together_only = false;          ///< jobs of these pairs run in them or not at all
    /// By planned pair: both jobs, as if each held what the pair holds.
    std::vector<std::array<Job, 2>> partners{};
    std::size_t first_place = 0;               ///< index of the first row after those of pools and limits
    std::size_t places = 0;                    ///< number of rows that let each job run once
    std::vector<std::vector<OnBoth>> on_both;  ///< by pair: the GPUs on which it may run

    /// The planned pair of this index.
    [[nodiscard]] const JobPair& pair(std::size_t index) const { return pairs[planned[index]]; }
    /// Returns what a pair is offered on these GPUs; null if it may not run there.
    [[nodiscard]] const OnBoth* find(std::size_t pair, const Configuration& configuration) const {
        const auto at = std::ranges::find(on_both[pair], configuration, &OnBoth::configuration);
        return at == on_both[pair].end() ? nullptr : &*at;
    }
    /// Whether a job is in any of the pairs.
    [[nodiscard]] bool is_in_pair(std::size_t job) const { return job < in_pair.size() && in_pair[job] != 0; }
    /// Returns whether a pair runs together and must stay where it is, because one of its jobs cannot be
    /// moved now.
    [[nodiscard]] bool is_kept(const JobPair& pair) const {
        return pair.together && std::ranges::any_of(pair.jobs, [&](std::size_t job) {
                   return given->jobs[job].keeps_what_it_holds();
               });
    }
    /// Returns whether a row only lets a job run once. The policy does not know about these rows.
    [[nodiscard]] bool is_place(std::size_t row) const {
        return row >= first_place && row < first_place + places;
    }
};

/// Returns the index of the option with exactly this configuration; no_index if there is none.
inline std::size_t find_option(std::span<const Option> options, const Configuration& configuration) {
    const auto at = std::ranges::find(options, configuration, &Option::configuration);
    return at == options.end() ? no_index : static_cast<std::size_t>(at - options.begin());
}

/// Returns the value of running together: the sum of both values, or 0 if one of them is not above 0.
inline double worth_of(const OnBoth& on) {
    return on.values[0] <= 0 || on.values[1] <= 0 ? 0 : on.values[0] + on.values[1];
}

/// Thrown if the policy failed for all jobs at once.
struct PolicyThrew {
    std::string what{};
};

/// A policy to which running together is one more option of each of the two jobs: the same GPUs with the
/// goodput that the job has while sharing them. The option of the pair is worth the sum of these two
/// values, or 0 if one of them is 0.
struct PairedPolicy {
    PolicyJoint policy{};
    PairRound* pairing = nullptr;

    /// The joint (joints.hpp) for this policy in the round that is planned.
    [[nodiscard]] PolicyJoint joint() const {
        PolicyJoint joint{.part = this, .by_round = true};
        joint.values = [](const void* part, const Round& round, std::span<const OptionRow> rows,
                          const PolicyFailed& failed) {
            try {
                static_cast<const PairedPolicy*>(part)->value_round(round, rows);
            } catch (const PolicyThrew& all) {
                failed(no_index, no_index, all.what);
            }
        };
        if (policy.most_gpus)
            joint.most_gpus = [](const void* part, const Job& job, const JobModel& model,
                                 std::size_t gpu_type) {
                return static_cast<const PairedPolicy*>(part)->most_gpus(job, model, gpu_type);
            };
        if (policy.expected_gradient)
            joint.expected_gradient = [](const void* part, const Job& job) {
                const PolicyJoint& inside = static_cast<const PairedPolicy*>(part)->policy;
                return pair_of(job) ? job.gradient : inside.expected_gradient(inside.part, job);
            };
        if (policy.value_beside)
            joint.value_beside = [](const void* part, const Round& round, const OptionRow& row,
                                    const Option& option) {
                const PolicyJoint& inside = static_cast<const PairedPolicy*>(part)->policy;
                return inside.value_beside(inside.part, round, row, option);
            };
        return joint;
    }

private:
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        const auto pair = pair_of(job);
        if (!pair) return policy.most_gpus(policy.part, job, model, gpu_type);
        int most = std::numeric_limits<int>::max();
        for (const std::size_t j : pairing->pair(*pair).jobs)
            most = std::min(most, policy.most_gpus(policy.part, pairing->given->jobs[j],
                                                   model_of(*pairing->given, j), gpu_type));
        return most;
    }

    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const std::size_t jobs = pairing->given->jobs.size();
        std::vector<std::size_t> row_of(round.jobs.size(), no_index);
        for (std::size_t r = 0; r < rows.size(); ++r) row_of[index_of(rows[r], round)] = r;
        std::vector<Beside> asked = ask_with_pairs(round, rows, row_of, true);
        if (policy.by_round && !pairing->pairs.empty()) {
            std::vector<std::vector<OnBoth>> on_both = pairing->on_both;
            std::vector<Beside> without = ask_with_pairs(round, rows, row_of, false);
            if (serves_alike(rows, asked, without))
                pairing->on_both = std::move(on_both);
            else
                asked = std::move(without);
        }
        for (std::size_t r = 0; r < rows.size(); ++r)
            for (std::size_t k = 0; k < rows[r].values.size(); ++k)
                rows[r].values[k] = asked[r].value_alone(k);
        for (std::size_t p = 0; p < pairing->pairs.size(); ++p)
            for (OnBoth& on : pairing->on_both[p])
                for (std::size_t i = 0; i < 2; ++i)
                    on.values[i] = asked[row_of[pairing->pairs[p].jobs[i]]].values[on.beside[i]];
        for (std::size_t i = 0; i < pairing->planned.size(); ++i)
            if (const std::size_t r = row_of[jobs + i]; r != no_index) value_pair(row_of, i, rows[r]);
    }

    /// A job's row with further options after its own. For a job of a pair that keeps what it holds, the
    /// row has only the option to share these GPUs with the other job.
    struct Beside {
        std::size_t own = 0;  ///< number of options of the original row
        std::optional<Job> keeper{};
        std::vector<Option> options{};
        std::vector<double> values{};
        std::vector<ResourceUse> uses{};
        std::vector<std::size_t> offsets = std::vector<std::size_t>(1, 0);

        void begin(const OptionRow& row, const PairRound& pair_round) {
            own = row.options.size();
            options.assign(row.options.begin(), row.options.end());
            for (std::size_t k = 0; k < own; ++k) add_uses(row.uses(k), 1, pair_round);
        }
        /// Removes all options. The job is marked as one that keeps what it holds.
        void keep(const Job& job) {
            *this = {};
            keeper = job;
            keeper->preemptible = false;
        }
        /// Adds an option with `part` of this option's goodput and half of these uses. Returns its index.
        std::size_t add(const Option& option, double part, std::span<const ResourceUse> used,
                        const PairRound& pair_round) {
            options.push_back(option);
            options.back().goodput *= part;
            add_uses(used, 0.5, pair_round);
            return options.size() - 1;
        }
        /// Returns the row to ask the policy about.
        OptionRow row(const Job& job) {
            values.assign(options.size(), 0);
            return {keeper ? *keeper : job, options, values, OptionUses(uses, offsets)};
        }
        [[nodiscard]] double value_alone(std::size_t option) const {
            return option < own ? values[option] : 0;
        }

    private:
        void add_uses(std::span<const ResourceUse> taken, double factor, const PairRound& pair_round) {
            for (const ResourceUse& use : taken)
                if (!pair_round.is_place(use.resource)) uses.push_back({use.resource, use.units * factor});
            offsets.push_back(uses.size());
        }
    };

    static std::size_t index_of(const OptionRow& row, const Round& round) {
        return static_cast<std::size_t>(&row.job - round.jobs.data());
    }

    /// Asks the policy about all jobs, and returns the answers by row. Jobs of pairs are shown to the
    /// policy as they are in the snapshot. If `in_pairs`, they also have their options in pairs. If not,
    /// only pairs that must stay together are offered, and take what they hold once.
    std::vector<Beside> ask_with_pairs(const Round& round, std::span<const OptionRow> rows,
                                       const std::vector<std::size_t>& row_of, bool in_pairs) const {
        const std::vector<Job>& jobs = pairing->given->jobs;
        std::vector<Beside> beside(rows.size());
        for (std::size_t r = 0; r < rows.size(); ++r)
            if (index_of(rows[r], round) < jobs.size()) beside[r].begin(rows[r], *pairing);
        pairing->on_both.assign(pairing->pairs.size(), {});
        for (std::size_t p = 0; p < pairing->pairs.size(); ++p)
            if (in_pairs || pairing->is_kept(pairing->pairs[p]))
                offer_together(round, rows, row_of, p, !in_pairs, beside);
        std::vector<OptionRow> asked;
        for (std::size_t r = 0; r < rows.size(); ++r)
            if (const std::size_t j = index_of(rows[r], round); j < jobs.size())
                asked.push_back(beside[r].row(pairing->is_in_pair(j) ? jobs[j] : rows[r].job));
        ask(round, asked);
        return beside;
    }

    /// Returns whether the policy serves the same options with and without pairs. If not, it is a queue,
    /// which decides what each job gets, and does not know that two jobs take GPUs together or not at all.
    /// Jobs that it serves would get nothing.
    [[nodiscard]] static bool serves_alike(std::span<const OptionRow> rows, const std::vector<Beside>& with,
                                           const std::vector<Beside>& without) {
        for (std::size_t r = 0; r < rows.size(); ++r)
            for (std::size_t k = 0; k < rows[r].values.size(); ++k)
                if (!without[r].keeper && (with[r].value_alone(k) > 0) != (without[r].value_alone(k) > 0))
                    return false;
        return true;
    }

    void offer_together(const Round& round, std::span<const OptionRow> rows,
                        const std::vector<std::size_t>& row_of, std::size_t p, bool as_kept,
                        std::vector<Beside>& beside) const {
        const JobPair& pair = pairing->pairs[p];
        const std::array at{row_of[pair.jobs[0]], row_of[pair.jobs[1]]};
        if (at[0] == no_index || at[1] == no_index) return;
        const Configuration held = round.held_by(pairing->given->jobs[pair.jobs[0]]);
        // Count what the pair uses where it is, not what its jobs would use if they came there.
        std::size_t of_pair = no_index;
        for (std::size_t i = 0; as_kept && i < pairing->planned.size(); ++i)
            if (pairing->planned[i] == p) of_pair = row_of[pairing->given->jobs.size() + i];
        for (std::size_t i = 0; as_kept && i < 2; ++i) beside[at[i]].keep(pairing->given->jobs[pair.jobs[i]]);
        for (std::size_t k = 0; k < rows[at[0]].options.size(); ++k) {
            const Option& option = rows[at[0]].options[k];
            const Configuration& gpus = option.configuration;
            if (as_kept && !gpus.same_gpus(held)) continue;
            if (!(option.goodput > 0) || !gpus.is_single() || !pair.runs_on(gpus.first().gpu_type)) continue;
            const std::size_t same = find_option(rows[at[1]].options, gpus);
            if (same == no_index || !(rows[at[1]].options[same].goodput > 0)) continue;
            const auto& parts = pair.parts[gpus.first().gpu_type];
            OnBoth& on = pairing->on_both[p].emplace_back(OnBoth{gpus, {k, same}, {}, {}});
            for (std::size_t i = 0; i < 2; ++i)
                on.beside[i] = beside[at[i]].add(
                    rows[at[i]].options[on.alone[i]], parts[i],
                    of_pair == no_index ? rows[at[i]].uses(on.alone[i]) : rows[of_pair].uses(0), *pairing);
        }
    }

    /// A job for which the policy throws must not affect the others.
    void ask(const Round& round, std::span<const OptionRow> asked) const {
        constexpr double failed = std::numeric_limits<double>::quiet_NaN();
        policy.values(
            policy.part, round, asked, [&](std::size_t row, std::size_t option, const std::string& what) {
                if (row == no_index) throw PolicyThrew{what};
                std::ranges::fill(
                    option == no_index ? asked[row].values : asked[row].values.subspan(option, 1), failed);
            });
    }

    void value_pair(const std::vector<std::size_t>& row_of, std::size_t i, const OptionRow& row) const {
        // If the policy failed for one of the two jobs, it failed for the pair, which keeps what it holds.
        const bool failed = std::ranges::any_of(pairing->pair(i).jobs,
                                                [&](std::size_t job) { return row_of[job] == no_index; });
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            const OnBoth* on = pairing->find(pairing->planned[i], row.options[k].configuration);
            row.values[k] = failed ? std::numeric_limits<double>::quiet_NaN() : on ? worth_of(*on) : 0;
        }
    }
};

/// A predictor that only says of a pair that it can run: the partners' own options say how fast they are.
struct PairedPredictor {
    PredictorJoint predictor{};

    [[nodiscard]] PredictorJoint joint() {
        PredictorJoint joint{.part = this};
        joint.predict = [](void* part, const Job& job, const JobModel& model, std::span<Option> options) {
            const PredictorJoint& inside = static_cast<PairedPredictor*>(part)->predictor;
            if (!is_there(job, options)) inside.predict(inside.part, job, model, options);
        };
        if (predictor.predict_with)
            joint.predict_with = [](void* part, const Job& job, const JobModel& model,
                                    std::span<Option> options,
                                    const std::optional<GradientStatistics>& gradient) {
                const PredictorJoint& inside = static_cast<PairedPredictor*>(part)->predictor;
                if (!is_there(job, options)) inside.predict_with(inside.part, job, model, options, gradient);
            };
        if (predictor.keep_running_plan)
            joint.keep_running_plan = [](void* part, const Job& job, const JobModel& model, Option& option) {
                const PredictorJoint& inside = static_cast<PairedPredictor*>(part)->predictor;
                if (!pair_of(job)) inside.keep_running_plan(inside.part, job, model, option);
            };
        return joint;
    }

private:
    static bool is_there(const Job& job, std::span<Option> options) {
        if (!pair_of(job)) return false;
        for (Option& option : options) option.goodput = 1;
        return true;
    }
};

/// Offers a pair what both of its partners are offered: GPUs of one pool, without host resources. It makes
/// a list for every single job, so that the engine does not reuse a list for all equal jobs.
class PairedMaker {
public:
    PairedMaker() = default;
    PairedMaker(const MakerJoint& maker, const PairRound* pairing) : inner_(maker), pairing_(pairing) {}

    [[nodiscard]] MakerJoint joint() {
        MakerJoint joint{.part = this};
        joint.list = [](void* part, const Round& round, const Job& job, std::span<const int> most_gpus,
                        std::vector<Option>& options) {
            static_cast<PairedMaker*>(part)->list(round, job, most_gpus, options);
        };
        joint.begin_round = [](void* part, const Round& round) {
            const MakerJoint& inside = static_cast<PairedMaker*>(part)->inner_;
            if (inside.begin_round) inside.begin_round(inside.part, round);
        };
        if (inner_.list_kept)
            joint.list_kept = [](void* part, const Round& round, const Job& job,
                                 std::vector<Option>& options) {
                const MakerJoint& inside = static_cast<PairedMaker*>(part)->inner_;
                if (pair_of(job))
                    options.push_back({round.held_by(job), {}, 0, Knowledge::unknown});
                else
                    inside.list_kept(inside.part, round, job, options);
            };
        if (inner_.predict)
            joint.predict = [](void* part, const Job& job, const std::optional<GradientStatistics>& gradient,
                               std::span<Option> options, const AskPredictor& ask) {
                const MakerJoint& inside = static_cast<PairedMaker*>(part)->inner_;
                if (pair_of(job))
                    ask(options);
                else
                    inside.predict(inside.part, job, gradient, options, ask);
            };
        if (inner_.why_none)
            joint.why_none = [](void* part, const Round& round, const Job& job) {
                const MakerJoint& inside = static_cast<PairedMaker*>(part)->inner_;
                return pair_of(job) ? std::string() : inside.why_none(inside.part, round, job);
            };
        if (inner_.lets_wait)
            joint.lets_wait = [](void* part, const Job& job) {
                const MakerJoint& inside = static_cast<PairedMaker*>(part)->inner_;
                return !pair_of(job) && inside.lets_wait(inside.part, job);
            };
        return joint;
    }

private:
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const auto index = pair_of(job);
        if (!index) {
            const std::size_t first = options.size();
            inner_.list(inner_.part, round, job, most_gpus, options);
            // Also offer what the job's pair holds: on nodes that accept no new jobs it is not listed.
            const auto j = static_cast<std::size_t>(&job - round.jobs.data());
            if (job.placement.empty() && pairing_->is_in_pair(j))
                insert_held(job, round.held_by(pairing_->given->jobs[j]), round.pools, first, options);
            return;
        }
        const JobPair& pair = pairing_->pair(*index);
        for (std::size_t i = 0; i < 2; ++i) {
            lists_[i].clear();
            inner_.list(inner_.part, round, pairing_->given->jobs[pair.jobs[i]], most_gpus, lists_[i]);
        }
        for (const Option& option : lists_[0]) {
            const Configuration& gpus = option.configuration;
            if (gpus.is_single() && gpus.host().empty() && pair.runs_on(gpus.first().gpu_type) &&
                find_option(lists_[1], gpus) != no_index)
                options.push_back(option);
        }
    }

    MakerJoint inner_{};
    const PairRound* pairing_ = nullptr;
    std::array<std::vector<Option>, 2> lists_;
};

/// Changes the options of jobs, and thereby those of pairs.
struct PairedFactor {
    FactorJoint factor{};

    [[nodiscard]] FactorJoint joint() {
        return {.part = this,
                .begin_round =
                    [](void* part, const Round& round) {
                        const FactorJoint& inside = static_cast<PairedFactor*>(part)->factor;
                        return inside.begin_round(inside.part, round);
                    },
                .apply =
                    [](void* part, const Job& job, Option& option) {
                        const FactorJoint& inside = static_cast<PairedFactor*>(part)->factor;
                        if (!pair_of(job)) inside.apply(inside.part, job, option);
                    }};
    }
};

/// The rows of limits; a pair uses half of what each of its partners would use of them. After these rows,
/// every job in a pair has one row, which lets it run once, alone or in one of its pairs. If jobs in pairs
/// must not run alone (together_only), there is instead one row of capacity 0, and each of their own
/// options would use a unit of it.
class PairedLimits {
public:
    PairedLimits() = default;
    PairedLimits(const LimitsJoint& limits, PairRound* pairing) : inner_(limits), pairing_(pairing) {}

    [[nodiscard]] bool counts_dollars() const { return inner_.counts_dollars(inner_.part); }
    void rows(const Round& round, LimitRows& rows) {
        inner_.rows(inner_.part, round, 0, inner_rows_);
        for (const LimitRow& row : inner_rows_.all()) rows.add(row.name, row.capacity, row.unit);
        const std::size_t first = inner_rows_.all().size();
        place_.assign(round.jobs.size(), no_index);
        pairing_->first_place = round.pools.size() + first;
        pairing_->places = 0;
        for (std::size_t i = 0; i < pairing_->planned.size(); ++i)
            for (const std::size_t job : pairing_->pair(i).jobs) {
                if (place_[job] != no_index) continue;
                place_[job] = pairing_->together_only ? first : first + pairing_->places++;
                if (!pairing_->together_only)
                    rows.add("running job '" + round.jobs[job].name + "' once", 1, "");
            }
        if (!pairing_->together_only || pairing_->planned.empty()) return;
        rows.add("running jobs of pairs alone", 0, "");
        pairing_->places = 1;
    }
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        if (inner_.warn) inner_.warn(inner_.part, round, warnings);
    }
    void start_job(const Round& round, const Job& job) {
        if (!pair_of(job)) inner_.start_job(inner_.part, round, job);
    }
    void uses(const Round& round, const Job& job, const Option& option, LimitUses& uses) {
        const auto index = pair_of(job);
        if (!index) {
            add(round, job, option, 1, uses);
            const std::size_t place = place_[static_cast<std::size_t>(&job - round.jobs.data())];
            if (place != no_index) uses.add(place, 1);
            return;
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const Job& partner = pairing_->partners[*index][i];
            inner_.start_job(inner_.part, round, partner);
            add(round, partner, option, 0.5, uses);
            if (!pairing_->together_only) uses.add(place_[pairing_->pair(*index).jobs[i]], 1);
        }
    }

private:
    void add(const Round& round, const Job& job, const Option& option, double part, LimitUses& uses) {
        taken_.clear();
        inner_.uses(inner_.part, round, job, option, taken_);
        for (const ResourceUse& use : taken_) uses.add(use.resource, part * use.units);
    }

    LimitsJoint inner_{};
    PairRound* pairing_ = nullptr;
    LimitRows inner_rows_;
    std::vector<std::size_t> place_;  // by job: the row that lets it run once
    std::vector<ResourceUse> taken_;
};

}  // namespace goodput::inline v0_1::detail

#endif
