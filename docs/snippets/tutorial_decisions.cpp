// Pictures of docs/tutorial.md and docs/allot.md that show one decision.
//
// tutorial_decisions          step 5: which jobs move so that two whole nodes become free
// tutorial_decisions search   the states of a small allotment problem, level by level

#include <algorithm>
#include <cmath>
#include <goodput/allot/allot.hpp>
#include <goodput/moves/defragment.hpp>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

using namespace goodput;

namespace {

// --- Moves that make room ---

void show_nodes(const char* when, const Cluster& cluster, const std::vector<PlacementRequest>& jobs) {
    for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
        std::cout << when << " " << cluster.nodes[node].name << ":";
        for (std::size_t job = 0; job < jobs.size(); ++job)
            for (const NodeShare& share : jobs[job].current)
                if (share.node == node) std::cout << " job " << job << " x" << share.gpus;
        std::cout << "\n";
    }
}

void make_room() {
    Cluster cluster{.gpu_types = {"A100"}};
    for (int n = 0; n < 6; ++n) cluster.nodes.push_back({"node-" + std::to_string(n), 0, 8});
    std::vector<PlacementRequest> jobs;  // {node, GPUs, seconds that a move costs}
    for (const auto& [node, gpus, cost] : {std::tuple{0, 4, 60},
                                           {0, 2, 20},
                                           {1, 4, 90},
                                           {2, 2, 30},
                                           {2, 1, 15},
                                           {3, 4, 40},
                                           {3, 2, 25},
                                           {4, 2, 20},
                                           {5, 4, 60},
                                           {5, 2, 35}})
        jobs.push_back({.part = {0, 8, {1, gpus}},
                        .current = {{static_cast<std::size_t>(node), gpus}},
                        .move_cost = 1.0 * cost});
    // [room]
    Defragmenter defragmenter;
    const DefragmentPlan plan = defragmenter.plan(cluster, jobs, std::vector{whole_nodes(0, 8, 2)});
    // [/room]
    show_nodes("before", cluster, jobs);
    for (const DefragmentMove& move : plan.moves) {
        std::cout << "move job " << move.job << " from " << cluster.nodes[move.from.node].name << " to "
                  << cluster.nodes[move.to.node].name << "\n";
        jobs[move.job].current = {move.to};
    }
    show_nodes("after", cluster, jobs);
    std::cout << plan.report() << "\n";
}

// --- A small search ---

/// What is left of the capacity once the first jobs are served, and the most that they can be worth so.
struct State {
    double left = 0, value = 0;
};

/// The idea of allot/detail/search.hpp in its plainest form: level by level, states that leave the same are
/// one, and a state whose bound at the prices is no better than the allotment in hand is cut.
void search() {
    // [problem]
    AllotmentProblem problem;
    problem.capacity = {13};  // GPUs
    for (const double worth : {2.6, 2.1, 1.7, 1.3}) {
        problem.add_job();
        for (const double gpus : {1.0, 2.0, 4.0, 8.0})
            problem.add_option(worth * std::pow(gpus, 0.6), {{0, gpus}});
    }
    const AllotResult best = allot(problem, {.gap = 0});
    // [/problem]
    const double price = best.prices[0];
    // The most that each job can be worth above the price of what it takes.
    std::vector<double> surplus(problem.jobs() + 1);
    for (std::size_t job = problem.jobs(); job-- > 0;) {
        double most = 0;
        for (std::size_t k = 0; k < problem.values(job).size(); ++k)
            most = std::max(most, problem.values(job)[k] - price * problem.uses(job, k)[0].units);
        surplus[job] = surplus[job + 1] + most;
    }
    // The incumbent: repeatedly take the larger option that gains most per GPU, as long as one fits.
    std::vector<std::size_t> option(problem.jobs(), no_option);
    const auto value_of = [&](std::size_t job, std::size_t k) {
        return k == no_option ? 0 : problem.values(job)[k];
    };
    const auto units_of = [&](std::size_t job, std::size_t k) {
        return k == no_option ? 0 : problem.uses(job, k)[0].units;
    };
    double in_hand = 0;
    for (double left = problem.capacity[0], most = 1; most > 0;) {
        std::size_t who = 0, larger = no_option;
        most = 0;
        for (std::size_t job = 0; job < problem.jobs(); ++job)
            for (std::size_t k = 0; k < problem.values(job).size(); ++k) {
                const double units = units_of(job, k) - units_of(job, option[job]);
                const double gain = (value_of(job, k) - value_of(job, option[job])) / units;
                if (units > 0 && units <= left && gain > most) most = gain, who = job, larger = k;
            }
        if (most == 0) break;
        in_hand += value_of(who, larger) - value_of(who, option[who]);
        left -= units_of(who, larger) - units_of(who, option[who]);
        option[who] = larger;
    }
    std::cout << "price " << price << ", bound " << price * problem.capacity[0] + surplus[0] << ", in hand "
              << in_hand << "\n";
    std::map<double, double> level{{problem.capacity[0], 0}};  // value by what is left
    double found = 0;
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        std::map<double, double> next;
        const auto go = [&](const State& from, double units, double value) {
            const State to{from.left - units, from.value + value};
            const char* fate = "kept";
            const double bound = to.value + price * to.left + surplus[job + 1];
            if (to.left < 0)
                fate = "no_room";
            else if (bound <= in_hand - 1e-9)
                fate = "cut";
            else if (const auto there = next.find(to.left); there != next.end())
                fate = "same";
            std::cout << "level " << job << " left " << from.left << " takes " << units << " leaves "
                      << to.left << " value " << to.value << " bound " << bound << " " << fate << "\n";
            if (std::string(fate) == "kept" || std::string(fate) == "same")
                next[to.left] = std::max(next[to.left], to.value);
        };
        for (const auto& [still, value] : level) {
            go({still, value}, 0, 0);
            for (std::size_t k = 0; k < problem.values(job).size(); ++k)
                go({still, value}, problem.uses(job, k)[0].units, problem.values(job)[k]);
        }
        level = std::move(next);
    }
    for (const auto& [still, value] : level) found = std::max(found, value);
    std::cout << "found " << found << ", the solver " << best.objective << "\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "search")
        search();
    else
        make_room();
    return 0;
}
