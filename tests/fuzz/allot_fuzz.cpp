// Fuzzes allotment problems, several in a row for one solver that keeps its state. Every answer is an
// allotment worth what it states, lies under its bound, and is the best one if all can be tried. Its
// explanations fit it, and so does the conflict if jobs that must run do not fit together.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/conflict.hpp"
#include "goodput/allot/explain.hpp"
#include "goodput/hadar/posted_prices.hpp"
#include "goodput/proof.hpp"
#include "goodput/proving.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/certificate.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

constexpr std::size_t most_problems = 3, most_jobs = 48, most_options = 256;
constexpr double most_combinations = 1000;

/// A problem and the options to solve it with.
struct Question {
    AllotmentProblem problem;
    AllotOptions options;
};

/// Decodes records. The first describes the problems. Each further one adds a job, an option, or uses of
/// the last option, or begins the next problem.
class Decoder {
public:
    explicit Decoder(fuzz::Bytes bytes) : bytes_(bytes) {
        fuzz::Bytes head = bytes_.record();
        bytes_.let_in_hostile(head.integer(0, 3) == 3);
        whole_units_ = head.integer(0, 3) != 3;
        magnitude_ = std::pow(10, head.pick(std::array{0, 0, 0, 0, -2, 3, 9, -9, 18}));
        must_ = head.integer(0, 3);
    }

    bool next(Question& question) {
        if (bytes_.empty()) return false;
        read_options(question.options);
        AllotmentProblem& problem = question.problem;
        problem = {};
        for (double& units : capacity_) problem.capacity.push_back(units);
        bool more = true;
        while (more && !bytes_.empty() && problem.jobs() < most_jobs && problem.options() < most_options)
            more = add(bytes_.record(), problem);
        flush(problem);
        return true;
    }

private:
    void read_options(AllotOptions& options) {
        fuzz::Bytes record = bytes_.record();
        options.gap = record.pick(std::array{0.0, 1e-4, 0.0, 1e-2, 0.3});
        options.warm_start = !record.flag();
        options.most_states = record.pick(std::array<std::size_t, 4>{1 << 16, 1, 8, 64});
        options.memory_states = record.pick(std::array<std::size_t, 6>{4096, 1, 2, 3, 64, 1024});
        const std::size_t kind = record.index(32);
        const std::size_t resources = kind < 31 ? 1 + kind % 4 : 24;
        if (!record.flag()) capacity_.clear();  // else: as before, cut or padded to `resources`
        capacity_.resize(resources);
        const double most = record.pick(std::array{16.0, 64.0, 4.0, 1000.0, 1e-3});
        for (double& units : capacity_)
            if (units == 0) units = std::round(1024 * most * record.integer(1, 7) / 4) / 1024;
        if (record.flag()) capacity_[record.index(resources)] = record.number(0, most);
    }

    bool add(fuzz::Bytes record, AllotmentProblem& problem) {
        switch (record.index(16)) {
            case 0:
            case 1:
            case 2:
                flush(problem);
                problem.add_job(record.integer(0, 7) < must_);
                break;
            case 3: {  // repeats the last job a few times
                flush(problem);
                if (problem.jobs() == 0) break;
                const AllotmentProblem before = problem;
                const std::size_t job = problem.jobs() - 1, copies = 1 + record.index(6);
                for (std::size_t copy = 0; copy < copies; ++copy) support::add_copy(problem, before, job);
                break;
            }
            case 4:  // further uses of the last option
                for (int use = 0; use < 3; ++use) read_use(record);
                break;
            case 5:
                return record.integer(0, 3) != 3;
            default:
                flush(problem);
                if (problem.jobs() == 0) problem.add_job(record.integer(0, 7) < must_);
                pending_ = true;
                value_ = magnitude_ * record.number(-0.25, 4);
                if (record.flag()) value_ = std::round(value_ * 100) / 100;
                for (std::size_t use = 1 + record.index(4) / 3; use > 0; --use) read_use(record);
        }
        return true;
    }

