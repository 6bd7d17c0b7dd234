// How much sooner could jobs complete at best? Two figures enclose the best average completion time of a
// trace for a scheduler that knows every speed and all future submissions: a bound that no schedule beats,
// and a schedule that was found. The excess of a policy over the schedule is what it could still gain, or
// the price of not knowing. Decisions may fall at any second here; starts cost the same as in a replay.
//
// usage: clairvoyant WORKLOAD.csv PROFILES-FOLDER LOAD SECONDS
//
// for example clairvoyant DATA/sia/workloads/saturn/workload-1.csv DATA/sia/profiles 4 20, on the replay's
// default cluster. LOAD divides the times of submission; SECONDS of CPU time go into the search. Prints one
// line of JSON:
//
//     alone_h      average completion time if every job had the cluster to itself
//     bound_h      no schedule has a lower average
//     schedule_h   the best schedule found; family: list or preemptive; evaluations: schedules looked at
//
// The bound. Let a GPU of each type have a price, so that the whole cluster costs 1 per second. Every
// schedule spends at most 1 per second, and a job costs at least its work: the sum, over its start and
// epochs, of the least that any allotment costs. So its jobs complete no sooner than those of a single
// machine with these works, for which "shortest remaining work first" is optimal. A job also takes at least
// its time alone. The two bounds are mixed job by job: see mean_busy_bound(). Prices are searched for, but
// any prices give a valid bound.
//
// The schedule. Simulated annealing over a priority and an allotment for each job, in two families:
//
//     list         whenever GPUs are free, jobs start in order of priority, each if its allotment is free,
//                  and run to their end
//     preemptive   at every submission and completion all jobs are served anew in order of priority: each
//                  keeps what it has if that is free, else gets its allotment or the largest smaller one of
//                  the same pool that is left, else waits; a change costs a start. Jobs that hold less than
//                  they want may also grow once there is room
//
// Allotments always pack (schedule/makers.hpp), so only the number of GPUs of each pool limits them. Unlike
// in a replay, epochs need not end on whole seconds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <numeric>
#include <queue>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/sim/application.hpp"
#include "replay/scene.hpp"

namespace {

using namespace goodput;

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
constexpr int most_gpus_per_job = 64;  // as in a replay

// ---------------------------------------------------------------------------------------------------------
// What is known

/// An allotment that an application may hold, and how long training takes with it.
struct Choice {
    std::size_t pool = 0;
    int gpus = 0;
    std::vector<double> seconds{};  ///< of training to the end of each epoch; begins with 0

    [[nodiscard]] double all_seconds() const { return seconds.back(); }
    [[nodiscard]] double epoch_seconds(std::size_t epoch) const {
        return seconds[epoch + 1] - seconds[epoch];
    }
    /// Seconds of training up to a progress in epochs: 2.5 is halfway through the third one.
    [[nodiscard]] double seconds_at(double progress) const {
        const auto epoch = std::min(static_cast<std::size_t>(progress), seconds.size() - 2);
        return seconds[epoch] + (progress - static_cast<double>(epoch)) * epoch_seconds(epoch);
    }
    /// Returns the progress after `training` seconds of training.
    [[nodiscard]] double progress_at(double training) const {
        const auto after = std::upper_bound(seconds.begin() + 1, seconds.end() - 1, training);
        const auto epoch = static_cast<std::size_t>(after - seconds.begin()) - 1;
        const double length = epoch_seconds(epoch);
        const double part = length > 0 ? std::clamp((training - seconds[epoch]) / length, 0.0, 1.0) : 1;
        return static_cast<double>(epoch) + part;
    }
};

/// An application with all that it may hold, sorted by pool, then GPUs.
struct Program {
    double start_seconds = 0;
    std::vector<Choice> choices{};

