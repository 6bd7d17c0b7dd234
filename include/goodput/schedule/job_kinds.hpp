#ifndef GOODPUT_SCHEDULE_JOB_KINDS_HPP
#define GOODPUT_SCHEDULE_JOB_KINDS_HPP

// Lets jobs of one kind learn from each other's speed. People run the same program again and again, so the
// next run should expect what earlier runs measured. Jobs of one kind share one history (JobHistory), and
// so one model. If a job's step takes over 1.25 times as long as an earlier step of its kind on the same
// GPU type, shape and batch size, or the reverse, the job must be another program. It then leaves the kind,
// and has a history of its own from then on.

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

namespace goodput::inline v0_1 {

// A history keeps the measurements of a job between rounds, one for each combination of GPU type, nodes,
// replicas, atomic batch and number of microbatches timed. A repeated measurement is averaged into the
// existing one. If a GPU type has more than most_samples, the oldest sample is dropped from the shape that
// has the most. Models are fitted again only when measurements have changed, starting from the last
// parameters. JobFitter fits all types of the job together; a SeparateFitter fits each type alone.

namespace detail {
struct SavedFields;
}

/// The result of fitting one GPU type by itself.
struct SeparateFit {
    PolluxThroughput model{};  ///< model to predict from
    bool from_samples = true;  ///< false: only a prior, so the next fit does not start from it
};

/// Fits one GPU type by itself. The caller writes this function. It is given the samples (at least one),
/// the model of the last fit (null if there is none from which to start), and the name of the job for
/// messages about bad samples.
using SeparateFitter = std::function<SeparateFit(std::span<const ThroughputSample> samples,
                                                 const PolluxThroughput* last, std::string_view subject)>;

/// The measurements and models that are remembered for one job.
class JobHistory {
public:
    /// Largest number of measurements kept per GPU type. This allows several for every shape and batch that
    /// a job is likely to run.
    static constexpr std::size_t most_samples = 256;

    /// Makes a history without measurements. GPU types may be added later.
    explicit JobHistory(std::size_t gpu_types = 0) : types_(gpu_types) { model_.types.resize(gpu_types); }

    /// Adds a measurement on a GPU type. Throws std::invalid_argument if it is bad (see
    /// validate(ThroughputSample)). model() takes it into account from the next refit() on.
    void add(std::size_t gpu_type, const ThroughputSample& sample, std::string_view subject);

    /// Takes in the rates that a job declares (TypeLimits::reference_rate), for refined models; it may be
    /// called at any time. A declared rate counts as a measurement of one replica at its largest batch,
    /// until there is a real one. A GPU is assumed to be about half as fast at the initial batch as at its
    /// largest batch; the initial batch of the first call counts. Rates that imply an invalid step time
    /// (validate(ThroughputSample)) are ignored.
    void begin(const Job& job);

    /// Returns the seconds that one step at the largest batch takes at the job's declared rate. Returns 0
    /// if the job declares no rate, or one that implies an invalid step time.
    [[nodiscard]] static double seconds_of_rate(const TypeLimits& limits);

    /// Whether begin() would change nothing, because it was called with the same values before.
    [[nodiscard]] bool has_begun_with(const Job& job) const;
    /// Whether there are measurements that no fit has seen.
    [[nodiscard]] bool has_changed() const {
        return std::any_of(types_.begin(), types_.end(), [](const OfType& type) { return type.changed; });
    }
    /// Whether begin() was called.
    [[nodiscard]] bool begun() const { return reference_batch_ > 0; }

    /// Fits the models whose measurements changed, each GPU type by itself with the caller's fit.
    void refit(const SeparateFitter& fitter, std::string_view subject);

    /// Fits refined models of all types if any measurement changed.
    void refit(JobFitter& fitter, std::string_view subject);

    /// The last refined fits, by GPU type, which forecasts and profile runs use. Empty before the first
    /// fit.
    [[nodiscard]] std::span<const TypeFit> fits() const { return fits_; }
    /// The models of the last refit(), by GPU type, as Snapshot::models takes them.
    [[nodiscard]] const JobModel& model() const { return model_; }
    /// Whether there is a measurement of this GPU type, shape and batch.
    [[nodiscard]] bool has_measured(std::size_t gpu_type, Shape shape, int atomic_batch) const {
        return measured(gpu_type, shape, atomic_batch) != nullptr;
    }
    /// Returns the measurement of the last step of an iteration, or with `microbatches` above 1 that of an
    /// iteration of that many. Returns the mean if it was measured several times, null if never. Declared
    /// rates do not count.
    [[nodiscard]] const ThroughputSample* measured(std::size_t gpu_type, Shape shape, int atomic_batch,
                                                   int microbatches = 1) const;

