#ifndef GOODPUT_SCHEDULE_DETAIL_OFFERS_HPP
#define GOODPUT_SCHEDULE_DETAIL_OFFERS_HPP

// Every job's options and what they are worth, asked of policies and predictors that may fail.
//
// A policy or predictor that throws, or answers with NaN or infinity, is a fault: it is named in the plan and
// costs the job the option that it is about. About a job of which the policy says nothing at all, because
// every answer failed, nothing is decided: it is left alone, keeps what it holds, or waits. So a policy that
// fails for all jobs stops none of them.

#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/model/job_model.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/shared_predictions.hpp"
#include "goodput/schedule/open_nodes.hpp"
#include "goodput/schedule/options.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

/// Calls `call`; if that throws, `failed(what)` is told why, and the answer is false.
template <class Call, class Failed>
bool contained(Call call, Failed failed) {
    try {
        call();
        return true;
    } catch (const std::exception& error) {
        failed(std::string("threw: ") + error.what());
    } catch (...) {
        failed(std::string("threw something that is no std::exception"));
    }
    return false;
}

/// The same where nobody wants to know why.
template <class Call>
bool contained(Call call) {
    return contained(call, [](const std::string&) {});
}

inline const JobModel& model_of(const Snapshot& snapshot, std::size_t job) {
    static const JobModel nothing_known;
    return snapshot.models.empty() ? nothing_known : snapshot.models[job];
}

/// Lets the predictor say what one option is worth. Where it fails the option stays as it is, and the answer
/// is false.
template <OptionPredictor Predictor>
bool predict_one(const Snapshot& snapshot, std::size_t job, Predictor& predict, Option& option) {
    Option predicted = option;
    const auto one = std::span<Option>(&predicted, 1);
    if (!contained([&] { predict(snapshot.jobs[job], model_of(snapshot, job), one); })) return false;
    if (!std::isfinite(predicted.goodput)) return false;
    option = predicted;
    return true;
}

/// Most GPUs of a type that the policy offers a job this round.
template <Policy P>
int most_gpus(const P& policy, const Snapshot& snapshot, std::size_t job, std::size_t gpu_type) {
    if constexpr (GrowthLimit<P>)
        return static_cast<int>(policy.most_gpus(snapshot.jobs[job], model_of(snapshot, job), gpu_type));
    else
        return std::numeric_limits<int>::max();
}

/// The options of all jobs, one after the other, with their values. Keeps its buffers from round to round.
class Offers {
public:
    /// Asks for everything. `open` knows the snapshot's nodes, and is told of the jobs that are left alone.
    template <Policy P, OptionPredictor Predictor>
    void make(const Snapshot& snapshot, const Round& round, const P& policy, Predictor& predict,
              OpenNodes& open, std::vector<PlanFault>& faults) {
        const std::size_t jobs = snapshot.jobs.size();
        options_.clear();
        first_.assign(1, 0);
        silent_.assign(jobs, 0);
        if constexpr (DeclaresInputs<Predictor>) shared_.begin_round(jobs);
        for (std::size_t j = 0; j < jobs; ++j) {
            const auto failed = [&](std::string what) {
                options_.resize(first_.back());
                silent_[j] = 1;
                faults.push_back({j, {}, std::move(what)});
            };
            contained([&] { offer(snapshot, round, j, policy, predict, open); }, failed);
            if (silent_[j] && open.keeps(j)) options_.push_back(kept(snapshot, round, j, predict));
            for (std::size_t k = first_.back(); k < options_.size(); ++k)
                if (!std::isfinite(options_[k].goodput)) {
                    faults.push_back({j, options_[k].allotment,
                                      "the predicted goodput is " + text_of(options_[k].goodput)});
                    options_[k].goodput = 0;
                }
            first_.push_back(options_.size());
        }
        value(snapshot, round, policy, faults);
        leave_alone(snapshot, round, predict, open);
    }

    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return {options_.data() + first_[job], first_[job + 1] - first_[job]};
    }
    /// As many; finite.
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const {
        return {values_.data() + first_[job], first_[job + 1] - first_[job]};
    }
    /// The policy, or the predictor, failed for it altogether.
    [[nodiscard]] bool left_alone(std::size_t job) const { return silent_[job] != 0; }

