// Fuzzes promises over a world that changes at will (support/world.hpp), and admission of any jobs. Every
// snapshot with its deadlines is refused with a reason or gets a plan and an answer per deadline. A plan
// said to exist keeps all deadlines, by a checker that knows nothing of the search.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "deadlines/deadline_oracle.hpp"
#include "goodput/deadlines/promised_scheduler.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/rated_rounds.hpp"
#include "fuzz/support/record_mutator.hpp"
#include "fuzz/support/world.hpp"
#include "support/rated_speeds.hpp"

using namespace goodput;
using fuzz::check;

namespace {

using Inner = Scheduler<support::RootOfGoodput, LeastMovesPlacer, Allotter<>, support::RatedSpeeds>;

constexpr std::size_t most_rounds = 5;

/// Each record is a group of equal nodes, or a job.
void check_admission(fuzz::Bytes bytes) {
    ClusterOverTime cluster{{"A", "B"}, {}};
    std::vector<DeadlineJob> jobs;
    AdmissionOptions options{.most_rounds = 60, .most_repairs = 4};
    options.slot_seconds = bytes.record().pick(std::array{0.0, 60.0, 7.5});
    while (!bytes.empty()) {
        fuzz::Bytes record = bytes.record();
        if (record.index(4) == 0 && cluster.nodes.size() < 5) {
            NodesOverTime& group = cluster.nodes.emplace_back();
            group.gpu_type = record.index(2);
            group.nodes = record.integer(0, 3);
            group.gpus_per_node = record.hostile_integer(1, 8);
            if (record.flag()) group.from_seconds = record.number(0, 1200);
            if (record.flag()) group.until_seconds = record.number(0, 2400);
        } else if (jobs.size() < 8) {
            DeadlineJob& job = jobs.emplace_back();
            job.work_left = record.number(0, 1e5);
            job.deadline_seconds = record.number(-60, 3600);
            job.restart_seconds = record.flag() ? record.number(0, 200) : 0;
            const double rate = record.scale(1, 100), growth = record.number(0, 2);
            for (std::size_t type = 1 + record.index(2); type > 0; --type)
                job.speed.push_back({rate, rate * growth, rate * growth * growth, rate * 3});
        }
    }
    fuzz::accepted([&] {
        const Admission answer = admit(cluster, jobs, options);
        check(!answer.report().empty(), "a report says something");
        if (answer.status != AdmissionStatus::possible) return;
        const std::string wrong = support::wrong_with(cluster, jobs, answer.plan, options.slot_seconds);
        check(wrong.empty(), wrong.c_str());
    });
}

void check_answers(const std::vector<Deadline>& deadlines, const std::vector<PromiseAnswer>& answers) {
    check(answers.size() == deadlines.size(), "an answer for every deadline");
    for (std::size_t k = 0; k < answers.size(); ++k) {
        if (answers[k].promise != Promise::kept) {
            check(!answers[k].why.empty(), "who refuses a promise says why");
            continue;
        }
        check(answers[k].done_by_seconds <= deadlines[k].deadline_seconds + 1e-6,
              "kept, with an end before the deadline", answers[k].done_by_seconds,
              deadlines[k].deadline_seconds);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    if (head.flag()) {
        check_admission(bytes);
        return 0;
    }
    fuzz::World world(head);
    Inner inner({.predictor = support::RatedSpeeds()});
    inner.options().memory_states = 2048;
    PromisedScheduler<Inner, support::RatedSpeeds> scheduler(inner, {}, support::RatedSpeeds());
    std::vector<fuzz::Bytes> asked;
    std::size_t rounds = 0;
    while (!bytes.empty() && rounds < most_rounds) {
        const fuzz::Bytes record = bytes.record();
        fuzz::Bytes peek = record;
        if (peek.index(3) == 2 && asked.size() < 20) {  // a deadline
            asked.push_back(peek);
            continue;
        }
        if (!world.change(record)) continue;
        ++rounds;
        const Snapshot snapshot = world.snapshot();
        std::vector<Deadline> deadlines;
        std::vector<char> has_one(snapshot.jobs.size(), 0);
        for (fuzz::Bytes deadline : asked) {
            if (snapshot.jobs.empty()) break;
            const std::size_t job = deadline.index(snapshot.jobs.size());
            if (has_one[job]) continue;
            has_one[job] = 1;
            deadlines.push_back(
                {job, snapshot.time_seconds + deadline.number(-60, 7200), deadline.flag(), {}});
            if (deadline.flag()) deadlines.back().work = deadline.number(0, 1e5);
        }
        fuzz::accepted([&] {
            const Plan& plan = scheduler.plan(snapshot, deadlines);
            fuzz::check_plan(snapshot, plan);
            check_answers(deadlines, scheduler.answers());
            (void)scheduler.explain();
            world.carry_out(snapshot, plan);
        });
    }
    return 0;
}
