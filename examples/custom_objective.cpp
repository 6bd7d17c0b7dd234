// An objective of your own in 30 lines. Customers were promised that their jobs end within some time, and
// the job that comes nearest to breaking its promise counts. share_time() finds the best shares, with proof
// and prices.

#include <goodput/share/share_time.hpp>
#include <iostream>
#include <limits>

/// Every job's seconds to the end, over what its tariff allows: the largest is to be small.
struct PromisedTime {
    std::vector<double> promised_seconds;  ///< by job

    /// Steps/s of a job that ends after promised / level seconds.
    double rate_for(const goodput::ShareProblem& problem, std::size_t job, double level) const {
        return level * problem.jobs[job].steps_left / promised_seconds[job];
    }
    /// The other way round.
    double level_at(const goodput::ShareProblem& problem, std::size_t job, double rate) const {
        const double steps = problem.jobs[job].steps_left;
        return steps > 0 ? rate / steps * promised_seconds[job] : std::numeric_limits<double>::infinity();
    }
    /// Told as the part of the promise that passes.
    double number_of(double level) const { return 1 / level; }
};

int main() {
    const goodput::ShareProblem problem{.gpus = {4, 2},
                                        .jobs = {{.name = "gold", .rates = {1, 3}, .steps_left = 36'000},
                                                 {.name = "basic", .rates = {2, 3}, .steps_left = 36'000}}};
    const goodput::ShareResult result = goodput::share_time(problem, PromisedTime{{6 * 3600, 24 * 3600}});
    std::cout << result.report() << "\n";
    return result.objective <= 1 && result.status == goodput::ShareStatus::optimal ? 0 : 1;
}
