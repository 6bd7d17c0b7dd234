// Properties of admission: adding resources never admits less, names and order make no difference, and a
// plan keeps its promises by a checker that knows nothing of the search.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "deadlines/deadline_oracle.hpp"
#include "goodput/deadlines/admission.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using support::DeadlineCase;
using support::Random;

namespace {

AdmissionStatus status_of(const DeadlineCase& asked, const AdmissionOptions& options = {}) {
    const Admission answer = admit(asked.cluster, asked.jobs, options);
    if (answer.status == AdmissionStatus::possible)
        REQUIRE(support::wrong_with(asked.cluster, asked.jobs, answer.plan, options.slot_seconds) == "");
    return answer.status;
}

/// Adds nodes, gives a job more time or less work, or removes a job.
const char* ease(DeadlineCase& asked, Random& random) {
    DeadlineJob& job =
        asked.jobs[static_cast<std::size_t>(random.integer(0, static_cast<int>(asked.jobs.size()) - 1))];
    switch (random.integer(0, 4)) {
        case 0:
            job.deadline_seconds += random.integer(1, 4);
            return "a later deadline";
        case 1:
            job.work_left *= random.between(0.2, 1);
            return "less work";
        case 2:
            if (asked.jobs.size() > 1) asked.jobs.pop_back();
            return "one job less";
        default:
            asked.cluster.nodes.push_back({static_cast<std::size_t>(random.integer(
                                               0, static_cast<int>(asked.cluster.gpu_types.size()) - 1)),
                                           1, random.integer(1, 12)});
            return "more nodes";
    }
}

}  // namespace

TEST_CASE("deadlines: what is possible stays possible with more nodes, more time, less work or fewer jobs") {
    for_all(5, [](Case& one) {
        DeadlineCase asked = support::random_deadline_case(one.random, 4, 8);
        const AdmissionStatus before = status_of(asked);
        if (before != AdmissionStatus::possible) throw properties::NoVerdict{"not possible"};
        const char* const change = ease(asked, one.random);
        CAPTURE(change);
        REQUIRE(status_of(asked) == AdmissionStatus::possible);
    });
}

TEST_CASE("deadlines: with restarts, in whole slots, nothing possible is proven impossible with more") {
    for_all(5, [](Case& one) {
        DeadlineCase asked = support::random_deadline_case(one.random, 4, 8, one.random.between(0, 2));
        const AdmissionOptions options{.slot_seconds = 1};
        if (status_of(asked, options) != AdmissionStatus::possible)
            throw properties::NoVerdict{"not possible"};
        const char* const change = ease(asked, one.random);
        CAPTURE(change);
        const AdmissionStatus after = status_of(asked, options);
        if (after == AdmissionStatus::unknown) one.count("not known any more");
        REQUIRE(after != AdmissionStatus::impossible);
    });
}

TEST_CASE("deadlines: the order and the names of jobs and nodes make no difference") {
    for_all(5, [](Case& one) {
        const DeadlineCase asked = support::random_deadline_case(one.random, 5, 8);
        DeadlineCase other = asked;
        const std::vector<std::size_t> to = properties::random_order(one.random, asked.jobs.size()),
                                       node =
                                           properties::random_order(one.random, asked.cluster.nodes.size());
        for (std::size_t j = 0; j < to.size(); ++j) {
            other.jobs[to[j]] = asked.jobs[j];
            other.jobs[to[j]].name = "renamed-" + std::to_string(to[j]);
        }
        for (std::size_t n = 0; n < node.size(); ++n) other.cluster.nodes[node[n]] = asked.cluster.nodes[n];
        REQUIRE(status_of(asked) == status_of(other));
    });
}

TEST_CASE("deadlines: seconds twice as long, at half the speed, change no answer") {
    for_all(5, [](Case& one) {
        const DeadlineCase asked = support::random_deadline_case(one.random, 4, 8);
        DeadlineCase slower = asked;
        for (DeadlineJob& job : slower.jobs) {
            job.deadline_seconds *= 2;
            job.restart_seconds *= 2;
            for (std::vector<double>& speeds : job.speed)
                for (double& speed : speeds) speed /= 2;
        }
        for (NodesOverTime& nodes : slower.cluster.nodes) {
            nodes.from_seconds *= 2;
            nodes.until_seconds *= 2;
        }
        REQUIRE(status_of(asked) == status_of(slower));
    });
}
