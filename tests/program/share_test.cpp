// Tests `goodput share` through pipes. The data suite asks it for every recorded optimum.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/share/objectives.hpp"
#include "share/share_oracle.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace cli_share {

using Json = nlohmann::ordered_json;
using goodput::ShareProblem;
using support::Program;

Program share() { return Program({GOODPUT_PROGRAM, "share"}); }

Json ask(Program& program, const Json& question) { return Json::parse(program.ask(question.dump())); }

/// Returns the least (or most, if `worst` says so) of a number of each job.
template <class Number>
double extreme(const ShareProblem& problem, Number number, bool worst) {
    double result = worst ? 0 : support::infinite;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        result = worst ? std::max(result, number(j)) : std::min(result, number(j));
    return result;
}

double sum_of_rates(const ShareProblem&, const std::vector<double>&, const std::vector<double>& rates) {
    double sum = 0;
    for (const double rate : rates) sum += rate;
    return sum;
}

// The objectives as the paper defines them, from shares and rates.

double largest_minimum(const ShareProblem& problem, const std::vector<double>&,
                       const std::vector<double>& rates) {
    return extreme(
        problem,
        [&](std::size_t j) {
            const goodput::ShareJob& job = problem.jobs[j];
            double proportional = 0;
            for (std::size_t t = 0; t < problem.types(); ++t)
                proportional += job.rates[t] * problem.gpus[t] / problem.all_gpus();
            return rates[j] * job.workers / (job.weight * proportional);
        },
        false);
}

double largest_rho(const ShareProblem& problem, const std::vector<double>&,
                   const std::vector<double>& rates) {
    const auto jobs = static_cast<double>(problem.jobs.size());
    return extreme(
        problem,
        [&](std::size_t j) {
            const goodput::ShareJob& job = problem.jobs[j];
            double time = 0, alone = 0;
            for (std::size_t t = 0; t < problem.types(); ++t) {
                const double part = problem.gpus[t] / jobs / job.workers;
                time += part;
                alone += part * job.rates[t];
            }
            alone /= std::max(1.0, time);
            return (job.age_seconds + job.steps_left / rates[j]) /
                   (job.isolated_seconds + job.steps_left / alone);
        },
        true);
}

double total_time(const ShareProblem& problem, const std::vector<double>&, const std::vector<double>& rates) {
    return extreme(
        problem, [&](std::size_t j) { return problem.jobs[j].steps_left / rates[j]; }, true);
}

double per_dollar(const ShareProblem& problem, const std::vector<double>& shares,
                  const std::vector<double>&) {
    double sum = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        for (std::size_t t = 0; t < problem.types(); ++t)
            sum += shares[j * problem.types() + t] * problem.jobs[j].rates[t] / problem.dollars_per_hour[t];
    return sum;
}

/// A folder of recorded optima, all of one policy.
struct Policy {
    const char* folder;
    const char* objective;
    double (*recomputed)(const ShareProblem&, const std::vector<double>& shares,
                         const std::vector<double>& rates);      ///< null: the shares do not give it
    enum { allocation, formula, too_much } shares = allocation;  ///< formula: even if a job cannot run
};
constexpr Policy policies[] = {
    {"max_min_fairness_perf", "max_min", largest_minimum},
    {"max_min_fairness_water_filling_perf", "water_filling", largest_minimum},
    {"finish_time_fairness_perf", "finish_time_fairness", largest_rho},
    {"max_sum_throughput_perf", "sum", sum_of_rates},
    {"max_sum_throughput_SLO", "sum", sum_of_rates},
    {"max_sum_throughput_normalized_by_cost_perf", "sum_per_dollar", per_dollar},
    {"min_total_duration_perf", "makespan", total_time},
    {"isolated", "isolated", sum_of_rates, Policy::formula},
    {"proportional", "proportional", sum_of_rates, Policy::too_much},
    {"fifo_perf", "fifo", sum_of_rates},
    {"allox", "allox", nullptr},
};

Json read_json(const std::filesystem::path& path) {
    std::ifstream file(path);
    return Json::parse(file);
}

