// A maker of your own: any number of GPUs on a node, more than the minimum only if the prices ask for it.
#include <cmath>
#include <iostream>

#include "goodput/schedule/scheduler.hpp"
using namespace goodput;

// [maker]
struct AnyNumber {
    void list(const Round& round, const Job& job, std::span<const int>, std::vector<Option>& options) const {
        for (const Pool& pool : round.pools)
            options.push_back({{pool.gpu_type, pool.gpus_per_node, {1, job.min_gpus}}});
    }
    double ask(const Round& round, const Job& job, std::span<const int>, const AtPrices& at, double least,
               std::vector<Option>& options) const {
        double rest = -1e300;  // no option that is not appended has more value less price
        for (const Pool& pool : round.pools)
            for (int gpus = job.min_gpus + 1; gpus <= std::min(job.max_gpus, pool.gpus_per_node); ++gpus) {
                Option option{{pool.gpu_type, pool.gpus_per_node, {1, gpus}}};
                if (const double gain = at.evaluate(option); gain > least)
                    options.push_back(option);
                else
                    rest = std::max(rest, gain);
            }
        return rest;
    }
};
static_assert(PricedOptionMaker<AnyNumber>);
// [/maker]
struct Roots {
    double value(const Round&, const Job&, const Option& o) const { return std::sqrt(o.goodput); }
};
int main() {
    const Job job{.max_gpus = 8, .initial_batch = 64, .max_batch = 512, .types = {{.max_atomic_batch = 64}}};
    Snapshot now{.cluster = {{"A100"}, {{"node", 0, 16}}}, .jobs = {job, job, job, job, job}};
    for (std::size_t j = 0; j < 5; ++j) now.jobs[j].name = "job-" + std::to_string(j);
    auto scheduler = Scheduler<Roots>().offering(AnyNumber{});
    std::cout << scheduler.plan(now).report() << "\n";
    return 0;
}
