// AlloX finds the order on the machines with the least total completion time, and the published objectives.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/share/allox.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace goodput;
using support::Random;

namespace {

/// Returns the sum of completion times of one-GPU jobs; `lines` lists each machine's jobs, first to last.
double total_completion(const std::vector<AlloxJob>& jobs, const std::vector<std::size_t>& type_of_machine,
                        const std::vector<std::vector<std::size_t>>& lines) {
    double total = 0;
    for (std::size_t m = 0; m < lines.size(); ++m) {
        double now = 0;
        for (const std::size_t j : lines[m]) {
            now += jobs[j].seconds[type_of_machine[m]];
            total += now + jobs[j].waited_seconds;
        }
    }
    return total;
}

/// Tries every place of every line for one job after the other, and returns the least sum.
double least_of_all(const std::vector<AlloxJob>& jobs, const std::vector<std::size_t>& type_of_machine,
                    std::vector<std::vector<std::size_t>>& lines, std::size_t next = 0) {
    if (next == jobs.size()) return total_completion(jobs, type_of_machine, lines);
    double best = std::numeric_limits<double>::infinity();
    for (auto& line : lines)
        for (std::size_t at = 0; at <= line.size(); ++at) {
            line.insert(line.begin() + static_cast<std::ptrdiff_t>(at), next);
            best = std::min(best, least_of_all(jobs, type_of_machine, lines, next + 1));
            line.erase(line.begin() + static_cast<std::ptrdiff_t>(at));
        }
    return best;
}

std::vector<AlloxJob> random_jobs(Random& random, std::size_t count, std::size_t types) {
    std::vector<AlloxJob> jobs(count);
    for (AlloxJob& job : jobs) {
        for (std::size_t t = 0; t < types; ++t)
            job.seconds.push_back(random.chance(0.1) ? 0 : random.between(1, 100));
        job.waited_seconds = random.integer(0, 20) * 10.0;
    }
    return jobs;
}

}  // namespace

TEST_CASE("no order of a few jobs on a few machines has a smaller sum of completion times") {
    Random random(1);
    for (int round = 0; round < 300; ++round) {
        const std::size_t types = static_cast<std::size_t>(random.integer(1, 2));
        std::vector<std::size_t> machines, type_of_machine;
        for (std::size_t t = 0; t < types; ++t) {
            machines.push_back(static_cast<std::size_t>(random.integer(t == 0 ? 1 : 0, 2)));
            type_of_machine.insert(type_of_machine.end(), machines.back(), t);
        }
        const std::vector<AlloxJob> jobs =
            random_jobs(random, static_cast<std::size_t>(random.integer(1, 5)), types);
        const AlloxOrder order = allox_order(jobs, machines);
        std::vector<std::vector<std::size_t>> lines(type_of_machine.size());
        CHECK(order.objective == doctest::Approx(least_of_all(jobs, type_of_machine, lines)).epsilon(1e-12));
        CHECK(order.bound == doctest::Approx(order.objective).epsilon(1e-12));

        // The places that it returns can be carried out, and cost what it says.
        std::map<std::pair<std::size_t, std::size_t>, std::size_t> taken;
        double cost = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const AlloxPlace& place = order.places[j];
            REQUIRE(place.considered);
            CHECK((taken[{place.type, place.from_end}] += 1) <= machines[place.type]);
            cost +=
                static_cast<double>(place.from_end) * jobs[j].seconds[place.type] + jobs[j].waited_seconds;
        }
        CHECK(cost == doctest::Approx(order.objective).epsilon(1e-12));
        for (std::size_t t = 0; t < types; ++t) {
            std::size_t of_type = 0, first = 0;
            for (const AlloxPlace& place : order.places) {
                of_type += place.type == t;
                first += place.type == t && place.before == 0;
            }
            CHECK(first == std::min(of_type, machines[t]));
        }
    }
}

TEST_CASE("jobs that have waited longest are considered, and no fewer jobs than there are machines") {
    Random random(2);
    for (int round = 0; round < 200; ++round) {
        const std::vector<AlloxJob> jobs =
            random_jobs(random, static_cast<std::size_t>(random.integer(1, 20)), 2);
        const std::vector<std::size_t> machines{static_cast<std::size_t>(random.integer(0, 4)), 1};
        const AlloxOrder order = allox_order(jobs, machines, 0.3);
        std::size_t considered = 0;
        double least = std::numeric_limits<double>::infinity(), most = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (order.places[j].considered) {
                ++considered;
                least = std::min(least, jobs[j].waited_seconds);
            } else {
                most = std::max(most, jobs[j].waited_seconds);
            }
        CHECK(considered == std::min(jobs.size(), std::max(jobs.size() * 3 / 10, machines[0] + 1)));
        CHECK(least >= most);
    }
}

