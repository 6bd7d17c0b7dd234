// Tests `goodput replay` on rented and on failing nodes, and `goodput plan` about interruptions and offers.

#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/replays.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_renting {

using Json = nlohmann::ordered_json;
using support::Program;

Program::End replay(const std::vector<std::string>& options) {
    return support::replay({"--policy", "goodput", "--json"}, options);
}
Json replayed(std::vector<std::string> options) {
    const Program::End end = replay(std::move(options));
    REQUIRE_MESSAGE(end.status == 0, end.errors);
    return Json::parse(end.output);
}

TEST_CASE("a fixed cluster costs its price, and renting only what is worth it costs less") {
    const std::string offers = "T4:6x4@4,A100:2x8@32";
    const Json fixed = replayed({"--rent", "fixed", "--offers", offers});
    CHECK(fixed["completed"] == fixed["jobs"]);
    CHECK(fixed["dollars"].get<double>() > 0);
    CHECK(fixed["dollars_per_job"].get<double>() * fixed["jobs"].get<double>() ==
          doctest::Approx(fixed["dollars"].get<double>()));
    const Json cheap = replayed({"--rent", "ours", "--hour-worth", "2", "--offers", offers});
    const Json dear = replayed({"--rent", "ours", "--hour-worth", "50", "--offers", offers});
    CHECK(cheap["completed"] == fixed["completed"]);
    CHECK(cheap["dollars"] < fixed["dollars"]);
    CHECK(cheap["dollars"] < dear["dollars"]);
    CHECK(dear["average_jct_h"] < cheap["average_jct_h"]);
}

TEST_CASE("without permission to rent, nothing is paid, and no job completes") {
    const Json nothing = replayed({"--offers", "T4:0x4@4"});
    CHECK(nothing["dollars"] == 0);
    CHECK(nothing["dollars_per_job"] == 0);
    CHECK(nothing["node_hours"] == 0);
    CHECK(nothing["completed"] == 0);
}

TEST_CASE("failing nodes cost time, the seed decides which fail, and no failures change nothing") {
    const Json calm = replayed({});
    const Json failing = replayed({"--node-mtbf-h", "2"});
    CHECK(failing["failures_per_job"].get<double>() > 0);
    CHECK(calm["failures_per_job"].get<double>() == 0);
    CHECK(failing["availability"] < calm["availability"]);
    CHECK(failing["average_jct_h"] > calm["average_jct_h"]);
    CHECK(replayed({"--node-mtbf-h", "2"})["average_jct_h"] == failing["average_jct_h"]);
    CHECK(replayed({"--node-mtbf-h", "2", "--interruptions-seed", "2"})["average_jct_h"] !=
          failing["average_jct_h"]);
}

TEST_CASE("options of renting and failures that make no sense are refused") {
    for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
             {"--rent", "some"},
             {"--rent", "ours", "--offers", "T4:6x4"},
             {"--rent", "ours", "--offers", "T4:6x4@4", "--hour-worth", "-1"},
             {"--node-mtbf-h", "-1"},
             {"--node-mtbf-h", "5", "--offers", "T4:6x4@4"},
             {"--checkpoints", "often"},
             {"--availability", "half"}}) {
        const Program::End end = replay(options);
        INFO(options.front(), " ", options[1], ": ", end.errors);
        CHECK(end.status != 0);
        CHECK(end.errors.find("--") < end.errors.find("with --help"));  // it names an option
    }
}

}  // namespace cli_renting
