#include <goodput/sim/world.hpp>
#include <vector>

using namespace goodput;

struct Right {
    std::vector<Job> trace{};
    const std::vector<Job>& jobs() const { return trace; }
    std::optional<double> train(std::size_t, const Configuration&, double, double) { return {}; }
    double done(std::size_t) const { return 0; }
};
static_assert(World<Right> && optional_world_functions_fit<Right>());

struct Missing {};
// says: World
// says: asked.jobs()
static_assert(World<Missing>);

struct CopiesItsJobs : Right {
    std::vector<Job> jobs() const { return trace; }
};
// says: World
// says: asked.jobs()
static_assert(World<CopiesItsJobs>);

struct WithoutWork : Right {
    void done(std::size_t) const {}
};
// says: World
// says: asked.done(job)
static_assert(World<WithoutWork>);

struct TrainsForNothing : Right {
    std::optional<double> train(std::size_t, double) { return {}; }
};
// says: World
// says: world.train(job, held, begin, seconds)
static_assert(World<TrainsForNothing>);

struct StartsAnywhere : Right {
    double start(std::size_t) { return 0; }
};
// says: StartingWorld
// says: double start(job, const Configuration&)
constexpr bool starts_anywhere = optional_world_functions_fit<StartsAnywhere>();

struct ReportsTooLittle : Right {
    void report(std::size_t, Job&) {}
};
// says: ReportingWorld
// says: void report(job, Job&, JobModel&)
constexpr bool reports_too_little = optional_world_functions_fit<ReportsTooLittle>();
