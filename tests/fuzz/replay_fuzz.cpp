// Fuzzes replays of short traces: nodes fail, are drained, return and are added; jobs fail; applications
// are odd. Every replay ends with a possible report: no job holds more than exists or anything before it
// came, and the order in which events are listed makes no difference.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

constexpr std::size_t most_nodes = 10, most_jobs = 8, most_events = 16, most_applications = 3;
constexpr int most_rounds = 20;

struct Trace {
    Cluster cluster{{"slow", "fast"}, {}};
    std::vector<Application> applications;
    std::vector<Submission> submissions;
    ReplayOptions options;
    SiaRules rules;
    bool hostile = false;
};

class Decoder {
public:
    explicit Decoder(fuzz::Bytes bytes) : bytes_(bytes) {}

    std::optional<Trace> trace(std::size_t& policy) {
        Trace trace;
        fuzz::Bytes head = bytes_.record();
        trace.hostile = head.integer(0, 3) == 3;
        bytes_.let_in_hostile(trace.hostile);
        policy = head.index(3);
        ReplayOptions& options = trace.options;
        options.interval_seconds = head.scale(10, 600);
        rounds_ = head.integer(1, most_rounds);
        trace.rules.most_gpus_per_job = head.integer(1, 32);
        options.moves_restart = !head.flag();
        trace.rules.checkpoint_seconds = head.scale(1, 1e4);
        options.allot.memory_states = 1024;
        if (trace.hostile) {
            fuzz::Bytes further = bytes_.record();
            options.interval_seconds = further.number(10, 600);
            trace.rules.checkpoint_seconds = further.number(1, 1e4);
            trace.rules.most_gpus_per_job = further.hostile_integer(1, 32);
        }
        // Ends the replay soon, whatever the interval.
        options.last_second = rounds_ * options.interval_seconds;
        interval_ = std::clamp(options.interval_seconds, 1.0, 600.0);
        bool good = fuzz::accepted([&] {
            while (!bytes_.empty()) add(bytes_.record(), trace);
            if (trace.applications.empty()) add_application({nullptr, 0}, trace);
        });
        if (!good) return std::nullopt;
        for (Submission& submission : trace.submissions)
            if (!trace.hostile) submission.application %= trace.applications.size();
        return trace;
    }

private:
    void add(fuzz::Bytes record, Trace& trace) {
        switch (record.index(8)) {
            case 0:
            case 1:
                for (std::size_t count = 1 + record.index(3);
                     count > 0 && trace.cluster.nodes.size() < most_nodes; --count) {
                    const std::size_t n = trace.cluster.nodes.size();
                    trace.cluster.nodes.push_back({"node-" + std::to_string(n), record.index(2),
                                                   record.pick(std::array{4, 8, 1, 2, 6})});
                }
                break;
            case 2:
                add_application(record, trace);
                break;
            case 3:
                set_truth(record, trace);
                break;
            case 4:
            case 5:
                add_job(record, trace);
                break;
            default:
                add_event(record, trace);
        }
    }

    static void add_application(fuzz::Bytes record, Trace& trace) {
        if (trace.applications.size() == most_applications) return;
        Application application{.name = "application-" + std::to_string(trace.applications.size())};
        const int batch = record.integer(16, 256);
        const std::size_t epochs = 1 + record.index(6);
        const double each = record.scale(1, 1e5), noise = record.scale(0.01, 1e3);
        application.restart_seconds = record.number(0, 200);
        application.restart_cost_seconds = record.number(0, 200);
        application.slowdown = record.number(1, 2);
        std::vector<GradientStatistics> gradients;
        std::vector<double> progress;
        for (std::size_t e = 0; e < epochs; ++e) {
            gradients.push_back({1, noise * std::pow(2, static_cast<double>(e))});
            progress.push_back(each * static_cast<double>(e + 1));
        }
        application.curve = TrainingCurve({batch, 16 * batch}, {gradients, gradients}, progress);
        for (int type = 0; type < 2; ++type)
            application.types.push_back({PolluxThroughput{0.1, 0.001, 0.1, 0.01, 0.02, 0.001, 2}, 1, 256});
        trace.applications.push_back(std::move(application));
    }

