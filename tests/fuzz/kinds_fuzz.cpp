// Fuzzes what jobs of a kind tell each other about their speed and size while they come, change, deviate,
// are tried, undone, cancelled and forgotten. Bad input is refused and changes nothing, undone news leave
// no trace, and jobs learn nothing from a job that left its kind or was cancelled.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "goodput/model/job_model.hpp"
#include "goodput/schedule/detail/kind_of.hpp"
#include "goodput/schedule/job_kinds.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"
#include "fuzz/support/sizes.hpp"
#include "peers/sia/separate_models.hpp"

using namespace goodput;
using fuzz::accepted;
using fuzz::check;

namespace {

const Cluster cluster{{"slow", "fast"}, {{"node", 0, 8}}};
const std::array<Shape, 4> shapes{Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 8}};
const std::array<int, 3> batches{16, 64, 256};
// Names and kinds that look like the keys of the histories, and an empty name, which is invalid.
const std::array<std::string, 8> names{"one", "two", "three", "four", "kind bert", "job one", "batch 32", ""};
const std::array<std::string, 4> kinds{"", "bert", "job one", "resnet"};
const PolluxThroughput speed{0.05, 0.001, 0.08, 0.004, 0.03, 0.002, 1.8};

/// Decodes a job from a record's next seven fields.
Job job_from(fuzz::Bytes& record) {
    Job job{.name = record.pick(names), .kind = record.pick(kinds), .max_gpus = 8, .max_batch = 1 << 30};
    job.initial_batch = record.hostile_integer(32, 33);
    TypeLimits limits{.max_atomic_batch = record.hostile_integer(255, 256)};
    limits.gpus_per_replica = record.pick(std::array{1, 1, 2});
    job.types.assign(cluster.gpu_types.size(), limits);
    for (TypeLimits& type : job.types) type.reference_rate = record.number(0, 1000);
    return job;
}

bool is_legal(const Job& job) {
    return accepted([&] { validate(job, cluster); });
}

struct ExactSpeeds : KindHistories {
    ExactSpeeds() : KindHistories(peers::ExactHistoryFitter()) {}
};

/// One set of histories that is told everything, and one that is never told what was undone. Both are
/// fitted only when the input says so, because where a fit starts decides where it ends.
template <class Histories>
class Speeds {
public:
    void change(fuzz::Bytes record) {
        switch (record.index(12)) {
            case 0:
            case 1:
            case 2:
                meet(record);
                break;
            case 3:
                begin_trial();
                break;
            case 4:
                undo();
                break;
            case 5:
                forget(record);
                break;
            case 6:
                if (!met_.empty()) refit(any(record).job);
                break;
            default:
                if (!met_.empty()) add(record);
        }
        check_groups();
    }

    /// All models are valid, and a crowd of kinds that no job needs is partly forgotten.
    void end(bool crowded) {
        end_trial();
        refit_all();
        for (const auto& [name, known] : met_) check_model(kept_.of(known.job).model());
        check(answers(kept_) == answers(undisturbed_), "what is undone was never there");
        if (crowded) crowd();
    }

private:
    struct Known {
        Job job;
        bool left_kind = false;
    };
    using Answers = std::map<std::string, std::vector<double>>;

    Known& any(fuzz::Bytes& record) {
        return std::next(met_.begin(), static_cast<std::ptrdiff_t>(record.index(met_.size())))->second;
    }

    /// Returns everything that can be asked about the present jobs.
    Answers answers(Histories& histories) const {
        Answers all;
        for (const auto& [name, known] : met_) {
            std::vector<double>& of = all[name];
            const JobHistory& history = histories.of(known.job);
            for (std::size_t t = 0; t < history.model().types.size(); ++t) {
                const TypeModel& model = history.model().types[t];
                of.insert(of.end(), {1.0 * model.most_replicas, 1.0 * model.last_plan.atomic_batch,
                                     1.0 * model.last_plan.accumulation_steps, model.fitted ? 1.0 : 0.0});
                for (const Shape shape : shapes) {
                    of.push_back(static_cast<double>(history.measured_batches(t, shape)));
                    for (const int batch : batches) {
                        const ThroughputSample* const sample = history.measured(t, shape, batch);
                        of.push_back(sample ? sample->step_seconds : 0);
                        of.push_back(sample ? sample->sync_seconds : 0);
                        // A model without measurements may answer anything.
                        if (says_something(model)) of.push_back(model.iteration_seconds(shape, {batch, 1}));
                    }
                }
            }
            of.push_back(static_cast<double>(history.fits().size()));
        }
        return all;
    }