/// Returns a recorded instance as a question to the program.
Json question_of(const Json& instance, const Json& reference, const std::string& objective) {
    Json question{{"objective", objective}, {"gpus", Json::object()}, {"price_h", Json::object()}};
    const Json& types = instance["worker_types"];
    for (std::size_t t = 0; t < types.size(); ++t) {
        question["gpus"][types[t].get<std::string>()] = instance["num_workers"][t];
        question["price_h"][types[t].get<std::string>()] = instance["instance_cost_per_hour"][t];
    }
    question["jobs"] = Json::array();
    for (const Json& job : instance["jobs"]) {
        const std::string name = job["job_id"].dump();
        Json asked{{"name", name},
                   {"gpus", job["scale_factor"]},
                   {"weight", job["priority_weight"]},
                   {"left", job["num_steps_remaining"]},
                   {"age_s", job["time_since_start"]},
                   {"isolated_s", job["cumulative_isolated_time"]}};
        for (std::size_t t = 0; t < types.size(); ++t)
            asked["rate"][types[t].get<std::string>()] = job["throughputs"][t];
        if (reference.contains("slo_seconds") && reference["slo_seconds"].contains(name))
            asked["deadline_s"] = reference["slo_seconds"][name];
        question["jobs"].push_back(asked);
    }
    return question;
}

/// Returns the same question as a problem of the library.
ShareProblem problem_of(const Json& question) {
    ShareProblem problem;
    for (const auto& [type, gpus] : question["gpus"].items()) {
        problem.gpus.push_back(gpus.get<double>());
        if (question.contains("price_h"))
            problem.dollars_per_hour.push_back(question["price_h"][type].get<double>());
    }
    for (const Json& asked : question["jobs"]) {
        goodput::ShareJob job{.name = asked["name"].get<std::string>(),
                              .workers = asked.value("gpus", 1),
                              .weight = asked.value("weight", 1.0),
                              .steps_left = asked.value("left", 0.0),
                              .age_seconds = asked.value("age_s", 0.0),
                              .isolated_seconds = asked.value("isolated_s", 0.0)};
        for (const auto& [type, gpus] : question["gpus"].items())
            job.rates.push_back(asked["rate"].value(type, 0.0));
        if (asked.contains("deadline_s")) job.deadline_seconds = asked["deadline_s"].get<double>();
        problem.jobs.push_back(job);
    }
    return problem;
}

/// Returns shares by job and type.
std::vector<double> shares_of(const Json& question, const Json& answer) {
    std::vector<double> shares;
    for (const Json& of : answer["shares"])
        for (const auto& [type, gpus] : question["gpus"].items()) shares.push_back(of.value(type, 0.0));
    return shares;
}

const std::string small_line =
    R"({"objective":"max_min","gpus":{"a":1,"b":1},"jobs":[{"rate":{"a":4,"b":1}},{"rate":{"a":1,"b":4}}]})";

TEST_CASE("an answer has the fields of the format, in their order") {
    Program program = share();
    const Json answer = Json::parse(program.ask(small_line));
    std::vector<std::string> names;
    for (const auto& [name, value] : answer.items()) names.push_back(name);
    CHECK(names == std::vector<std::string>{"shares", "rates", "objective", "bound", "status", "prices",
                                            "milliseconds"});
    CHECK(answer["shares"].size() == 2);
    CHECK(answer["shares"][0]["a"].get<double>() == doctest::Approx(1));
    CHECK(answer["rates"][1].get<double>() == doctest::Approx(4));
    CHECK(answer["objective"].get<double>() == doctest::Approx(1.6));
    CHECK(answer["status"] == "optimal");
    CHECK(answer["prices"].size() == 2);
    CHECK(program.finish().status == 0);
}

TEST_CASE(
    "every objective answers, water filling with levels, and deadlines that cannot be met are reported") {
    Program program = share();
    Json question = Json::parse(
        R"({"gpus":{"k80":2,"v100":1},"price_h":{"k80":0.5,"v100":2.5},"jobs":[
            {"name":"a","rate":{"k80":1,"v100":4},"left":400,"age_s":10,"isolated_s":5,"entity":"x"},
            {"name":"b","gpus":2,"weight":2,"rate":{"k80":3},"left":90,"entity":"y"}],
            "entities":[{"name":"x"},{"name":"y","weight":2,"inside":"fifo"}]})");
    for (const Policy& policy : policies) {
        CAPTURE(policy.objective);
        question["objective"] = policy.objective;
        if (std::string(policy.objective) == "allox") question["jobs"][1]["gpus"] = 1;
        const Json answer = ask(program, question);
        REQUIRE(!answer.contains("error"));
        CHECK(answer.contains("levels") == (question["objective"] == "water_filling"));
        CHECK(!answer.contains("deadlines_met"));
        question["jobs"][1]["gpus"] = 2;
    }
    for (const char* objective : {"nash", "max_min_blind"}) {
        question["objective"] = objective;
        CHECK(ask(program, question)["status"] == "optimal");
    }
    question["objective"] = "sum";
    question["jobs"][0]["deadline_s"] = 1;
    CHECK(ask(program, question)["deadlines_met"] == false);
    CHECK(program.finish().status == 0);
}

