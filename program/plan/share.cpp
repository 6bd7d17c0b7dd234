#include "plan/share.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "goodput/pairs/share_pairs.hpp"
#include "goodput/share/allox.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"
#include "json/json_lines.hpp"
#include "json/names.hpp"
#include "plan/stopwatch.hpp"

namespace cli {

namespace {

constexpr const char* subject = "share problem";

/// A line of input.
struct Question {
    goodput::PairedShareProblem paired{};
    goodput::ShareHierarchy hierarchy{};
    goodput::ShareOptions options{};
    std::vector<std::string> types{};
};

/// Shares by AlloX's order: the jobs that come first on their GPU get all of its time.
goodput::ShareResult share_by_allox(const goodput::ShareProblem& problem) {
    problem.validate();
    std::vector<goodput::AlloxJob> jobs;
    std::vector<std::size_t> index;  // indices of jobs that can run at all
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        if (!problem.can_run(j)) continue;
        const goodput::ShareJob& job = problem.jobs[j];
        index.push_back(j);
        jobs.push_back({.waited_seconds = job.age_seconds, .gpus = job.workers});
        for (std::size_t t = 0; t < problem.types(); ++t)
            jobs.back().seconds.push_back(
                goodput::allox_seconds(job.steps_left, problem.can_run(j, t) ? job.rates[t] : 0));
    }
    std::vector<std::size_t> machines;
    for (const double gpus : problem.gpus) machines.push_back(static_cast<std::size_t>(gpus));
    const goodput::AlloxOrder order = goodput::allox_order(jobs, machines);
    goodput::ShareResult result = no_shares(problem);
    std::vector<double> left = problem.gpus;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
        const goodput::AlloxPlace& place = order.places[k];
        const std::size_t j = index[k];
        if (!place.considered || place.before > 0 || !problem.can_run(j, place.type) ||
            left[place.type] < problem.jobs[j].workers)
            continue;
        left[place.type] -= problem.jobs[j].workers;
        result.shares[j * problem.types() + place.type] = 1;
        result.rates[j] = problem.jobs[j].rates[place.type];
    }
    result.objective = order.objective;
    result.bound = order.bound;
    return result;
}

/// Maximises the smallest share of time, and returns the resulting rates.
goodput::ShareResult share_blindly(const Question& q) {
    goodput::ShareResult result = share_time(blind(q.paired.alone), goodput::MaxMinTime(), q.options);
    for (std::size_t j = 0; j < q.paired.alone.jobs.size(); ++j)
        result.rates[j] = std::inner_product(q.paired.alone.jobs[j].rates.begin(),
                                             q.paired.alone.jobs[j].rates.end(), result.of(j).begin(), 0.0);
    return result;
}

/// Finds the best shares under an objective of the library, in pairs if there are any.
template <class O>
goodput::ShareResult best_shares(const Question& q) {
    if (q.paired.pairs.empty()) return share_time(q.paired.alone, O(), q.options);
    return share_time(q.paired, O(), q.options);
}

struct Objective {
    std::string_view name;
    goodput::ShareResult (*answer)(const Question&);
    bool looks_at_pairs = false;
    bool needs_work = false;  ///< whether jobs without `left` get no time
};
constexpr std::array<Objective, 12> objectives{{
    {"max_min", best_shares<goodput::MaxMin>, true},
    {"max_min_blind", share_blindly},
    {"water_filling",
     [](const Question& q) {
         return q.paired.pairs.empty() ? fill_water(q.paired.alone, q.hierarchy, q.options)
                                       : fill_water(q.paired, q.hierarchy, q.options);
     },
     true},
    {"finish_time_fairness", best_shares<goodput::FinishTimeFairness>, true, true},
    {"sum", best_shares<goodput::SumOfRates>, true},
    {"sum_per_dollar",
     [](const Question& q) {
         if (q.paired.alone.dollars_per_hour.empty())
             goodput::bad_input(subject, "price_h", "missing", "given for sum_per_dollar");
         return best_shares<goodput::SumPerDollar>(q);
     },
     true},
    {"makespan", best_shares<goodput::Makespan>, true, true},
    {"nash", best_shares<goodput::NashWelfare>, true},
    {"isolated", [](const Question& q) { return share_isolated(q.paired.alone); }},
    {"proportional", [](const Question& q) { return share_proportionally(q.paired.alone); }},
    {"fifo", [](const Question& q) { return share_in_order(q.paired.alone); }},
    {"allox", [](const Question& q) { return share_by_allox(q.paired.alone); }},
}};