    [[nodiscard]] std::size_t epochs() const { return choices.front().seconds.size() - 1; }
};

struct Arrival {
    double seconds = 0;
    std::size_t program = 0;
};

struct Trace {
    std::vector<int> capacity{};  ///< GPUs by pool
    std::vector<Program> programs{};
    std::vector<Arrival> jobs{};  ///< by time

    [[nodiscard]] const Program& program_of(std::size_t job) const { return programs[jobs[job].program]; }
};

/// Seconds of the fastest iteration for each total batch size allowed on the shape, by examples per GPU.
std::vector<double> fastest_iterations(const Application& application, std::size_t gpu_type, Shape shape) {
    const ApplicationOnType& type = application.types[gpu_type];
    const int initial = application.curve.initial_batch();
    const int most_load = application.curve.max_batch() / shape.gpus;
    std::vector<double> fastest(static_cast<std::size_t>(most_load) + 1, never);
    for (int atomic = type.min_atomic_batch; atomic <= std::min(type.largest_batch(shape), most_load);
         ++atomic) {
        const StepSeconds times = type.seconds(shape, atomic);
        for (int steps = 0; (steps + 1) * atomic <= most_load; ++steps) {
            const int load = (steps + 1) * atomic;
            const bool too_small = load * shape.gpus < initial;
            // A single GPU must accumulate to measure how noisy its gradient is.
            const bool unmeasurable = shape.gpus == 1 && load > initial && steps == 0;
            if (too_small || unmeasurable) continue;
            double& best = fastest[static_cast<std::size_t>(load)];
            best = std::min(best, times.step + steps * (times.step - times.sync));
        }
    }
    return fastest;
}

/// True duration of every epoch on the shape with the best batch size; empty if no batch size is
/// allowed.
std::vector<double> training_seconds(const Application& application, std::size_t gpu_type, Shape shape) {
    const TrainingCurve& curve = application.curve;
    const std::vector<double> fastest = fastest_iterations(application, gpu_type, shape);
    std::vector<double> seconds{0};
    double before = 0;
    for (std::size_t epoch = 0; epoch < curve.epochs(); ++epoch) {
        double rate = 0;
        for (std::size_t load = 1; load < fastest.size(); ++load) {
            if (fastest[load] == never) continue;
            const double total = static_cast<double>(load) * shape.gpus;
            const double progress = gain(curve.gradient(total, epoch), total / curve.initial_batch());
            rate = std::max(rate, progress / fastest[load] / application.slowdown);
        }
        if (rate == 0) return {};
        seconds.push_back(seconds.back() + (curve.progress_after(epoch) - before) / rate);
        before = curve.progress_after(epoch);
    }
    return seconds;
}

Program program_of(const Application& application, std::span<const Pool> pools) {
    Job job{.max_gpus = most_gpus_per_job};
    for (const ApplicationOnType& type : application.types)
        job.types.push_back({type.min_atomic_batch, type.max_atomic_batch, 1, type.max_nodes, 0});
    std::vector<Option> options;
    append_options(
        job, pools, [](std::size_t) { return most_gpus_per_job; }, options);
    Program program{application.restart_seconds, {}};
    for (const Option& option : options) {
        const PoolShare& held = option.configuration.first();
        std::vector<double> seconds = training_seconds(application, held.gpu_type, held.shape);
        if (!seconds.empty())
            program.choices.push_back({find_pool(pools, {held.gpu_type, held.gpus_per_node}),
                                       held.occupied_gpus(), std::move(seconds)});
    }
    if (program.choices.empty())
        throw std::runtime_error(application.name + ": can hold nothing of this cluster");
    return program;
}

Trace trace_of(const cli::Scene& scene) {
    Trace trace;
    const std::vector<Pool> pools = pools_of(scene.cluster);
    for (const Pool& pool : pools) trace.capacity.push_back(pool.gpus());
    for (const Application& application : scene.applications)
        trace.programs.push_back(program_of(application, pools));
    for (const Submission& submission : scene.submissions)
        trace.jobs.push_back({submission.time_seconds, submission.application});
    return trace;
}

// ---------------------------------------------------------------------------------------------------------
// The bound

/// What an application needs under any schedule.
struct Need {
    double work = 0;   ///< its least cost at the prices
    double alone = 0;  ///< its least seconds
    double tail = 0;   ///< the completion follows the work's mean time by at least this
};

/// Returns the need at the given prices of a GPU of each pool.
Need need_of(const Program& program, std::span<const double> prices) {
    // Computed backwards, from the last epoch to the start.
    Need need;
    double work_seconds = 0;
    const auto add = [&](double work, double seconds) {
        work_seconds += work * (need.alone + seconds / 2);
        need.work += work;
        need.alone += seconds;
    };
    double cheapest_second = never;
    for (const Choice& choice : program.choices)
        cheapest_second = std::min(cheapest_second, choice.gpus * prices[choice.pool]);
    for (std::size_t epoch = program.epochs(); epoch-- > 0;) {
        double work = never, seconds = never;
        for (const Choice& choice : program.choices) {
            seconds = std::min(seconds, choice.epoch_seconds(epoch));
            work = std::min(work, choice.epoch_seconds(epoch) * choice.gpus * prices[choice.pool]);
        }
        add(work, seconds);
    }
    add(program.start_seconds * cheapest_second, program.start_seconds);
    need.tail = need.work > 0 ? work_seconds / need.work : 0;
    return need;
}

std::vector<Need> needs_of(const Trace& trace, std::span<const double> prices) {
    std::vector<Need> needs;
    for (const Program& program : trace.programs) needs.push_back(need_of(program, prices));
    return needs;
}

double average_alone(const Trace& trace, std::span<const Need> needs) {
    double sum = 0;
    for (const Arrival& job : trace.jobs) sum += needs[job.program].alone;
    return sum / static_cast<double>(trace.jobs.size());
}

/// The least average completion time on a single machine that may interrupt jobs, which serves the shortest
/// remaining work first.
double single_machine_bound(const Trace& trace, std::span<const Need> needs) {
    std::priority_queue<double, std::vector<double>, std::greater<>> left;
    double now = 0, sum = 0;
    for (std::size_t next = 0; next < trace.jobs.size() || !left.empty();) {
        const double arrival = next < trace.jobs.size() ? trace.jobs[next].seconds : never;
        if (left.empty()) now = arrival;
        if (now >= arrival) {
            left.push(needs[trace.jobs[next++].program].work);
            continue;
        }
        const double work = left.top(), worked = std::min(work, arrival - now);
        sum += worked * static_cast<double>(left.size());
        now += worked;
        left.pop();
        if (worked < work) left.push(work - worked);
    }
    return sum / static_cast<double>(trace.jobs.size());
}

/// When the work of each job is done on average, on a single machine that may interrupt jobs and minimises
/// the weighted sum of these times: it serves the largest ratio of weight to work first.
std::vector<double> mean_busy_times(const Trace& trace, std::span<const Need> needs,
                                    std::span<const double> weights) {
    std::vector<double> left, times(trace.jobs.size());
    for (const Arrival& job : trace.jobs) left.push_back(needs[job.program].work);
    std::priority_queue<std::pair<double, std::size_t>> waiting;  // by weight / work
    double now = 0;
    for (std::size_t next = 0; next < trace.jobs.size() || !waiting.empty();) {
        const double arrival = next < trace.jobs.size() ? trace.jobs[next].seconds : never;
        if (waiting.empty()) now = arrival;
        if (now >= arrival) {
            waiting.emplace(weights[next] / left[next], next);
            ++next;
            continue;
        }
        const std::size_t job = waiting.top().second;
        const double worked = std::min(left[job], arrival - now);
        times[job] += worked * (now + worked / 2);
        now += worked;
        if (worked < left[job])
            left[job] -= worked;
        else
            waiting.pop();
    }
    for (std::size_t job = 0; job < times.size(); ++job) times[job] /= needs[trace.jobs[job].program].work;
    return times;
}

/// Every job completes no earlier than two times: its arrival plus its time alone, and the mean time of
/// its work plus the tail, because it cannot work faster than alone. So any mixture of the two bounds
/// it, too, and what a single machine can do for the second parts bounds the sum over jobs. The
/// function improves the `shares` of the first part, by job, step by step, and returns the best bound
/// found.
double mean_busy_bound(const Trace& trace, std::span<const Need> needs, std::vector<double>& shares,
                       int steps) {
    const std::size_t jobs = trace.jobs.size();
    std::vector<double> weights(jobs), slopes(jobs), best_shares = shares;
    double best = 0;
    for (int step = 0; step < steps; ++step) {
        for (std::size_t job = 0; job < jobs; ++job) weights[job] = 1 - shares[job];
        const std::vector<double> busy = mean_busy_times(trace, needs, weights);
        double sum = 0, scale = 0;
        for (std::size_t job = 0; job < jobs; ++job) {
            const Need& need = needs[trace.jobs[job].program];
            const double by_work = busy[job] + need.tail - trace.jobs[job].seconds;
            sum += shares[job] * need.alone + weights[job] * by_work;
            slopes[job] = need.alone - by_work;
            scale += std::abs(slopes[job]);
        }
        if (sum > best) {
            best = sum;
            best_shares = shares;
        }
        if (scale == 0) break;
        const double length = static_cast<double>(jobs) / scale / (1 + 0.1 * step);
        for (std::size_t job = 0; job < jobs; ++job)
            shares[job] = std::clamp(shares[job] + length * slopes[job], 0.0, 1.0);
    }
    shares = best_shares;
    return best / static_cast<double>(jobs);
}

/// Searches prices at which `bound(prices)` is large, starting from `best`, by raising and lowering one at
/// a time. Scales them so that the cluster costs 1 per second.
template <class Bound>
std::vector<double> search_prices(const Trace& trace, std::vector<double> best, Bound bound) {
    const auto scaled = [&](std::vector<double> prices) {
        double cost = 0;
        for (std::size_t pool = 0; pool < prices.size(); ++pool) cost += prices[pool] * trace.capacity[pool];
        for (double& price : prices) price /= cost;
        return prices;
    };
    best = scaled(best);
    double most = bound(best);
    for (double factor = 3; factor > 1.03;) {
        bool better = false;
        for (std::size_t pool = 0; pool < best.size(); ++pool)
            for (const double change : {factor, 1 / factor}) {
                std::vector<double> prices = best;
                prices[pool] *= change;
                prices = scaled(prices);
                const double value = bound(prices);
                if (value <= most) continue;
                most = value;
                best = std::move(prices);
                better = true;
            }
        if (!better) factor = std::sqrt(factor);
    }
    return best;
}

struct Bound {
    double alone = 0, seconds = 0;
    std::vector<double> prices{};
};

/// Returns the best bound on the average completion time.
Bound bound_of(const Trace& trace) {
    const std::vector<double> equal(trace.capacity.size(), 1.0), halves(trace.jobs.size(), 0.5);
    std::vector<double> shares;
    const auto single = [&](const auto& prices) {
        return single_machine_bound(trace, needs_of(trace, prices));
    };
    const auto mixed = [&](const auto& prices) {
        shares = halves;
        return mean_busy_bound(trace, needs_of(trace, prices), shares, 50);
    };
    const std::vector<double> prices = search_prices(trace, equal, single);
    const std::vector<Need> needs = needs_of(trace, search_prices(trace, prices, mixed));
    shares = halves;
    const double alone = average_alone(trace, needs);
    return {alone, std::max({alone, single(prices), mean_busy_bound(trace, needs, shares, 2000)}), prices};
}

// ---------------------------------------------------------------------------------------------------------
// The schedule

enum class Family { list, preemptive };

/// What the search decides for a job.
struct Decision {
    double priority = 0;     ///< lower ones are served first
    std::size_t choice = 0;  ///< the allotment that it wants
    bool grows = false;      ///< preemptive: takes what it wants once that is free, if it holds less
};

/// A job that is submitted and not complete.
struct ActiveJob {
    double priority = 0;
    std::size_t job = 0;
    std::size_t choice = none;  ///< what the job holds
    double progress = 0;        ///< in epochs, when it got its GPUs
    double trains_from = 0;     ///< when its start is over
    double ends = never;

