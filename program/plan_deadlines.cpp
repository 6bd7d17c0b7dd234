#include "plan_deadlines.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/availability/lost_time.hpp"
#include "goodput/deadlines/promised_scheduler.hpp"
#include "goodput/hosts/with_hosts.hpp"
#include "goodput/place/topology_placer.hpp"
#include "plan_parts.hpp"

namespace cli {

struct PromisedLines::Inside {
    using Plain =
        goodput::Scheduler<AnyPolicy<false>, goodput::TopologyPlacer, goodput::Allotter<>, PlanPredictor,
                           PlanLimits, goodput::HostShares<>,
                           goodput::Factors<goodput::HostFactor, goodput::LostTime>, goodput::DividedHosts>;

    using Promised = goodput::PromisedScheduler<Plain, PlanPredictor>;

    Promised scheduler;
    std::set<std::string> refused{};  ///< in earlier lines
};

PromisedLines::PromisedLines(AnyPolicy<false> policy, PlanModels models)
    : inside_(std::make_shared<Inside>(Inside{
          Inside::Promised(Inside::Plain({.policy = std::move(policy), .predictor = PlanPredictor(models)}),
                           {}, PlanPredictor(models))})) {}

const goodput::Plan& PromisedLines::plan(const Round& round,
                                         const std::function<void(goodput::PlanStep)>& step,
                                         std::function<void()> after_promises) {
    auto& scheduler = inside_->scheduler;
    scheduler.after_promises(std::move(after_promises));
    set_up(scheduler.scheduler(), round);
    scheduler.set_round_seconds(round.interval_s);
    scheduler.set_node_times(round.node_times);
    for (const std::string& name : round.promised) scheduler.promises().give(name);
    return scheduler.plan(round.snapshot, round.deadlines, step);
}

bool PromisedLines::keep_only(const Round& round) {
    goodput::Promises& promises = inside_->scheduler.promises();
    if (promises.empty()) return false;
    std::set<std::string> names;
    for (const goodput::Job& job : round.snapshot.jobs) names.insert(job.name);
    promises.keep_only(names);
    return !promises.kept().empty();
}

void PromisedLines::add_promises(const Round& round, bool always, Json& jobs) {
    constexpr const char* names[] = {"kept", "refused", "broken", "at_risk"};
    constexpr int most_helped = 3;  // without --explain
    int helped = 0;
    std::set<std::string> refused;
    const std::vector<goodput::PromiseAnswer>& answers = inside_->scheduler.answers();
    for (std::size_t k = 0; k < answers.size(); ++k) {
        Json& job = jobs[round.deadlines[k].job];
        const goodput::PromiseAnswer& answer = answers[k];
        job["promise"] = names[static_cast<int>(answer.promise)];
        if (std::isfinite(answer.done_by_seconds)) job["done_by_s"] = answer.done_by_seconds;
        if (answer.promise == goodput::Promise::kept) continue;
        const std::string name = job["name"].get<std::string>();
        refused.insert(name);
        std::string why =
            (answer.promise == goodput::Promise::at_risk ? "promise at risk: " : "no promise: ") + answer.why;
        if ((always || (!inside_->refused.contains(name) && helped < most_helped)) && ++helped)
            if (const std::string help = inside_->scheduler.what_would_help(k); !help.empty())
                why += "; it could be promised with " + help;
        const std::string before = job.contains("why") ? job["why"].get<std::string>() + "; " : "";
        job["why"] = before + why;
    }
    inside_->refused = std::move(refused);
}

std::vector<goodput::DecisionExplanation> PromisedLines::explain() const {
    return inside_->scheduler.explain();
}

}  // namespace cli
