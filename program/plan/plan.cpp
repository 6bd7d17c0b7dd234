#include "plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/availability/renting.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "json/names.hpp"
#include "plan/line_planner.hpp"
#include "plan/policies.hpp"
#include "plan/proof_files.hpp"
#include "plan/round.hpp"
#include "plan/stopwatch.hpp"
#include "report/result_file.hpp"

namespace cli {

namespace {

struct Milliseconds {
    double read = 0, fit = 0, value = 0, allot = 0, place = 0, promise = 0;
};

const char* name_of(goodput::Knowledge knowledge) {
    constexpr const char* names[] = {"measured", "projected", "unknown"};
    return names[static_cast<int>(knowledge)];
}

/// Returns the word that answers use for an action.
const char* name_of(goodput::Action action) {
    constexpr const char* names[] = {"waits", "start", "stays", "move", "restart", "stops"};
    return names[static_cast<int>(action)];
}

/// Whether a decision costs the job its restart_cost_s: the job has run before, and starts again.
bool costs_restart(const goodput::Job& job, const goodput::Decision& decision) {
    return decision.starts && (!job.placement.empty() || job.restarts > 0 || job.attained_gpu_seconds > 0);
}

/// Adds the cores and memory of the job on each node, if they are counted: per GPU if the option says so,
/// otherwise the job's share of the node.
void add_host(Json& answer, const goodput::Decision& decision, const goodput::Cluster& cluster) {
    const goodput::HostShare share = decision.option.configuration.host();
    const auto add = [&](const char* name, double goodput::Node::*amount, double per_gpu) {
        Json list = Json::array();
        bool counted = false;
        for (const goodput::NodeShare& part : decision.placement) {
            const goodput::Node& node = cluster.nodes[part.node];
            const bool counts = node.*amount > 0;
            counted |= counts;
            list.push_back(!counts         ? 0
                           : share.empty() ? part.gpus * (node.*amount / node.gpus)
                                           : part.gpus * per_gpu);
        }
        if (counted) answer[name] = std::move(list);
    };
    add("cores", &goodput::Node::cores, share.cores_per_gpu);
    add("memory_gib", &goodput::Node::memory_gib, share.memory_gib_per_gpu);
}

Json answer_for(const goodput::Job& job, const goodput::Decision& decision, const goodput::Cluster& cluster) {
    Json answer;
    answer["name"] = job.name;
    answer["starts"] = name_of(decision.action);
    answer["costs_restart"] = costs_restart(job, decision);
    if (decision.placement.empty()) {
        answer["nodes"] = Json::array();
        answer["outcome"] = decision.verdict.outcome == goodput::Outcome::impossible ? "impossible" : "waits";
        answer["why"] = decision.verdict.reason;
        return answer;
    }
    answer["gpu_type"] = cluster.gpu_types[decision.option.configuration.first().gpu_type];
    Json nodes = Json::array();
    for (const goodput::NodeShare& share : decision.placement)
        nodes.push_back(Json::array({cluster.nodes[share.node].name, share.gpus}));
    answer["nodes"] = std::move(nodes);
    // The job is set aside: nothing else is known about it.
    if (!decision.verdict.reason.empty() && !(decision.shares_with && decision.option.goodput > 0)) {
        answer["why"] = decision.verdict.reason;
        return answer;
    }
    add_host(answer, decision, cluster);
    answer["local_batch"] = decision.option.plan.atomic_batch;
    answer["accumulation"] = decision.option.plan.accumulation_steps;
    answer["goodput"] = decision.option.goodput;
    answer["knowledge"] = name_of(decision.option.knowledge);
    if (const goodput::Checkpointing& with = decision.option.checkpointing; with.interval_seconds > 0) {
        answer["availability"] = with.availability;
        if (std::isfinite(with.interval_seconds)) answer["checkpoint_s"] = with.interval_seconds;
        answer["checkpoint"] = checkpoint_of(job, decision.option).name;
    }
    return answer;
}

Json answer_of(const goodput::Snapshot& snapshot, const goodput::Plan& plan,
               const Milliseconds& milliseconds) {
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
    if (!plan.limits.empty()) {
        Json& limits = answer["limits"] = Json::array();
        for (const goodput::LimitUse& limit : plan.limits)
            limits.push_back({{"name", limit.name},
                              {"capacity", limit.capacity},
                              {"used", limit.used},
                              {"price", limit.price},
                              {"unit", limit.unit}});
    }
    for (const goodput::LimitConflict& conflict : plan.conflicts) {
        Json names = Json::array();
        for (const std::size_t job : conflict.jobs) names.push_back(snapshot.jobs[job].name);
        const goodput::LimitUse& limit = plan.limits[conflict.limit];
        answer["conflicts"].push_back({{"limit", limit.name},
                                       {"jobs", std::move(names)},
                                       {"kept", conflict.kept},
                                       {"why", conflict.report(snapshot, plan)}});
    }
    if (!plan.faults.empty()) {
        Json& faults = answer["faults"] = Json::array();
        for (const goodput::PlanFault& fault : plan.faults) faults.push_back(fault.report(snapshot));
    }
    Json& times = answer["milliseconds"];
    times["read"] = milliseconds.read;
    times["fit"] = milliseconds.fit;
    times["value"] = milliseconds.value;
    times["allot"] = milliseconds.allot;
    times["place"] = milliseconds.place;
    return answer;
}

/// Adds to every entry of the plan why it was decided.
void add_explanations(std::span<const goodput::DecisionExplanation> explanations,
                      const goodput::Cluster& cluster, Json& jobs) {
    for (std::size_t j = 0; j < explanations.size(); ++j) jobs[j]["why"] = explanations[j].report(cluster);
}

/// Returns the contents of a file; empty if it does not exist.
std::string text_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the snapshot with the GPUs that two jobs share held by only one of them.
goodput::Snapshot held_once(const Round& round) {
    goodput::Snapshot once = round.snapshot;
    for (const RoundPair& pair : round.pairs)
        if (pair.together) once.jobs[pair.jobs[1]].placement.clear();
    return once;
}

/// Says which nodes are worth their price.
Json json_of(const goodput::RentAdvice& advice, std::span<const goodput::RentOffer> offers) {
    Json list = Json::array();
    for (std::size_t o = 0; o < offers.size(); ++o)
        list.push_back({{"name", offers[o].name},
                        {"nodes", advice.offers[o].nodes},
                        {"gpus_wanted", advice.offers[o].gpus_wanted},
                        {"gpu_worth_h", advice.offers[o].gpu_worth},
                        {"why", advice.offers[o].why}});
    return {{"offers", std::move(list)}, {"price_h", advice.dollars_per_hour}};
}

/// Plans rounds, and remembers what a round needs of earlier rounds.
class RoundServer {
public:
    /// Restores the memory from the file that the command names, if it exists.
    RoundServer(LinePlanner planner, goodput::KindHistories histories, const PlanCommand& command)
        : command_(command),
          planner_(std::move(planner)),
          memory_(std::move(histories)),
          memory_file_(command.memory),
          proofs_(command.proof) {
        planner_.keep_allotment(proofs_.wanted());
        const std::string saved = text_of_file(command.memory);
        if (saved.empty()) return;
        try {
            memory_.load(saved);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument(command.memory + ": " + error.what());
        }
    }