TEST_CASE("no place however far from the end would make the sum smaller") {
    Random random(4);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::size_t> machines(static_cast<std::size_t>(random.integer(1, 3)));
        for (std::size_t& of_type : machines) of_type = static_cast<std::size_t>(random.integer(0, 6));
        machines[0] += 1;
        std::vector<AlloxJob> jobs =
            random_jobs(random, static_cast<std::size_t>(random.integer(1, 40)), machines.size());
        const double faster = random.chance(0.5) ? 1 : 0.01;  // factor on the seconds on the first type
        for (AlloxJob& job : jobs) {
            job.gpus = random.integer(1, 3);
            job.seconds[0] *= faster;
        }
        // Every type has a column for the k-th place from the end, for k up to the number of jobs.
        std::vector<std::size_t> places;
        for (const std::size_t of_type : machines) places.insert(places.end(), jobs.size(), of_type);
        const Assignment all =
            least_cost_assignment(jobs.size(), places, [&](std::size_t j, std::size_t column) {
                const auto before = static_cast<double>(column % jobs.size());
                return (before * jobs[j].gpus + 1) * jobs[j].seconds[column / jobs.size()] +
                       jobs[j].waited_seconds;
            });
        const AlloxOrder order = allox_order(jobs, machines);
        CHECK(order.objective == doctest::Approx(all.cost).epsilon(1e-12));
        CHECK(order.bound == doctest::Approx(all.cost).epsilon(1e-12));
    }
}

TEST_CASE("of equal jobs those that have waited longest come first, then the first listed") {
    Random random(3);
    for (int round = 0; round < 300; ++round) {
        const std::size_t types = static_cast<std::size_t>(random.integer(1, 2));
        std::vector<std::size_t> machines(types);
        for (std::size_t& of_type : machines) of_type = static_cast<std::size_t>(random.integer(1, 3));
        std::vector<AlloxJob> jobs(static_cast<std::size_t>(random.integer(1, 12)));
        for (AlloxJob& job : jobs) {
            for (std::size_t t = 0; t < types; ++t) job.seconds.push_back(random.integer(0, 1) * 10.0);
            job.waited_seconds = random.integer(0, 5);
            job.gpus = random.integer(1, 2);
        }
        const AlloxOrder order = allox_order(jobs, machines);
        for (std::size_t a = 0; a < jobs.size(); ++a)
            for (std::size_t b = 0; b < jobs.size(); ++b)
                if (jobs[a].seconds == jobs[b].seconds && jobs[a].gpus == jobs[b].gpus &&
                    (jobs[a].waited_seconds > jobs[b].waited_seconds ||
                     (jobs[a].waited_seconds == jobs[b].waited_seconds && a < b)))
                    CHECK(order.places[a].before <= order.places[b].before);
    }
}

TEST_CASE("a job of several GPUs delays those behind it by its whole volume") {
    // One machine: the gang of four takes as much of it as a job four times as long, and comes last.
    const std::vector<AlloxJob> jobs{{{10}, 0, 4}, {{30}, 0, 1}};
    const AlloxOrder order = allox_order(jobs, std::vector<std::size_t>{1});
    CHECK(order.places[1].before == 0);
    CHECK(order.places[0].before == 1);
    CHECK(order.objective == doctest::Approx(2 * 30 + 10));
}

TEST_CASE("a job never stands on a type that it cannot use while it can use another") {
    const std::vector<AlloxJob> jobs{{{allox_seconds(1000, 0), allox_seconds(1000, 2)}, 0},
                                     {{allox_seconds(500, 0), allox_seconds(500, 1)}, 0},
                                     {{allox_seconds(500, 1), allox_seconds(500, 10)}, 0}};
    const AlloxOrder order = allox_order(jobs, std::vector<std::size_t>{3, 1});
    CHECK(order.places[0].type == 1);
    CHECK(order.places[1].type == 1);
}

TEST_CASE("bad numbers are refused") {
    const std::vector<std::size_t> machines{1, 1};
    const auto refuses = [&](const AlloxJob& job) {
        CHECK_THROWS_AS((void)allox_order(std::vector<AlloxJob>{job}, machines), std::invalid_argument);
    };
    refuses({{1}, 0});
    refuses({{1, -1}, 0});
    refuses({{1, std::numeric_limits<double>::quiet_NaN()}, 0});
    refuses({{1, 1}, -1});
    refuses({{1, 1}, 0, 0});
    CHECK_THROWS_AS((void)allox_order({}, machines, 0), std::invalid_argument);
    CHECK(allox_order({}, machines).objective == 0);
    CHECK_FALSE(
        allox_order(std::vector<AlloxJob>{{{1, 1}, 0}}, std::vector<std::size_t>{0, 0}).places[0].considered);
}

TEST_SUITE("data") {
    TEST_CASE("AlloX reaches the recorded objectives of Gavel's assignment") {
        const std::filesystem::path folder = std::filesystem::path(GOODPUT_DATA_DIR) / "gavel";
        const auto read = [](const std::filesystem::path& path) {
            std::ifstream file(path);
            return nlohmann::json::parse(file);
        };
        int compared = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder / "reference" / "allox")) {
            const nlohmann::json reference = read(entry.path());
            const nlohmann::json instance = read(folder / "instances" / entry.path().filename());
            std::vector<AlloxJob> jobs;
            for (const nlohmann::json& its : instance.at("jobs")) {
                AlloxJob& job = jobs.emplace_back();
                job.waited_seconds = its.at("time_since_start");
                for (const double rate : its.at("throughputs"))
                    job.seconds.push_back(allox_seconds(its.at("num_steps_remaining"), rate));
            }
            const AlloxOrder order =
                allox_order(jobs, instance.at("num_workers").get<std::vector<std::size_t>>());
            CAPTURE(entry.path());
            CHECK(order.objective == doctest::Approx(reference.at("objective").get<double>()).epsilon(1e-9));
            CHECK(order.bound == doctest::Approx(order.objective).epsilon(1e-12));
            ++compared;
        }
        CHECK(compared >= 6);
    }
}
