// Admission of jobs with deadlines: plans that a checker accepts, and proofs that hold for all
// configurations.

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "deadlines/deadline_oracle.hpp"
#include "goodput/deadlines.hpp"
#include "support/random.hpp"

using namespace goodput;
using support::planted_deadline_case;
using support::random_deadline_case;
using support::wrong_with;

namespace {

const ClusterOverTime four_gpus{{"a100"}, {{0, 1, 4}}};

DeadlineJob job_of(double work, double deadline, std::vector<double> speed) {
    return {.name = "job", .work_left = work, .deadline_seconds = deadline, .speed = {std::move(speed)}};
}

}  // namespace

TEST_CASE("A job that just fills its time is possible, and one with more work is proven not to be") {
    std::vector<DeadlineJob> jobs{job_of(30, 10, {1, 2, 3})};
    const Admission just = admit(four_gpus, jobs);
    REQUIRE(just.status == AdmissionStatus::possible);
    CHECK(wrong_with(four_gpus, jobs, just.plan) == "");
    jobs[0].work_left = 31;
    const Admission more = admit(four_gpus, jobs);
    CHECK(more.status == AdmissionStatus::impossible);
    CHECK(more.impossible_alone == 0);
    CHECK(support::proves_none(four_gpus, jobs, more.work_prices));
}

TEST_CASE(
    "GPUs that cannot be divided are no plan: one job wants all of them half of the time, one wants one "
    "always") {
    const ClusterOverTime two_gpus{{"a100"}, {{0, 1, 2}}};
    std::vector<DeadlineJob> jobs{job_of(5, 10, {0, 1}), job_of(10, 10, {1, 1})};
    const Admission both = admit(two_gpus, jobs);
    CHECK(both.status == AdmissionStatus::impossible);  // although 20 GPU seconds are all that they need
    CHECK_FALSE(both.impossible_alone.has_value());
    CHECK(support::proves_none(two_gpus, jobs, both.work_prices));
    CHECK(both.needed > both.reachable);
}

TEST_CASE("Without restarts and slots every small case gets a plan or a proof, and both hold") {
    support::Random random(1);
    int possible = 0, impossible = 0;
    for (int k = 0; k < 600; ++k) {
        const auto its = random_deadline_case(random, 4, 8);
        const Admission answer = admit(its.cluster, its.jobs);
        CAPTURE(k);
        REQUIRE(answer.status != AdmissionStatus::unknown);
        if (answer.status == AdmissionStatus::possible) {
            ++possible;
            CHECK(wrong_with(its.cluster, its.jobs, answer.plan) == "");
        } else {
            ++impossible;
            CHECK(answer.plan.empty());
            CHECK(support::proves_none(its.cluster, its.jobs, answer.work_prices));
        }
    }
    CHECK(possible > 100);
    CHECK(impossible > 100);
}

TEST_CASE("In whole slots nothing is said that trying all plans contradicts") {
    support::Random random(2);
    int exists = 0, found = 0, none = 0, proven = 0;
    for (int k = 0; k < 400; ++k) {
        auto its = random_deadline_case(random, 3, 4);
        const double slot = random.chance(0.5) ? 1 : 2;
        const Admission answer = admit(its.cluster, its.jobs, {.slot_seconds = slot});
        const bool there_is_one = support::has_slot_plan(its.cluster, its.jobs, slot);
        CAPTURE(k);
        (there_is_one ? exists : none) += 1;
        if (answer.status == AdmissionStatus::possible) {
            ++found;
            CHECK(there_is_one);
            CHECK(wrong_with(its.cluster, its.jobs, answer.plan, slot) == "");
        }
        if (answer.status == AdmissionStatus::impossible) {
            ++proven;
            CHECK_FALSE(there_is_one);
        }
    }
    MESSAGE("of " << exists << " with a plan found " << found << ", of " << none << " without proven "
                  << proven);
    CHECK(found >= 0.98 * exists);
    CHECK(proven >= 0.8 * none);
}