TEST_CASE(
    "objectives blind to rates share time: the least is that of GPUs over weights, and rates are true") {
    Program program = share();
    support::Random random(11);
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        Json question{{"objective", "max_min_blind"}, {"gpus", {{"a", random.integer(1, 4)}, {"b", 3}}}};
        double weights = 0, most = support::infinite;
        bool everywhere = true;
        for (int j = random.integer(1, 9); j > 0; --j) {
            const bool only_b = random.chance(0.2);
            everywhere &= !only_b;
            const double weight = random.integer(1, 3);
            const int gpus = random.integer(1, 3);  // there are three GPUs per type
            question["jobs"].push_back({{"gpus", gpus},
                                        {"weight", weight},
                                        {"rate", {{"a", only_b ? 0 : random.between(1, 9)}, {"b", 2}}}});
            weights += weight;
            most = std::min(most, gpus / weight);
        }
        const Json answer = ask(program, question);
        const double gpus = question["gpus"]["a"].get<double>() + 3;
        const double published = std::min(most, gpus / weights);  // every job runs everywhere
        CHECK(answer["objective"].get<double>() <= published * (1 + 1e-6));
        if (everywhere) CHECK(answer["objective"].get<double>() == doctest::Approx(published).epsilon(1e-6));
        for (std::size_t j = 0; j < question["jobs"].size(); ++j) {
            const Json& rate = question["jobs"][j]["rate"];
            const Json& shares = answer["shares"][j];
            if (rate["a"] == 0) CHECK(!shares.contains("a"));
            CHECK(answer["rates"][j].get<double>() ==
                  doctest::Approx(rate["a"].get<double>() * shares.value("a", 0.0) +
                                  rate["b"].get<double>() * shares.value("b", 0.0)));
        }
    }
    CHECK(program.finish().status == 0);
}

TEST_CASE("two jobs that gain from it run together, under every objective that uses pairs") {
    Program program = share();
    Json question = Json::parse(
        R"({"gpus":{"k80":2,"v100":1},"price_h":{"k80":0.5,"v100":2.5},"jobs":[
            {"name":"a","rate":{"k80":1,"v100":4},"left":400,"age_s":10,"isolated_s":5},
            {"name":"b","rate":{"v100":3},"left":90},{"name":"c","rate":{"k80":2,"v100":2},"left":50}],
            "pairs":[{"jobs":[0,1],"rate":{"v100":[3.5,2.5]}},{"jobs":[1,2],"rate":{"v100":[0.5,0.5]}}]})");
    for (const char* objective :
         {"max_min", "water_filling", "finish_time_fairness", "sum", "sum_per_dollar", "makespan", "nash"}) {
        CAPTURE(objective);
        question["objective"] = objective;
        const Json answer = ask(program, question);
        REQUIRE(!answer.contains("error"));
        CHECK(answer["status"] == "optimal");
        REQUIRE(answer["pair_shares"].size() == 2);
        if (question["objective"] == "sum_per_dollar")  // the cheaper GPUs do for one of them
            CHECK(answer["pair_shares"][0].value("v100", 0.0) < 0.01);
        else
            CHECK(answer["pair_shares"][0]["v100"].get<double>() > 0.01);
        CHECK(answer["pair_shares"][1].empty());  // taking turns would give both as much
        // The rates in the answer follow from its shares.
        for (std::size_t j = 0; j < 3; ++j) {
            double rate = 0, time = 0;
            for (const auto& [type, share] : answer["shares"][j].items()) {
                rate += share.get<double>() * question["jobs"][j]["rate"][type].get<double>();
                time += share.get<double>();
            }
            const double together = answer["pair_shares"][0].value("v100", 0.0);
            if (j < 2) {
                rate += together * question["pairs"][0]["rate"]["v100"][j].get<double>();
                time += together;
            }
            CHECK(answer["rates"][j].get<double>() == doctest::Approx(rate));
            CHECK(time <= 1 + 1e-9);
        }
    }
    question["objective"] = "sum";
    CHECK(ask(program, question)["objective"].get<double>() == doctest::Approx(3.5 + 2.5 + 2));
    question["objective"] = "fifo";
    CHECK(!ask(program, question).contains("pair_shares"));
    CHECK(program.finish().status == 0);
}

