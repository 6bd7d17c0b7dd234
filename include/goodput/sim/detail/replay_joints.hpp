#ifndef GOODPUT_SIM_DETAIL_REPLAY_JOINTS_HPP
#define GOODPUT_SIM_DETAIL_REPLAY_JOINTS_HPP

// Joins a replay to the user's types. There is one struct of function pointers per kind of type, and a
// function template fills it. The code behind it is compiled once (replay.hpp). If a type does not have a
// function, its pointer is null.

#include <cstddef>
#include <optional>
#include <span>

#include "goodput/availability/renting.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/world.hpp"

namespace goodput::inline v0_1::detail {

/// A world (world.hpp), by the index of a job.
struct WorldJoint {
    void* world = nullptr;
    std::span<const Job> (*jobs)(const void*) = nullptr;
    std::optional<double> (*train)(void*, std::size_t job, const Configuration& held, double begin,
                                   double seconds) = nullptr;
    double (*done)(const void*, std::size_t job) = nullptr;
    /// ReportingWorld
    void (*report)(void*, std::size_t job, Job& known, JobModel& model) = nullptr;
    /// StartingWorld
    double (*start)(void*, std::size_t job, const Configuration& held) = nullptr;
    /// UnevenWorld
    double (*round_until)(void*, const RoundAhead& round) = nullptr;
    /// SavingWorld
    void (*save)(void*, std::size_t job) = nullptr;
    /// FailingWorld
    void (*fail)(void*, std::size_t job) = nullptr;
    /// CheckpointingWorld
    void (*save_like)(void*, std::size_t job, const Checkpointing& chosen) = nullptr;
    /// PairingWorld
    void (*train_beside)(void*, std::size_t job, std::optional<std::size_t> partner) = nullptr;
    /// LosingWorld
    double (*lost_gpu_seconds)(const void*, std::size_t job) = nullptr;
};

/// The planner (Planner in replay.hpp). The plan is either the planner's own or kept in the last argument.
struct PlannerJoint {
    void* planner = nullptr;
    const Plan& (*plan)(void*, const Snapshot& snapshot, Plan& kept) = nullptr;
};

/// The renter of nodes (renter.hpp).
struct RenterJoint {
    void* renter = nullptr;
    std::span<const int> (*rent)(void*, const Snapshot& snapshot, std::span<const RentOffer> offers,
                                 std::span<const int> rented) = nullptr;
};

class Replay;

/// Makes the plan of a round. An observer must call it exactly once.
class MakePlan {
public:
    explicit MakePlan(Replay& replay) : replay_(&replay) {}
    const Plan& operator()() const;

private:
    Replay* replay_;
};

/// The observer of a replay.
struct ObserverJoint {
    void* observer = nullptr;
    void (*observe)(void*, double time, const Snapshot& snapshot, const MakePlan& make_plan) = nullptr;
};

/// The joints of all the user's types.
struct ReplayJoints {
    WorldJoint world{};
    PlannerJoint planner{};
    RenterJoint renter{};
    ObserverJoint observer{};
};

template <World W>
[[nodiscard]] WorldJoint world_joint(W& world) {
    static_assert(world_fits<W>());
    WorldJoint joint{.world = &world};
    joint.jobs = [](const void* object) {
        return std::span<const Job>(static_cast<const W*>(object)->jobs());
    };
    joint.train = [](void* object, std::size_t job, const Configuration& held, double begin, double seconds) {
        return std::optional<double>(static_cast<W*>(object)->train(job, held, begin, seconds));
    };
    joint.done = [](const void* object, std::size_t job) {
        return static_cast<double>(static_cast<const W*>(object)->done(job));
    };
    if constexpr (ReportingWorld<W>)
        joint.report = [](void* object, std::size_t job, Job& known, JobModel& model) {
            static_cast<W*>(object)->report(job, known, model);
        };
    if constexpr (StartingWorld<W>)
        joint.start = [](void* object, std::size_t job, const Configuration& held) {
            return static_cast<double>(static_cast<W*>(object)->start(job, held));
        };
    if constexpr (UnevenWorld<W>)
        joint.round_until = [](void* object, const RoundAhead& round) {
            return static_cast<double>(static_cast<W*>(object)->round_until(round));
        };
    if constexpr (SavingWorld<W>)
        joint.save = [](void* object, std::size_t job) { static_cast<W*>(object)->save(job); };
    if constexpr (FailingWorld<W>)
        joint.fail = [](void* object, std::size_t job) { static_cast<W*>(object)->fail(job); };
    if constexpr (CheckpointingWorld<W>)
        joint.save_like = [](void* object, std::size_t job, const Checkpointing& chosen) {
            static_cast<W*>(object)->save_like(job, chosen);
        };
    if constexpr (PairingWorld<W>)
        joint.train_beside = [](void* object, std::size_t job, std::optional<std::size_t> partner) {
            static_cast<W*>(object)->train_beside(job, partner);
        };
    if constexpr (LosingWorld<W>)
        joint.lost_gpu_seconds = [](const void* object, std::size_t job) {
            return static_cast<double>(static_cast<const W*>(object)->lost_gpu_seconds(job));
        };
    return joint;
}

}  // namespace goodput::inline v0_1::detail

#endif