    friend bool operator==(const ActiveJob&, const ActiveJob&) = default;
};

/// The state of a pool's schedule at one moment.
struct Moment {
    double now = 0;
    std::size_t next = 0;             ///< job that is submitted next
    int left = 0;                     ///< free GPUs
    std::vector<ActiveJob> active{};  ///< by priority
    double waited = 0;                ///< sum over jobs of their seconds in the cluster

    /// Whether the same happens from both moments on.
    [[nodiscard]] bool continues_as(const Moment& other) const {
        return now == other.now && next == other.next && active == other.active;
    }
};

/// The schedule of the jobs that want GPUs of one pool. Pools are independent. After a change of one job's
/// decision, it is recomputed from that job's submission until it is as before.
class PoolSchedule {
public:
    PoolSchedule(const Trace& trace, Family family, std::size_t pool)
        : trace_(&trace), family_(family), pool_(pool), marks_(trace.jobs.size() / jobs_between_marks + 1) {
        marks_.front().left = trace.capacity[pool];
    }

    /// Returns the sum of the completion times of its jobs.
    [[nodiscard]] double seconds() const { return seconds_; }

    /// Returns the sum after a change of the job's decision, or infinity if it exceeds `most`.
    double run(std::span<const Decision> decisions, std::size_t changed, double most) {
        decisions_ = decisions;
        first_mark_ = changed / jobs_between_marks;
        while (marks_[first_mark_].next > changed) --first_mark_;
        end_mark_ = first_mark_ + 1;
        moment_ = marks_[first_mark_];
        trial_seconds_ = never;
        while (true) {
            skip_others();
            if (moment_.next / jobs_between_marks >= end_mark_) {
                // Marks that were passed lead nowhere.
                while (moment_.next / jobs_between_marks > end_mark_) trial_mark().next = none;
                if (joins(marks_[end_mark_], changed)) {
                    trial_seconds_ = seconds_ + moment_.waited - marks_[end_mark_].waited;
                    break;
                }
                trial_mark() = moment_;
            }
            if (moment_.next == trace_->jobs.size() && moment_.active.empty()) {
                trial_seconds_ = moment_.waited;
                break;
            }
            step();
            if (moment_.waited > most) break;
        }
        return trial_seconds_ <= most ? trial_seconds_ : never;
    }
    /// Keeps the last run.
    void accept() {
        for (std::size_t mark = first_mark_ + 1; mark < end_mark_; ++mark)
            std::swap(marks_[mark], trial_marks_[mark - first_mark_ - 1]);
        for (std::size_t mark = end_mark_; mark < marks_.size(); ++mark)
            marks_[mark].waited += trial_seconds_ - seconds_;
        seconds_ = trial_seconds_;
    }

private:
    static constexpr std::size_t jobs_between_marks = 8;