    static bool says_something(const TypeModel& model) { return model.most_replicas > 0 || model.fitted; }

    static void check_model(const JobModel& model) {
        for (const TypeModel& type : model.types) {
            check(is_valid(type), "the model of a kind is one");
            if (!says_something(type)) continue;
            for (const Shape shape : shapes)
                for (const int batch : batches) {
                    const double seconds = type.iteration_seconds(shape, {batch, 0});
                    check(std::isfinite(seconds) && seconds > 0, "an iteration takes some time", seconds);
                }
        }
    }

    /// Tells both sets what counts; tells only the kept one what is on trial.
    void tell(const std::function<void(Histories&)>& what) {
        what(kept_);
        if (on_trial_)
            on_trial_only_.push_back(what);
        else
            what(undisturbed_);
    }

    void meet(fuzz::Bytes& record) {
        const Job job = job_from(record);
        if (!is_legal(job)) return;
        tell([job](Histories& histories) { histories.meet(job); });
        met_[job.name].job = job;
    }

    void refit(const Job& job) {
        tell([job](Histories& histories) { histories.refit(job); });
        check_model(kept_.of(job).model());
    }
    void refit_all() {
        for (const auto& [name, known] : met_) refit(known.job);
    }

    static ThroughputSample sample_from(fuzz::Bytes& record) {
        ThroughputSample sample{record.pick(shapes), {record.pick(batches), 0}};
        const double exact = speed.iteration_seconds(sample.shape, sample.plan);
        sample.step_seconds =
            exact * record.pick(std::array{1.0, 1.01, 1.04, 1.24, 1.26, 0.81, 0.79, 100.0, 1e-6});
        sample.sync_seconds = sample.step_seconds * record.number(0, 0.9);
        const std::uint32_t odd = record.field();
        if (odd % 8 == 5) sample.step_seconds = fuzz::hostile_numbers[odd / 8 % 24];
        if (odd % 8 == 6) sample.plan.atomic_batch = static_cast<int>(odd / 8);
        if (odd % 8 == 7) sample.shape.gpus = static_cast<int>(odd / 8 % (1 << 21));
        return sample;
    }

    void add(fuzz::Bytes& record) {
        Known& who = any(record);
        const Job job = who.job;
        const std::size_t type = record.index(cluster.gpu_types.size());
        const ThroughputSample sample = sample_from(record);
        const Answers before = answers(kept_);
        const int batch = sample.plan.atomic_batch;
        const ThroughputSample* const known = kept_.of(job).measured(type, sample.shape, batch);
        const bool deviates = known && (sample.step_seconds > 1.25 * known->step_seconds ||
                                        known->step_seconds > 1.25 * sample.step_seconds);
        const bool taken =
            accepted([&] { tell([=](Histories& histories) { histories.add(job, type, sample); }); });
        check(taken == accepted([&] { validate(sample, "sample"); }), "refused is what is bad, only that");
        const Answers after = answers(kept_);
        if (!taken) check(before == after, "a bad measurement changes nothing");
        if (!taken) return;
        who.left_kind |= deviates;
        const JobHistory& history = kept_.of(job);
        for (const auto& [name, other] : met_)
            if (&kept_.of(other.job) != &history)
                check(before.at(name) == after.at(name), "it says nothing of jobs that are not of its kind");
        if (history.has_measured(type, sample.shape, batch)) return;
        const double said = history.model().types.at(type).iteration_seconds(sample.shape, {batch, 0});
        check(std::abs(said - sample.step_seconds) <= 0.02 * sample.step_seconds,
              "left out is only what the model says", said, sample.step_seconds);
    }