TEST_CASE(
    "Restarts are reserved for: plans do the work beside them, and proofs hold with the first of them") {
    support::Random random(3);
    int exists = 0, found = 0, none = 0, proven = 0;
    for (int k = 0; k < 300; ++k) {
        auto its = random_deadline_case(random, 3, 4, 0.25 * random.integer(1, 3));
        const double slot = random.chance(0.7) ? 1 : 0;
        const Admission answer = admit(its.cluster, its.jobs, {.slot_seconds = slot});
        CAPTURE(k);
        if (answer.status == AdmissionStatus::possible)
            CHECK(wrong_with(its.cluster, its.jobs, answer.plan, slot) == "");
        if (slot == 0) continue;
        const bool there_is_one = support::has_slot_plan(its.cluster, its.jobs, slot);
        (there_is_one ? exists : none) += 1;
        if (answer.status == AdmissionStatus::possible) ++found;
        if (answer.status == AdmissionStatus::impossible) {
            ++proven;
            CHECK_FALSE(there_is_one);
        }
    }
    MESSAGE("of " << exists << " with a plan found " << found << ", of " << none << " without proven "
                  << proven);
    CHECK(found >= 0.9 * exists);
    CHECK(proven >= 0.5 * none);
}

TEST_CASE("Where there is a plan, none is said not to be, and without restarts and slots one is found") {
    support::Random random(4);
    int alone = 0, by_program = 0;
    for (int k = 0; k < 1000; ++k) {
        const auto [its, plan] = planted_deadline_case(random, 10, 0);
        CAPTURE(k);
        REQUIRE(wrong_with(its.cluster, its.jobs, plan, 1) == "");
        const Admission answer = admit(its.cluster, its.jobs);
        REQUIRE(answer.status == AdmissionStatus::possible);
        CHECK(wrong_with(its.cluster, its.jobs, answer.plan) == "");
        (answer.programs > 0 ? by_program : alone) += 1;
    }
    MESSAGE("job by job " << alone << ", by the program " << by_program);
    CHECK(alone > 300);
    CHECK(by_program > 50);
}

TEST_CASE("Where there is a plan with restarts, in whole slots, none is said not to be") {
    support::Random random(5);
    int found = 0, with_room = 0;
    for (int k = 0; k < 300; ++k) {
        auto [its, plan] = planted_deadline_case(random, 10, 0.25 * random.integer(0, 2));
        const double slot = random.integer(0, 1);
        CAPTURE(k);
        REQUIRE(wrong_with(its.cluster, its.jobs, plan, 1) == "");
        for (const double part : {1.0, 0.8}) {
            for (DeadlineJob& job : its.jobs) job.work_left *= part;
            const Admission answer = admit(its.cluster, its.jobs, {.slot_seconds = slot});
            CHECK(answer.status != AdmissionStatus::impossible);
            if (answer.status != AdmissionStatus::possible) continue;
            (part < 1 ? with_room : found) += 1;
            CHECK(wrong_with(its.cluster, its.jobs, answer.plan, slot) == "");
        }
    }
    MESSAGE("of 300 found " << found << ", with a fifth less work " << with_room);
    CHECK(found > 250);
    CHECK(with_room > 290);
}

TEST_CASE("Nodes that are announced count from when they come, and those that go until then") {
    ClusterOverTime cluster{{"a100"}, {{0, 1, 4, 5, 8}}};
    const std::vector<DeadlineJob> jobs{job_of(12, 10, {1, 2, 4})};
    const Admission answer = admit(cluster, jobs);
    REQUIRE(answer.status == AdmissionStatus::possible);
    CHECK(wrong_with(cluster, jobs, answer.plan) == "");
    for (const PlannedPiece& piece : answer.plan) {
        CHECK(piece.from_seconds >= 5);
        CHECK(piece.until_seconds <= 8);
    }
    cluster.nodes[0].until_seconds = 7.9;
    CHECK(admit(cluster, jobs).status == AdmissionStatus::impossible);
    // In slots of 2 s the node is there from 6 to 8 only.
    cluster.nodes[0].until_seconds = 9.5;
    CHECK(admit(cluster, jobs, {.slot_seconds = 2}).status == AdmissionStatus::impossible);
}

