#ifndef GOODPUT_TESTS_PARALLEL_PARALLEL_REFERENCE_HPP
#define GOODPUT_TESTS_PARALLEL_PARALLEL_REFERENCE_HPP

// A second implementation of time, memory and cost of a parallelism plan, replica by replica as the paper on
// Sailor describes its simulator, and a list of all plans of a small case. It shares no formula with the
// library.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/plan_score.hpp"

namespace support {

/// A model, the cluster where it may run, and what holds for all of its plans.
struct ParallelCase {
    goodput::LayeredModel model{};
    goodput::ParallelCluster cluster{};
    goodput::ParallelConstants constants{};
    int global_batch = 1;
};

/// One replica of a stage.
struct ReferenceReplica {
    std::size_t type = 0;
    int degree = 1;
    std::size_t zone = 0;
    friend bool operator==(const ReferenceReplica&, const ReferenceReplica&) = default;
};

/// A stage with its replicas listed one by one.
struct ReferenceStage {
    std::size_t first = 0, last = 0;
    std::vector<ReferenceReplica> replicas{};
};

/// The reference's numbers for a plan.
struct ReferenceScore {
    double seconds = 0;  ///< infinite if a replica has no profile or a message cannot be sent
    double compute_usd = 0, traffic_usd = 0;
    bool fits = true;
    std::vector<double> bytes{};  ///< bytes on the fullest GPU of each stage
    /// Whether rounding cannot change the verdict: the plan takes some time, no bandwidth is a small
    /// difference of large numbers, and no memory is full to the last byte.
    bool clear = true;
    [[nodiscard]] double usd() const { return compute_usd + traffic_usd; }
};

class ParallelReference {
public:
    explicit ParallelReference(const ParallelCase& asked)
        : model_(asked.model), cluster_(asked.cluster), constants_(asked.constants) {}

    [[nodiscard]] ReferenceScore score(const std::vector<ReferenceStage>& stages, int microbatch,
                                       int global_batch) {
        result_ = {};
        const std::size_t count = stages.size();
        const int samples_at_once = microbatch * static_cast<int>(stages[0].replicas.size());
        const double rounds = std::ceil(static_cast<double>(global_batch) / samples_at_once);
        std::vector<double> computing, sending;
        double update = 0, synchronising = 0, dollars_an_hour = 0, dollars_sent = 0;
        for (std::size_t s = 0; s < count; ++s) {
            const ReferenceStage& stage = stages[s];
            // One forward, one backward: before the first micro-batch returns, as many start as there are
            // stages from here on. The published code does so even if there are fewer micro-batches.
            double in_flight = static_cast<double>(count - s);
            if (!constants_.whole_pipeline_in_flight && rounds < in_flight) in_flight = rounds;
            computing.push_back(0);
            result_.bytes.push_back(0);
            for (const ReferenceReplica& replica : stage.replicas) {
                computing[s] = std::max(computing[s], compute(stage, replica, microbatch));
                update = std::max(update, update_of(stage, replica, microbatch));
                const double bytes = memory(stage, replica, microbatch, in_flight),
                             limit = std::ldexp(cluster_.types[replica.type].memory_gib, 30);
                result_.bytes[s] = std::max(result_.bytes[s], bytes);
                if (!(bytes <= limit)) result_.fits = false;
                if (std::abs(bytes - limit) <= 1e-9 * limit) result_.clear = false;
                dollars_an_hour += replica.degree * cluster_.types[replica.type].usd_per_hour;
            }
            // What the stage sends in either direction.
            double activations = 0, gradients = 0;
            for (std::size_t j = 0; j < stage.replicas.size(); ++j) {
                const ReferenceReplica& me = stage.replicas[j];
                if (s + 1 < count) {
                    const auto& others = stages[s + 1].replicas;
                    const ReferenceReplica& other = others[j % others.size()];
                    const double bytes = output_bytes(stage.last, microbatch);
                    activations = std::max(activations, message(me, other, bytes));
                    dollars_sent += rounds * dollars(me, other, bytes);
                }
                // For gradients, the published code takes the time of the stage's own first output, but the
                // dollars of the output of the stage before.
                if (s > 0) {
                    const auto& others = stages[s - 1].replicas;
                    const ReferenceReplica& other = others[j % others.size()];
                    gradients =
                        std::max(gradients, message(me, other, output_bytes(stage.first, microbatch)));
                    dollars_sent += rounds * dollars(me, other, output_bytes(stages[s - 1].last, microbatch));
                }
            }
            if (count == 1)
                sending.push_back(0);
            else if (s == 0)
                sending.push_back(count > 3 ? 2 * activations : activations);
            else if (s == count - 1)
                sending.push_back(2 * gradients);
            else
                sending.push_back(activations + gradients);
            synchronising = std::max(synchronising, synchronise(stage));
            dollars_sent += ring_dollars(stage);
        }
        double straggler = 0, once = 0;
        for (std::size_t s = 0; s < count; ++s) {
            straggler = std::max(straggler, computing[s] + sending[s]);
            once += computing[s];
        }
        for (const double seconds : sending) once += seconds;
        result_.seconds = once + update + synchronising;
        if (rounds > 1) result_.seconds += (rounds - 1) * straggler;
        if (result_.seconds <= 0) result_.clear = false;
        result_.compute_usd = result_.seconds * (dollars_an_hour / 3600);
        result_.traffic_usd = dollars_sent;
        return std::move(result_);
    }

