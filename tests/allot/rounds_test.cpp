// Every recorded round of a real scheduler: the allotment is feasible and as good as a general solver's
// within the gap, and the bound holds.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/allot_rounds.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

std::vector<std::string> round_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(GOODPUT_DATA_DIR) + "/allot"))
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

TEST_SUITE("data") {
    TEST_CASE("recorded rounds: feasible, proven, no worse than the reference, bound above it") {
        const std::vector<std::string> files = round_files();
        REQUIRE(files.size() >= 13);
        for (const std::string& file : files) {
            Allotter<> allotter;
            std::size_t line = 0;
            for (const auto& [problem, gap, reference] : support::read_rounds(file)) {
                CAPTURE(file);
                CAPTURE(++line);
                const AllotResult& result =
                    allotter(problem, {.gap = gap, .deadline = std::chrono::seconds(60)});
                const double value = support::value_of(problem, result.choice);
                const double scale = std::max(1.0, std::abs(reference));
                REQUIRE(std::abs(value - result.objective) <= 1e-9 * scale);
                REQUIRE(result.status == AllotStatus::optimal);
                REQUIRE(result.objective >= reference - 1e-4 * scale);
                REQUIRE(result.bound >= std::max(result.objective, reference - 1e-9 * scale));
                REQUIRE(result.gap() <= gap * std::abs(result.bound));
            }
        }
    }

    TEST_CASE("neither the order of the jobs nor the round before changes the objective beyond the gap") {
        for (const std::string& file : round_files()) {
            if (file.find("_4x") == std::string::npos && file.find("philly") == std::string::npos) continue;
            Allotter<> warm;
            support::Random random(17);
            for (const auto& [problem, gap, reference] : support::read_rounds(file)) {
                const double allowed = gap * std::max(1.0, std::abs(reference)) * (1 + 1e-6);
                const double cold = allot(problem, {.gap = gap}).objective;
                CHECK(std::abs(warm(problem, {.gap = gap, .warm_start = true}).objective - cold) <= allowed);
                CHECK(std::abs(allot(support::in_other_order(problem, random), {.gap = gap}).objective -
                               cold) <= allowed);
            }
        }
    }

    TEST_CASE("the relaxation's optimum lies between the best allotment and the bound at its prices") {
        for (const std::string& file : round_files()) {
            if (file.find("_8x") == std::string::npos && file.find("newtrace") == std::string::npos) continue;
            Allotter<> allotter;
            for (const auto& [problem, gap, reference] : support::read_rounds(file)) {
                const RelaxedAllotment relaxed = allotter.relax(problem);
                REQUIRE(relaxed.status == AllotStatus::optimal);
                CHECK(relaxed.objective >= reference - 1e-9 * std::max(1.0, reference));
                CHECK(relaxed.bound - relaxed.objective <= 1e-9 * std::max(1.0, relaxed.bound));
            }
        }
    }
}
