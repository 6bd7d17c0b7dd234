#include "allot.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/allot/allot.hpp"
#include "json_lines.hpp"
#include "status.hpp"
#include "stopwatch.hpp"

namespace cli {

namespace {

constexpr const char* subject = "allotment problem";

/// Fills `problem`, which keeps its memory, and returns the options of the line.
goodput::AllotOptions read(const Field& line, goodput::AllotmentProblem& problem) {
    problem.clear();
    problem.capacity.clear();
    line["capacity"].for_each(
        [&](const Field& capacity) { problem.capacity.push_back(capacity.number_at_least(0)); });
    std::vector<goodput::Use> uses;
    line["jobs"].for_each([&](const Field& job) {
        const Field must = job["must"];
        problem.add_job(must.given() && must.boolean());
        job["options"].for_each([&](const Field& option) {
            uses.clear();
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

    goodput::AllotOptions options;
    if (const Field gap = line["gap"]; gap.given()) options.gap = gap.number_at_least(0);
    if (const Field deadline = line["deadline_ms"]; deadline.given()) {
        constexpr double longest_ms = 1e12;  // thirty years, and far from overflowing nanoseconds
        const double milliseconds = std::min(deadline.number_at_least(0), longest_ms);
        options.deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6));
    }
    return options;
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
    answer["prices"] = infeasible ? std::vector<double>(result.prices.size(), 0.0) : result.prices;
    answer["milliseconds"] = milliseconds;
    answer["nodes"] = nodes;
    return answer;
}

Json solve(goodput::Allotter<>& allotter, const goodput::AllotmentProblem& problem,
           const goodput::AllotOptions& options) {
    const Stopwatch stopwatch;
    const goodput::AllotResult& result = allotter(problem, options);
    const double milliseconds = stopwatch.milliseconds();
    Json choice = Json::array();
    for (const std::size_t option : result.choice)
        choice.push_back(option == goodput::no_option ? Json() : Json(option));
    return answer(std::move(choice), result, milliseconds, result.nodes);
}

Json relax(goodput::Allotter<>& allotter, const goodput::AllotmentProblem& problem,
           const goodput::AllotOptions& options) {
    const Stopwatch stopwatch;
    goodput::RelaxedAllotment relaxed = allotter.relax(problem, options);
    const double milliseconds = stopwatch.milliseconds();
    if (relaxed.status == goodput::AllotStatus::optimal &&
        relaxed.bound - relaxed.objective > 1e-9 * std::max(1.0, std::abs(relaxed.bound)))
        relaxed.status = goodput::AllotStatus::feasible;  // cut off by the deadline
    Json choice = Json::array();
    for (const std::vector<goodput::Fraction>& parts : relaxed.choice) {
        Json split = Json::array();
        for (const goodput::Fraction& part : parts)
            split.push_back(Json::array({part.option, part.fraction}));
        choice.push_back(std::move(split));
    }
    return answer(std::move(choice), relaxed, milliseconds, 0);
}

}  // namespace

int run_allot(const AllotCommand& command) {
    goodput::Allotter<> allotter;
    goodput::AllotmentProblem problem;
    return serve_lines(std::cin, std::cout, [&](const Json& document) {
        goodput::AllotOptions options = read(Field(document, subject), problem);
        options.warm_start = !command.cold;
        return command.relax ? relax(allotter, problem, options) : solve(allotter, problem, options);
    });
}

}  // namespace cli