    [[nodiscard]] const Choice& choice_of(std::size_t job, std::size_t choice) const {
        return trace_->program_of(job).choices[choice];
    }
    [[nodiscard]] bool is_left(std::size_t job, std::size_t choice) const {
        return choice_of(job, choice).gpus <= moment_.left;
    }

    void skip_others() {
        while (moment_.next < trace_->jobs.size() &&
               choice_of(moment_.next, decisions_[moment_.next].choice).pool != pool_)
            ++moment_.next;
    }
    Moment& trial_mark() {
        const std::size_t index = end_mark_++ - first_mark_ - 1;
        if (index == trial_marks_.size()) trial_marks_.emplace_back();
        return trial_marks_[index];
    }
    [[nodiscard]] bool joins(const Moment& mark, std::size_t changed) const {
        return moment_.next > changed && moment_.continues_as(mark) &&
               std::none_of(moment_.active.begin(), moment_.active.end(),
                            [&](const ActiveJob& active) { return active.job == changed; });
    }

    /// Advances to the next completion or submission.
    void step() {
        double next = moment_.next < trace_->jobs.size() ? trace_->jobs[moment_.next].seconds : never;
        for (const ActiveJob& active : moment_.active) next = std::min(next, active.ends);
        moment_.waited += static_cast<double>(moment_.active.size()) * (next - moment_.now);
        moment_.now = next;
        std::erase_if(moment_.active, [&](const ActiveJob& active) {
            if (active.ends > next) return false;
            moment_.left += choice_of(active.job, active.choice).gpus;
            return true;
        });
        for (; moment_.next < trace_->jobs.size() && trace_->jobs[moment_.next].seconds <= next;
             ++moment_.next, skip_others()) {
            const ActiveJob arrival{.priority = decisions_[moment_.next].priority, .job = moment_.next};
            moment_.active.insert(
                std::upper_bound(moment_.active.begin(), moment_.active.end(), arrival,
                                 [](const auto& a, const auto& b) { return a.priority < b.priority; }),
                arrival);
        }
        if (family_ == Family::list)
            start_waiting();
        else
            serve_all();
    }