/// Warns of GPU types that a field names but the cluster does not have.
void warn_of_unknown_types(const Field& by_type, const std::vector<std::string>& types) {
    for (const auto& [name, value] : by_type.fields())
        if (std::find(types.begin(), types.end(), name) == types.end())
            by_type.warn_of_type(name,
                                 "GPU type \"" + name + "\" is not among gpus" + did_you_mean(name, types));
}

goodput::ShareJob read_job(const Field& field, std::size_t index, const Question& question) {
    field.knows({"name", "gpus", "weight", "rate", "left", "age_s", "isolated_s", "deadline_s", "entity"});
    goodput::ShareJob job;
    const Field name = field["name"];
    job.name = name.given() ? name.text() : goodput::text_of(index);
    field["gpus"].into(job.workers, 1, 1 << 20);
    field["weight"].into(job.weight);
    const Field rate = field["rate"];
    warn_of_unknown_types(rate, question.types);
    for (const std::string& type : question.types) {
        const Field on_type = rate[type];
        job.rates.push_back(on_type.given() ? on_type.number_at_least(0) : 0);
    }
    for (auto [key, number] : {std::pair("left", &job.steps_left), std::pair("age_s", &job.age_seconds),
                               std::pair("isolated_s", &job.isolated_seconds)})
        field[key].into(*number, 0);
    field["deadline_s"].into(job.deadline_seconds);
    return job;
}

void read_entities(const Field& line, Question& question) {
    const Field entities = line["entities"];
    if (!entities.given()) return;
    std::vector<std::string> names;
    entities.for_each([&](const Field& field) {
        field.knows({"name", "weight", "inside"});
        goodput::ShareEntity entity{.name = field["name"].text()};
        field["weight"].into(entity.weight);
        if (const Field inside = field["inside"]; inside.given()) {
            if (!inside.is("fairness") && !inside.is("fifo")) inside.refuse("\"fairness\" or \"fifo\"");
            entity.in_order = inside.is("fifo");
        }
        if (std::find(names.begin(), names.end(), entity.name) != names.end())
            field["name"].refuse("a name of its own");
        names.push_back(entity.name);
        question.hierarchy.entities.push_back(std::move(entity));
    });
    if (names.empty()) return;
    line["jobs"].for_each([&](const Field& job) {
        const auto found = std::find(names.begin(), names.end(), job["entity"].text());
        if (found == names.end()) job["entity"].refuse("the name of an entity");
        question.hierarchy.entity_of.push_back(static_cast<std::size_t>(found - names.begin()));
    });
}

void read_pairs(const Field& line, Question& question) {
    const Field pairs = line["pairs"];
    if (!pairs.given()) return;
    const auto last = static_cast<long long>(question.paired.alone.jobs.size()) - 1;
    pairs.for_each([&](const Field& field) {
        field.knows({"jobs", "rate"});
        goodput::SharePair& pair = question.paired.pairs.emplace_back();
        field["jobs"].require_size(2, "the indices of two jobs");
        for (std::size_t i = 0; i < 2; ++i)
            pair.jobs[i] = static_cast<std::size_t>(field["jobs"][i].integer(0, last));
        const Field rate = field["rate"];
        warn_of_unknown_types(rate, question.types);
        for (const std::string& type : question.types) {
            std::array<double, 2>& rates = pair.rates.emplace_back();
            const Field on_type = rate[type];
            if (!on_type.given()) continue;
            on_type.require_size(2, "the rates of the two jobs");
            for (std::size_t i = 0; i < 2; ++i) rates[i] = on_type[i].number_at_least(0);
        }
    });
}