    static void set_truth(fuzz::Bytes& record, Trace& trace) {
        if (trace.applications.empty()) return;
        Application& application = trace.applications.back();
        ApplicationOnType& type = application.types[record.index(2)];
        const double constant = record.number(0.01, 0.3), each = record.scale(1e-5, 0.01);
        const double sync = record.number(0, 0.4), gamma = record.number(1, 10);
        type.max_atomic_batch = record.hostile_integer(0, 512);
        const std::size_t kind = record.index(4);
        type.truth = PolluxThroughput{constant, each, sync, sync / 16, sync / 4, sync / 64, gamma};
        if (kind != 3) return;
        std::vector<ThroughputSample> samples;
        for (const int gpus : {1, 2, 4, 8})
            for (const int b : {16, 64, 256}) {
                const double seconds = constant + each * b;
                samples.push_back(
                    {{1, gpus}, {b, 0}, seconds + sync * (gpus - 1) / 8, sync * (gpus - 1) / 8});
            }
        type.truth = TabulatedThroughput(samples, {}, application.name);
    }

    void add_job(fuzz::Bytes& record, Trace& trace) {
        if (trace.submissions.size() == most_jobs) return;
        const bool again = record.integer(0, 63) == 63;
        if (!record.flag()) time_ += record.ordinary(0, 3 * interval_);
        const std::string name = "job-" + std::to_string(trace.submissions.size() - (again ? 1U : 0U));
        const double time = trace.hostile ? record.number(0, 600) + time_ : time_;
        trace.submissions.push_back({name, time, record.index(most_applications + (trace.hostile ? 1 : 0)),
                                     record.hostile_integer(1, 16), record.hostile_integer(16, 4096)});
    }

    void add_event(fuzz::Bytes& record, Trace& trace) {
        std::vector<Event>& events = trace.options.events;
        if (events.size() == most_events) return;
        Event event;
        event.kind = static_cast<EventKind>(record.index(5));
        event.time_seconds = record.number(0, rounds_ * interval_);
        const std::size_t nodes = std::max<std::size_t>(trace.cluster.nodes.size(), 1);
        if (event.kind == EventKind::job_fails)
            event.subject =
                "job-" + std::to_string(record.index(std::max<std::size_t>(trace.submissions.size(), 1)));
        else if (event.kind == EventKind::node_added)
            event.subject = "new-" + std::to_string(added_++);
        else
            event.subject = record.integer(0, 3) == 3 && added_ > 0
                                ? "new-" + std::to_string(record.index(added_))
                                : "node-" + std::to_string(record.index(nodes));
        event.gpu_type = record.index(2);
        event.gpus = record.hostile_integer(1, 8);
        events.push_back(std::move(event));
    }

    fuzz::Bytes bytes_;
    double interval_ = 60, time_ = 0;
    int rounds_ = 1;
    std::size_t added_ = 0;
};

void check_jobs(const Trace& trace, const ReplayResult& result) {
    check(result.jobs.size() == trace.submissions.size(), "an outcome for each job");
    for (std::size_t j = 0; j < result.jobs.size(); ++j) {
        const JobOutcome& job = result.jobs[j];
        check(job.submitted_seconds == trace.submissions[j].time_seconds, "submitted as in the trace");
        check(job.done >= 0 && job.done <= 1 + 1e-9, "a part of the work", job.done);
        check(job.restarts >= 0 && job.migrations >= 0 && job.migrations <= job.restarts, "restarts",
              job.restarts, job.migrations);
        check(job.failures >= 0, "failures", job.failures);
        check(std::isfinite(job.gpu_seconds) && job.gpu_seconds >= 0, "GPU time", job.gpu_seconds);
        if (!job.completed_seconds) continue;
        check(*job.completed_seconds >= job.submitted_seconds, "nobody is complete before he comes",
              *job.completed_seconds, job.submitted_seconds);
        // The last epoch is rounded to whole seconds, as in the published code.
        check(*job.completed_seconds <= result.end_seconds * (1 + 1e-12) + 0.5, "and was it by the end",
              *job.completed_seconds, result.end_seconds);
        check(job.done >= 1 - 1e-9, "and did all of its work", job.done);
    }
}

int capacity_at(const ReplayResult& result, double seconds) {
    int gpus = 0;
    for (const Capacity& capacity : result.capacity)
        if (capacity.seconds <= seconds) gpus = capacity.gpus;
    return gpus;
}