    /// Returns the number of batch sizes at which a shape was measured on a GPU type.
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
        std::vector<int> counts{};  ///< measurements averaged into each sample; 0 for a declared rate
        double declared_rate = 0;   ///< last rate passed to begin()
        int most_replicas = 0;
        BatchPlan last_plan{};
        bool changed = false;
        bool has_start = false;  ///< whether a SeparateFitter can start from the model

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.changed, self.has_start, self.declared_rate, self.most_replicas, self.last_plan,
                  self.counts, self.samples);
        }
        void check_saved() const;
    };
    /// Returns the index of the sample with that shape, batch and number of microbatches, or the number of
    /// samples if there is none.
    static std::size_t index_of(const OfType& type, Shape shape, int atomic_batch, int microbatches);
    static void append(OfType& type, const ThroughputSample& sample, int count);
    /// Counts a declared rate as a sample, unless there is a measurement.
    static void declare(OfType& type, const ThroughputSample& sample);
    void grow(std::size_t gpu_types) {
        if (gpu_types > types_.size()) types_.resize(gpu_types);
    }
    /// Sets the parts of the model that a fit does not know. Only refit() calls it, because a type with
    /// measurements must be fitted before any batch plan can run on it.
    void tell_model();
    static void forget_one(OfType& type);

    std::vector<OfType> types_;
    std::vector<TypeFit> fits_;
    double reference_batch_ = 0;  ///< see begin(); if 0, a batch size is taken from the measurements
    JobModel model_;
};

namespace detail {
struct SavedFields;
}

/// The histories of all jobs, by kind.
class KindHistories {
public:
    /// Largest number of kinds that are remembered while none of their jobs is present. This is enough for
    /// the programs that a large group of people runs again and again.
    static constexpr std::size_t most_kinds = 1024;
    /// A measurement is skipped if the model predicts it up to this relative error. This needs measurements
    /// of the same shape at two batch sizes at least, and does not apply to pipelines.
    static constexpr double known_to = 0.02;
    /// A step belongs to another program if it takes longer or less than the earlier measurement of the
    /// same shape and batch by more than this factor.
    static constexpr double largest_deviation = 1.25;

    /// Makes histories with refined models, each fitted to all GPU types together (JobFitter). The
    /// library's own policies rely on these.
    KindHistories() = default;
    /// Makes histories with models of each GPU type by itself, fitted by `fitter`. If `jobs_share` is
    /// false, each job has its own history, which contains its measurements but no declared rates.
    explicit KindHistories(SeparateFitter fitter, bool jobs_share = true);

    /// Tells the histories about a job, new or not, and takes in the rates that it declares; it may be
    /// called at any time. A job whose description changes belongs to another kind from then on. A new kind
    /// starts with a copy of the old kind's history. Throws std::invalid_argument if the initial batch
    /// exceeds 2^30.
    void meet(const Job& job);

    /// Adds a measurement of a job on a GPU type. Throws std::invalid_argument if it is bad. A measurement
    /// that the kind's model already predicts is skipped, because otherwise a kind with many jobs would be
    /// fitted again in every round. If Job::host says how speed depends on cores and memory, the times are
    /// first scaled to factor 1 (at_factor_one()).
    void add(const Job& job, std::size_t gpu_type, const ThroughputSample& measured);

    /// Fits the history of a job's kind if it has changed.
    void refit(const Job& job);

    /// Returns the history of a job: that of its kind, or its own.
    [[nodiscard]] JobHistory& of(const Job& job);

    /// Returns the history of the job with that name, or null if no job of that name is known.
    [[nodiscard]] const JobHistory* find(const std::string& name) const;

    /// Starts a trial: everything from now on can be undone, until the next call of begin_trial() or
    /// undo().
    void begin_trial();
    /// Forgets everything since begin_trial().
    void undo();

    /// Forgets all jobs except those for which keep(name) holds. The histories of kinds stay, but only the
    /// most_kinds that were needed last.
    void forget_unless(const std::function<bool(const std::string& name)>& keep);

private:
    struct Member {
        std::string key;  ///< key of its history
        Job described{};  ///< fields that same_kind() reads

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
    /// Saves an entry as it was before the trial, once.
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
    SeparateFitter separate_;  // used instead of fitter_ if it is set
    bool jobs_share_ = true;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_history.hpp"
#include "goodput/schedule/detail/job_kinds.hpp"
#endif

#endif