    void read_use(fuzz::Bytes& record) {
        const bool unknown = record.left() == 0 && uses_.empty();
        const std::size_t resource = record.index(capacity_.size());
        const double most = 0.6 * std::max(1.0, capacity_[resource]);
        double units = record.number(0, std::isfinite(most) ? most : 10);
        if (whole_units_) units = std::ceil(units);
        if (!unknown) uses_.push_back({static_cast<std::uint32_t>(resource), units});
    }

    void flush(AllotmentProblem& problem) {
        if (pending_) problem.add_option(value_, uses_);
        pending_ = false;
        uses_.clear();
    }

    fuzz::Bytes bytes_;
    bool whole_units_ = true, pending_ = false;
    double magnitude_ = 1, value_ = 0;
    int must_ = 0;
    std::vector<double> capacity_;
    std::vector<ResourceUse> uses_;
};

/// By how much equal sums of values may differ through rounding; positive even for the smallest numbers.
double rounding(double scale) { return 1e-9 * scale + 1e-300; }

double combinations(const AllotmentProblem& problem) {
    double product = 1;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        product *= static_cast<double>(problem.options_of(job) + 1);
    return product;
}

/// Whether every option stays well away from the edge of every capacity, so that neither the solver's
/// tolerance nor rounding of sums decides what fits.
bool units_are_plain(const AllotmentProblem& problem) {
    const auto plain = [](double units) { return units == std::floor(units) && units < 1e6; };
    bool all = true;
    for (const double units : problem.capacity) all = all && plain(units * 1024);
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        for (const ResourceUse& use : problem.uses(job)) all = all && plain(use.units * 1024);
    return all;
}

/// Whether no units exceed other units by a factor of 1e9, and no values by 1e12. Beyond that, the
/// relaxation's mixture is only as exact as its sums. Its bound holds in any case.
bool amounts_are_alike(const AllotmentProblem& problem) {
    double least = 1e300, most = 0, least_value = 1e300, most_value = 0;
    const auto look = [](double amount, double& low, double& high) {
        if (amount != 0) low = std::min(low, std::abs(amount));
        high = std::max(high, std::abs(amount));
    };
    for (const double units : problem.capacity) look(units, least, most);
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        for (const ResourceUse& use : problem.uses(job)) look(use.units, least, most);
        for (const double value : problem.values(job)) look(value, least_value, most_value);
    }
    return most <= 1e9 * least && most_value <= 1e12 * least_value;
}

void check_prices(std::span<const double> prices, std::size_t resources) {
    check(prices.size() == resources, "a price for each resource");
    for (const double price : prices) check(std::isfinite(price) && price >= 0, "prices are numbers", price);
}

/// Checks that the certificate of an answer proves what it claims to prove.
void check_proof(const AllotmentProblem& problem, const AllotOptions& options, const AllotResult& result) {
    if (problem.options() > 64) return;
    const Proof proof = write_proof(
        problem, result, {.gap = options.gap, .most_states = options.most_states, .most_bytes = 1 << 16});
    if (proof.text.empty()) return check(!proof.closed, "what has no text proves nothing");
    const std::string complaint = support::Certificate::complaint(proof.text);
    if (!complaint.empty()) std::fprintf(stderr, "%s\n", complaint.c_str());
    check(complaint.empty(), "a certificate is a proof");
    if (found_allotment(result.status))
        check(proof.bound >= proof.objective, "a bound is one", proof.bound, proof.objective);
}

void check_report(const std::string& report) { check(!report.empty(), "a report says something"); }

