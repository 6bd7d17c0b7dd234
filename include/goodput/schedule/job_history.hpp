#ifndef GOODPUT_SCHEDULE_JOB_HISTORY_HPP
#define GOODPUT_SCHEDULE_JOB_HISTORY_HPP

// What is remembered of a job between rounds: its measurements, one a (nodes, replicas, atomic batch) and GPU
// type, and the models fitted to them. A repeated measurement is averaged into the one that is there. Of more
// than most_samples on a type the oldest is forgotten of the shape that has most. Models are fitted anew only
// when measurements changed, starting from the last parameters: for all types of the job together
// (JobFitter), or each type alone with a fit of one's own.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput {

namespace detail {
struct SavedFields;
}

/// What a fit of one GPU type by itself has found.
struct SeparateFit {
    PolluxThroughput model{};  ///< what to predict from
    bool from_samples = true;  ///< false: only from a prior, so that the next fit does not start from it
};

/// A fit of one's own, of each GPU type by itself: from its samples (at least one), the model of the last fit
/// (null where there is none to start from) and whom messages about bad samples name.
using SeparateFitter = std::function<SeparateFit(std::span<const ThroughputSample> samples,
                                                 const PolluxThroughput* last, std::string_view subject)>;

/// What is remembered of one job.
class JobHistory {
public:
    /// Measurements kept of a job on one GPU type: several of every shape and batch that it can hope to run.
    static constexpr std::size_t most_samples = 256;

    /// A history without measurements; more GPU types may follow.
    explicit JobHistory(std::size_t gpu_types = 0) : types_(gpu_types) { model_.types.resize(gpu_types); }

    /// Adds a measurement on a GPU type (std::invalid_argument for a bad one, see
    /// validate(ThroughputSample)). model() learns of it at the next refit().
    void add(std::size_t gpu_type, const ThroughputSample& sample, std::string_view subject);

    /// Takes in what a job declares, for refined models, whenever it comes: a rate counts as a measurement of
    /// one replica at its largest batch until that is measured, and the initial batch is taken as one at
    /// which a GPU is about half as fast as at its largest. Rates that no step can have
    /// (validate(ThroughputSample)) are left out. The initial batch is that of the first call.
    void begin(const Job& job);

    /// Seconds of a step at the largest batch by a job's declared rate; 0 where it declares none that a step
    /// can have.
    [[nodiscard]] static double seconds_of_rate(const TypeLimits& limits);

    /// Whether begin() would change nothing, because it was told the same before.
    [[nodiscard]] bool has_begun_with(const Job& job) const;
    /// Whether there are measurements that no fit has seen.
    [[nodiscard]] bool has_changed() const {
        return std::any_of(types_.begin(), types_.end(), [](const OfType& type) { return type.changed; });
    }
    /// Whether begin() was called.
    [[nodiscard]] bool begun() const { return reference_batch_ > 0; }

    /// Fits the models whose measurements changed, each GPU type by itself: who brings a fit of his own.
    void refit(const SeparateFitter& fitter, std::string_view subject);

    /// Fits refined models of all types if any measurement changed.
    void refit(JobFitter& fitter, std::string_view subject);

    /// The last refined fits, by GPU type: for forecasts and profile runs. Empty before the first.
    [[nodiscard]] std::span<const TypeFit> fits() const { return fits_; }
    /// The models of the last refit(), by GPU type: what Snapshot::models takes.
    [[nodiscard]] const JobModel& model() const { return model_; }
    /// Whether there is a measurement of this GPU type, shape and batch.
    [[nodiscard]] bool has_measured(std::size_t gpu_type, Shape shape, int atomic_batch) const {
        return measured(gpu_type, shape, atomic_batch) != nullptr;
    }
    /// That measurement of the last step, or of an iteration of so many microbatches, the mean where there
    /// were several; null if there is none. Declared rates are none.
    [[nodiscard]] const ThroughputSample* measured(std::size_t gpu_type, Shape shape, int atomic_batch,
                                                   int microbatches = 1) const;

    /// At how many batch sizes a shape was measured on a GPU type.
    [[nodiscard]] std::size_t measured_batches(std::size_t gpu_type, Shape shape) const;

private:
    friend struct detail::SavedFields;
    template <class Self, class Visit>
    static void fields(Self& self, Visit& visit) {
        visit(self.reference_batch_, self.types_, self.model_.types, self.fits_);
    }
    void check_saved() const;

    struct OfType {
        std::vector<ThroughputSample> samples{};
        std::vector<int> counts{};  ///< measurements averaged into each sample; 0: a declared rate
        double declared_rate = 0;   ///< the last one that begin() was told
        int most_replicas = 0;
        BatchPlan last_plan{};
        bool changed = false;
        bool has_start = false;  ///< of a SeparateFitter

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.changed, self.has_start, self.declared_rate, self.most_replicas, self.last_plan,
                  self.counts, self.samples);
        }
        void check_saved() const;
    };
    /// The sample of that shape and batch, and of so many microbatches; the number of samples if there is
    /// none.
    static std::size_t index_of(const OfType& type, Shape shape, int atomic_batch, int microbatches);
    static void append(OfType& type, const ThroughputSample& sample, int count);
    /// Counts a declared rate as a sample, unless there is a measurement.
    static void declare(OfType& type, const ThroughputSample& sample);
    void grow(std::size_t gpu_types) {
        if (gpu_types > types_.size()) types_.resize(gpu_types);
    }
    /// What the model is told besides its fit. Only together with that: a type said to be measured before it
    /// is fitted would be one that no batch plan runs on.
    void tell_model();
    static void forget_one(OfType& type);

    std::vector<OfType> types_;
    std::vector<TypeFit> fits_;
    double reference_batch_ = 0;  ///< see begin(); 0: that of the measurements
    JobModel model_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_history.hpp"
#endif

#endif