TEST_CASE("pairs that make no sense are refused with their place") {
    Program program = share();
    const auto asked = [&](const char* pair) {
        Json question = Json::parse(small_line);
        question["pairs"] = Json::array({Json::parse(pair)});
        return ask(program, question)["error"].get<std::string>();
    };
    CHECK(asked(R"({"jobs":[0,2],"rate":{}})").find("pairs[0].jobs[1] is 2") != std::string::npos);
    CHECK(asked(R"({"jobs":[0],"rate":{}})").find("indices of two jobs") != std::string::npos);
    CHECK(asked(R"({"jobs":[0,0],"rate":{}})").find("two different jobs") != std::string::npos);
    CHECK(asked(R"({"jobs":[0,1],"rate":{"a":[1]}})").find("rates of the two jobs") != std::string::npos);
    CHECK(asked(R"({"jobs":[0,1],"rate":{"a":[1,-1]}})").find("-1") != std::string::npos);
    CHECK(program.finish().status == 1);
}

TEST_CASE("within an entity, water filling follows the entity's own rule") {
    Program program = share();
    Json question = Json::parse(
        R"({"objective":"water_filling","gpus":{"a":3},"jobs":[{"rate":{"a":1},"entity":"x"},
            {"rate":{"a":1},"entity":"x"},{"rate":{"a":1},"gpus":2,"entity":"y"}],
            "entities":[{"name":"x","inside":"fifo"},{"name":"y"}]})");
    Json levels = ask(program, question)["levels"];
    CHECK(levels[0].get<double>() == doctest::Approx(1));
    CHECK(levels[1].get<double>() == doctest::Approx(0.5));
    CHECK(levels[2].get<double>() == doctest::Approx(1.5));
    question["entities"][0]["inside"] = "fairness";
    levels = ask(program, question)["levels"];
    for (const std::size_t j : {0u, 1u}) CHECK(levels[j].get<double>() == doctest::Approx(0.75));
    CHECK(levels[2].get<double>() == doctest::Approx(1.5));
    CHECK(program.finish().status == 0);
}

TEST_CASE("a job that can never run is named with the reason, and if none can, no time is stated") {
    Program program = share();
    Json question = Json::parse(
        R"({"gpus":{"v":4,"k":4},"price_h":{"v":2,"k":1},"jobs":[
            {"name":"gang","gpus":16,"rate":{"v":10,"k":1},"left":10000},{"rate":{"v":3},"left":60},
            {"name":"none","rate":{},"left":5}]})");
    for (const char* objective : {"max_min", "max_min_blind", "water_filling", "finish_time_fairness", "sum",
                                  "sum_per_dollar", "makespan", "nash", "fifo", "allox", "isolated"}) {
        CAPTURE(objective);
        question["objective"] = objective;
        const Json answer = ask(program, question);
        CHECK(answer["status"] == "optimal");
        CHECK(answer["shares"][0].empty());
        CHECK(answer["shares"][1]["v"].get<double>() > 0);
        REQUIRE(answer["cannot_run"].size() == 2);
        CHECK(answer["cannot_run"][0]["job"] == "gang");
        CHECK(answer["cannot_run"][0]["why"] == "it takes 16 GPUs at once, but v has 4, k has 4");
        CHECK(answer["cannot_run"][1]["job"] == "none");
        CHECK(answer["cannot_run"][1]["why"] == "it has a rate on no GPU type");
    }
    question["objective"] = "makespan";
    CHECK(ask(program, question)["objective"].get<double>() == doctest::Approx(20));
    question["gpus"]["v"] = 0;
    question["jobs"][1]["gpus"] = 2;
    for (const char* objective : {"makespan", "finish_time_fairness"}) {
        question["objective"] = objective;
        const Json answer = ask(program, question);
        CHECK(answer["objective"].is_null());
        CHECK(answer["bound"].is_null());
        CHECK(answer["status"] == "infeasible");
        CHECK(answer["cannot_run"].size() == 3);
    }
    CHECK(program.finish().status == 0);
}