void check_relaxation(const AllotmentProblem& problem, const RelaxedAllotment& relaxed, double tolerance) {
    check_prices(relaxed.prices, problem.capacity.size());
    check(relaxed.choice.size() == problem.jobs(), "a mixture for each job");
    check(relaxed.stopped != StopReason::deadline, "there was no deadline");
    check((relaxed.status == AllotStatus::feasible) <= (relaxed.stopped != StopReason::proven),
          "what is not cut off is solved");
    if (!found_allotment(relaxed.status)) return;
    std::vector<double> taken(problem.capacity.size());
    double value = 0;
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        double sum = 0;
        for (const OptionFraction& part : relaxed.choice[job]) {
            check(part.option < problem.options_of(job), "an option that the job has");
            check(part.fraction > 0 && part.fraction <= 1, "a share of a job", part.fraction);
            sum += part.fraction;
            value += part.fraction * problem.value(job, part.option);
            for (const ResourceUse& use : problem.uses(job, part.option))
                taken[use.resource] += part.fraction * use.units;
        }
        check(sum <= 1 + 1e-9, "shares of a job are one at most", sum);
        if (problem.must(job) && amounts_are_alike(problem))
            check(sum >= 1 - 1e-6, "who must run is served in full", sum);
    }
    const bool exact = amounts_are_alike(problem);
    for (std::size_t r = 0; exact && r < taken.size(); ++r)
        check(taken[r] <= 1e-9 + problem.capacity[r] * (1 + 1e-6), "the mixture fits", taken[r],
              problem.capacity[r]);
    check(std::abs(value - relaxed.objective) <= tolerance, "the mixture's worth", value, relaxed.objective);
    check(relaxed.bound >= relaxed.objective, "bound >= objective", relaxed.bound, relaxed.objective);
    if (exact && relaxed.status == AllotStatus::optimal)
        check(relaxed.bound - relaxed.objective <= tolerance, "the relaxation is solved", relaxed.bound,
              relaxed.objective);
}

void check_explanation(const AllotmentProblem& problem, const AllotResult& result, double tolerance) {
    // Each resource takes two solutions of the relaxation. With many resources, a deadline cuts the report
    // short.
    std::optional<std::chrono::nanoseconds> deadline;
    if (problem.capacity.size() > 4) deadline = std::chrono::milliseconds(20);
    const Explanation explanation = explain(problem, result, deadline);
    check(explanation.jobs.size() == problem.jobs(), "an explanation for each job");
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        const JobExplanation& why = explanation.jobs[job];
        check_report(why.report());
        check(why.job == job && why.got == result.choice[job], "it is about this job");
        check(why.wanted == no_option || why.wanted < problem.options_of(job), "an option that the job has");
        check(why.resource == no_resource || why.resource < problem.capacity.size(), "a resource");
        check(std::isfinite(why.pays) && why.pays >= 0, "a price that is paid", why.pays);
        const double got = why.got == no_option ? 0 : problem.value(job, why.got);
        if (why.reason == JobReason::got_wanted)
            check(got >= why.wanted_value, "it got what it wanted", got, why.wanted_value);
        if (why.reason == JobReason::within_gap)
            check(result.gap() >= why.wanted_value - got - tolerance, "what is within the gap", result.gap(),
                  why.wanted_value - got);
    }
    check(explanation.resources.size() == problem.capacity.size(), "an explanation for each resource");
    for (const ResourceExplanation& what : explanation.resources) {
        check_report(what.report());
        check(deadline || what.in_time, "there was no deadline");
        check(!std::isnan(what.worth_of_more) && !std::isnan(what.loss_of_fewer), "they are numbers");
        // If rounding stopped the search for prices, the two figures belong to prices close to these.
        const double near = 1e-6 * what.price + tolerance / std::min(std::max(what.capacity, 1e-300), 1.0);
        check(what.worth_of_more <= what.price + near && what.price <= what.loss_of_fewer + near,
              "a price between the two", what.worth_of_more, what.loss_of_fewer);
        check(what.worth_of_more >= 0 && what.loss_of_fewer >= 0, "units are worth something or nothing",
              what.worth_of_more, what.loss_of_fewer);
    }
}

/// Returns the jobs of a conflict alone, all of which must run, without the job `left_out`.
AllotmentProblem only(const AllotmentProblem& problem, const std::vector<std::size_t>& jobs,
                      std::size_t left_out) {
    AllotmentProblem part;
    part.capacity = problem.capacity;
    for (const std::size_t job : jobs)
        if (job != left_out) support::add_copy(part, problem, job);
    return part;
}

