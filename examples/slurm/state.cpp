#include "state.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "command.hpp"

namespace slurm {

namespace {

using Json = nlohmann::json;

std::string text(const Json& object, const char* field) {
    const auto found = object.find(field);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
double number(const Json& object, const char* field) {
    const auto found = object.find(field);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}
int restarts_of(const Json& job) {
    return static_cast<int>(std::clamp(number(job, "restart_cnt"), 0.0, 1e9));
}

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> parts;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(separator), list.size());
        if (end > 0) parts.emplace_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return parts;
}

struct Gpus {
    std::string type{};
    int count = 0;
};

constexpr int most_gpus = 1 << 20;  // as the library has it

/// "gpu:t4:4(S:0)", "gres:gpu:2", "gpu:t4:2(IDX:0-1)"; nothing for other resources than GPUs, or for a number
/// of them that cannot be.
Gpus read_gpus(std::string_view gres) {
    // "gpu:t4(CNT:2)" instead of "gpu:t4:2(IDX:0-1)": of devices that Slurm does not know yet.
    if (const std::size_t counted = gres.find("(CNT:"); counted != std::string_view::npos) {
        const std::string_view count = gres.substr(counted + 5, gres.find(')', counted) - (counted + 5));
        return read_gpus(std::string(gres.substr(0, counted)) + ":" + std::string(count));
    }
    gres = gres.substr(0, gres.find('('));
    if (gres.starts_with("gres:")) gres.remove_prefix(5);
    std::vector<std::string> parts = split(gres, ':');
    if (parts.empty() || parts.front() != "gpu") return {};
    Gpus gpus{{}, 1};
    const std::string& last = parts.back();
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), gpus.count);
    const bool counted = error == std::errc{} && end == last.data() + last.size();
    if (!counted) gpus.count = 1;
    if (gpus.count < 0 || gpus.count > most_gpus) return {};
    if (parts.size() == 3 || (parts.size() == 2 && !counted)) gpus.type = parts[1];
    return gpus;
}

bool has_flag(const Json& node, std::string_view flag) {
    const auto flags = node.find("state_flags");
    return flags != node.end() && std::any_of(flags->begin(), flags->end(),
                                              [&](const Json& each) { return each == std::string(flag); });
}

std::vector<Node> read_nodes(const Json& document) {
    std::vector<Node> nodes;
    for (const Json& each : document.at("nodes")) {
        const std::string state = text(each, "state");
        if (state != "idle" && state != "mixed" && state != "allocated") continue;
        std::optional<Node> node = node_of(text(each, "name"), text(each, "gres"), has_flag(each, "DRAIN"),
                                           !has_flag(each, "NOT_RESPONDING"));
        if (node) nodes.push_back(*std::move(node));
    }
    std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.name < b.name; });
    return nodes;
}

/// Nodes of a running job with their GPUs, which Slurm tells in the order of its nodes.
std::vector<std::pair<std::string, std::string>> held_of(const Json& each) {
    std::vector<std::pair<std::string, std::string>> held;
    const auto resources = each.find("job_resources");
    const auto details = each.find("gres_detail");
    if (resources == each.end() || !resources->is_object() || details == each.end()) return held;
    std::size_t index = 0;
    for (const Json& node : resources->at("allocated_nodes")) {
        held.emplace_back(text(node, "nodename"),
                          index < details->size() ? (*details)[index].get<std::string>() : std::string());
        ++index;
    }
    return held;
}

}  // namespace

std::string text_of(const Share& share) {
    if (share.empty()) return "nothing";
    std::string names;
    for (const std::string& node : share.nodes) names += (names.empty() ? "" : ",") + node;
    return names + ":" + std::to_string(share.gpus_per_node);
}

std::optional<Node> node_of(std::string name, std::string_view gres, bool drained, bool answers) {
    Node node{std::move(name), {}, 0, drained, answers};
    for (const std::string& each : split(gres, ',')) {
        const Gpus gpus = read_gpus(each);
        if (gpus.count == 0) continue;
        if (node.gpus > 0) return std::nullopt;
        node.gpu_type = gpus.type.empty() ? "gpu" : gpus.type;
        node.gpus = gpus.count;
    }
    return node.gpus > 0 ? std::optional(std::move(node)) : std::nullopt;
}

