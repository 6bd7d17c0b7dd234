#include "plan.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "goodput/schedule/job_history.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "json_lines.hpp"
#include "policies.hpp"
#include "round.hpp"
#include "status.hpp"
#include "stopwatch.hpp"

namespace cli {

namespace {

/// What is remembered of the jobs from round to round. A round's measurements are taken in on trial: they are
/// forgotten again unless the round is kept.
class Memory {
public:
    explicit Memory(bool refined) {
        if (refined) histories_.emplace<goodput::RefinedJobHistories>();
    }

    const std::vector<std::string>& gpu_types() const { return gpu_types_; }

    /// Adds the round's measurements, refits the models that they change, and gives them to the snapshot.
    void take_in(Round& round) {
        before_.clear();
        for (std::size_t j = 0; j < round.samples.size(); ++j) {
            if (round.samples[j].empty()) continue;
            const std::string& name = round.snapshot.jobs[j].name;
            goodput::JobHistory& history = history_of(name);
            before_.emplace_back(name, history);
            for (const NewSample& sample : round.samples[j])
                history.add(sample.gpu_type, sample.sample, name);
        }
    }
    void refit(Round& round) {
        for (std::size_t j = 0; j < round.samples.size(); ++j)
            if (!round.samples[j].empty())
                std::visit([&](auto& histories) { histories.refit(round.snapshot.jobs[j].name); },
                           histories_);
    }
    void give_models(goodput::Snapshot& snapshot) {
        for (const goodput::Job& job : snapshot.jobs) snapshot.models.push_back(history_of(job.name).model());
    }

    /// The round counts: jobs that are no longer there are forgotten.
    void keep(const goodput::Snapshot& snapshot) {
        before_.clear();
        gpu_types_ = snapshot.cluster.gpu_types;
        names_.clear();
        for (const goodput::Job& job : snapshot.jobs) names_.push_back(job.name);
        std::sort(names_.begin(), names_.end());
        const auto still_there = [&](const std::string& name) {
            return std::binary_search(names_.begin(), names_.end(), name);
        };
        std::visit([&](auto& histories) { histories.forget_unless(still_there); }, histories_);
    }

    /// The round does not count: all histories are as before it.
    void undo() {
        for (auto& [name, history] : before_) history_of(name) = std::move(history);
        before_.clear();
    }

private:
    goodput::JobHistory& history_of(const std::string& name) {
        return std::visit([&](auto& histories) -> goodput::JobHistory& { return histories.of(name); },
                          histories_);
    }

    std::vector<std::string> gpu_types_;
    std::variant<goodput::JobHistories, goodput::RefinedJobHistories> histories_;
    std::vector<std::pair<std::string, goodput::JobHistory>> before_;
    std::vector<std::string> names_;
};

struct Milliseconds {
    double fit = 0, value = 0, allot = 0, place = 0;
};

const char* text_of_knowledge(goodput::Knowledge knowledge) {
    switch (knowledge) {
        case goodput::Knowledge::measured:
            return "measured";
        case goodput::Knowledge::projected:
            return "projected";
        case goodput::Knowledge::unknown:
            break;
    }
    return "unknown";
}

Json answer_for(const goodput::Job& job, const goodput::Decision& decision, const goodput::Cluster& cluster) {
    Json answer;
    answer["name"] = job.name;
    if (decision.placement.empty()) {
        answer["nodes"] = Json::array();
        answer["outcome"] = decision.verdict.outcome == goodput::Outcome::impossible ? "impossible" : "waits";
        answer["why"] = decision.verdict.reason;
        return answer;
    }
    answer["gpu_type"] = cluster.gpu_types[decision.option.allotment.gpu_type];
    Json nodes = Json::array();
    for (const goodput::NodeShare& share : decision.placement)
        nodes.push_back(Json::array({cluster.nodes[share.node].name, share.gpus}));
    answer["nodes"] = std::move(nodes);
    answer["local_batch"] = decision.option.plan.atomic_batch;
    answer["accumulation"] = decision.option.plan.accumulation_steps;
    answer["goodput"] = decision.option.goodput;
    answer["knowledge"] = text_of_knowledge(decision.option.knowledge);
    return answer;
}

Json answer(const goodput::Snapshot& snapshot, const goodput::Plan& plan, const Milliseconds& milliseconds) {
    Json jobs = Json::array();
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
        jobs.push_back(answer_for(snapshot.jobs[j], plan.decisions[j], snapshot.cluster));
    std::map<std::size_t, double> highest;
    for (const goodput::PoolPrice& pool : plan.prices) {
        double& price = highest[pool.gpu_type];
        price = std::max(price, pool.price);
    }
    Json prices = Json::object();
    for (const auto& [type, price] : highest) prices[snapshot.cluster.gpu_types[type]] = price;

    Json answer;
    answer["plan"] = std::move(jobs);
    answer["objective"] = plan.objective;
    answer["bound"] = plan.bound;
    answer["status"] = name_of(plan.status);
    answer["prices"] = std::move(prices);
    Json& times = answer["milliseconds"];
    times["fit"] = milliseconds.fit;
    times["value"] = milliseconds.value;
    times["allot"] = milliseconds.allot;
    times["place"] = milliseconds.place;
    return answer;
}

template <class P>
int serve_rounds(P policy, bool refined) {
    goodput::Scheduler<P> scheduler(std::move(policy));
    Memory memory(refined);
    return serve_lines(std::cin, std::cout, [&](const Json& document) {
        Round round = read_round(document, memory.gpu_types());
        try {
            memory.take_in(round);
            Milliseconds milliseconds;
            Stopwatch stopwatch;
            memory.refit(round);
            milliseconds.fit = stopwatch.lap();
            memory.give_models(round.snapshot);
            stopwatch.lap();
            const goodput::Plan& plan = scheduler.plan(round.snapshot, [&](goodput::Step step) {
                switch (step) {
                    case goodput::Step::value:
                        milliseconds.value = stopwatch.lap();
                        break;
                    case goodput::Step::allot:
                        milliseconds.allot = stopwatch.lap();
                        break;
                    case goodput::Step::place:
                        milliseconds.place = stopwatch.lap();
                        break;
                }
            });
            memory.keep(round.snapshot);
            return answer(round.snapshot, plan, milliseconds);
        } catch (...) {
            memory.undo();
            throw;
        }
    });
}

}  // namespace

int run_plan(const PlanCommand& command) {
    const bool refined = command.models == "refined";
    if (!refined && command.models != "published")
        goodput::bad_input("plan", "--models", command.models, "published or refined");
    return with_policy(command.policy, command.policy_options,
                       [&](auto policy) { return serve_rounds(std::move(policy), refined); });
}

}  // namespace cli
