#include "state.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "json/json_fields.hpp"
#include "json/names.hpp"
#include "json/text_parts.hpp"

namespace slurm {

namespace {

using cli::Field;
using Json = cli::Json;

/// Returns a text that may be missing or null; then it is empty.
std::string text(const Field& field) { return field.given() ? field.text() : std::string(); }

/// Returns a number that may be missing; then it is 0. Until Slurm 22.05 it is plain. Since then some are
/// objects: {"set": true, "infinite": false, "number": 7}.
double number(const Field& field) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (!field.given()) return 0;
    if (!field.is_object()) return field.is("Infinity") ? infinite : field.number();
    if (const Field unlimited = field["infinite"]; unlimited.given() && unlimited.boolean()) return infinite;
    return field["set"].boolean() ? field["number"].number() : 0;
}

/// Returns seconds since 1970; 0 if Slurm gives none.
double seconds(const Field& field) {
    const double value = number(field);
    return std::isfinite(value) ? value : 0;
}

int restarts_of(const Field& job) {
    return static_cast<int>(std::clamp(number(job["restart_cnt"]), 0.0, 1e9));
}

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> parts;
    while (!list.empty())
        if (const std::string_view part = cli::next_part(list, separator); !part.empty())
            parts.emplace_back(part);
    return parts;
}

struct Gpus {
    std::string type{};
    int count = 0;
};

constexpr int most_gpus = 1 << 20;  // the library's limit

/// "gpu:t4:4(S:0)", "gres:gpu:2", "gres/gpu:2" (since Slurm 23.11), "gpu:t4:2(IDX:0-1)"; nothing for other
/// resources than GPUs, or for a number of them that cannot be.
Gpus read_gpus(std::string_view gres) {
    // Slurm writes "gpu:t4(CNT:2)" instead of "gpu:t4:2(IDX:0-1)" for devices that it does not know yet.
    if (const std::size_t counted = gres.find("(CNT:"); counted != std::string_view::npos) {
        const std::string_view count = gres.substr(counted + 5, gres.find(')', counted) - (counted + 5));
        return read_gpus(std::string(gres.substr(0, counted)) + ":" + std::string(count));
    }
    gres = gres.substr(0, gres.find('('));
    if (gres.starts_with("gres:") || gres.starts_with("gres/")) gres.remove_prefix(5);
    std::string plain(gres);
    std::replace(plain.begin(), plain.end(), '=', ':');
    const std::vector<std::string> parts = split(plain, ':');
    if (parts.empty() || parts.front() != "gpu") return {};
    Gpus gpus{{}, 1};
    const std::optional<int> counted = cli::number_in<int>(parts.back());
    if (counted) gpus.count = *counted;
    if (gpus.count < 0 || gpus.count > most_gpus) return {};
    if (parts.size() == 3 || (parts.size() == 2 && !counted)) gpus.type = parts[1];
    return gpus;
}

/// Appends the names of "n[08-10,12]-ib". Numbers keep the width of the first. Returns false if it is not a
/// list, or has more nodes than can exist.
bool append_names(std::string_view list, std::vector<std::string>& names) {
    constexpr std::size_t most_nodes = 1 << 20;
    const std::size_t open = list.find('[');
    if (open == std::string_view::npos) {
        if (list.empty() || list.find(']') != std::string_view::npos) return false;
        names.emplace_back(list);
        return names.size() <= most_nodes;
    }
    const std::size_t close = list.find(']', open);
    if (close == std::string_view::npos) return false;
    for (const std::string& range : split(list.substr(open + 1, close - open - 1), ',')) {
        const std::string first = range.substr(0, range.find('-'));
        const std::string last = range.substr(std::min(first.size() + 1, range.size()));
        const auto from = cli::number_in<unsigned long>(first);
        const auto to = cli::number_in<unsigned long>(first.size() < range.size() ? last : first);
        if (!from || !to || *to < *from || *to - *from >= most_nodes) return false;
        for (unsigned long i = *from; i <= *to; ++i) {
            std::string name = std::to_string(i);
            name.insert(0, first.size() - std::min(first.size(), name.size()), '0');
            name.insert(0, list.substr(0, open)).append(list.substr(close + 1));
            if (!append_names(name, names)) return false;
        }
    }
    return true;
}

/// Returns the nodes of a list in Slurm's short form: "big0,small[0-3]".
std::vector<std::string> names_of(const Field& field) {
    std::vector<std::string> names;
    std::string list = text(field);
    for (bool inside = false; char& c : list) {  // commas between nodes, not within brackets
        inside = (inside || c == '[') && c != ']';
        if (c == ',' && !inside) c = '\n';
    }
    for (const std::string& each : split(list, '\n'))
        if (!append_names(each, names)) field.refuse("a list of nodes, as in big0,small[0-3]");
    return names;
}

