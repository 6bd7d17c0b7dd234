#include "plan/allot.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/allot/conflict.hpp"
#include "goodput/allot/explain.hpp"
#include "goodput/proving.hpp"
#include "plan/proof_files.hpp"
#include "plan/solver_options.hpp"
#include "plan/stopwatch.hpp"

namespace cli {

namespace {

const char* name_of(goodput::StopReason reason) {
    constexpr const char* names[] = {"proven", "deadline", "memory", "states"};
    return names[static_cast<int>(reason)];
}

constexpr const char* subject = "allotment problem";

/// Fills `problem`, which keeps its memory. Returns the options of the line.
goodput::AllotOptions read(const Field& line, goodput::AllotmentProblem& problem) {
    problem.clear();
    line.knows({"capacity", "jobs", "gap", "deadline_ms", "most_states", "memory_states"});
    problem.capacity.clear();
    line["capacity"].for_each(
        [&](const Field& capacity) { problem.capacity.push_back(capacity.number_at_least(0)); });
    std::vector<goodput::ResourceUse> uses;
    line["jobs"].for_each([&](const Field& job) {
        job.knows({"options", "must"});
        const Field must = job["must"];
        problem.add_job(must.given() && must.boolean());
        job["options"].for_each([&](const Field& option) {
            uses.clear();
            option.knows({"value", "use"});
            option["use"].for_each([&](const Field& use) {
                use.require_size(2, "a pair [resource, units]");
                const auto resource =
                    use[std::size_t{0}].integer(0, std::numeric_limits<std::uint32_t>::max());
                if (static_cast<std::size_t>(resource) >= problem.capacity.size())
                    use[std::size_t{0}].refuse("below the number of capacities, " +
                                               goodput::text_of(problem.capacity.size()));
                uses.push_back({static_cast<std::uint32_t>(resource), use[1].number_at_least(0)});
            });
            problem.add_option(option["value"].number(), uses);
        });
    });

    return read_solver_options(line);
}

/// The fields that whole and split allotments share, in the order of the format.
template <class Result>
Json answer(Json choice, const Result& result, double milliseconds, std::size_t nodes) {
    const bool infeasible = result.status == goodput::AllotStatus::infeasible;
    Json answer;
    answer["choice"] = std::move(choice);
    answer["objective"] = infeasible ? 0.0 : result.objective;
    answer["bound"] = infeasible ? 0.0 : result.bound;
    answer["status"] = name_of(result.status);
    answer["stopped"] = name_of(result.stopped);
    answer["prices"] = infeasible ? std::vector<double>(result.prices.size(), 0.0) : result.prices;
    answer["milliseconds"] = milliseconds;
    answer["nodes"] = nodes;
    return answer;
}

Json index_or_null(std::size_t index) {
    static_assert(goodput::no_option == goodput::no_resource);
    return index == goodput::no_option ? Json() : Json(index);
}

const char* name_of(goodput::JobReason reason) {
    constexpr const char* names[] = {"got_wanted", "priced_out", "no_room",
                                     "within_gap", "too_large",  "nothing_offered"};
    return names[static_cast<int>(reason)];
}

Json to_json(const goodput::Explanation& explanation) {
    Json jobs = Json::array(), resources = Json::array();
    for (const goodput::JobExplanation& why : explanation.jobs) {
        Json job;
        job["reason"] = name_of(why.reason);
        job["got"] = index_or_null(why.got);
        job["pays"] = why.pays;
        job["wanted"] = index_or_null(why.wanted);
        job["wanted_value"] = why.wanted_value;
        job["wanted_price"] = why.wanted_price;
        job["worth_needed"] = why.worth_needed;
        job["resource"] = index_or_null(why.resource);
        job["short_of"] = why.short_of;
        job["options_too_large"] = why.options_too_large;
        jobs.push_back(std::move(job));
    }
    for (const goodput::ResourceExplanation& worth : explanation.resources) {
        Json resource;
        resource["price"] = worth.price;
        resource["idle"] = worth.idle;
        resource["worth_of_more"] = worth.in_time ? Json(worth.worth_of_more) : Json();
        resource["loss_of_fewer"] = worth.in_time ? Json(worth.loss_of_fewer) : Json();
        resources.push_back(std::move(resource));
    }
    Json json;
    json["jobs"] = std::move(jobs);
    json["resources"] = std::move(resources);
    return json;
}

/// Names the jobs that do not fit together. After `milliseconds`, the search may use what is left of the
/// line's time.
Json conflict_in(const goodput::AllotmentProblem& problem, goodput::AllotOptions options,
                 double milliseconds) {
    if (options.deadline) {
        const auto spent = static_cast<std::int64_t>(milliseconds * 1e6);
        options.deadline =
            std::chrono::nanoseconds(std::max<std::int64_t>(options.deadline->count() - spent, 0));
    }
    goodput::Conflict conflict = goodput::conflict_of(problem, options);
    if (!conflict.proven) conflict = {};
    Json json;
    json["jobs"] = conflict.jobs;
    json["resources"] = conflict.resources;
    return json;
}

Json solve(goodput::ProvingAllotter& allotter, const goodput::AllotmentProblem& problem,
           const goodput::AllotOptions& options, bool explain, ProofFiles& proofs) {
    const Stopwatch stopwatch;
    const goodput::AllotResult& result = allotter(problem, options);
    const double milliseconds = stopwatch.milliseconds();
    Json choice = Json::array();
    for (const std::size_t option : result.choice)
        choice.push_back(option == goodput::no_option ? Json() : Json(option));
    Json json = answer(std::move(choice), result, milliseconds, result.nodes);
    if (result.status == goodput::AllotStatus::infeasible)
        json["conflict"] = conflict_in(problem, options, milliseconds);
    else if (explain && result.status != goodput::AllotStatus::unknown)
        json["explanations"] = to_json(goodput::explain(problem, result, options.deadline));
    if (proofs.wanted()) json["proof"] = proofs.write(problem, result, options.gap);
    return json;
}

Json relax(goodput::ProvingAllotter& allotter, const goodput::AllotmentProblem& problem,
           const goodput::AllotOptions& options) {
    const Stopwatch stopwatch;
    const goodput::RelaxedAllotment relaxed = allotter.relax(problem, options);
    const double milliseconds = stopwatch.milliseconds();
    Json choice = Json::array();
    for (const std::vector<goodput::OptionFraction>& parts : relaxed.choice) {
        Json split = Json::array();
        for (const goodput::OptionFraction& part : parts)
            split.push_back(Json::array({part.option, part.fraction}));
        choice.push_back(std::move(split));
    }
    Json json = answer(std::move(choice), relaxed, milliseconds, 0);
    if (relaxed.status == goodput::AllotStatus::infeasible)
        json["conflict"] = conflict_in(problem, options, milliseconds);
    return json;
}

}  // namespace

ServeDocument allot_server(const AllotCommand& command) {
    struct Memory {
        goodput::ProvingAllotter allotter{};
        goodput::AllotmentProblem problem{};
        ProofFiles proofs;
    };
    const auto memory = std::make_shared<Memory>(Memory{.proofs = ProofFiles(command.proof)});
    return [command, memory](const Json& document, Warnings& warnings) {
        memory->proofs.next_line();
        goodput::AllotOptions options = read(Field(document, subject, &warnings), memory->problem);
        options.warm_start = command.warm;
        return command.relax
                   ? relax(memory->allotter, memory->problem, options)
                   : solve(memory->allotter, memory->problem, options, command.explain, memory->proofs);
    };
}

}  // namespace cli
