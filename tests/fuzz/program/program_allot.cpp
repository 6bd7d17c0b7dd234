// Fuzzes `goodput allot`: choices are options of their jobs and fit the capacities, and the bound holds
// against the same problem solved cold, relaxed, or by trying everything. The first byte chooses --warm,
// --relax and --explain.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "claims.hpp"
#include "json_mutation.hpp"
#include "plan/allot.hpp"

namespace {

using fuzz::Exchange;
using fuzz::Json;

const fuzz::Format format{{"capacity", "jobs", "options", "value", "use", "must", "gap", "deadline_ms"}, {}};

std::vector<Exchange> allotted(const std::string& text, const cli::AllotCommand& command) {
    return fuzz::exchanges(text, [&](std::istream& in, std::ostream& out) {
        return cli::serve_lines(in, out, command.strict, cli::allot_server(command));
    });
}

double sum_of_sizes(const Json& line) {
    double sum = 1;
    for (const Json& job : line["jobs"]) {
        double largest = 0;
        for (const Json& option : job["options"])
            largest = std::max(largest, std::abs(option["value"].get<double>()));
        sum += largest;
    }
    return sum;
}

void add_use(const Json& option, double share, std::vector<double>& used) {
    for (const Json& use : option["use"]) used[use[0].get<std::size_t>()] += share * use[1].get<double>();
}

/// Fractions of options have an absolute error, so their use may be off by this share of all units.
double rounding_of_parts(const Json& line, std::size_t resource) {
    double units = 0;
    for (const Json& job : line["jobs"])
        for (const Json& option : job["options"])
            for (const Json& use : option["use"])
                if (use[0].get<std::size_t>() == resource) units += use[1].get<double>();
    return 1e-15 * units;
}

bool must_run(const Json& job) { return job.contains("must") && job["must"].is_boolean() && job["must"]; }

/// Finds the best allotment by trying all; nothing if none is possible.
class Everything {
public:
    Everything(const Json& line, const std::vector<double>& capacity)
        : jobs_(line["jobs"]), capacity_(capacity), used_(capacity.size(), 0.0) {
        double combinations = 1;
        for (const Json& job : jobs_) combinations *= static_cast<double>(job["options"].size() + 1);
        small_ = combinations <= 2000;
        if (small_) try_from(0, 0);
    }
    [[nodiscard]] bool small() const { return small_; }
    [[nodiscard]] const std::optional<double>& best() const { return best_; }

private:
    void try_from(std::size_t job, double value) {
        if (job == jobs_.size()) {
            if (!best_ || value > *best_) best_ = value;
            return;
        }
        if (!must_run(jobs_[job])) try_from(job + 1, value);
        for (const Json& option : jobs_[job]["options"]) {
            const std::vector<double> before = used_;
            add_use(option, 1, used_);
            bool room = true;  // no tolerance: what certainly fits
            for (std::size_t r = 0; r < used_.size(); ++r) room = room && used_[r] <= capacity_[r];
            if (room) try_from(job + 1, value + option["value"].get<double>());
            used_ = before;
        }
    }

    const Json& jobs_;
    const std::vector<double>& capacity_;
    std::vector<double> used_;
    bool small_ = false;
    std::optional<double> best_{};
};

/// Adds up the uses of a choice and returns its value.
double worth_of(const Exchange& exchange, bool relax, std::vector<double>& used) {
    const Json &jobs = exchange.line["jobs"], &choice = exchange.answer["choice"];
    exchange.check(choice.size() == jobs.size(), "a choice a job");
    double worth = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const Json& options = jobs[j]["options"];
        const bool must = must_run(jobs[j]);
        if (!relax) {
            exchange.check(!must || !choice[j].is_null(), "jobs that must run do");
            if (choice[j].is_null()) continue;
            const auto index = choice[j].get<std::size_t>();
            exchange.check(index < options.size(), "a choice is an option of its job");
            add_use(options[index], 1, used);
            worth += options[index]["value"].get<double>();
            continue;
        }
        double whole = 0;
        for (const Json& part : choice[j]) {
            const auto index = part[0].get<std::size_t>();
            const double share = part[1].get<double>();
            exchange.check(index < options.size(), "a part is an option of its job");
            exchange.check(share >= 0 && share <= 1 + 1e-9, "a part is a fraction");
            add_use(options[index], share, used);
            worth += share * options[index]["value"].get<double>();
            whole += share;
        }
        exchange.check(whole <= 1 + 1e-9 && (!must || whole >= 1 - 1e-9), "the parts of a job are one job");
    }
    return worth;
}