TEST_CASE("a gap may be asked for, and no jobs or types is no error") {
    Program program = share();
    Json question = Json::parse(small_line);
    question["gap"] = 0.01;
    const Json answer = ask(program, question);
    CHECK(answer["status"] == "optimal");
    CHECK(answer["bound"].get<double>() <= answer["objective"].get<double>() * 1.011);
    question["jobs"] = Json::array();
    CHECK(ask(program, question)["objective"] == 0);
    question["objective"] = "allox";
    question["jobs"] = {{{"rate", Json::object()}, {"left", 9}}};
    CHECK(ask(program, question)["shares"][0] == Json::object());  // the job can run nowhere
    question["gpus"] = Json::object();
    CHECK(ask(program, question)["prices"] == Json::object());
    CHECK(program.finish().status == 0);
}

TEST_CASE("objectives that give no time to jobs without work warn if no job has any") {
    for (const char* objective : {"makespan", "finish_time_fairness", "max_min"}) {
        CAPTURE(objective);
        Program program = share();
        Json question = Json::parse(R"({"gpus":{"v":4},"jobs":[{"rate":{"v":3}},{"rate":{"v":2}}]})");
        question["objective"] = objective;
        CHECK(ask(program, question)["status"] == "optimal");
        const Program::End end = program.finish();
        CHECK(end.status == 0);
        const bool warned = end.errors.find("no job has it") != std::string::npos;
        CHECK(warned == (question["objective"] != "max_min"));
    }
}

TEST_CASE("a line that cannot be used says why, and the next is served") {
    struct Case {
        std::string line;
        std::vector<std::string> says;
    };
    const auto with_job = [](const std::string& job, const std::string& more = "") {
        return R"({"objective":"max_min","gpus":{"a":4},"jobs":[)" + job + "]" + more + "}";
    };
    const std::vector<Case> cases{
        {"", {"empty"}},
        {"x", {"JSON"}},
        {"[]", {"object"}},
        {"{}", {"objective", "missing", "max_min"}},
        {R"({"objective":"best"})", {"objective", "best", "water_filling"}},
        {R"({"objective":7})", {"objective", "7"}},
        {R"({"objective":"sum"})", {"gpus", "missing"}},
        {R"({"objective":"sum","gpus":4,"jobs":[]})", {"gpus", "4"}},
        {R"({"objective":"sum","gpus":{"a":-1},"jobs":[]})", {"gpus.a", "-1"}},
        {R"({"objective":"sum","gpus":{"a":1e999},"jobs":[]})", {"gpus.a", "1e999"}},
        {R"({"objective":"sum","gpus":{"a":1}})", {"jobs", "missing"}},
        {R"({"objective":"sum_per_dollar","gpus":{"a":1},"jobs":[]})", {"price_h", "missing"}},
        {R"({"objective":"sum","gpus":{"a":1},"price_h":{},"jobs":[]})", {"price_h.a", "missing"}},
        {R"({"objective":"sum","gpus":{"a":1},"price_h":{"a":0},"jobs":[]})", {"price_h", "0"}},
        {R"({"objective":"sum","gpus":{"a":1},"jobs":[],"gap":0})", {"gap", "0"}},
        {with_job("7"), {"jobs[0]", "7"}},
        {with_job("{}"), {"jobs[0].rate", "missing"}},
        {with_job(R"({"rate":{"a":-1}})"), {"rate.a", "-1"}},
        {with_job(R"({"rate":{"a":"1"}})"), {"rate.a", "\"1\"", "number"}},
        {with_job(R"({"rate":{"a":NaN}})"), {"\"NaN\", but must be"}},
        {with_job(R"({"rate":{"a":1e300}})"), {"rate", "1e+300"}},
        {with_job(R"({"rate":{"a":1},"gpus":0})"), {"jobs[0].gpus", "0"}},
        {with_job(R"({"rate":{"a":1},"gpus":1.5})"), {"jobs[0].gpus", "1.5"}},
        {with_job(R"({"name":"bert","rate":{"a":1},"weight":0})"), {"bert", "weight", "0"}},
        {with_job(R"({"rate":{"a":1},"left":-1})"), {"left", "-1"}},
        {with_job(R"({"rate":{"a":1},"age_s":-1})"), {"age_s", "-1"}},
        {with_job(R"({"rate":{"a":1},"isolated_s":-1})"), {"isolated_s", "-1"}},
        {with_job(R"({"rate":{"a":1},"deadline_s":0})"), {"deadline_s", "0"}},
        {with_job(R"({"rate":{"a":1}})", R"(,"entities":[{"name":"x"}])"), {"entity", "missing"}},
        {with_job(R"({"rate":{"a":1},"entity":"z"})", R"(,"entities":[{"name":"x"}])"), {"entity", "z"}},
        {with_job(R"({"rate":{"a":1},"entity":"x"})", R"(,"entities":[{"name":"x"},{"name":"x"}])"),
         {"entities[1].name", "x"}},
        {with_job(R"({"rate":{"a":1},"entity":"x"})", R"(,"entities":[{"name":"x","inside":"luck"}])"),
         {"inside", "luck", "fifo"}},
        {R"({"objective":"water_filling","gpus":{"a":4},"jobs":[{"rate":{"a":1},"entity":"x"}],)"
         R"("entities":[{"name":"x","weight":-1}]})",
         {"x", "weight", "-1"}},
    };
    Program program = share();
    std::size_t line = 0;
    for (const Case& bad : cases) {
        CAPTURE(bad.line);
        const Json error = Json::parse(program.ask(bad.line));
        ++line;
        REQUIRE(error.contains("error"));
        CHECK(error["line"] == line);
        const auto text = error["error"].get<std::string>();
        for (const std::string& word : bad.says) {
            CAPTURE(word);
            CAPTURE(text);
            CHECK(text.find(word) != std::string::npos);
        }
        ++line;
        CHECK(Json::parse(program.ask(small_line))["status"] == "optimal");
    }
    CHECK(program.finish().status == 1);
}