    void start_waiting() {
        for (ActiveJob& active : moment_.active) {
            if (moment_.left == 0) break;
            const std::size_t wanted = decisions_[active.job].choice;
            if (active.choice != none || !is_left(active.job, wanted)) continue;
            start(active, wanted);
            moment_.left -= choice_of(active.job, wanted).gpus;
        }
    }

    void serve_all() {
        moment_.left = trace_->capacity[pool_];
        for (ActiveJob& active : moment_.active) {
            const std::size_t choice = moment_.left > 0 ? choose(active) : none;
            if (choice != active.choice) {
                if (active.choice != none) stop(active);
                if (choice != none) start(active, choice);
            }
            if (choice != none) moment_.left -= choice_of(active.job, choice).gpus;
        }
    }
    /// Returns what a job gets: what it has, what it wants, or the largest smaller allotment that is free.
    [[nodiscard]] std::size_t choose(const ActiveJob& active) const {
        const Decision& decision = decisions_[active.job];
        const bool wants_more = decision.grows && is_left(active.job, decision.choice);
        if (active.choice != none && !wants_more && is_left(active.job, active.choice)) return active.choice;
        for (std::size_t choice = decision.choice;; --choice) {
            if (is_left(active.job, choice)) return choice;
            if (choice == 0 || choice_of(active.job, choice - 1).pool != pool_) return none;
        }
    }

