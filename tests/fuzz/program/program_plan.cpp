// Fuzzes `goodput plan`: no job gets GPUs that do not exist, every job gets an answer, and a refused line
// leaves no trace. The first byte chooses policy, models, and --explain.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "claims.hpp"
#include "json_mutation.hpp"
#include "plan/peer_models.hpp"
#include "plan/plan.hpp"

namespace {

using fuzz::Exchange;
using fuzz::Json;

const fuzz::Format format{
    {"time_s",
     "nodes",
     "name",
     "gpu_type",
     "gpus",
     "drained",
     "rack",
     "zone",
     "jobs",
     "submitted_s",
     "restarts",
     "restart_cost_s",
     "restart_s",
     "checkpoint_gib",
     "attained_gpu_s",
     "gpus_per_replica",
     "adapt",
     "batch",
     "initial",
     "max",
     "target",
     "local",
     "rate",
     "gradient",
     "sqr",
     "var",
     "noise_scale",
     "remaining_examples",
     "samples",
     "local_batch",
     "accumulation",
     "step_s",
     "sync_s",
     "preemptible",
     "restarting",
     "placement",
     "shares_with",
     "with",
     "job",
     "part",
     "gpu_utilisation",
     "sharing",
     "T4",
     "A100"},
    {"batch", "gpus", "none", "T4", "A100", "small-0", "big-0", "r1", "z1", "mps", "a", "b", ""}};

struct Command {
    cli::PlanCommand plan{};
    std::string models{};
};

Command command_of(std::uint8_t byte) {
    static constexpr std::array policies{
        "goodput", "sia", "goodput-declared", "pollux", "optimus", "las", "tiresias", "fifo", "srtf"};
    static constexpr std::array models{"", "published", "refined"};
    const std::size_t number = byte;
    Command command;
    command.plan.policy = policies[number % 9];
    command.plan.explain = number / 27 % 2 == 1;
    command.models = models[number / 9 % 3];
    return command;
}

std::vector<Exchange> planned(const std::string& text, const Command& command) {
    return fuzz::exchanges(text, [&](std::istream& in, std::ostream& out) {
        return cli::serve_lines(in, out, false,
                                cli::plan_server(command.plan, cli::plan_models(command.models)));
    });
}

/// GPUs by node. A node listed twice gets the sum.
std::map<std::string, long long> shares_of(const Exchange& exchange, const Json& nodes) {
    std::map<std::string, long long> shares;
    for (const Json& share : nodes) {
        exchange.check(share.is_array() && share.size() == 2, "a share is a node and GPUs");
        shares[share[0].get<std::string>()] += share[1].get<long long>();
    }
    return shares;
}

bool given(const Json& object, const char* name) { return object.contains(name) && !object[name].is_null(); }

bool flag(const Json& object, const char* name, bool otherwise) {
    return given(object, name) ? object[name].get<bool>() : otherwise;
}

struct Node {
    std::string type{};
    long long gpus = 0, left = 0;
    bool drained = false;
};

void check_job(const Exchange& exchange, const Json& wish, const Json& got,
               std::map<std::string, Node>& nodes, bool counted) {
    exchange.check(got["name"] == wish["name"], "the plan is in the order of the jobs");
    std::map<std::string, long long> held;
    if (given(wish, "placement")) held = shares_of(exchange, wish["placement"]["nodes"]);
    const bool preemptible = flag(wish, "preemptible", true);
    const bool lost = std::any_of(held.begin(), held.end(),
                                  [&](const auto& share) { return !nodes.contains(share.first); });
    if (lost) held.clear();
    if (got["nodes"].empty()) {
        exchange.check(got["outcome"] == "waits" || got["outcome"] == "impossible",
                       "who gets nothing is told so");
        exchange.check(got["why"].is_string() && got["why"] != "", "who gets nothing is told why");
        exchange.check(preemptible || held.empty(), "who is not preemptible keeps what it holds");
        return;
    }
    const std::map<std::string, long long> shares = shares_of(exchange, got["nodes"]);
    exchange.check(shares.size() == got["nodes"].size(), "each node once");
    const bool stays = shares == held,
               keeps = !held.empty() && (!preemptible || flag(wish, "restarting", false));
    exchange.check(!keeps || stays, "who keeps what it holds stays");
    std::set<long long> sizes;
    long long gpus = 0;
    for (const auto& [name, share] : shares) {
        exchange.check(nodes.contains(name), "nodes of a plan exist");
        Node& node = nodes.at(name);
        exchange.check(share >= 1, "a share has GPUs");
        exchange.check(counted || (node.left -= share) >= 0, "no GPU is given twice");
        exchange.check(!node.drained || stays, "no new job comes to a drained node");
        exchange.check(keeps || node.type == got["gpu_type"], "GPUs of one type");
        sizes.insert(node.gpus);
        gpus += share;
    }
    exchange.check(got["goodput"].is_number() && got["local_batch"].is_number_integer() &&
                       got["accumulation"].is_number_integer(),
                   "numbers are numbers");
    exchange.check(got["goodput"].get<double>() >= 0, "goodput is not negative");
    exchange.check(
        got["knowledge"] == "measured" || got["knowledge"] == "projected" || got["knowledge"] == "unknown",
        "knowledge is one of three");
    if (keeps) return;
    exchange.check(sizes.size() == 1, "nodes of one size");
    const Json& range = wish["gpus"];
    exchange.check(gpus >= range[0].get<long long>() && gpus <= range[1].get<long long>(),
                   "as many GPUs as asked for");
    const std::string type = got["gpu_type"].get<std::string>();
    if (given(wish, "gpus_per_replica") && wish["gpus_per_replica"].contains(type))
        exchange.check(gpus % wish["gpus_per_replica"][type].get<long long>() == 0, "whole replicas");
    exchange.check(wish["batch"]["local"].contains(type), "a GPU type that the job can use");
    const Json& local = wish["batch"]["local"][type];
    const double batch = got["local_batch"].get<double>();
    exchange.check(batch >= local[0].get<double>() && batch <= local[1].get<double>(), "a batch that fits");
    exchange.check(got["accumulation"].get<double>() >= 0, "steps are counted from 0");
}

/// Whether a job has the GPUs of an earlier one as its partner: two jobs of a pair name each other and have
/// the same nodes.
bool is_second_of_pair(const Exchange& exchange, std::size_t j) {
    const Json& plan = exchange.answer["plan"];
    if (!plan[j].contains("with")) return false;
    const double part = plan[j]["part"].get<double>();
    exchange.check(part >= 0 && part <= 2, "a part of a speed is one");
    for (std::size_t k = 0; k < plan.size(); ++k) {
        if (plan[k]["name"] != plan[j]["with"]) continue;
        exchange.check(plan[k].value("with", "") == plan[j]["name"], "partners name each other");
        exchange.check(shares_of(exchange, plan[k]["nodes"]) == shares_of(exchange, plan[j]["nodes"]),
                       "partners have the same GPUs");
        return k < j;
    }
    exchange.check(false, "a partner is in the plan");
    return false;
}

/// Estimates for unmeasured pairs are fractions, and every offer has one.
void check_estimates(const Exchange& exchange) {
    for (const Json& pair : exchange.answer.value("pairs", Json::array())) {
        exchange.check(pair["jobs"].size() == 2 && pair["jobs"][0] != pair["jobs"][1], "a pair is two jobs");
        exchange.check(pair["why"] != "", "an estimate has a reason");
        for (const auto& [type, parts] : pair["part"].items())
            for (const Json& part : parts) exchange.check(part >= 0 && part <= 1, "an estimated part is one");
        for (const Json& type : pair["offered"])
            exchange.check(pair["part"].contains(type.get<std::string>()), "what is offered is estimated");
    }
}

void check_round(const Exchange& exchange, bool explain) {
    const Json &round = exchange.line, &answer = exchange.answer;
    check_no_null(exchange, answer, "", {});
    std::map<std::string, Node> nodes;
    std::set<std::string> types;
    for (const Json& node : round["nodes"]) {
        const auto gpus = node["gpus"].get<long long>();
        nodes[node["name"]] = {node["gpu_type"].get<std::string>(), gpus, gpus, flag(node, "drained", false)};
        types.insert(node["gpu_type"].get<std::string>());
    }
    exchange.check(answer["plan"].size() == round["jobs"].size(), "an entry a job");
    for (std::size_t j = 0; j < round["jobs"].size(); ++j) {
        check_job(exchange, round["jobs"][j], answer["plan"][j], nodes, is_second_of_pair(exchange, j));
        exchange.check(!explain || answer["plan"][j].value("why", "") != "", "--explain says why");
    }
    check_estimates(exchange);
    const double objective = answer["objective"].get<double>(), bound = answer["bound"].get<double>();
    exchange.check(objective <= bound + 1e-9 * std::max(1.0, std::abs(bound)), "objective <= bound");
    for (const auto& [type, price] : answer["prices"].items()) {
        exchange.check(types.contains(type), "prices are those of GPU types that there are");
        exchange.check(price.get<double>() >= 0, "prices are not negative");
    }
    exchange.check(
        answer["status"] == "optimal" || answer["status"] == "feasible" || answer["status"] == "infeasible",
        "status is one of three");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const Command command = command_of(data[0]);
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<Exchange> exchanges = planned(text, command);
    for (const Exchange& exchange : exchanges)
        if (!exchange.refused) check_round(exchange, command.plan.explain);

    // Run the same rounds without the refused lines.
    const std::vector<Exchange> again = planned(fuzz::answered(exchanges), command);
    std::size_t next = 0;
    for (const Exchange& exchange : exchanges) {
        if (exchange.refused) continue;
        exchange.check(fuzz::untimed(exchange.answer) == fuzz::untimed(again[next].answer),
                       "the same rounds get the same plans, and a refused line leaves no trace");
        ++next;
    }
    return fuzz::verdict(exchanges);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
    return fuzz::mutate_json_lines(data, size, most, seed, format);
}