Job job_of(const JobWords& words) {
    Job job;
    job.id = std::to_string(words.id);
    job.state = JobState::ending;
    if (words.state == "PENDING") job.state = words.priority == 0 ? JobState::held : JobState::pending;
    if (words.state == "RUNNING") job.state = JobState::running;
    job.comment = words.comment;
    job.admin_comment = words.admin_comment;
    job.folder = words.folder;
    job.delayed = words.reason == "BeginTime";
    job.held_by_admin = words.reason == "JobHeldAdmin";
    const bool queued = job.state == JobState::held || job.state == JobState::pending;
    job.not_cleared = queued && !words.nodes.empty();
    job.submitted_seconds = words.submitted_seconds;
    job.started_seconds = words.started_seconds;
    job.restarts = words.restarts;
    const Gpus asked = read_gpus(words.tres_per_node);
    job.asks_per_node = asked.count > 0;
    job.gpu_type = asked.type;
    if (job.state == JobState::pending) {
        job.asks = {split(words.required_nodes, ','), asked.count};
        std::sort(job.asks.nodes.begin(), job.asks.nodes.end());
    }
    if (job.state != JobState::running) return job;
    std::vector<std::pair<std::string, int>> held;
    for (const auto& [node, gres] : words.held) {
        int count = 0;
        for (const std::string& each : split(gres, ','))
            count = std::min(count + read_gpus(each).count, most_gpus);
        if (count > 0) held.emplace_back(node, count);
    }
    std::sort(held.begin(), held.end());
    for (const auto& [name, count] : held) {
        job.holds.nodes.push_back(name);
        job.held_gpus.push_back(count);
    }
    if (!held.empty()) job.holds.gpus_per_node = job.held_gpus.front();
    return job;
}

void sort_jobs(std::vector<Job>& jobs) {
    std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
        return a.id.size() != b.id.size() ? a.id.size() < b.id.size() : a.id < b.id;
    });
}

State read_state(std::string_view queue, std::string_view nodes, std::string_view states,
                 double time_seconds) {
    State state;
    state.time_seconds = time_seconds;
    state.nodes = read_nodes(Json::parse(nodes));
    std::map<std::string, std::string> in_full;
    std::istringstream lines{std::string(states)};
    for (std::string id, word; lines >> id >> word;) in_full[id] = word;

    const Json document = Json::parse(queue);
    for (const Json& each : document.at("jobs")) {
        const double id = number(each, "job_id");
        if (!(id >= 1 && id < 0x1p53))
            throw std::runtime_error("a job of squeue has no job_id that is a number");
        JobWords words;
        words.id = static_cast<long long>(id);
        const std::string listed = text(each, "job_state"), &full = in_full[std::to_string(words.id)];
        if (listed != "PENDING" && listed != "RUNNING") continue;
        words.state = full == listed ? full : "";  // otherwise it is on its way to another
        words.priority = number(each, "priority");
        words.reason = text(each, "state_reason");
        words.comment = text(each, "comment");
        words.admin_comment = text(each, "admin_comment");
        words.folder = text(each, "current_working_directory");
        words.nodes = text(each, "nodes");
        words.required_nodes = text(each, "required_nodes");
        words.tres_per_node = text(each, "tres_per_node");
        words.submitted_seconds = number(each, "submit_time");
        words.started_seconds = number(each, "start_time");
        words.restarts = restarts_of(each);
        words.held = held_of(each);
        state.jobs.push_back(job_of(words));
    }
    sort_jobs(state.jobs);
    return state;
}

State ask_slurm() {
    const auto said = [](const std::vector<std::string>& command) {
        CommandResult result = run_command(command);
        if (result.status != 0) throw std::runtime_error(command.front() + ": " + result.error);
        return std::move(result.output);
    };
    const std::string queue = said({"squeue", "--json"});
    const std::string states = said({"squeue", "-h", "-t", "all", "-o", "%A %T"});
    const std::string nodes = said({"sinfo", "--json"});
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return read_state(queue, nodes, states, std::chrono::duration<double>(now).count());
}

}  // namespace slurm