    /// Returns the answer to a line.
    Json operator()(const Json& document, Warnings& warnings) {
        proofs_.next_line();
        Stopwatch stopwatch;
        Round round = read_round(document, known_, warnings);
        round.snapshot.strict = command_.strict;
        if (!command_.advise && !round.offers.empty())
            warnings.say("offers", "round: offers are only looked at with --advise");
        Milliseconds milliseconds;
        milliseconds.read = stopwatch.lap();
        memory_.take_in(round.snapshot, round.news, round.cancelled);
        round.snapshot.warnings.insert(round.snapshot.warnings.begin(), round.warnings.begin(),
                                       round.warnings.end());
        milliseconds.fit = stopwatch.lap();
        const auto lap = [&](goodput::PlanStep step) {
            switch (step) {
                case goodput::PlanStep::value:
                    milliseconds.value += stopwatch.lap();
                    break;
                case goodput::PlanStep::allot:
                    milliseconds.allot += stopwatch.lap();
                    break;
                case goodput::PlanStep::place:
                    milliseconds.place += stopwatch.lap();
                    break;
            }
        };
        stopwatch.lap();
        const goodput::Plan& plan =
            planner_.plan(round, lap, [&] { milliseconds.promise += stopwatch.lap(); });
        Json answer = answer_of(round.snapshot, plan, milliseconds);
        for (std::size_t j = 0; j < plan.decisions.size(); ++j)
            if (const auto& with = plan.decisions[j].shares_with) {
                answer["plan"][j]["with"] = round.snapshot.jobs[*with].name;
                answer["plan"][j]["part"] = plan.decisions[j].part_of_speed;
            }
        planner_.add_pairs(round, answer);
        for (const std::string& warning : plan.warnings) warnings.mention(warning);
        for (const std::vector<std::string>* said : {&warnings.of_line(), &plan.warnings})
            for (const std::string& warning : *said) answer["warnings"].push_back(shortened(warning));
        stopwatch.lap();
        if (command_.advise) {
            answer["advice"] = json_of(Advisor(round.hour_worth, {}, {},
                                               goodput::Limits(goodput::TeamQuotas(std::move(round.teams))))
                                           .advise(held_once(round), round.offers),
                                       round.offers);
            answer["milliseconds"]["advise"] = stopwatch.lap();
        }
        if (command_.explain) {
            add_explanations(planner_.explain(round), round.snapshot.cluster, answer["plan"]);
            for (std::size_t l = 0; l < plan.limits.size(); ++l)
                answer["limits"][l]["why"] = plan.limits[l].report();
            answer["milliseconds"]["explain"] = stopwatch.lap();
        }
        if (planner_.has_promises()) {
            stopwatch.lap();
            planner_.add_promises(round, command_.explain, answer["plan"]);
            answer["milliseconds"]["promise"] = milliseconds.promise + stopwatch.lap();
        }
        if (const Allotment* allotment = planner_.kept_allotment())
            answer["proof"] = proofs_.write(allotment->problem, allotment->result, allotment->gap);
        memory_.keep(round.snapshot, plan);
        if (!command_.memory.empty())
            memory_file_.finish([&](std::ostream& file) { file << memory_.save(); });
        known_.gpu_types = round.snapshot.cluster.gpu_types;
        known_.nodes.clear();
        for (const goodput::Node& node : round.snapshot.cluster.nodes) known_.nodes.insert(node.name);
        return answer;
    }

private:
    using Advisor = goodput::RentAdvisor<goodput::GoodputPredictor, goodput::GoodputPolicy,
                                         goodput::Limits<goodput::TeamQuotas>>;

    PlanCommand command_;
    LinePlanner planner_;
    goodput::JobMemory memory_;
    ResultFile memory_file_;
    ProofFiles proofs_;
    KnownNames known_{};
};

}  // namespace

ServeDocument plan_server(const PlanCommand& command, const PlanModels& models) {
    return with_policy(command.policy, command.policy_options, [&](const auto& given) -> ServeDocument {
        const auto policy = std::make_shared<std::decay_t<decltype(given)>>(given);
        const auto server = std::make_shared<RoundServer>(LinePlanner(goodput::policy_joint(*policy), models),
                                                          models.histories(), command);
        return [policy, server](const Json& document, Warnings& warnings) {
            return (*server)(document, warnings);
        };
    });
}

}  // namespace cli
