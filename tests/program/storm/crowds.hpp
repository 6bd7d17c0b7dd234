#ifndef GOODPUT_TESTS_PROGRAM_STORM_CROWDS_HPP
#define GOODPUT_TESTS_PROGRAM_STORM_CROWDS_HPP

// Single lines with many jobs, for searches that take long or end unproven.

#include <string>

#include <nlohmann/json.hpp>

#include "support/random.hpp"

namespace storm {

using Json = nlohmann::ordered_json;
using support::Random;

inline Json crowd_job(int index, int least, int most) {
    return {{"name", "j" + std::to_string(index)},
            {"submitted_s", 0},
            {"gpus", {least, most}},
            {"adapt", "gpus"},
            {"restart_cost_s", 30},
            {"batch",
             {{"initial", 256},
              {"target", 256},
              {"local", {{"A", {1, 256}}, {"B", {1, 256}}}},
              {"rate", {{"A", 200}, {"B", 200}}}}}};
}

inline Json crowd_nodes(int nodes, bool two_types) {
    Json list = Json::array();
    for (int i = 0; i < nodes; ++i)
        list.push_back({{"name", "n" + std::to_string(i)},
                        {"gpu_type", two_types && i % 2 == 1 ? "B" : "A"},
                        {"gpus", two_types && i % 3 == 0 ? 4 : 8}});
    return list;
}

/// 50 or 200 jobs with deadlines ask for a cluster that holds some of them.
inline Json crowd_of_deadlines(Random& random) {
    const int jobs = random.chance(0.5) ? 50 : 200;
    Json line{{"time_s", 0}, {"interval_s", 60}, {"deadline_ms", random.chance(0.5) ? 50 : 1000}};
    line["nodes"] = crowd_nodes(jobs / 10, true);
    for (int j = 0; j < jobs; ++j) {
        const int least = 1 << random.integer(0, 2);
        const double work = random.between(1e5, 4e6);
        Json job = crowd_job(j, least, 16);
        job["batch"]["rate"]["B"] = random.between(100, 300);
        job["remaining_examples"] = work;
        job["deadline_s"] = work / 200 / least * random.between(0.8, 2.5) + 120;
        line["jobs"].push_back(std::move(job));
    }
    return line;
}

/// 16 to 40 jobs of few GPUs on fewer GPUs than they want. Each may share with the next one in a ring.
inline Json crowd_of_pairs(Random& random) {
    const int jobs = random.integer(16, 40), least = random.chance(0.7) ? 1 : 2;
    Json line{
        {"time_s", 60}, {"interval_s", 60}, {"nodes", crowd_nodes(random.integer(1, 3) * least, false)}};
    const bool alike = random.chance(0.5);
    for (int j = 0; j < jobs; ++j) {
        Json job = crowd_job(j, least, random.chance(0.7) ? least : 2 * least);
        const auto part = [&] { return alike ? 0.7 : random.between(0.45, 0.95); };
        job["shares_with"] = {
            {{"job", "j" + std::to_string((j + 1) % jobs)}, {"part", {{"A", {part(), part()}}}}}};
        line["jobs"].push_back(std::move(job));
    }
    return line;
}

/// Returns the line with only some of its pairs on offer, so that no job is in two of them.
inline Json with_fewer_pairs(Json line) {
    for (std::size_t j = 1; j < line["jobs"].size(); j += 2) line["jobs"][j].erase("shares_with");
    return line;
}

}  // namespace storm

#endif