/// Returns the words of a state in capitals. The state is a text ("idle", "MIXED+DRAIN") or, for nodes
/// since Slurm 23.02 and for jobs since 23.11, a list of texts.
std::vector<std::string> words_of(const Field& field) {
    std::vector<std::string> words;
    const auto append = [&](const Field& each) {
        std::string word = each.text();
        for (char& c : word)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        std::ranges::move(split(word, '+'), std::back_inserter(words));
    };
    if (field.is_array())
        field.for_each(append);
    else
        append(field);
    return words;
}

bool has(const std::vector<std::string>& words, std::initializer_list<std::string_view> any_of) {
    return std::find_first_of(words.begin(), words.end(), any_of.begin(), any_of.end()) != words.end();
}

std::vector<Node> read_nodes(const Field& document) {
    std::vector<Node> nodes;
    document["nodes"].for_each([&](const Field& each) {
        const std::string name = each["name"].text(), subject = document.subject() + ", node " + name;
        const Field about = each.about(subject);
        const Field state = about["state"];
        std::vector<std::string> words = words_of(state);
        const bool up = has(words, {"IDLE", "MIXED", "ALLOCATED"});
        if (!up && !has(words, {"DOWN", "ERROR", "FUTURE", "INVALID", "UNKNOWN"}))
            state.refuse(
                "IDLE, MIXED, ALLOCATED, DOWN, ERROR, FUTURE, INVALID or UNKNOWN, alone or in a list");
        if (const Field flags = about["state_flags"]; flags.given())
            std::ranges::move(words_of(flags), std::back_inserter(words));
        std::optional<Node> node = node_of(name, about["gres"].text(), has(words, {"DRAIN", "FAIL"}),
                                           !has(words, {"NOT_RESPONDING"}));
        if (node) node->ending = has(words, {"COMPLETING"});
        if (up && node) nodes.push_back(*std::move(node));
    });
    std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.name < b.name; });
    return nodes;
}

/// Returns PENDING or RUNNING; empty for every other state of Slurm.
std::string state_of(const Field& field) {
    const std::vector<std::string> words = words_of(field);
    for (const char* here : {"PENDING", "RUNNING"})
        if (has(words, {here})) return here;
    if (!has(words,
             {"SUSPENDED",     "COMPLETED", "CANCELLED", "FAILED",        "TIMEOUT",       "NODE_FAIL",
              "PREEMPTED",     "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY", "COMPLETING",    "CONFIGURING",
              "RESIZING",      "REQUEUED",  "REVOKED",   "REQUEUE_FED",   "REQUEUE_HOLD",  "SPECIAL_EXIT",
              "RESV_DEL_HOLD", "SIGNALING", "STOPPED",   "STAGE_OUT",     "LAUNCH_FAILED", "RECONFIG_FAIL",
              "POWER_UP_NODE", "UPDATE_DB"}))
        field.refuse("a state that Slurm has, such as PENDING or RUNNING, alone or in a list");
    return {};
}

/// Returns the nodes that a job has, in the order of `gres_detail`. Slurm lists them one by one, under
/// another name since Slurm 24.05, or in its short form.
std::vector<std::string> nodes_of(const Field& job) {
    const Field resources = job["job_resources"];
    if (resources.given()) {
        const Field listed = resources["nodes"], allocated = resources["allocated_nodes"];
        std::vector<std::string> names;
        if (listed.is_object())
            listed["allocation"].for_each([&](const Field& node) { names.push_back(node["name"].text()); });
        else if (allocated.is_array())
            allocated.for_each([&](const Field& node) { names.push_back(node["nodename"].text()); });
        else if (!allocated.given() || allocated.is_object())  // Slurm 21.08: by number
            names = names_of(listed);
        else
            allocated.refuse("an array or an object");
        if (!names.empty()) return names;
    }
    return names_of(job["nodes"]);
}

/// Sets what a running job holds, node by node, or JobWords::unclear if Slurm does not say so.
void read_held(const Field& job, JobWords& words) {
    const std::vector<std::string> nodes = nodes_of(job);
    std::vector<std::string> details;
    if (const Field detail = job["gres_detail"]; detail.given())
        detail.for_each([&](const Field& each) { details.push_back(text(each)); });
    if (details.size() != nodes.size())
        words.unclear = "gres_detail is of " + std::to_string(details.size()) + " nodes, but the job has " +
                        std::to_string(nodes.size());
    for (std::size_t i = 0; i < std::min(nodes.size(), details.size()); ++i)
        words.held.emplace_back(nodes[i], details[i]);
}

