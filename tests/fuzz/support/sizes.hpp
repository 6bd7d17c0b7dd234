#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_SIZES_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_SIZES_HPP

// Jobs that come, report, end and are cancelled, record by record, and what JobSizes makes of them: the
// same in any order and however often it is asked, numbers that a scheduler accepts, and nothing learned
// from jobs that were cancelled.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "goodput/schedule/job_sizes.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"

namespace fuzz {

using namespace goodput;

class Sizes {
public:
    void change(Bytes record) {
        switch (record.index(12)) {
            case 0:
            case 1:
                add(record);
                break;
            case 2:
                leave(record);
                break;
            case 3:
            case 4:
            case 5:
                report(record);
                break;
            case 6:
            case 7:
                hold(record);
                break;
            case 8:
                for (Present& job : jobs_) job.job.done_examples.reset();
                [[fallthrough]];
            case 9:
                now_ = record.number(-1e6, 1e6);
                round(record);
                break;
            default:
                now_ = (std::isfinite(now_) ? now_ : 0) + record.number(0, 600);
                round(record);
        }
    }

    /// Takes a last look; if `crowded`, at many more kinds, of each of which one job has ended.
    void end(bool crowded) {
        if (!crowded) return;
        JobSizes sizes = sizes_;
        constexpr std::size_t most = JobSizes::most_kinds, many = most + 16;
        const auto look = [&](const char* prefix, std::optional<double> done) {
            Snapshot snapshot;
            for (std::size_t k = 0; k < many; ++k) {
                const std::string number = std::to_string(k);
                snapshot.jobs.push_back({.name = prefix + number, .kind = "crowd " + number});
                snapshot.jobs.back().done_examples = done;
            }
            sizes.expect(snapshot);
            return std::count_if(snapshot.jobs.begin(), snapshot.jobs.end(),
                                 [](const Job& job) { return job.expected_examples.has_value(); });
        };
        look("first ", 10);
        Snapshot nobody;
        sizes.expect(nobody);
        check(look("second ", 0) == most, "of the last kinds, so many are remembered");
    }

private:
    /// A doomed job will be cancelled, and is not shown to innocent_.
    struct Present {
        Job job{};
        bool doomed = false;
        Decision decision{};
    };
    struct Answer {
        std::optional<double> expected{};
        std::uint64_t done = 0;  ///< bits of the number, which may be a reported NaN
        std::optional<double> squared_norm{}, variance{};

        friend bool operator==(const Answer&, const Answer&) = default;
    };
    using Answers = std::map<std::string, Answer>;

    static bool is_amount(double number) { return std::isfinite(number) && number >= 0; }

    void add(Bytes& record) {
        // Beyond that, the order of jobs that ended together decides whose size is forgotten first.
        if (added_ == JobSizes::most_sizes) return;
        ++added_;
        Present fresh;
        fresh.doomed = record.integer(0, 3) == 3;
        fresh.job.name = record.name("job ", 10) + (fresh.doomed ? " doomed" : "");
        fresh.job.kind = record.name("kind ", 3);
        const bool known = std::any_of(jobs_.begin(), jobs_.end(),
                                       [&](const Present& one) { return one.job.name == fresh.job.name; });
        if (known && record.integer(0, 15) != 15) return;
        twins_ |= known;
        jobs_.push_back(fresh);
    }

    Present* any(Bytes& record) {
        return jobs_.empty() ? nullptr : &jobs_[jobs_.size() - 1 - record.index(jobs_.size())];
    }

    /// Completes or cancels a job. After a cancellation another one may take its name before the next round.
    void leave(Bytes& record) {
        Present* const job = any(record);
        if (!job) return;
        const std::string name = job->job.name;
        if (job->doomed || record.integer(0, 3) == 3)
            for (JobSizes* sizes : {&sizes_, &turned_, &innocent_}) sizes->end(name);
        std::erase_if(jobs_, [&](const Present& one) { return one.job.name == name; });
        last_done_.erase(name);
    }

    void report(Bytes& record) {
        Present* const job = any(record);
        if (!job) return;
        job->job.done_examples.reset();
        if (record.integer(0, 7) != 7) job->job.done_examples = record.scale(1, 1e9);
        job->job.restart_cost_seconds = record.number(0, 300);
        job->job.gradient.reset();
        if (record.flag()) job->job.gradient = GradientStatistics{record.number(0, 4), record.number(0, 100)};
    }

    void hold(Bytes& record) {
        Present* const job = any(record);
        if (!job) return;
        job->decision.placement.clear();
        if (!record.flag()) job->decision.placement = {{0, 1}};
        // A scheduler promises that the goodput of an option is a number.
        const double goodput = record.scale(0.01, 1e6);
        job->decision.option.goodput = is_amount(goodput) ? goodput : 0;
        job->decision.option.knowledge = record.integer(0, 7) == 7 ? Knowledge::unknown : Knowledge::measured;
        job->decision.starts = record.flag();
    }

