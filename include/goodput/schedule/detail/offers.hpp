#ifndef GOODPUT_SCHEDULE_DETAIL_OFFERS_HPP
#define GOODPUT_SCHEDULE_DETAIL_OFFERS_HPP

// Second station of a round: what every job is offered, and how good the predictor takes it to be.
//
// A maker, predictor or policy that throws, or answers with NaN or infinity, is a fault: it is named in the
// plan and costs the job the option that it is about. A job for which everything failed is left alone: it
// keeps what it holds, or waits. So one that fails for all jobs stops none of them.

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
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/shared_predictions.hpp"
#include "goodput/schedule/makers.hpp"
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

/// Calls `call`; false if that throws.
template <class Call>
bool contained(Call call) {
    return contained(call, [](const std::string&) {});
}

inline const JobModel& model_of(const Snapshot& snapshot, std::size_t job) {
    static const JobModel nothing_known;
    return snapshot.models.empty() ? nothing_known : snapshot.models[job];
}

/// Cores and memory beside the GPUs change the throughput, and the goodput with it.
inline void count_host(const Job& job, Option& option) {
    if (job.host && !option.configuration.host().empty())
        option.goodput *= job.host->factor(option.configuration.host());
}

/// Lets the predictor say what one option is worth with the job's present gradient statistics. Where it
/// fails the option stays as it is, and the answer is false.
template <OptionPredictor Predictor>
bool predict_one(const Snapshot& snapshot, std::size_t job, Predictor& predict, Option& option) {
    Option predicted = option;
    const auto one = std::span<Option>(&predicted, 1);
    if (!contained([&] { predict(snapshot.jobs[job], model_of(snapshot, job), one); })) return false;
    count_host(snapshot.jobs[job], predicted);
    if (!std::isfinite(predicted.goodput)) return false;
    option = predicted;
    return true;
}

/// Fills in options with the gradient statistics that the policy expects.
template <Policy P, OptionPredictor Predictor>
void predict_as_valued(const P& policy, const Job& job, const JobModel& model, Predictor& predict,
                       std::span<Option> options) {
    if constexpr (GradientForecast<P>)
        predict(job, model, options, std::optional<GradientStatistics>(policy.expected_gradient(job)));
    else
        predict(job, model, options);
}

/// Most GPUs of each type that the policy offers a job this round.
template <Policy P>
void find_most_gpus(const P& policy, const Snapshot& snapshot, std::size_t job, std::vector<int>& most) {
    most.assign(snapshot.cluster.gpu_types.size(), std::numeric_limits<int>::max());
    if constexpr (GrowthLimit<P>)
        for (std::size_t type = 0; type < most.size(); ++type)
            most[type] =
                static_cast<int>(policy.most_gpus(snapshot.jobs[job], model_of(snapshot, job), type));
}

/// The options of all jobs, one after the other. Keeps its buffers from round to round.
class Offers {
public:
    /// Asks maker and predictor about all jobs.
    template <Policy P, OptionPredictor Predictor, OptionMaker Maker>
    void make(const Snapshot& snapshot, const Round& round, const OpenNodes& open, const P& policy,
              Predictor& predict, Maker& maker, std::vector<PlanFault>& faults) {
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
            contained([&] { offer(snapshot, round, j, open, policy, predict, maker); }, failed);
            if (silent_[j] && open.keeps(j)) options_.push_back(kept(snapshot, round, j, predict));
            for (std::size_t k = first_.back(); k < options_.size(); ++k) {
                count_host(snapshot.jobs[j], options_[k]);
                if (std::isfinite(options_[k].goodput)) continue;
                faults.push_back({j, options_[k].configuration,
                                  "the predicted goodput is " + text_of(options_[k].goodput)});
                options_[k].goodput = 0;
            }
            first_.push_back(options_.size());
        }
    }

    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return {options_.data() + first_[job], first_[job + 1] - first_[job]};
    }
    /// Everything that was asked about it failed.
    [[nodiscard]] bool left_alone(std::size_t job) const { return silent_[job] != 0; }
    /// From now on that is so.
    void leave_alone(std::size_t job) { silent_[job] = 1; }

    /// The jobs that are left alone and keep what they hold are offered that and nothing else.
    template <OptionPredictor Predictor>
    void offer_what_is_kept(const Snapshot& snapshot, const Round& round, const OpenNodes& open,
                            Predictor& predict) {
        rebuild([&](std::size_t j, std::vector<Option>& options) {
            if (silent_[j] && open.keeps(j))
                options.push_back(kept(snapshot, round, j, predict));
            else
                options.insert(options.end(), options_of(j).begin(), options_of(j).end());
        });
    }

    /// Appends to the options of some jobs: `added[job]`, empty for most.
    void append(std::span<const std::vector<Option>> added) {
        rebuild([&](std::size_t j, std::vector<Option>& options) {
            options.insert(options.end(), options_of(j).begin(), options_of(j).end());
            options.insert(options.end(), added[j].begin(), added[j].end());
        });
    }

private:
    /// Makes the list anew: `append(job, options)` for one job after the other.
    template <class Append>
    void rebuild(Append append) {
        std::vector<Option> options;
        std::vector<std::size_t> first{0};
        for (std::size_t j = 0; j < silent_.size(); ++j) {
            append(j, options);
            first.push_back(options.size());
        }
        options_ = std::move(options);
        first_ = std::move(first);
    }

    template <Policy P, OptionPredictor Predictor, OptionMaker Maker>
    void offer(const Snapshot& snapshot, const Round& round, std::size_t j, const OpenNodes& open,
               const P& policy, Predictor& predict, Maker& maker) {
        const Job& job = snapshot.jobs[j];
        if (open.keeps(j)) {
            options_.push_back({round.held_by(job), {}, 0, Knowledge::unknown});
        } else {
            find_most_gpus(policy, snapshot, j, most_gpus_);
            maker.list(round, job, std::span<const int>(most_gpus_), options_);
            if (open.may_stay_on_drained(j))
                insert_held(
                    job, round.held_by(job), open.used_pools(),
                    [&](std::size_t type) { return most_gpus_[type]; }, first_.back(), options_);
        }
        const std::span<Option> options = std::span<Option>(options_).subspan(first_.back());
        const JobModel& model = model_of(snapshot, j);
        const auto ask = [&](std::span<Option> of) { predict_as_valued(policy, job, model, predict, of); };
        if constexpr (DeclaresInputs<Predictor>) {
            std::optional<GradientStatistics> gradient = job.gradient;
            if constexpr (GradientForecast<P>) gradient = policy.expected_gradient(job);
            shared_.predict<Predictor>(job, model, gradient, options, ask);
        } else {
            ask(options);
        }
    }

    /// What the job holds, as far as the predictor has anything to say of it.
    template <OptionPredictor Predictor>
    static Option kept(const Snapshot& snapshot, const Round& round, std::size_t j, Predictor& predict) {
        const JobModel& model = model_of(snapshot, j);
        Option option{round.held_by(snapshot.jobs[j]), {}, 0, Knowledge::unknown};
        const std::size_t type = option.configuration.first().gpu_type;
        if (!predict_one(snapshot, j, predict, option) && type < model.types.size())
            option.plan = model.types[type].last_plan;
        return option;
    }

    std::vector<Option> options_;
    std::vector<std::size_t> first_{0};  // by job: its first option
    std::vector<char> silent_;           // by job
    std::vector<int> most_gpus_;         // by GPU type, of the job that is being offered something
    SharedPredictions shared_;
};

}  // namespace goodput::detail

#endif
