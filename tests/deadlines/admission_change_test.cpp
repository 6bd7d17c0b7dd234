// What would have to change, and who is promised an end if not all can be.

#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "deadlines/deadline_oracle.hpp"
#include "goodput/deadlines.hpp"
#include "support/random.hpp"

using namespace goodput;
using support::random_deadline_case;
using support::wrong_with;

namespace {

AdmissionStatus with_deadline(const support::DeadlineCase& its, std::size_t job, double deadline) {
    std::vector<DeadlineJob> jobs = its.jobs;
    jobs[job].deadline_seconds = deadline;
    return admit(its.cluster, jobs).status;
}

AdmissionStatus with_nodes(const support::DeadlineCase& its, const NodesOverTime& nodes) {
    ClusterOverTime cluster = its.cluster;
    cluster.nodes.push_back(nodes);
    return admit(cluster, its.jobs).status;
}

}  // namespace

TEST_CASE(
    "A later deadline is the least with which all can be kept, and one before it is proven to be too early") {
    support::Random random(1);
    int moved = 0, hopeless = 0;
    for (int k = 0; k < 150; ++k) {
        const auto its = random_deadline_case(random, 4, 8);
        const std::size_t last = its.jobs.size() - 1;
        CAPTURE(k);
        const auto later = later_deadline(its.cluster, its.jobs, last, {}, 0.01);
        if (admit(its.cluster, its.jobs).status == AdmissionStatus::possible) {
            REQUIRE(later.has_value());
            CHECK(later->deadline_seconds == its.jobs[last].deadline_seconds);
            CHECK_FALSE(later->proven_below.has_value());
            continue;
        }
        if (!later) {
            ++hopeless;
            CHECK(with_deadline(its, last, 1e6) == AdmissionStatus::impossible);
            continue;
        }
        ++moved;
        CHECK(with_deadline(its, last, later->deadline_seconds) == AdmissionStatus::possible);
        REQUIRE(later->proven_below.has_value());
        CHECK(with_deadline(its, last, *later->proven_below) == AdmissionStatus::impossible);
        CHECK(later->deadline_seconds - *later->proven_below <= 0.01);
    }
    CHECK(moved > 20);
    CHECK(hopeless > 5);
}

TEST_CASE("More nodes are the fewest with which all can be kept, and they stay no longer than they have to") {
    support::Random random(2);
    int helped = 0, hopeless = 0;
    for (int k = 0; k < 150; ++k) {
        const auto its = random_deadline_case(random, 4, 8);
        const NodesOverTime kind{0, 1, random.integer(1, 4), 1.0 * random.integer(0, 1)};
        CAPTURE(k);
        const auto more = more_nodes(its.cluster, its.jobs, kind, {}, 0.01);
        if (!more) {
            ++hopeless;
            NodesOverTime many = kind;
            many.nodes = 1000;
            CHECK(with_nodes(its, many) == AdmissionStatus::impossible);
            continue;
        }
        CHECK(with_nodes(its, more->nodes) == AdmissionStatus::possible);
        CHECK(more->nodes.from_seconds == kind.from_seconds);
        if (more->nodes.nodes == 0) continue;
        ++helped;
        NodesOverTime less = more->nodes;
        less.nodes -= 1;
        less.until_seconds = std::numeric_limits<double>::infinity();
        CHECK(with_nodes(its, less) == AdmissionStatus::impossible);
        CHECK(more->proven_below == less.nodes);
        less = more->nodes;
        less.until_seconds -= 0.02;
        CHECK(with_nodes(its, less) == AdmissionStatus::impossible);
    }
    CHECK(helped > 20);
    CHECK(hopeless > 10);
}

TEST_CASE("Each job is promised an end that can be kept with those before it, one by one") {
    support::Random random(3);
    int refused = 0;
    for (int k = 0; k < 150; ++k) {
        const auto its = random_deadline_case(random, 6, 8);
        Promises promises;
        const std::vector<PromiseAnswer> answers = promises.plan(0, its.cluster, its.jobs);
        std::vector<DeadlineJob> kept;
        for (std::size_t j = 0; j < its.jobs.size(); ++j) {
            kept.push_back(its.jobs[j]);
            const bool possible = admit(its.cluster, kept).status == AdmissionStatus::possible;
            if (!possible) kept.pop_back();
            CAPTURE(k);
            CHECK(answers[j].promise == (possible ? Promise::kept : Promise::refused));
            if (possible) CHECK(answers[j].done_by_seconds <= its.jobs[j].deadline_seconds * (1 + 1e-6));
            refused += !possible;
        }
    }
    CHECK(refused > 50);
}

TEST_CASE("What would help keeps to its time, with a thousand jobs on three types, too") {
    ClusterOverTime cluster{{"a", "b", "c"}, {{0, 20, 8}, {1, 20, 8}, {2, 20, 8}}};
    std::vector<DeadlineJob> jobs;
    for (int j = 0; j < 1000; ++j)
        jobs.push_back({.name = "job" + std::to_string(j),
                        .work_left = 5000.0 + 7 * (j * 37 % 101),
                        .deadline_seconds = 3000.0 + 30 * (j * 53 % 997),
                        .speed = {{1, 2, 4}, {0.5, 1, 2}, {0.25, 0.5, 1}}});
    const auto begin = std::chrono::steady_clock::now();
    (void)what_would_help(cluster, jobs, 0,
                          {.slot_seconds = 60, .most_orders = 2, .deadline = std::chrono::milliseconds(100)});
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

TEST_CASE("Changes refuse unknown jobs and resolutions that are not above 0") {
    const ClusterOverTime cluster{{"a100"}, {{0, 1, 4}}};
    const std::vector<DeadlineJob> jobs{
        {.name = "job", .work_left = 1, .deadline_seconds = 1, .speed = {{1}}}};
    CHECK_THROWS_AS((void)later_deadline(cluster, jobs, 1), std::invalid_argument);
    CHECK_THROWS_AS((void)later_deadline(cluster, jobs, 0, {}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)more_nodes(cluster, jobs, {}, {}, -1), std::invalid_argument);
    CHECK_THROWS_AS((void)more_nodes(cluster, jobs, {.gpu_type = 1}), std::invalid_argument);
}