    /// Bytes on one GPU of a replica while `in_flight` micro-batches are under way.
    [[nodiscard]] double memory(const ReferenceStage& stage, const ReferenceReplica& replica, int microbatch,
                                double in_flight) const {
        double parameters = 0, activations = 0;
        if (const auto sizes = model_.sizes.find(replica.degree); sizes != model_.sizes.end())
            for (std::size_t l = stage.first; l <= stage.last; ++l) {
                parameters += sizes->second[l].parameters;
                activations += sizes->second[l].activation_floats;
            }
        return parameters * model_.bytes_per_parameter * constants_.parameter_factor +
               activations * microbatch * model_.bytes_per_float * in_flight * constants_.activation_factor +
               (replica.degree == 1 ? constants_.fixed_bytes : constants_.fixed_bytes_parallel);
    }

    /// Whether the model has a profile for this replica.
    [[nodiscard]] bool profiled(const ReferenceReplica& replica, int microbatch) const {
        return replica.type < model_.times.size() && model_.sizes.count(replica.degree) != 0 &&
               model_.times[replica.type].count({microbatch, replica.degree}) != 0;
    }

private:
    static constexpr double never = std::numeric_limits<double>::infinity();

    [[nodiscard]] double compute(const ReferenceStage& stage, const ReferenceReplica& replica,
                                 int microbatch) const {
        if (!profiled(replica, microbatch)) return never;
        const auto& times = model_.times[replica.type].at({microbatch, replica.degree});
        double seconds = constants_.stage_seconds;
        for (std::size_t l = stage.first; l <= stage.last; ++l) {
            const double measured = times[l].forward_seconds + times[l].backward_seconds,
                         layer = measured * constants_.compute_factor - constants_.layer_overhead_seconds;
            if (layer > 0) seconds += layer;
        }
        return seconds;
    }

    [[nodiscard]] double update_of(const ReferenceStage& stage, const ReferenceReplica& replica,
                                   int microbatch) const {
        if (!profiled(replica, microbatch)) return 0;
        return model_.times[replica.type].at({microbatch, replica.degree})[stage.first].update_seconds;
    }