    void start(ActiveJob& active, std::size_t choice) {
        const Choice& held = choice_of(active.job, choice);
        active.choice = choice;
        active.trains_from = moment_.now + trace_->program_of(active.job).start_seconds;
        active.ends = active.trains_from + held.all_seconds() - held.seconds_at(active.progress);
    }
    void stop(ActiveJob& active) {
        const Choice& held = choice_of(active.job, active.choice);
        if (moment_.now > active.trains_from)
            active.progress =
                held.progress_at(held.seconds_at(active.progress) + moment_.now - active.trains_from);
        active.choice = none;
        active.trains_from = 0;
        active.ends = never;
    }

    const Trace* trace_;
    Family family_;
    std::size_t pool_;
    double seconds_ = 0;
    std::vector<Moment>
        marks_;  // states of the accepted schedule at regular numbers of submissions; the first is empty
    // Of the last run:
    std::span<const Decision> decisions_;
    Moment moment_;
    double trial_seconds_ = 0;
    std::size_t first_mark_ = 0,
                end_mark_ = 0;         // it leaves the old schedule at one mark and is back at the other
    std::vector<Moment> trial_marks_;  // the marks between these two
};

/// The schedule of all jobs.
class Schedule {
public:
    Schedule(const Trace& trace, Family family, std::vector<Decision> decisions)
        : trace_(&trace), decisions_(std::move(decisions)) {
        for (std::size_t pool = 0; pool < trace.capacity.size(); ++pool) {
            PoolSchedule& of_pool = pools_.emplace_back(trace, family, pool);
            of_pool.run(decisions_, 0, never);
            of_pool.accept();
            seconds_ += of_pool.seconds();
        }
    }