void check_conflict(const AllotmentProblem& problem, const AllotOptions& options, bool countable,
                    bool possible) {
    const Conflict conflict = conflict_of(problem, options);
    check_report(conflict.report());
    check(std::is_sorted(conflict.jobs.begin(), conflict.jobs.end()), "jobs ascend");
    for (const std::size_t job : conflict.jobs)
        check(job < problem.jobs() && problem.must(job), "a conflict is between jobs that must run");
    for (const std::size_t resource : conflict.resources)
        check(resource < problem.capacity.size(), "a conflict is about resources");
    if (!countable || !conflict.proven) return;
    check(conflict.jobs.empty() == possible, "a conflict is where jobs do not fit",
          static_cast<double>(conflict.jobs.size()), possible);
    if (conflict.jobs.empty()) return;
    support::BruteForce best_of;
    check(std::isinf(best_of(only(problem, conflict.jobs, no_option))), "the jobs do not fit together");
    if (!conflict.minimal) return;
    for (const std::size_t job : conflict.jobs)
        check(!std::isinf(best_of(only(problem, conflict.jobs, job))), "without one they fit",
              static_cast<double>(job));
}

/// Whether brute force can find the best allotment.
bool is_countable(const AllotmentProblem& problem) {
    return combinations(problem) <= most_combinations && units_are_plain(problem);
}

/// Checks what holds for every answer. Returns whether an allotment is possible, as far as is known.
bool check_certificate(const AllotmentProblem& problem, const AllotOptions& options,
                       const AllotResult& result) {
    const double scale = support::scale_of(problem), tolerance = rounding(scale);
    check_report(result.report());
    check_prices(result.prices, problem.capacity.size());
    check(result.choice.size() == problem.jobs(), "a choice for each job");
    check(result.stopped != StopReason::deadline, "there was no deadline");
    const bool feasible = found_allotment(result.status);
    if (feasible) {
        const double value = support::value_of(problem, result.choice);
        check(std::abs(value - result.objective) <= rounding(scale), "the choice is allowed and worth that",
              value, result.objective);
        check(result.bound >= result.objective, "bound >= objective", result.bound, result.objective);
        check(std::isfinite(result.bound), "the bound is a number", result.bound);
        if (result.status == AllotStatus::optimal)
            check(result.gap() <= options.gap * std::abs(result.bound) + tolerance,
                  "optimal is within the gap", result.gap(), options.gap);
    } else {
        for (const std::size_t choice : result.choice)
            check(choice == no_option, "no allotment: nobody has anything");
        check(result.objective == 0, "no allotment: worth nothing");
        check((result.status == AllotStatus::infeasible) == (result.stopped == StopReason::proven),
              "infeasible is proven, unknown is not");
    }
    const bool countable = is_countable(problem);
    bool possible = feasible;
    if (countable) {
        const double best = support::BruteForce{}(problem);
        possible = !std::isinf(best);
        if (possible && feasible) {
            check(result.bound >= best - tolerance, "nothing is above the bound", result.bound, best);
            check(result.objective <= best + tolerance, "nothing is better than the best", result.objective,
                  best);
        }
        if (!possible) check(!feasible, "what is impossible is infeasible");
        if (possible) {
            check(result.status != AllotStatus::infeasible, "what is possible is not infeasible");
            check(result.bound >= best - tolerance, "the bound holds though none was found", result.bound);
        }
    }
    return possible;
}

void check_answer(const AllotmentProblem& problem, const AllotOptions& options, const AllotResult& result) {
    const bool possible = check_certificate(problem, options, result);
    if (found_allotment(result.status))
        check_explanation(problem, result, rounding(support::scale_of(problem)));
    check_conflict(problem, options, is_countable(problem), possible);
}

bool same(const AllotResult& a, const AllotResult& b) {
    return a.choice == b.choice && a.status == b.status && a.objective == b.objective && a.bound == b.bound;
}