    /// Seconds of one message from `from` to `to`; `from_gpus` and `to_gpus` are the GPUs side by side at
    /// each end.
    double send(const ReferenceReplica& from, int from_gpus, const ReferenceReplica& to, int to_gpus,
                double bytes) {
        const auto found =
            cluster_.links.find({{from.zone, from.type, from_gpus}, {to.zone, to.type, to_gpus}});
        if (found == cluster_.links.end()) return never;
        if (bytes == 0) return 0;
        const goodput::BandwidthCurve& curve = found->second;
        const double u = std::log2(bytes / 1e6),
                     gigabytes = curve.square * u * u + curve.linear * u + curve.constant,
                     largest = std::abs(curve.square * u * u) + std::abs(curve.linear * u) +
                               std::abs(curve.constant);
        if (std::abs(gigabytes) <= 1e-5 * largest && largest > 0) result_.clear = false;
        return gigabytes > 0 ? bytes / 1e9 / gigabytes : never;
    }

    [[nodiscard]] int side_by_side(const ReferenceReplica& replica) const {
        return std::min(replica.degree, cluster_.types[replica.type].gpus_per_node);
    }

    /// Bytes that a layer hands on: as many as on one GPU, whatever the degree.
    [[nodiscard]] double output_bytes(std::size_t layer, int microbatch) const {
        return model_.sizes.at(1)[layer].output_floats * model_.bytes_per_float * microbatch;
    }
    /// Seconds of a message from one replica to another, of the next stage or of the last one.
    double message(const ReferenceReplica& from, const ReferenceReplica& to, double bytes) {
        return send(from, side_by_side(from), to, side_by_side(to), bytes) * constants_.send_factor +
               constants_.message_seconds + bytes * constants_.message_seconds_per_byte;
    }
    [[nodiscard]] double dollars(const ReferenceReplica& from, const ReferenceReplica& to,
                                 double bytes) const {
        return cluster_.usd_per_gigabyte[from.zone][to.zone] * bytes / 1e9;
    }

    [[nodiscard]] double gradient_bytes(const ReferenceStage& stage) const {
        double parameters = 0;
        for (std::size_t l = stage.first; l <= stage.last; ++l)
            parameters += model_.sizes.at(1)[l].parameters;
        return parameters * model_.bytes_per_float;
    }

    /// Seconds of the slowest ring all-reduce between neighbours, bucket by bucket. All of them reduce the
    /// part of the gradients that the narrowest replica of the stage holds.
    double synchronise(const ReferenceStage& stage) {
        const auto workers = static_cast<double>(stage.replicas.size());
        int shards = constants_.most_shards;
        for (const ReferenceReplica& replica : stage.replicas) shards = std::min(shards, replica.degree);
        double slowest = 0;
        for (std::size_t j = 0; j + 1 < stage.replicas.size(); ++j) {
            const ReferenceReplica &one = stage.replicas[j], &next = stage.replicas[j + 1];
            double left = gradient_bytes(stage) / shards, seconds = 0;
            while (left > 0) {
                const double bucket = std::min(left, constants_.reduce_bucket_bytes);
                seconds += 2 * (workers - 1) * send(one, 1, next, 1, bucket / workers);
                left -= bucket;
            }
            slowest = std::max(slowest, constants_.reduce_factor * seconds);
        }
        return slowest;
    }

    [[nodiscard]] double ring_dollars(const ReferenceStage& stage) const {
        const std::size_t workers = stage.replicas.size();
        double dollars = 0;
        for (std::size_t j = 0; j < workers; ++j) {
            const double share = 2 * (static_cast<double>(workers) - 1) / static_cast<double>(workers);
            dollars +=
                share * gradient_bytes(stage) / 1e9 *
                cluster_.usd_per_gigabyte[stage.replicas[j].zone][stage.replicas[(j + 1) % workers].zone];
        }
        return dollars;
    }

