// A rule of your own for the exact search. A branching rule chooses the jobs that are decided first. It
// changes how long the search takes, but never what it finds.

#include <goodput/allot/allot.hpp>
#include <iostream>
#include <random>

// [rule]
struct WidestChoiceFirst {
    /// Jobs with the most options come first; of equals, those with the largest regret.
    std::pair<double, double> operator()(std::span<const double> regrets, double /*granule*/) const {
        return {-static_cast<double>(regrets.size()), -regrets.back()};
    }
};
static_assert(goodput::BranchingRule<WidestChoiceFirst>);
// [/rule]

int main() {
    goodput::Allotter<> usual;
    goodput::Allotter own(WidestChoiceFirst{});
    std::mt19937_64 random(1);
    std::size_t usual_states = 0, own_states = 0;
    for (int round = 0; round < 20; ++round) {
        goodput::AllotmentProblem problem;
        problem.capacity = {61, 37};
        for (int job = 0; job < 30; ++job) {
            problem.add_job();
            for (std::uint64_t option = 0; option < 2 + random() % 4; ++option) {
                const double units = static_cast<double>(3 + random() % 11);
                problem.add_option(units + static_cast<double>(random() % 1000) / 300,
                                   {{static_cast<std::uint32_t>(random() % 2), units}});
            }
        }
        const goodput::AllotResult &a = usual(problem, {.gap = 0}), &b = own(problem, {.gap = 0});
        usual_states += a.nodes;
        own_states += b.nodes;
        if (std::abs(a.objective - b.objective) > 1e-9 * a.objective) return 1;
    }
    std::cout << "20 problems, the same optimum in each: " << usual_states << " states as usual, "
              << own_states << " with the widest choice first\n";
    return usual_states != own_states ? 0 : 1;
}