    /// The jobs in some order, with or without the doomed ones.
    struct View {
        Snapshot snapshot;
        Plan plan;
    };
    View view(std::size_t turned, bool doomed) const {
        View result;
        result.snapshot.time_seconds = now_;
        std::vector<Present> jobs = jobs_;
        if (!jobs.empty())
            std::rotate(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(turned % jobs.size()),
                        jobs.end());
        if (turned % 2 == 1) std::reverse(jobs.begin(), jobs.end());
        for (const Present& job : jobs) {
            if (job.doomed && !doomed) continue;
            result.snapshot.jobs.push_back(job.job);
            result.plan.decisions.push_back(job.decision);
        }
        return result;
    }

    /// Returns what is expected of every job, what it has done, and which gradient is usual for it.
    static Answers looked_at(JobSizes& sizes, Snapshot& snapshot) {
        const std::vector<Job> told = snapshot.jobs;
        sizes.expect(snapshot);
        Answers answers;
        for (std::size_t j = 0; j < told.size(); ++j) {
            const Job& job = snapshot.jobs[j];
            const double done = job.done_examples.value();
            Answer& answer = answers[job.name] = {job.expected_examples, std::bit_cast<std::uint64_t>(done)};
            if (job.expected_examples)
                check(is_amount(*job.expected_examples), "an expectation is one", *job.expected_examples);
            if (told[j].done_examples)
                check(std::bit_cast<std::uint64_t>(*told[j].done_examples) == answer.done,
                      "what a job reports stays");
            else
                check(is_amount(done), "what is added up is a number", done);
            if (!job.usual_gradient) continue;
            check(accepted([&] { validate(*job.usual_gradient, job.name); }), "a usual gradient is one");
            answer.squared_norm = job.usual_gradient->squared_norm;
            answer.variance = job.usual_gradient->variance;
        }
        return answers;
    }

    void round(Bytes& record) {
        View one = view(0, true), other = view(record.count(31), true), without = view(0, false);
        Snapshot again = one.snapshot;
        const bool refused =
            twins_ || !std::isfinite(now_) || std::any_of(jobs_.begin(), jobs_.end(), [](const Present& job) {
                return !is_amount(job.job.restart_cost_seconds) ||
                       !is_amount(job.job.done_examples.value_or(0));
            });
        const JobSizes before = sizes_, turned_before = turned_, innocent_before = innocent_;
        const Answers answers = looked_at(sizes_, one.snapshot);
        check(looked_at(sizes_, again) == answers, "asked again it says the same");
        const Answers otherwise = looked_at(turned_, other.snapshot),
                      of_innocent = looked_at(innocent_, without.snapshot);
        // A list with two jobs of one name is invalid, so the result may be anything.
        if (!twins_) check(otherwise == answers, "the order of the jobs says nothing");
        for (std::size_t j = 0; j < jobs_.size() && !twins_; ++j) {
            const auto last = last_done_.find(jobs_[j].job.name);
            const double done = one.snapshot.jobs[j].done_examples.value();
            if (last != last_done_.end() && !jobs_[j].job.done_examples)
                check(done >= last->second, "without a report nothing is lost, whatever the clock says", done,
                      last->second);
            if (is_amount(done)) last_done_[jobs_[j].job.name] = done;
        }
        const bool some_doomed = of_innocent.size() < answers.size();
        // This compares only sizes: what a cancelled job measured of its gradient remains true.
        if (!twins_ && !some_doomed)
            check(std::equal(answers.begin(), answers.end(), of_innocent.begin(), of_innocent.end(),
                             [](const auto& a, const auto& b) {
                                 return a.first == b.first && a.second.expected == b.second.expected &&
                                        a.second.done == b.second.done;
                             }),
                  "a cancelled job teaches nothing");
        if (!refused) {
            sizes_.note(one.snapshot, one.plan);
            turned_.note(other.snapshot, other.plan);
            innocent_.note(without.snapshot, without.plan);
            for (Present& job : jobs_) job.decision.starts = false;
        } else if (record.flag()) {  // the round is undone, or counts all the same
            sizes_ = before;
            last_done_.clear();
            turned_ = turned_before;
            innocent_ = innocent_before;
        }
    }

    JobSizes sizes_, turned_, innocent_;
    std::vector<Present> jobs_;
    std::map<std::string, double> last_done_;  // only jobs with a known value
    double now_ = 0;
    std::size_t added_ = 0;
    bool twins_ = false;  ///< whether two jobs had the same name
};

}  // namespace fuzz

#endif