    [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }
    /// Returns the sum of all completion times.
    [[nodiscard]] double seconds() const { return seconds_; }

    /// Changes a job's decision unless the sum would exceed `most`. Returns whether it did.
    bool change(std::size_t job, const Decision& decision, double most) {
        const Decision before = std::exchange(decisions_[job], decision);
        const std::vector<Choice>& choices = trace_->program_of(job).choices;
        const std::size_t from = choices[before.choice].pool, to = choices[decision.choice].pool;
        double sum = seconds_ - pools_[from].seconds();
        if (to != from) sum -= pools_[to].seconds();
        sum += pools_[from].run(decisions_, job, most - sum);
        if (to != from && sum <= most) sum += pools_[to].run(decisions_, job, most - sum);
        if (!(sum <= most)) {
            decisions_[job] = before;
            return false;
        }
        pools_[from].accept();
        if (to != from) pools_[to].accept();
        seconds_ = sum;
        return true;
    }

private:
    const Trace* trace_;
    std::vector<Decision> decisions_;
    std::vector<PoolSchedule> pools_;
    double seconds_ = 0;
};

/// Every job wants the allotment with the least seconds * price^power, and this cost is its priority. Power
/// 1 gives the cheapest allotments, power 0 the fastest. A pool with more than its share of the work so far
/// counts as more expensive.
std::vector<Decision> first_decisions(const Trace& trace, std::span<const double> prices, double power) {
    std::vector<Decision> decisions;
    std::vector<double> busy(prices.size(), 1.0);  // seconds of all of its GPUs
    for (std::size_t job = 0; job < trace.jobs.size(); ++job) {
        const Program& program = trace.program_of(job);
        Decision& decision = decisions.emplace_back();
        double least = never, busy_for = 0;
        for (std::size_t choice = 0; choice < program.choices.size(); ++choice) {
            const Choice& held = program.choices[choice];
            const double seconds = program.start_seconds + held.all_seconds();
            const double price = held.gpus * prices[held.pool];
            const double cost = seconds * std::pow(price * busy[held.pool], power);
            if (cost >= least) continue;
            least = cost;
            decision = {seconds * price, choice};
            busy_for = seconds * held.gpus / trace.capacity[held.pool];
        }
        busy[program.choices[decision.choice].pool] += busy_for;
    }
    return decisions;
}

struct Found {
    double seconds = never;  ///< sum of completion times
    Family family = Family::list;
    long long evaluations = 0;
};

/// Simulated annealing: changes one job's decision at random, and accepts worse results ever more rarely.
Found anneal(const Trace& trace, Family family, std::span<const double> prices, double seconds) {
    const double begin = benchmarks::cpu_milliseconds();
    std::vector<Decision> decisions;
    double least = never;
    for (const double power : {0.0, 0.25, 0.5, 0.75, 1.0}) {
        std::vector<Decision> first = first_decisions(trace, prices, power);
        const Schedule schedule(trace, family, first);
        if (schedule.seconds() >= least) continue;
        least = schedule.seconds();
        decisions = std::move(first);
    }
    Schedule schedule(trace, family, std::move(decisions));
    Found found{schedule.seconds(), family, 0};
    std::vector<Decision> best = schedule.decisions();
    std::mt19937_64 random(1);
    const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
    const auto unit = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
    const std::size_t jobs = trace.jobs.size();
    const double hot = 0.1 * found.seconds / static_cast<double>(jobs), cold = 1e-3 * hot;
    while (true) {
        const double part = (benchmarks::cpu_milliseconds() - begin) / (1e3 * seconds);
        if (part >= 1) break;
        const double temperature = hot * std::pow(cold / hot, part);
        const std::size_t job = below(jobs);
        Decision decision = schedule.decisions()[job];
        switch (below(family == Family::list ? 4 : 5)) {
            case 0:
            case 1:
                decision.choice = below(trace.program_of(job).choices.size());
                break;
            case 2: {  // moves to just before or after a job that came at about the same time
                const std::size_t first = job - std::min<std::size_t>(job, 32);
                const std::size_t other = first + below(std::min(jobs, job + 33) - first);
                const double priority = schedule.decisions()[other].priority;
                decision.priority = std::nextafter(priority, unit() < 0.5 ? 0 : never);
                break;
            }
            case 3:
                decision.priority *= std::exp(4 * (unit() - 0.5));
                break;
            default:
                decision.grows = !decision.grows;
        }
        const double most = schedule.seconds() - temperature * std::log(unit());
        ++found.evaluations;
        if (!schedule.change(job, decision, most) || schedule.seconds() >= found.seconds) continue;
        found.seconds = schedule.seconds();
        best = schedule.decisions();
    }
    // Recompute the whole schedule at once: it must equal the sum of its parts.
    const double again = Schedule(trace, family, best).seconds();
    if (std::abs(again - found.seconds) > 1e-6 * again) throw std::logic_error("a schedule fell apart");
    found.seconds = again;
    return found;
}

/// Returns saturn/workload-1 for .../saturn/workload-1.csv.
std::string workload_name(std::string path) {
    path = path.substr(0, path.rfind(".csv"));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return path;
    const std::size_t before = path.rfind('/', slash - 1);
    return before == std::string::npos ? path : path.substr(before + 1);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 5) {
        std::cerr << "usage: " << argv[0] << " WORKLOAD.csv PROFILES-FOLDER LOAD SECONDS\n";
        return 2;
    }
    cli::ReplayCommand command;
    command.workload = argv[1];
    command.profiles = argv[2];
    command.load = std::stod(argv[3]);
    const double seconds = std::stod(argv[4]);
    if (!(command.load > 0 && seconds > 0)) throw std::invalid_argument("LOAD and SECONDS must be above 0");

    const Trace trace = trace_of(cli::make_scene(command));
    if (trace.jobs.empty()) throw std::runtime_error(command.workload + ": has no jobs");
    const Bound bound = bound_of(trace);
    const Found list = anneal(trace, Family::list, bound.prices, seconds / 2);
    const Found preemptive = anneal(trace, Family::preemptive, bound.prices, seconds / 2);
    const Found& best = list.seconds < preemptive.seconds ? list : preemptive;
    const double average = best.seconds / static_cast<double>(trace.jobs.size());
    if (average < bound.seconds * (1 - 1e-9)) throw std::logic_error("a schedule is better than the bound");
    std::printf(
        "{\"workload\": \"%s\", \"load\": %g, \"alone_h\": %.4f, \"bound_h\": %.4f, \"schedule_h\": %.4f, "
        "\"family\": \"%s\", \"evaluations\": %lld}\n",
        workload_name(command.workload).c_str(), command.load, bound.alone / 3600, bound.seconds / 3600,
        average / 3600, best.family == Family::list ? "list" : "preemptive",
        list.evaluations + preemptive.evaluations);
} catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return 1;
}
