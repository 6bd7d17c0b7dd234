#include <goodput/sim/replay.hpp>
#include <vector>

using namespace goodput;

struct Right {
    std::vector<Job> trace{};
    const std::vector<Job>& jobs() const { return trace; }
    std::optional<double> train(std::size_t, const Configuration&, double, double) { return {}; }
    double done(std::size_t) const { return 0; }
};
static_assert(World<Right> && world_fits<Right>());
Cluster cluster;

struct Missing {
    std::optional<double> train(std::size_t, const Configuration&, double, double) { return {}; }
    double done(std::size_t) const { return 0; }
};
ReplayResult missing(Missing world) {
    // says: World: jobs is missing, or is not:
    return replay(cluster, world, Sia{});
}

struct CopiesItsJobs : Right {
    std::vector<Job> jobs() const { return trace; }
};
ReplayResult copies(CopiesItsJobs world) {
    // says: World: jobs is missing, or is not: a list of Job that the world keeps
    return replay(cluster, world, Sia{}, {.interval_seconds = 60});
}

struct WithoutWork : Right {
    void done(std::size_t) const {}
};
ReplayResult without_work(WithoutWork world) {
    // says: World: done is missing, or is not: double done(std::size_t job) const
    return replay(cluster, world, Sia{});
}

struct TrainsForNothing : Right {
    std::optional<double> train(std::size_t, double) { return {}; }
};
ReplayResult trains_for_nothing(TrainsForNothing world) {
    // says: World: train is missing, or is not: std::optional<double> train(
    return replay(cluster, world, Sia{});
}

ReplayResult without_policy(Right world) {
    // says: Policy: value is missing, or is not:
    return replay(cluster, world, Right{});
}

struct StartsAnywhere : Right {
    double start(std::size_t) { return 0; }
};
// says: StartingWorld
// says: double start(job, const Configuration&)
constexpr bool starts_anywhere = world_fits<StartsAnywhere>();

struct ReportsTooLittle : Right {
    void report(std::size_t, Job&) {}
};
// says: ReportingWorld
// says: void report(job, Job&, JobModel&)
constexpr bool reports_too_little = world_fits<ReportsTooLittle>();