/// Returns nothing for a job that neither waits nor runs.
std::optional<JobWords> read_job(const Field& job, const std::map<std::string, std::string>& in_full) {
    JobWords words;
    const double id = number(job["job_id"]);
    if (!(id >= 1 && id < 0x1p53)) job["job_id"].refuse("a number of at least 1");
    words.id = static_cast<long long>(id);
    const std::string subject = job.subject() + ", job " + std::to_string(words.id);
    const Field about = job.about(subject);
    words.state = state_of(about["job_state"]);
    if (words.state.empty()) return std::nullopt;
    const Field priority = about["priority"];
    if (words.state == "PENDING" && priority.missing()) priority.refuse("a number");
    words.priority = number(priority);
    words.reason = text(about["state_reason"]);
    words.comment = text(about["comment"]);
    words.admin_comment = text(about["admin_comment"]);
    words.folder = text(about["current_working_directory"]);
    words.nodes = text(about["nodes"]);
    words.required_nodes = cli::joined(names_of(about["required_nodes"]), {}, ",");
    words.tres_per_node = text(about["tres_per_node"]);
    words.submitted_seconds = seconds(about["submit_time"]);
    words.started_seconds = seconds(about["start_time"]);
    words.deadline_seconds = seconds(about["deadline"]);
    words.restarts = restarts_of(about);
    if (words.state == "RUNNING") read_held(about, words);
    const auto full = in_full.find(std::to_string(words.id));
    if (full == in_full.end() || full->second != words.state) words.state.clear();  // on its way to another
    return words;
}

/// Returns "squeue of Slurm 22.05.8", as far as the document names its version.
std::string source_of(const char* program, const Json& document) {
    for (const char* slurm : {"/meta/Slurm/release", "/meta/slurm/release"}) {
        const Json::json_pointer release(slurm);
        if (document.contains(release) && document.at(release).is_string())
            return std::string(program) + " of Slurm " + document.at(release).get<std::string>();
    }
    return std::string(program) + " of a Slurm that names no version";
}

/// Whether sinfo's output lists nodes one by one, as it does until Slurm 22.05.
bool lists_nodes(std::string_view nodes) {
    const Json document = Json::parse(nodes);
    return !document.is_object() || document.contains("nodes") || !document.contains("sinfo");
}

}  // namespace

std::string names_of(const Share& share) { return cli::joined(share.nodes, {}, ","); }

std::string text_of(const Share& share) {
    if (share.empty()) return "nothing";
    return names_of(share) + ":" + std::to_string(share.gpus_per_node);
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
    job.deadline_seconds = words.deadline_seconds;
    job.restarts = words.restarts;
    // A change would lose any resource that the job requests in addition to GPUs.
    const bool alone = words.tres_per_node.find(',') == std::string::npos;
    const Gpus asked = alone ? read_gpus(words.tres_per_node) : Gpus{};
    job.asks_per_node = asked.count > 0;
    job.gres_word = words.tres_per_node.starts_with("gres/") ? "gres/" : "gres:";
    job.unclear = words.unclear;
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
    std::map<std::string, std::string> in_full;
    std::istringstream lines{std::string(states)};
    for (std::string id, word; lines >> id >> word;) in_full[id] = word;

    const Json node_document = Json::parse(nodes), job_document = Json::parse(queue);
    const std::string of_nodes = source_of("the list of nodes", node_document);
    const std::string of_jobs = source_of("squeue", job_document);
    cli::read_checked([&] {
        state.nodes = read_nodes(Field(node_document, of_nodes));
        Field(job_document, of_jobs)["jobs"].for_each([&](const Field& each) {
            if (const auto words = read_job(each, in_full)) state.jobs.push_back(job_of(*words));
        });
    });
    sort_jobs(state.jobs);
    return state;
}

State ask_slurm(double answer_seconds) {
    const auto said = [&](const std::vector<std::string>& command) {
        CommandResult result = run_command(command, answer_seconds);
        if (result.status != 0) throw std::runtime_error(command.front() + ": " + result.error);
        return std::move(result.output);
    };
    const std::string queue = said({"squeue", "-a", "--json"});
    const std::string states = said({"squeue", "-a", "-h", "-t", "all", "-o", "%A %T"});
    std::string nodes = said({"sinfo", "--json"});
    // Since Slurm 23.02 sinfo prints groups of nodes, and only scontrol prints the nodes themselves.
    if (!lists_nodes(nodes)) nodes = said({"scontrol", "-a", "--json", "show", "nodes"});
    return read_state(queue, nodes, states, seconds_since_1970());
}

}  // namespace slurm