void check_periods(const Trace& trace, const ReplayResult& result) {
    for (std::size_t i = 0; i < result.capacity.size(); ++i) {
        check(result.capacity[i].gpus >= 0, "GPUs that there are", result.capacity[i].gpus);
        check(i == 0 || result.capacity[i - 1].seconds <= result.capacity[i].seconds, "capacities by time");
    }
    std::vector<double> held(trace.submissions.size());
    for (const HeldPeriod& period : result.held_periods) {
        check(period.job < held.size(), "of a job of the trace");
        check(!period.configuration.empty() && period.begin_seconds <= period.end_seconds, "a time with GPUs",
              period.begin_seconds, period.end_seconds);
        check(period.begin_seconds >= trace.submissions[period.job].time_seconds, "not before it came",
              period.begin_seconds, trace.submissions[period.job].time_seconds);
        held[period.job] += period.configuration.gpus() * (period.end_seconds - period.begin_seconds);
        int gpus = 0;
        for (const HeldPeriod& other : result.held_periods)
            if (other.begin_seconds <= period.begin_seconds && period.begin_seconds < other.end_seconds) {
                gpus += other.configuration.gpus();
                check(other.job != period.job || &other == &period, "a job holds one thing at a time");
            }
        check(gpus <= capacity_at(result, period.begin_seconds), "nobody holds more than there is", gpus,
              capacity_at(result, period.begin_seconds));
    }
    for (std::size_t j = 0; j < held.size(); ++j)
        check(held[j] <= result.jobs[j].gpu_seconds * (1 + 1e-9) + 1e-6, "all that is held counts", held[j],
              result.jobs[j].gpu_seconds);
}

void check_metrics(const ReplayResult& result) {
    const ReplayMetrics metrics = metrics_of(result);
    check(metrics.jobs == result.jobs.size() && metrics.completed <= metrics.jobs, "jobs");
    for (const double number :
         {metrics.average_hours, metrics.median_hours, metrics.p99_hours, metrics.makespan_hours,
          metrics.gpu_hours_per_job, metrics.restarts_per_job, metrics.queueing_hours, metrics.utilisation})
        check(std::isfinite(number) && number >= 0, "metrics are numbers", number);
}

bool same(const ReplayResult& a, const ReplayResult& b) {
    const auto same_job = [](const JobOutcome& x, const JobOutcome& y) {
        return x.completed_seconds == y.completed_seconds && x.restarts == y.restarts &&
               x.gpu_seconds == y.gpu_seconds && x.done == y.done && x.failures == y.failures;
    };
    const auto same_period = [](const HeldPeriod& x, const HeldPeriod& y) {
        return x.job == y.job && x.configuration == y.configuration && x.begin_seconds == y.begin_seconds &&
               x.end_seconds == y.end_seconds;
    };
    return std::equal(a.jobs.begin(), a.jobs.end(), b.jobs.begin(), b.jobs.end(), same_job) &&
           std::equal(a.held_periods.begin(), a.held_periods.end(), b.held_periods.begin(),
                      b.held_periods.end(), same_period);
}

void check_round(const Snapshot& snapshot, const Plan& plan) {
    std::vector<int> used(snapshot.cluster.nodes.size());
    for (const Decision& decision : plan.decisions)
        for (const NodeShare& share : decision.placement) {
            check(share.node < used.size(), "a node that there is");
            used[share.node] += share.gpus;
        }
    for (std::size_t node = 0; node < used.size(); ++node)
        check(used[node] <= snapshot.cluster.nodes[node].gpus, "no node has more than its GPUs");
}

template <class P>
void run(const Trace& trace, const P& policy) {
    ReplayResult result, again;
    double last = -1;
    const bool good = fuzz::accepted([&] {
        SiaWorld<> world(trace.cluster, trace.applications, trace.submissions, trace.rules);
        result = replay(trace.cluster, world, policy, trace.options,
                        [&](double now, const Snapshot& snapshot, auto make_plan) {
                            check(now > last, "time goes on", now, last);
                            last = now;
                            try {
                                check_round(snapshot, make_plan());
                            } catch (const std::invalid_argument& refused) {
                                if (!trace.hostile) std::fputs(refused.what(), stderr);
                                check(trace.hostile, "what a replay makes of good input can be planned");
                                throw;
                            }
                        });
    });
    ReplayOptions reversed = trace.options;
    std::reverse(reversed.events.begin(), reversed.events.end());
    const bool good_again = fuzz::accepted([&] {
        SiaWorld<> world(trace.cluster, trace.applications, trace.submissions, trace.rules);
        again = replay(trace.cluster, world, policy, reversed);
    });
    check(good == good_again, "the order of events does not matter");
    if (!good) return;
    check(result.rounds <= most_rounds + 1, "it ends when it shall", static_cast<double>(result.rounds));
    check_jobs(trace, result);
    check_periods(trace, result);
    check_metrics(result);
    check(same(result, again), "the order of events does not matter");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::size_t policy = 0;
    const std::optional<Trace> trace = Decoder(fuzz::Bytes(data, size)).trace(policy);
    if (!trace) return 0;
    if (policy == 0)
        run(*trace, Sia{});
    else if (policy == 1)
        run(*trace, GoodputPolicy{});
    else
        run(*trace, LeastAttainedService{});
    return 0;
}