void check_allotment(const Exchange& exchange, const cli::AllotCommand& command) {
    const Json &line = exchange.line, &answer = exchange.answer;
    check_no_null(exchange, answer, "", {"choice", "got", "wanted", "resource", "most"});
    std::vector<double> capacity;
    for (const Json& each : line["capacity"]) capacity.push_back(each.get<double>());
    const Everything everything(line, capacity);
    exchange.check(answer["prices"].size() == capacity.size(), "a price a resource");
    for (const Json& price : answer["prices"])
        exchange.check(price.get<double>() >= 0, "prices are not negative");

    const std::string status = answer["status"].get<std::string>();
    if (status == "infeasible") {
        exchange.check(!everything.small() || !everything.best(), "what is called infeasible is");
        exchange.check(answer["objective"] == 0.0 && answer["bound"] == 0.0, "nothing is worth nothing");
        for (const Json& job : answer["conflict"]["jobs"])
            exchange.check(must_run(line["jobs"][job.get<std::size_t>()]), "those in conflict must run");
        for (const Json& resource : answer["conflict"]["resources"])
            exchange.check(resource.get<std::size_t>() < capacity.size(), "what they lack is a resource");
        return;
    }
    exchange.check(!answer.contains("conflict"), "a conflict only where infeasible");
    if (status == "unknown") {  // out of time or states before it found anything
        exchange.check(answer["stopped"] != "proven", "what is unknown was cut off");
        exchange.check(answer["objective"] == 0.0, "nothing is worth nothing");
        for (const Json& choice : answer["choice"])
            exchange.check(choice.is_null() || choice.empty(), "nobody gets anything");
        exchange.check(!everything.small() || !everything.best() ||
                           *everything.best() <= answer["bound"].get<double>() + 1e-9 * sum_of_sizes(line),
                       "no allotment is worth more than the bound");
        return;
    }
    exchange.check(status == "optimal" || status == "feasible", "status is one of four");
    std::vector<double> used(capacity.size(), 0.0);
    const double worth = worth_of(exchange, command.relax, used), size = sum_of_sizes(line);
    const double objective = answer["objective"].get<double>(), bound = answer["bound"].get<double>();
    for (std::size_t r = 0; r < capacity.size(); ++r)
        exchange.check(used[r] <= capacity[r] * (1 + 1e-9) + (command.relax ? rounding_of_parts(line, r) : 0),
                       "no capacity is exceeded");
    exchange.check(std::abs(objective - worth) <= 1e-9 * size, "the objective is what the choice is worth");
    exchange.check(objective <= bound + 1e-9 * size, "objective <= bound");
    if (everything.small() && everything.best())
        exchange.check(*everything.best() <= bound + 1e-9 * size,
                       "no allotment is worth more than the bound");
    const double gap = line.contains("gap") && line["gap"].is_number() ? line["gap"].get<double>() : 1e-4;
    if (status == "optimal")
        exchange.check(bound - objective <= (command.relax ? 1e-9 : gap) * std::abs(bound) + 1e-9 * size,
                       "optimal is proven to the gap");
    if (command.explain && !command.relax) {
        exchange.check(answer["explanations"]["jobs"].size() == line["jobs"].size(), "a reason a job");
        exchange.check(answer["explanations"]["resources"].size() == capacity.size(), "a range a resource");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const cli::AllotCommand command{
        .warm = (data[0] & 1) == 0, .relax = (data[0] & 6) == 2, .explain = (data[0] & 6) == 4};
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<Exchange> exchanges = allotted(text, command);
    for (const Exchange& exchange : exchanges)
        if (!exchange.refused) check_allotment(exchange, command);

    const cli::AllotCommand cold;
    const std::vector<Exchange> again = allotted(text, cold);
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
        const Exchange &warm = exchanges[i], &other = again[i];
        warm.check(warm.refused == other.refused, "the same lines are refused");
        if (warm.refused) continue;
        const bool infeasible = warm.answer["status"] == "infeasible",
                   other_infeasible = other.answer["status"] == "infeasible";
        if (warm.answer["status"] == "unknown" || other.answer["status"] == "unknown") {
            check_allotment(other, cold);
            continue;
        }
        // Fractions of options may fit if no whole options do.
        if (!warm.line.contains("deadline_ms"))
            warm.check(command.relax ? infeasible <= other_infeasible : infeasible == other_infeasible,
                       "the same lines are infeasible");
        if (infeasible || other_infeasible) continue;
        check_allotment(other, cold);
        const double slack = 1e-9 * sum_of_sizes(warm.line);
        warm.check(other.answer["objective"].get<double>() <= warm.answer["bound"].get<double>() + slack,
                   "no allotment of a cold start is worth more than the bound");
        if (!command.relax)
            warm.check(warm.answer["objective"].get<double>() <= other.answer["bound"].get<double>() + slack,
                       "no allotment is worth more than a cold start's bound");
    }
    return fuzz::verdict(exchanges);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
    return fuzz::mutate_json_lines(data, size, most, seed, format);
}