/// The allotment found at prices that rise with use lies under its bound, and so does the best allotment.
void check_posted(const AllotmentProblem& problem, const AllotOptions& options, const AllotResult& best) {
    const double tolerance = rounding(support::scale_of(problem));
    for (const PostedOrder order : {PostedOrder::as_listed, PostedOrder::densest_first}) {
        PostedPrices posted({.order = order, .fills_idle = options.warm_start});
        const AllotResult result = posted(problem, options);
        check_prices(result.prices, problem.capacity.size());
        check_report(posted.report());
        check(posted.published_ratio() >= 2 && posted.ratio() >= 2, "a ratio promises no more than all");
        check(result.choice.size() == problem.jobs(), "a choice for each job");
        check(result.status != AllotStatus::infeasible, "nothing is proven impossible");
        if (!found_allotment(result.status)) continue;
        const double value = support::value_of(problem, result.choice);
        check(std::abs(value - result.objective) <= tolerance, "the choice is allowed and worth that", value,
              result.objective);
        check(std::isfinite(result.bound) && result.bound >= result.objective, "bound >= objective",
              result.bound, result.objective);
        check(best.status != AllotStatus::infeasible, "what is possible is not infeasible");
        if (found_allotment(best.status))
            check(best.objective <= result.bound + tolerance, "nothing is above the bound", best.objective,
                  result.bound);
        check(result.objective <= best.bound + tolerance, "nor above the best bound", result.objective,
              best.bound);
    }
}

void ask(const Question& question, Allotter<>& kept) {
    const AllotmentProblem& problem = question.problem;
    AllotResult warm, cold;
    const bool good = fuzz::accepted([&] { warm = kept(problem, question.options); });
    check(good == fuzz::accepted([&] { problem.validate(); }), "what is refused is what validate() refuses");
    check(good == fuzz::accepted([&] { cold = allot(problem, question.options); }), "whatever came before");
    if (!good) return;
    check_answer(problem, question.options, warm);
    AllotOptions from_scratch = question.options;
    from_scratch.warm_start = false;
    check(same(cold, kept(problem, from_scratch)), "what came before does not matter without a warm start");
    const double tolerance = rounding(support::scale_of(problem));
    if (found_allotment(warm.status) && found_allotment(cold.status))
        check(warm.objective <= cold.bound + tolerance && cold.objective <= warm.bound + tolerance,
              "each bound holds for the other", warm.objective, cold.bound);

    // A longer search finds nothing above a bound.
    const AllotResult exact = allot(problem, {.gap = 0, .most_states = 1 << 14, .memory_states = 4096});
    if (found_allotment(warm.status) && found_allotment(exact.status)) {
        check(exact.objective <= warm.bound + tolerance, "nothing is above the bound", exact.objective,
              warm.bound);
        check(warm.objective <= exact.bound + tolerance, "nor above that one", warm.objective, exact.bound);
    }
    if (exact.stopped == StopReason::proven && warm.stopped == StopReason::proven)
        check((exact.status == AllotStatus::infeasible) == (warm.status == AllotStatus::infeasible),
              "what is proven impossible is so");

    // The allotter that proves more keeps the same promises.
    AllotOptions alike = question.options;
    alike.warm_start = false;
    const AllotResult other = ProvingAllotter()(problem, alike);
    check_certificate(problem, alike, other);
    if (found_allotment(other.status) && found_allotment(exact.status))
        check(exact.objective <= other.bound + tolerance && other.objective <= exact.bound + tolerance,
              "each bound holds for the other allotter", other.objective, exact.bound);
    if (exact.stopped == StopReason::proven && other.stopped == StopReason::proven)
        check((exact.status == AllotStatus::infeasible) == (other.status == AllotStatus::infeasible),
              "what one proves impossible the other does not find");

    check_proof(problem, question.options, other);
    check_posted(problem, question.options, exact);

    const RelaxedAllotment relaxed = kept.relax(problem, question.options);
    check_relaxation(problem, relaxed, tolerance);
    if (!found_allotment(cold.status)) return;
    if (relaxed.stopped == StopReason::proven && amounts_are_alike(problem))
        check(relaxed.status == AllotStatus::optimal, "what is possible in whole is possible in parts");
    check(relaxed.status != AllotStatus::infeasible, "what is possible in whole is not infeasible in parts");
    check(relaxed.bound >= cold.objective - tolerance, "the relaxation is no less", relaxed.bound,
          cold.objective);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Decoder decoder(fuzz::Bytes(data, size));
    Allotter<> kept;
    Question question;
    for (std::size_t n = 0; n < most_problems && decoder.next(question); ++n) ask(question, kept);
    return 0;
}
