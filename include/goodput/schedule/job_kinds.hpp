#ifndef GOODPUT_SCHEDULE_JOB_KINDS_HPP
#define GOODPUT_SCHEDULE_JOB_KINDS_HPP

// What jobs of one kind learn from each other of their speed. People run the same program again and again, so
// what one run has measured is what the next one should expect: jobs of one kind share one history
// (JobHistory), and so one model. A job that turns out to be another program after all, because a step of its
// takes a fourth longer or less than its kind says, leaves the kind and is remembered by itself from then on.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput {

// What is remembered of a job between rounds: its measurements, one a (nodes, replicas, atomic batch) and GPU
// type, and the models fitted to them. A repeated measurement is averaged into the one that is there. Of more
// than most_samples on a type the oldest is forgotten of the shape that has most. Models are fitted anew only
// when measurements changed, starting from the last parameters: for all types of the job together
// (JobFitter), or each type alone with a fit of one's own.

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
    /// Tells the model what it cannot know from its fit. Only refit() calls it: no batch plan runs on a type
    /// that is said to be measured and is not fitted.
    void tell_model();
    static void forget_one(OfType& type);

    std::vector<OfType> types_;
    std::vector<TypeFit> fits_;
    double reference_batch_ = 0;  ///< see begin(); 0: that of the measurements
    JobModel model_;
};

namespace detail {
struct SavedFields;
}

/// The histories of all jobs, by kind.
class KindHistories {
public:
    /// Kinds that are remembered without a job that is there: as many programs as a large group of people
    /// runs again and again.
    static constexpr std::size_t most_kinds = 1024;
    /// A measurement that the model says to this part, on a shape that was measured before, teaches nothing.
    static constexpr double known_to = 0.02;
    /// A step that takes so many times longer or less than its kind says is one of another program.
    static constexpr double largest_deviation = 1.25;

    /// Refined models of all GPU types together (JobFitter): what our own policies rely on.
    KindHistories() = default;
    /// Models of each GPU type by itself, by `fitter`. Where jobs do not share, each has a history of its
    /// own, of nothing but its measurements.
    explicit KindHistories(SeparateFitter fitter, bool jobs_share = true);

    /// Meets a job, new or not, and takes in the rates that it declares, whenever they come. A job whose
    /// description changes is of another kind from then on, which starts with what the old one has shown. An
    /// initial batch beyond 2^30 is refused (std::invalid_argument).
    void meet(const Job& job);

    /// Adds a measurement of a job that was met on a GPU type (std::invalid_argument for a bad one). One that
    /// the kind's model says already is left out, so that models of kinds with many jobs are not fitted anew
    /// without end. One with other cores and memory counts as it would have been at factor 1 of Job::host.
    void add(const Job& job, std::size_t gpu_type, const ThroughputSample& measured);

    /// Fits what changed in the history of a job's kind.
    void refit(const Job& job);

    /// What is known of a job: the history of its kind, or its own.
    [[nodiscard]] JobHistory& of(const Job& job);

    /// What is known of the job of that name, which was met: null if it was not, or is forgotten.
    [[nodiscard]] const JobHistory* find(const std::string& name) const;

    /// From now on everything is on trial, until the next call of this or of undo().
    void begin_trial();
    /// Forgets what came since begin_trial(), as if it had not come.
    void undo();

    /// Forgets all jobs but those for which keep(name) holds. What their kinds have shown stays, the
    /// most_kinds of them that were needed last.
    void forget_unless(const std::function<bool(const std::string& name)>& keep);

private:
    struct Member {
        std::string key;  ///< of its history
        Job described{};  ///< what same_kind() reads of it

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.key, self.described.kind, self.described.adaptivity, self.described.initial_batch,
                  self.described.target_batch, self.described.types);
        }
    };

    friend struct detail::SavedFields;
    template <class Self, class Visit>
    static void fields(Self& self, Visit& visit) {
        visit(self.time_, self.last_needed_, self.members_, self.histories_);
    }
    void complete_saved();

    [[nodiscard]] std::string key_of(const Job& job) const;
    void join(const Job& job, const std::string& key);
    JobHistory& leave_kind(const Job& job);
    void end_trial();
    /// Remembers an entry as it was before the trial, once.
    template <class Value>
    void touch(const std::map<std::string, Value>& all, const std::string& key,
               std::map<std::string, std::optional<Value>>& before) const;

    std::map<std::string, Member> members_;        // by job name
    std::map<std::string, JobHistory> histories_;  // by key: a kind, or a job that left its kind
    std::map<std::string, std::size_t> last_needed_;
    std::size_t time_ = 0;
    bool on_trial_ = false;
    std::map<std::string, std::optional<Member>> members_before_;
    std::map<std::string, std::optional<JobHistory>> histories_before_;
    JobFitter fitter_;
    SeparateFitter separate_;  // fits instead of fitter_, where there is one
    bool jobs_share_ = true;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_history.hpp"
#include "goodput/schedule/detail/job_kinds.hpp"
#endif

#endif
