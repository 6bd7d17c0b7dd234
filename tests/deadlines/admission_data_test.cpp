// States in which ElasticFlow's simulator decided, recorded job by job.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "deadlines/deadline_oracle.hpp"
#include "deadlines/recorded_admissions.hpp"
#include "goodput/deadlines.hpp"

using namespace goodput;
using support::AdmissionState, support::AdmissionTrace;
using support::evp, support::t195;
using support::wrong_with;

namespace {

const std::string folder = std::string(GOODPUT_DATA_DIR) + "/elasticflow";

std::vector<AdmissionState> read_states(const AdmissionTrace& trace, const std::string& kind) {
    return support::read_admission_states(folder, trace, kind);
}

/// Newcomers who are promised an end one after the other, none of the running jobs being dropped that can be
/// kept.
std::size_t newcomers_promised(const AdmissionState& state, const AdmissionTrace& trace,
                               double slot_seconds) {
    Promises promises({.admission = {.slot_seconds = slot_seconds}, .most_searched_jobs = 1'000'000});
    const std::vector<PromiseAnswer> answers = promises.plan(0, state.cluster, state.jobs);
    std::size_t newcomers = 0;
    CAPTURE(trace.name);
    for (std::size_t j = 0; j < state.jobs.size(); ++j) {
        const DeadlineJob& job = state.jobs[j];
        if (answers[j].promise == Promise::kept) {
            CHECK(answers[j].done_by_seconds <= job.deadline_seconds * (1 + 1e-6));
            newcomers += j >= state.running;
        } else if (j < state.running) {
            // Nobody who runs is refused but for who is late already, alone as well.
            CHECK(admit(state.cluster, std::vector{job}).status == AdmissionStatus::impossible);
        }
    }
    return newcomers;
}

}  // namespace

TEST_SUITE("data") {
    TEST_CASE("Whatever the greedy admits is admitted, in whole slots too, within 5 ms in the median") {
        for (const AdmissionTrace& trace : {evp, t195}) {
            std::size_t greedy = 0;
            for (const double slot : {0.0, trace.slot_seconds}) {
                std::vector<double> milliseconds;
                for (const AdmissionState& state : read_states(trace, "admissions")) {
                    const auto start = std::chrono::steady_clock::now();
                    const Admission answer = admit(state.cluster, state.jobs, {.slot_seconds = slot});
                    milliseconds.push_back(
                        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                            .count());
                    if (!state.greedy_admits_all) continue;
                    ++greedy;
                    REQUIRE(answer.status == AdmissionStatus::possible);
                    CHECK(wrong_with(state.cluster, state.jobs, answer.plan, slot) == "");
                }
                std::sort(milliseconds.begin(), milliseconds.end());
                MESSAGE(trace.name << ", slots of " << slot << " s: median "
                                   << milliseconds[milliseconds.size() / 2] << " ms, longest "
                                   << milliseconds.back() << " ms");
                CHECK(milliseconds[milliseconds.size() / 2] < 5);
            }
            CHECK(greedy == 2u * (trace.name == "evp" ? 57 : 47));
        }
    }

    TEST_CASE("Of the newcomers that were refused all are admitted that the published exact program admits") {
        for (const AdmissionTrace& trace : {evp, t195})
            for (const double slot : {0.0, trace.slot_seconds}) {
                std::size_t ours = 0;
                for (const AdmissionState& state : read_states(trace, "admissions")) {
                    if (state.greedy_admits_all) continue;
                    const std::size_t newcomers = newcomers_promised(state, trace, slot);
                    CHECK(newcomers >= state.exact_admits);
                    ours += newcomers;
                }
                CHECK(ours >= (trace.name == "evp" ? 25 : 36));
            }
    }

    TEST_CASE("Refusals of the corrected greedy: a plan in whole slots, or a job that is impossible alone") {
        for (const AdmissionTrace& trace : {evp, t195}) {
            std::size_t possible = 0;
            for (const AdmissionState& state : read_states(trace, "refusals")) {
                const Admission answer =
                    admit(state.cluster, state.jobs, {.slot_seconds = trace.slot_seconds});
                if (answer.status == AdmissionStatus::possible) {
                    ++possible;
                    CHECK(wrong_with(state.cluster, state.jobs, answer.plan, trace.slot_seconds) == "");
                } else {
                    CHECK(answer.status == AdmissionStatus::impossible);
                    CHECK(answer.impossible_alone == state.running);
                }
            }
            CHECK(possible == (trace.name == "evp" ? 2 : 6));
        }
    }

    TEST_CASE(
        "With restarts of 30 s whatever is possible alone stays possible, and the GPUs of a job change "
        "seldom") {
        for (const AdmissionTrace& trace : {evp, t195})
            for (const double slot : {0.0, trace.slot_seconds}) {
                std::size_t greedy = 0, refusals = 0, alone = 0, pieces = 0, jobs = 0;
                for (const std::string kind : {"admissions", "refusals"})
                    for (AdmissionState& state : read_states(trace, kind)) {
                        for (DeadlineJob& job : state.jobs) job.restart_seconds = 30;
                        const Admission answer = admit(state.cluster, state.jobs, {.slot_seconds = slot});
                        CHECK(answer.status != AdmissionStatus::unknown);
                        if (answer.status == AdmissionStatus::impossible) {
                            CHECK(answer.impossible_alone.has_value());
                            if (state.greedy_admits_all) ++alone;
                            continue;
                        }
                        (kind == "refusals" ? refusals : greedy) += 1;
                        CHECK(wrong_with(state.cluster, state.jobs, answer.plan, slot) == "");
                        pieces += answer.plan.size();
                        jobs += state.jobs.size();
                    }
                // In four states of evp a job has no time for a restart.
                CHECK(greedy + alone == (trace.name == "evp" ? 57 : 47));
                CHECK(alone == (trace.name == "evp" ? 4 : 0));
                CHECK(refusals == (trace.name == "evp" ? 2 : 6));
                MESSAGE(trace.name << ", slots of " << slot << " s: " << pieces << " pieces for " << jobs
                                   << " jobs");
                CHECK(pieces < 3 * jobs);
            }
    }
}