private:
    template <Policy P, OptionPredictor Predictor>
    void offer(const Snapshot& snapshot, const Round& round, std::size_t j, const P& policy,
               Predictor& predict, const OpenNodes& open) {
        const Job& job = snapshot.jobs[j];
        const auto most = [&](std::size_t type) { return most_gpus(policy, snapshot, j, type); };
        if (open.keeps(j)) {
            options_.push_back({round.held_by(job), {}, 0, Knowledge::unknown});
        } else {
            append_options(job, open.pools(), most, options_);
            if (open.may_stay_on_drained(j))
                insert_held(job, round.held_by(job), open.used_pools(), most, first_.back(), options_);
        }
        const std::span<Option> options = std::span<Option>(options_).subspan(first_.back());
        const JobModel& model = model_of(snapshot, j);
        if constexpr (GradientForecast<P>) {
            const std::optional<GradientStatistics> gradient = policy.expected_gradient(job);
            const auto ask = [&](std::span<Option> of) { predict(job, model, of, gradient); };
            predict_all<Predictor>(job, model, gradient, options, ask);
        } else {
            const auto ask = [&](std::span<Option> of) { predict(job, model, of); };
            predict_all<Predictor>(job, model, job.gradient, options, ask);
        }
    }

    /// `ask(options)`, unless the answer is known.
    template <OptionPredictor Predictor, class Ask>
    void predict_all(const Job& job, const JobModel& model, const std::optional<GradientStatistics>& gradient,
                     std::span<Option> options, Ask ask) {
        if constexpr (DeclaresInputs<Predictor>)
            shared_.predict<Predictor>(job, model, gradient, options, ask);
        else
            ask(options);
    }

    /// What the job holds, as far as the predictor has anything to say of it.
    template <OptionPredictor Predictor>
    static Option kept(const Snapshot& snapshot, const Round& round, std::size_t j, Predictor& predict) {
        const JobModel& model = model_of(snapshot, j);
        Option option{round.held_by(snapshot.jobs[j]), {}, 0, Knowledge::unknown};
        if (!predict_one(snapshot, j, predict, option) && option.allotment.gpu_type < model.types.size())
            option.plan = model.types[option.allotment.gpu_type].last_plan;
        return option;
    }

    /// Values of all jobs that are not silent; who has none that counts is silent from now on.
    template <Policy P>
    void value(const Snapshot& snapshot, const Round& round, const P& policy,
               std::vector<PlanFault>& faults) {
        values_.assign(options_.size(), 0);
        failed_.assign(options_.size(), 0);
        rows_.clear();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (!silent_[j])
                rows_.push_back({snapshot.jobs[j], options_of(j),
                                 std::span<double>(values_).subspan(first_[j], first_[j + 1] - first_[j])});
        ask(snapshot, round, policy, faults);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            if (silent_[j]) continue;
            std::size_t failed = 0;
            for (std::size_t k = first_[j]; k < first_[j + 1]; ++k) {
                if (!failed_[k] && !std::isfinite(values_[k])) {
                    failed_[k] = 1;
                    faults.push_back({j, options_[k].allotment, "the value is " + text_of(values_[k])});
                }
                if (failed_[k]) values_[k] = 0;
                failed += failed_[k] ? 1 : 0;
            }
            silent_[j] = failed > 0 && failed == first_[j + 1] - first_[j];
        }
    }

    template <Policy P>
    void ask(const Snapshot& snapshot, const Round& round, const P& policy, std::vector<PlanFault>& faults) {
        if constexpr (RoundPolicy<P>) {
            const auto failed = [&](std::string what) {
                failed_.assign(failed_.size(), 1);
                faults.push_back({std::nullopt, {}, std::move(what)});
            };
            contained([&] { value_rows(policy, round, std::span<const Row>(rows_)); }, failed);
        } else {
            for (const Row& row : rows_) {
                const auto j = static_cast<std::size_t>(&row.job - snapshot.jobs.data());
                const auto failed = [&](std::size_t first, std::size_t count, const Allotment& of,
                                        std::string what) {
                    for (std::size_t k = 0; k < count; ++k) failed_[first_[j] + first + k] = 1;
                    faults.push_back({j, of, std::move(what)});
                };
                if constexpr (RowPolicy<P>) {
                    contained([&] { policy.value_row(round, row.job, row.options, row.values); },
                              [&](std::string what) { failed(0, row.options.size(), {}, std::move(what)); });
                } else {
                    for (std::size_t k = 0; k < row.options.size(); ++k)
                        contained([&] { row.values[k] = policy.value(round, row.job, row.options[k]); },
                                  [&](std::string what) {
                                      failed(k, 1, row.options[k].allotment, std::move(what));
                                  });
                }
            }
        }
    }

    /// Who is silent and holds something gets that as its only option, and keeps it.
    template <OptionPredictor Predictor>
    void leave_alone(const Snapshot& snapshot, const Round& round, Predictor& predict, OpenNodes& open) {
        bool any = false;
        for (std::size_t j = 0; j < silent_.size(); ++j)
            if (silent_[j] && !open.keeps(j) && !round.held_by(snapshot.jobs[j]).empty()) {
                open.keep(j);
                any = true;
            }
        if (!any) return;
        open.find_kept(snapshot.cluster, snapshot.jobs);
        std::vector<Option> options;
        std::vector<double> values;
        std::vector<std::size_t> first{0};
        for (std::size_t j = 0; j < silent_.size(); ++j) {
            if (silent_[j] && open.keeps(j)) {
                options.push_back(kept(snapshot, round, j, predict));
                values.push_back(0);
            } else {
                options.insert(options.end(), options_of(j).begin(), options_of(j).end());
                values.insert(values.end(), values_of(j).begin(), values_of(j).end());
            }
            first.push_back(options.size());
        }
        options_ = std::move(options);
        values_ = std::move(values);
        first_ = std::move(first);
    }

    std::vector<Option> options_;
    std::vector<std::size_t> first_{0};  // by job: its first option
    std::vector<double> values_;         // by option
    std::vector<char> failed_;           // by option
    std::vector<char> silent_;           // by job
    std::vector<Row> rows_;
    SharedPredictions shared_;
};

}  // namespace goodput::detail

#endif