TEST_CASE("A running job goes on without a restart, and a waiting one loses it") {
    std::vector<DeadlineJob> jobs{job_of(10, 10, {1})};
    jobs[0].restart_seconds = 1;
    CHECK(admit(four_gpus, jobs).status == AdmissionStatus::impossible);
    jobs[0].holds = HeldGpus{0, 1};
    const Admission answer = admit(four_gpus, jobs);
    REQUIRE(answer.status == AdmissionStatus::possible);
    CHECK(wrong_with(four_gpus, jobs, answer.plan) == "");
}

TEST_CASE("Nothing to do is possible, and a deadline that has passed is not") {
    CHECK(admit(four_gpus, {}).status == AdmissionStatus::possible);
    std::vector<DeadlineJob> jobs{job_of(0, -5, {1})};
    CHECK(admit(four_gpus, jobs).status == AdmissionStatus::possible);
    jobs[0].work_left = 1;
    CHECK(admit(four_gpus, jobs).impossible_alone == 0);
    jobs = {job_of(1, 5, {})};
    CHECK(admit(four_gpus, jobs).impossible_alone == 0);
    jobs = {job_of(1, 5, {0, 0, 0, 1})};  // 8 GPUs, of which there are 4
    CHECK(admit(four_gpus, jobs).impossible_alone == 0);
}

TEST_CASE("Out of time and out of rounds the answer is not known") {
    // Both need both GPUs, although the first could do with one.
    const ClusterOverTime two_gpus{{"a100"}, {{0, 1, 2}}};
    const std::vector<DeadlineJob> jobs{job_of(7, 9, {1, 1.5}), job_of(10, 10, {0, 2})};
    CHECK(admit(two_gpus, jobs).status == AdmissionStatus::possible);
    CHECK(admit(two_gpus, jobs, {.most_rounds = 0}).status == AdmissionStatus::unknown);
    CHECK(admit(two_gpus, jobs, {.deadline = std::chrono::nanoseconds(0)}).status ==
          AdmissionStatus::unknown);
}

TEST_CASE("Bad numbers are named") {
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinite = std::numeric_limits<double>::infinity();
    const auto refuses = [](const ClusterOverTime& cluster, const DeadlineJob& job,
                            const AdmissionOptions& options = {}) {
        const std::vector<DeadlineJob> jobs{job};
        CHECK_THROWS_AS((void)admit(cluster, jobs, options), std::invalid_argument);
    };
    const DeadlineJob good = job_of(1, 1, {1});
    for (const double bad : {nan, infinite, -1.0}) {
        DeadlineJob job = good;
        job.work_left = bad;
        refuses(four_gpus, job);
        job = good;
        job.restart_seconds = bad;
        refuses(four_gpus, job);
        refuses(four_gpus, job_of(1, 1, {bad}));
        refuses(four_gpus, good, {.slot_seconds = bad});
    }
    for (const double bad : {nan, infinite}) refuses(four_gpus, job_of(1, bad, {1}));
    DeadlineJob job = good;
    job.speed.push_back({1});  // of a second GPU type
    refuses(four_gpus, job);
    refuses(four_gpus, job_of(1, 1, std::vector<double>(32, 1)));
    for (const NodesOverTime& group :
         {NodesOverTime{1, 1, 4}, NodesOverTime{0, -1, 4}, NodesOverTime{0, 1, 0},
          NodesOverTime{0, 1 << 30, 2}, NodesOverTime{0, 1, 4, nan}, NodesOverTime{0, 1, 4, 0, nan}})
        refuses({{"a100"}, {group}}, good);
    CHECK_THROWS_WITH_AS(validate(job_of(-1, 1, {1}), 1),
                         "job 'job': work_left is -1, but must be a finite number of at least 0",
                         std::invalid_argument);
}