    const goodput::LayeredModel& model_;
    const goodput::ParallelCluster& cluster_;
    const goodput::ParallelConstants& constants_;
    ReferenceScore result_;
};

inline std::vector<ReferenceStage> reference_stages(const goodput::ParallelPlan& plan) {
    std::vector<ReferenceStage> stages;
    for (const goodput::PlanStage& stage : plan.stages) {
        stages.push_back({stage.first_layer, stage.last_layer, {}});
        for (const goodput::ReplicaGroup& group : stage.replicas)
            for (int r = 0; r < group.count; ++r)
                stages.back().replicas.push_back({group.gpu_type, group.tensor_parallel, group.zone});
    }
    return stages;
}

inline goodput::ParallelPlan plan_of(const std::vector<ReferenceStage>& stages, int microbatch,
                                     int global_batch) {
    goodput::ParallelPlan plan{microbatch, global_batch, {}};
    for (const ReferenceStage& stage : stages) {
        plan.stages.push_back({stage.first, stage.last, {}});
        auto& groups = plan.stages.back().replicas;
        for (std::size_t j = 0; j < stage.replicas.size(); ++j) {
            const ReferenceReplica& replica = stage.replicas[j];
            if (j > 0 && replica == stage.replicas[j - 1])
                ++groups.back().count;
            else
                groups.push_back({replica.type, replica.degree, replica.zone, 1});
        }
    }
    return plan;
}

inline ReferenceScore reference_score(const ParallelCase& asked, const goodput::ParallelPlan& plan) {
    return ParallelReference(asked).score(reference_stages(plan), plan.microbatch, plan.global_batch);
}

/// Whether a plan covers all layers once and in order, has equally many replicas in every stage, keeps
/// groups within nodes and to profiled degrees, and needs no more GPUs than there are.
inline bool reference_valid(const ParallelCase& asked, const goodput::ParallelPlan& plan) {
    const std::vector<ReferenceStage> stages = reference_stages(plan);
    const ParallelReference reference(asked);
    std::vector<std::size_t> layers;
    std::vector<std::vector<int>> left = asked.cluster.gpus;
    for (const ReferenceStage& stage : stages) {
        for (std::size_t l = stage.first; l <= stage.last; ++l) layers.push_back(l);
        if (stage.replicas.size() != stages[0].replicas.size()) return false;
        for (const ReferenceReplica& replica : stage.replicas) {
            if (replica.degree > asked.cluster.types[replica.type].gpus_per_node ||
                !reference.profiled(replica, plan.microbatch))
                return false;
            left[replica.zone][replica.type] -= replica.degree;
        }
    }
    for (const auto& zone : left)
        for (const int gpus : zone)
            if (gpus < 0) return false;
    for (std::size_t l = 0; l < layers.size(); ++l)
        if (layers[l] != l) return false;
    return layers.size() == asked.model.layers;
}

/// A plan that can be run: it fits, and everything can be sent.
struct KnownPlan {
    std::size_t number = 0;  ///< number of plans that were looked at before this one
    double seconds = 0, usd = 0;
    std::vector<int> gpus{};  ///< GPUs of each type
    bool mixed = false;       ///< whether a stage has replicas of several types or degrees
};

/// Returns the summary of a plan with this score.
inline KnownPlan known_as(std::size_t number, const ReferenceScore& score,
                          const std::vector<ReferenceStage>& stages, std::size_t types) {
    KnownPlan known{number, score.seconds, score.usd(), std::vector<int>(types, 0), false};
    for (const ReferenceStage& stage : stages)
        for (const ReferenceReplica& replica : stage.replicas) {
            known.gpus[replica.type] += replica.degree;
            known.mixed = known.mixed || replica.type != stage.replicas[0].type ||
                          replica.degree != stage.replicas[0].degree;
        }
    return known;
}

/// Returns the plan's summary; nothing if the plan has a fault, does not fit, or cannot send its messages.
inline std::optional<KnownPlan> known_plan(const ParallelCase& asked, const goodput::ParallelPlan& plan) {
    if (!reference_valid(asked, plan)) return std::nullopt;
    const ReferenceScore score = reference_score(asked, plan);
    if (!score.fits || !score.clear || !std::isfinite(score.seconds)) return std::nullopt;
    return known_as(0, score, reference_stages(plan), asked.cluster.types.size());
}

/// All plans of a small case.
class AllParallelPlans {
public:
    /// Gives up without an answer if it would have to look at more than `most` plans. Leaves out plans with
    /// more than `most_replicas` replicas.
    AllParallelPlans(const ParallelCase& asked, std::size_t most, int most_replicas = 1 << 20)
        : asked_(asked), reference_(asked), left_(asked.cluster.gpus), most_(most) {
        std::set<int> microbatches;
        for (const auto& type : asked.model.times)
            for (const auto& [key, times] : type) microbatches.insert(key.microbatch);
        for (const auto& zone : left_)
            for (const int gpus : zone) free_ += gpus;
        for (const int microbatch : microbatches) {
            kinds_of(microbatch);
            microbatch_ = microbatch;
            for (unsigned cuts = 0; cuts < 1U << (asked.model.layers - 1); ++cuts) {
                cut(cuts);
                const int stages = static_cast<int>(stages_.size());
                for (int replicas = 1; replicas <= most_replicas && replicas * stages <= free_; ++replicas)
                    assign(0, static_cast<std::size_t>(replicas));
            }
        }
    }