TEST_SUITE("data") {
    TEST_CASE("recorded optima are reached, and the shares keep every constraint") {
        const std::filesystem::path folder = GOODPUT_DATA_DIR "/gavel";
        Program program = share();
        int asked = 0;
        for (const Policy& policy : policies) {
            std::vector<std::filesystem::path> files;
            for (const auto& file : std::filesystem::directory_iterator(folder / "reference" / policy.folder))
                files.push_back(file.path());
            std::sort(files.begin(), files.end());
            REQUIRE(!files.empty());
            for (const std::filesystem::path& file : files) {
                CAPTURE(file.string());
                const Json reference = read_json(file);
                const Json instance =
                    read_json(folder / "instances" / (reference["instance"].get<std::string>() + ".json"));
                const Json question = question_of(instance, reference, policy.objective);
                const Json answer = ask(program, question);
                REQUIRE(!answer.contains("error"));
                ++asked;
                const ShareProblem problem = problem_of(question);
                const std::vector<double> shares = shares_of(question, answer);
                if (policy.shares != Policy::too_much)
                    CHECK(support::share_violation(problem, shares, policy.shares == Policy::formula) <=
                          1e-9);
                CHECK(answer["status"] == "optimal");
                const double expected = reference["objective"].get<double>();
                CHECK(answer["objective"].get<double>() == doctest::Approx(expected).epsilon(1e-6));
                const std::vector<double> rates = support::share_rates(problem, shares);
                if (policy.recomputed)
                    CHECK(policy.recomputed(problem, shares, rates) ==
                          doctest::Approx(expected).epsilon(1e-6));
                for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
                    if (reference.contains("level_per_job"))
                        CHECK(answer["levels"][j].get<double>() ==
                              doctest::Approx(reference["level_per_job"][j].get<double>()).epsilon(1e-6));
                    if (problem.jobs[j].deadline_seconds && !answer.contains("deadlines_met"))
                        CHECK(rates[j] >=
                              problem.jobs[j].steps_left / *problem.jobs[j].deadline_seconds * (1 - 1e-6));
                }
                if (reference.contains("slo_feasible"))
                    CHECK(answer.value("deadlines_met", true) == reference["slo_feasible"].get<bool>());
            }
        }
        CHECK(asked >= 80);
        CHECK(program.finish().status == 0);
    }
}

}  // namespace cli_share