void read(const Field& line, Question& question) {
    for (const auto& [type, number] : line["gpus"].fields()) {
        if (std::find(question.types.begin(), question.types.end(), type) != question.types.end())
            number.refuse("given once for each type");
        question.types.push_back(type);
        question.paired.alone.gpus.push_back(number.number_at_least(0));
    }
    if (const Field prices = line["price_h"]; prices.given()) {
        warn_of_unknown_types(prices, question.types);
        for (const std::string& type : question.types)
            question.paired.alone.dollars_per_hour.push_back(prices[type].number());
    }
    line["gap"].into(question.options.gap);
    line["jobs"].for_each([&](const Field& job) {
        question.paired.alone.jobs.push_back(read_job(job, question.paired.alone.jobs.size(), question));
    });
    read_entities(line, question);
    read_pairs(line, question);
}

/// Lists the GPU types on which the job has a rate, with the number of their GPUs.
std::string types_of(const Question& question, std::size_t job) {
    std::string types;
    for (std::size_t t = 0; t < question.types.size(); ++t)
        if (question.paired.alone.jobs[job].rates[t] > 0)
            types += (types.empty() ? "" : ", ") + question.types[t] + " has " +
                     goodput::text_of(question.paired.alone.gpus[t]);
    return types;
}

/// Names the jobs that can never get anything.
void name_those_who_cannot_run(const Question& question, const goodput::ShareResult& result, Json& answer) {
    for (std::size_t j = 0; j < question.paired.alone.jobs.size(); ++j) {
        if (question.paired.alone.can_run(j) || result.rates[j] > 0) continue;  // alone, or with other jobs
        const goodput::ShareJob& job = question.paired.alone.jobs[j];
        const std::string types = types_of(question, j);
        const std::string gpus = goodput::text_of(job.workers) + (job.workers == 1 ? " GPU" : " GPUs");
        answer["cannot_run"].push_back(
            {{"job", job.name},
             {"why", types.empty() ? "it has a rate on no GPU type"
                                   : "it takes " + gpus + " at once, but " + types}});
    }
}

Json serve(const Field& line) {
    line.knows({"objective", "gpus", "price_h", "jobs", "entities", "pairs", "gap"});
    const Field name = line["objective"];
    const auto objective = std::find_if(objectives.begin(), objectives.end(),
                                        [&](const Objective& known) { return name.is(known.name); });
    if (!name.given() || objective == objectives.end()) name.refuse("one of " + share_objective_names());
    Question question;
    read(line, question);
    if (!question.paired.pairs.empty() && !objective->looks_at_pairs)
        line.warn("pairs", "objective \"" + std::string(objective->name) + "\" does not look at pairs");
    const std::vector<goodput::ShareJob>& jobs = question.paired.alone.jobs;
    if (objective->needs_work && !jobs.empty() &&
        std::all_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.steps_left <= 0; }))
        line.warn("left", "objective \"" + std::string(objective->name) +
                              "\" gives no time to jobs without left, and no job has it");
    const Stopwatch watch;
    const goodput::ShareResult result = objective->answer(question);
    const double milliseconds = watch.milliseconds();
    Json answer;
    const std::size_t types = question.types.size();
    const auto by_type = [&](std::size_t rows, const std::vector<double>& all) {
        Json list = Json::array();
        for (std::size_t row = 0; row < rows; ++row) {
            Json shares = Json::object();
            for (std::size_t t = 0; t < types; ++t)
                if (all[row * types + t] > 0) shares[question.types[t]] = all[row * types + t];
            list.push_back(std::move(shares));
        }
        return list;
    };
    answer["shares"] = by_type(question.paired.alone.jobs.size(), result.shares);
    if (!result.pair_shares.empty())
        answer["pair_shares"] = by_type(question.paired.pairs.size(), result.pair_shares);
    answer["rates"] = result.rates;
    answer["objective"] = result.objective;
    answer["bound"] = result.bound;
    answer["status"] = goodput::name_of(result.status);
    Json& prices = answer["prices"] = Json::object();
    for (std::size_t t = 0; t < question.types.size(); ++t) prices[question.types[t]] = result.prices[t];
    if (objective->name == "water_filling") answer["levels"] = result.levels;
    if (!result.deadlines_met) answer["deadlines_met"] = false;
    name_those_who_cannot_run(question, result, answer);
    answer["milliseconds"] = milliseconds;
    return answer;
}

}  // namespace

std::string share_objective_names() { return names_of(objectives); }

ServeDocument share_server() {
    return
        [](const Json& document, Warnings& warnings) { return serve(Field(document, subject, &warnings)); };
}

}  // namespace cli