    void begin_trial() {
        end_trial();
        kept_.begin_trial();
        on_trial_ = true;
        met_before_ = met_;
    }
    void end_trial() {
        for (const auto& what : on_trial_only_) what(undisturbed_);
        on_trial_only_.clear();
        on_trial_ = false;
    }
    void undo() {
        kept_.undo();
        if (!on_trial_) return;  // nothing was on trial
        on_trial_only_.clear();
        on_trial_ = false;
        met_ = met_before_;
        check(answers(kept_) == answers(undisturbed_), "undone as if it had not come");
    }

    void forget(fuzz::Bytes& record) {
        end_trial();
        const std::uint32_t mask = record.field();
        std::set<std::string> staying;
        for (std::size_t n = 0; n < names.size(); ++n)
            if ((mask >> n & 1U) == 0) staying.insert(names[n]);
        std::erase_if(met_, [&](const auto& entry) { return !staying.contains(entry.first); });
        const Answers before = answers(kept_);
        const auto keep = [&](const std::string& name) { return staying.contains(name); };
        kept_.forget_unless(keep);
        undisturbed_.forget_unless(keep);
        check(before == answers(kept_), "nothing is forgotten of a job that is there");
    }

    /// A job that left its kind is alone, and all others are together with those of their kind.
    void check_groups() {
        for (const auto& [name, one] : met_)
            for (const auto& [other_name, other] : met_) {
                if (name >= other_name) continue;
                const bool together =
                    !one.left_kind && !other.left_kind && kind_of(one.job) == kind_of(other.job);
                check((&kept_.of(one.job) == &kept_.of(other.job)) == together, "who learns together");
            }
    }

    /// Meets more kinds than are remembered, none of them needed.
    void crowd() {
        constexpr std::size_t most = Histories::most_kinds, many = most + 16;
        const auto run = [](const std::string& name, std::size_t k) {
            Job job{.name = name, .kind = "crowd " + std::to_string(k), .initial_batch = 1, .max_batch = 1};
            job.types.resize(cluster.gpu_types.size());
            return job;
        };
        const auto is_met = [&](const std::string& name) { return met_.contains(name); };
        const Answers before = answers(kept_);
        std::set<const JobHistory*> needed;
        for (const auto& [name, known] : met_) needed.insert(&kept_.of(known.job));
        for (std::size_t k = 0; k < many; ++k) {
            const Job job = run("passer-by", k);
            kept_.meet(job);
            kept_.add(job, 0, {{1, 1}, {8, 0}, 1, 0});
        }
        kept_.forget_unless(is_met);
        check(before == answers(kept_), "kinds that are needed are not forgotten for others");
        std::size_t remembered = 0;
        for (std::size_t k = 0; k < many; ++k)
            if (kept_.of(run("asks " + std::to_string(k), k)).has_measured(0, {1, 1}, 8)) ++remembered;
        const std::size_t room = most - needed.size();
        check(remembered <= room, "no more is remembered", static_cast<double>(remembered));
        check(remembered + 64 >= room, "no less either", static_cast<double>(remembered));
    }

    Histories kept_, undisturbed_;
    std::map<std::string, Known> met_, met_before_;  // by name
    std::vector<std::function<void(Histories&)>> on_trial_only_;
    bool on_trial_ = false;
};

template <class World>
void run(fuzz::Bytes bytes, bool crowded) {
    World world;
    while (!bytes.empty()) world.change(bytes.record());
    world.end(crowded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    const std::size_t about = head.index(4);
    const bool crowded = head.integer(0, 31) == 31;  // slow
    if (about < 2)
        run<fuzz::Sizes>(bytes, crowded);
    else if (about == 2)
        run<Speeds<ExactSpeeds>>(bytes, crowded);
    else
        run<Speeds<KindHistories>>(bytes, crowded);
    return 0;
}
