#ifndef GOODPUT_PROGRAM_PEERS_SIA_SEPARATE_MODELS_HPP
#define GOODPUT_PROGRAM_PEERS_SIA_SEPARATE_MODELS_HPP

// Histories and replays with fits of Pollux's seven parameters, separately for each GPU type.

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/sim/modelling.hpp"
#include "peers/pollux/throughput_fit.hpp"
#include "peers/sia/published_fit.hpp"

namespace goodput::peers {

/// ThroughputFitter as JobHistory takes it.
struct ExactHistoryFitter {
    /// Refuses bad samples (std::invalid_argument naming `subject`).
    SeparateFit operator()(std::span<const ThroughputSample> samples, const PolluxThroughput* last,
                           std::string_view subject) {
        FitOptions options;
        options.subject = subject;
        if (last) options.start = *last;
        const ThroughputFit fit = fitter.fit(samples, options);
        return {fit.model, fit.status != FitStatus::prior_kept};
    }

    ThroughputFitter fitter{};  ///< keeps its buffers
};

/// PublishedFitter as JobHistory takes it: every fit starts afresh, as in Sia's public simulator.
struct PublishedHistoryFitter {
    /// Refuses bad samples (std::invalid_argument naming `subject`).
    SeparateFit operator()(std::span<const ThroughputSample> samples, const PolluxThroughput*,
                           std::string_view subject) {
        return {fitter.fit(samples, subject)};
    }

    PublishedFitter fitter{};  ///< keeps its buffers
};

/// Jobs that know nothing before their first run, and nothing about other jobs. `Fitter` fits a history.
template <class Fitter>
class EveryJobAlone {
public:
    /// No history is shared.
    static JobHistory* begin(const Job&) { return nullptr; }
    /// Fits what changed.
    JobHistory* add(const Job& job, JobHistory& history, std::size_t gpu_type,
                    const ThroughputSample& sample) {
        history.add(gpu_type, sample, job.name);
        history.refit(std::ref(fitter_), job.name);
        return nullptr;
    }

private:
    Fitter fitter_;
};

/// Seven parameters per GPU type, separately for each type.
class SeparateModels : public ExactPlans, public EveryJobAlone<ExactHistoryFitter> {};

}  // namespace goodput::peers

#endif