    [[nodiscard]] bool complete() const { return looked_at_ <= most_; }
    /// Whether no verdict depends on rounding.
    [[nodiscard]] bool clear() const { return clear_; }
    [[nodiscard]] const std::vector<KnownPlan>& plans() const { return plans_; }
    [[nodiscard]] std::size_t looked_at() const { return looked_at_; }

    /// The first plan that was not looked at because there were more than `most`.
    [[nodiscard]] const goodput::ParallelPlan& next() const { return next_; }

private:
    void kinds_of(int microbatch) {
        kinds_.clear();
        const goodput::ParallelCluster& cluster = asked_.cluster;
        for (std::size_t zone = 0; zone < cluster.zones.size(); ++zone)
            for (std::size_t type = 0; type < cluster.types.size(); ++type)
                for (int degree = 1;
                     degree <= std::min(cluster.types[type].gpus_per_node, cluster.gpus[zone][type]);
                     ++degree)
                    if (reference_.profiled({type, degree, zone}, microbatch))
                        kinds_.push_back({type, degree, zone});
    }

    /// Makes the stages: one ends after each layer whose bit is set, and one after the last layer.
    void cut(unsigned cuts) {
        stages_.clear();
        std::size_t first = 0;
        for (std::size_t l = 0; l < asked_.model.layers; ++l)
            if (l + 1 == asked_.model.layers || (cuts >> l & 1U) != 0) {
                stages_.push_back({first, l, {}});
                first = l + 1;
            }
    }

    void assign(std::size_t stage, std::size_t replicas) {
        if (looked_at_ > most_) return;
        if (stage == stages_.size()) return look();
        if (stages_[stage].replicas.size() == replicas) return assign(stage + 1, replicas);
        for (const ReferenceReplica& kind : kinds_) {
            int& left = left_[kind.zone][kind.type];
            if (left < kind.degree) continue;
            left -= kind.degree;
            stages_[stage].replicas.push_back(kind);
            assign(stage, replicas);
            stages_[stage].replicas.pop_back();
            left += kind.degree;
        }
    }

    void look() {
        if (++looked_at_ > most_) {
            next_ = plan_of(stages_, microbatch_, asked_.global_batch);
            return;
        }
        const ReferenceScore score = reference_.score(stages_, microbatch_, asked_.global_batch);
        clear_ = clear_ && score.clear;
        if (!score.fits || !std::isfinite(score.seconds)) return;
        plans_.push_back(known_as(looked_at_ - 1, score, stages_, asked_.cluster.types.size()));
    }

    const ParallelCase& asked_;
    ParallelReference reference_;
    std::vector<std::vector<int>> left_;
    std::size_t most_, looked_at_ = 0;
    std::vector<ReferenceReplica> kinds_;
    std::vector<ReferenceStage> stages_;
    int microbatch_ = 1, free_ = 0;
    bool clear_ = true;
    std::vector<KnownPlan> plans_;
    goodput::ParallelPlan next_;
};

/// Returns the plan with that number.
inline goodput::ParallelPlan parallel_plan_of(const ParallelCase& asked, const KnownPlan& known) {
    return AllParallelPlans(asked, known.number).next();
}

}  // namespace support

#endif
