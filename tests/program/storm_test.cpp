// Runs `goodput plan` for a cluster to which anything may happen between two lines: nodes go, return,
// shrink, change type or are drained; jobs go, return, are renamed or state what is no longer true; time
// stands still or runs backwards. Every line gets a valid plan and, if the line contradicts itself, a
// warning that names the subject and the problem. The next line is served, too.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/round_lines.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace cli_storm {

using support::Program;
using support::Random;
using namespace support::rounds;

const std::vector<std::string> gpu_types{"aws", "dgx", "rtx", "new-1", "new-2", "new-3"};

class Storm {
public:
    explicit Storm(std::uint64_t seed) : random_(seed) {
        for (int i = 0; i < 8; ++i) all_.push_back(fresh_node(i));
    }

    Json next_line() {
        strike_nodes();
        strike_jobs();
        time_ += random_.chance(0.1)    ? 0
                 : random_.chance(0.05) ? -5000 * random_.unit()
                 : random_.chance(0.01) ? (random_.chance(0.5) ? 1e9 : -1e9)
                                        : 60;
        Json nodes = Json::array();
        if (!random_.chance(0.03))
            for (const Json& node : all_)
                if (!random_.chance(0.06)) nodes.push_back(node);
        if (random_.chance(0.2)) std::reverse(nodes.begin(), nodes.end());
        if (random_.chance(0.01) && !nodes.empty()) nodes.push_back(nodes[0]);
        Json jobs = Json::array();
        for (Json& job : jobs_) {
            measure(job);
            jobs.push_back(job);
            for (const char* of_ours : {"type", "local"}) jobs.back().erase(of_ours);
            job["samples"] = Json::array();
        }
        if (random_.chance(0.01) && !jobs.empty()) jobs.push_back(jobs[0]);
        return round_of(time_, nodes, jobs);
    }

    /// Mostly all jobs follow the plan, but now and then one fails to.
    void carry_out(const Json& answer) {
        for (const Json& got : answer["plan"])
            for (Json& job : jobs_) {
                if (job["name"] != got["name"] || random_.chance(0.02)) continue;
                job["placement"] = got["nodes"].empty() ? Json() : Json{{"nodes", got["nodes"]}};
                if (got["nodes"].empty()) continue;
                job["type"] = got["gpu_type"];
                job["local"] = std::max(got["local_batch"].get<int>(), 1);
            }
    }

    /// After an error an operator corrects the state: no job runs.
    void clear() {
        for (Json& job : jobs_)
            if (random_.chance(0.5)) job["placement"] = nullptr;
    }

private:
    Json fresh_node(int index) {
        Json fresh = node(one_of(gpu_types), index, 1 << random_.integer(0, 3));
        fresh["name"] = "node-" + std::to_string(index);
        if (random_.chance(0.1)) fresh["gpus"] = 6;
        if (random_.chance(0.5)) fresh["rack"] = "rack-" + std::to_string(random_.integer(0, 2));
        if (random_.chance(0.5)) fresh["zone"] = "zone-" + std::to_string(random_.integer(0, 1));
        return fresh;
    }

    void strike_nodes() {
        for (Json& node : all_) {
            if (random_.chance(0.03)) node["drained"] = !node.value("drained", false);
            if (random_.chance(0.02)) node["gpus"] = random_.integer(1, 8);
            if (random_.chance(0.01)) node["gpu_type"] = one_of(gpu_types);
            if (random_.chance(0.02)) node["rack"] = random_.chance(0.5) ? Json() : Json("rack-9");
        }
        if (random_.chance(0.05)) all_.push_back(fresh_node(count_nodes_++));
        if (all_.size() > 3 && random_.chance(0.05))
            all_.erase(all_.begin() + random_.integer(0, static_cast<int>(all_.size()) - 1));
    }

    void strike_jobs() {
        std::erase_if(jobs_, [&](Json& job) {
            if (!random_.chance(0.04)) return false;
            if (random_.chance(0.5)) gone_.push_back(job);
            return true;
        });
        // A job returns with what it held when it left.
        if (!gone_.empty() && random_.chance(0.2)) {
            jobs_.push_back(gone_.back());
            gone_.pop_back();
        }
        if (jobs_.size() < 12 && random_.chance(0.4)) jobs_.push_back(newcomer());
        for (Json& job : jobs_) {
            if (random_.chance(0.01)) job["name"] = "renamed-" + std::to_string(count_++);
            if (random_.chance(0.01)) job["placement"] = nullptr;
            if (random_.chance(0.02)) job["preemptible"] = !job["preemptible"].get<bool>();
            if (random_.chance(0.02)) job["restarting"] = !job.value("restarting", false);
            if (random_.chance(0.01)) job["gpus"] = {random_.integer(1, 3), random_.integer(3, 20)};
        }
    }

    Json newcomer() {
        Json fresh = job("job-" + std::to_string(count_++), time_ + random_.between(-100, 100));
        fresh["kind"] = fresh["name"];  // no job learns from others
        Json& local = fresh["batch"]["local"];
        local = Json::object();
        for (const std::string& type : gpu_types)
            if (random_.chance(0.8)) local[type] = {16, 512};
        if (random_.chance(0.2)) fresh["gradient"] = nullptr;
        if (random_.chance(0.2)) fresh["remaining_examples"] = random_.between(0, 1e6);
        if (random_.chance(0.1)) fresh["gpus_per_replica"] = {{"aws", 2}, {"new-1", 4}};
        if (random_.chance(0.1)) fresh["preemptible"] = false;
        if (random_.chance(0.2)) {
            fresh["adapt"] = random_.chance(0.5) ? "gpus" : "none";
            fresh["gpus"] = {1, random_.integer(1, 9)};
            fresh["batch"]["target"] = 512;
        }
        return fresh;
    }

    void measure(Json& job) {
        if (job["placement"].is_null() || random_.chance(0.6)) return;
        // The measurement is from the GPU type held before, which may be gone by now.
        if (shape_of(job["placement"]).gpus % 4 != 0 && job.contains("gpus_per_replica")) return;
        job["samples"].push_back(sample(job["type"], shape_of(job["placement"]), job["local"].get<int>(),
                                        random_.between(0.9, 1.1)));
    }

    const std::string& one_of(const std::vector<std::string>& names) {
        return names[static_cast<std::size_t>(random_.integer(0, static_cast<int>(names.size()) - 1))];
    }

    Random random_;
    std::vector<Json> all_, jobs_, gone_;
    double time_ = 10000;
    int count_ = 0, count_nodes_ = 8;
};

/// Returns the subjects that warnings must name if the line contradicts itself, found independently.
std::set<std::string> contradictions(const Json& line) {
    std::set<std::string> whom;
    std::map<std::string, Json> nodes;
    std::map<std::string, int> held;
    std::set<std::string> names;
    for (const Json& node : line["nodes"])
        if (!nodes.emplace(node["name"], node).second)
            whom.insert("node '" + node["name"].get<std::string>() + "'");
    for (const Json& job : line["jobs"]) {
        const std::string subject = "job '" + job["name"].get<std::string>() + "'";
        if (!names.insert(job["name"]).second) whom.insert(subject);
        if (job["placement"].is_null()) continue;
        bool lost = false;
        std::set<std::string> kinds;
        for (const Json& share : job["placement"]["nodes"]) {
            const auto node = nodes.find(share[0]);
            lost |= node == nodes.end();
            if (node == nodes.end()) continue;
            kinds.insert(node->second["gpu_type"].get<std::string>() + " " + node->second["gpus"].dump());
            if (share[1] > node->second["gpus"]) whom.insert(subject);
        }
        const bool preemptible = job["preemptible"].get<bool>();
        if (lost && !preemptible) whom.insert(subject);
        if (lost) continue;
        for (const Json& share : job["placement"]["nodes"])
            if ((held[share[0]] += share[1].get<int>()) > nodes[share[0]]["gpus"].get<int>())
                whom.insert(subject);
    }
    return whom;
}

/// Jobs that are set aside stay on those of their nodes that exist. Other jobs get only what is free next
/// to them. Records in `measured` and `unsure` whose measurements were accepted, or may have been.
void check_set_aside(const Json& line, const Json& answer, std::set<std::string>& measured,
                     std::set<std::string>& unsure) {
    std::map<std::string, int> size, left;
    for (const Json& node : line["nodes"])
        if (size.emplace(node["name"], node["gpus"]).second) left[node["name"]] = node["gpus"];
    std::map<std::string, Json> jobs;
    for (const Json& job : line["jobs"]) jobs.emplace(job["name"], job);
    std::set<std::string> known, overfull;
    REQUIRE(answer["plan"].size() == jobs.size());
    const auto is_set_aside = [](const Json& got) {
        return got.value("why", "").find("set aside: ") != std::string::npos;
    };
    for (const Json& got : answer["plan"]) {
        const auto name = got["name"].get<std::string>();
        if (measured.contains(name) || (!is_set_aside(got) && !jobs[name]["samples"].empty()))
            known.insert(name);
        if (!is_set_aside(got)) continue;
        if (!jobs[name]["samples"].empty()) unsure.insert(name);
        Json expected = Json::array();
        if (!jobs[name]["placement"].is_null())
            for (const Json& share : jobs[name]["placement"]["nodes"])
                if (size.contains(share[0])) expected.push_back(share);
        CHECK(shares_of(got["nodes"]) == shares_of(expected));
        CHECK((got["starts"] == "stays" || got["starts"] == "waits"));
        for (const Json& share : got["nodes"])
            if ((left[share[0]] -= share[1].get<int>()) < 0) overfull.insert(share[0].get<std::string>());
    }
    for (const Json& got : answer["plan"])
        if (!is_set_aside(got))
            for (const Json& share : got["nodes"]) {
                const bool stays = got["starts"] == "stays";
                const auto node = share[0].get<std::string>();
                if (!stays) CHECK((left[node] -= share[1].get<int>()) >= 0);
                if (!stays) CHECK(!overfull.contains(node));
            }
    measured = std::move(known);
}

TEST_CASE("whatever happens to the cluster between two lines, the next one is served") {
    const std::vector<std::vector<std::string>> settings{
        {},
        {"--explain"},
        {"--policy", "pollux"},
        {"--policy", "fifo", "--explain"},
        {"--policy", "optimus"},
        {"--policy", "tiresias", "--policy-option", "thresholds=600,3600.5"},
        {"--policy", "las", "--policy-option", "lead=600"},
        {"--policy", "srtf"},
        {"--models", "separate", "--explain"}};
    std::uint64_t seed = 1;
    int served = 0, set_aside = 0, drained = 0;
    for (const std::vector<std::string>& options : settings) {
        Program program = plan(options);
        Storm storm(seed++);
        std::set<std::string> measured;  // jobs about which the program knows something
        std::set<std::string> unsure;    // jobs about which it may know something
        std::set<std::string> in_answers;
        for (int round = 0; round < 400; ++round) {
            CAPTURE(seed);
            CAPTURE(round);
            const Json line = storm.next_line();
            CAPTURE(line.dump());
            const Json answer = Json::parse(program.ask(line.dump()));
            const std::set<std::string> whom = contradictions(line);
            CAPTURE(answer.dump());
            REQUIRE(!answer.contains("error"));
            std::vector<std::string> refusals;  // refusals that are not only a probable slip
            for (const Json& warning : answer.value("warnings", Json::array()))
                if (const std::string& text = *in_answers.insert(warning.get<std::string>()).first;
                    text.find(", but must be ") != std::string::npos)
                    refusals.push_back(text);
            if (!refusals.empty()) {
                ++set_aside;
                for (const std::string& text : refusals) {
                    CHECK(std::any_of(whom.begin(), whom.end(),
                                      [&](const std::string& who) { return text.starts_with(who + ": "); }));
                }
                check_set_aside(line, answer, measured, unsure);
                storm.clear();
                continue;
            }
            ++served;
            CHECK(whom.empty());
            check_plan(line, answer);
            // Measurements are remembered by name as long as the job is there. Refined models remember them
            // by kind, for longer.
            const bool by_kind = options.size() < 2 || options[1] != "separate";
            std::set<std::string> known;
            for (std::size_t j = 0; j < line["jobs"].size(); ++j) {
                const Json& job = line["jobs"][j];
                const auto name = job["name"].get<std::string>();
                if (measured.contains(name) || !job["samples"].empty()) known.insert(name);
                const Json& got = answer["plan"][j];
                if (!got["nodes"].empty() && (!by_kind || known.contains(name)) && !unsure.contains(name))
                    CHECK((got["knowledge"] != "unknown") == known.contains(name));
                for (const Json& share : got["nodes"])
                    for (const Json& node : line["nodes"])
                        if (node["name"] == share[0] && node.value("drained", false)) ++drained;
            }
            measured = std::move(known);
            storm.carry_out(answer);
        }
        const Program::End end = program.finish();
        // Each warning on standard error is in an answer, too.
        for (std::size_t at = 0; at < end.errors.size(); at = end.errors.find('\n', at) + 1) {
            const std::string said = end.errors.substr(at, end.errors.find('\n', at) - at);
            const std::size_t sentence = said.find(": ", said.find(": ") + 2) + 2;  // goodput: line 7: ...
            const auto is_it = [&](const std::string& warning) {
                return warning.starts_with(std::string_view(said).substr(sentence));
            };
            CHECK_MESSAGE((std::any_of(in_answers.begin(), in_answers.end(), is_it) ||
                           said.find("not shown any more") != std::string::npos),
                          said);
        }
        CHECK(end.status == 0);
    }
    CHECK(served > 1000);
    CHECK(set_aside > 100);
    CHECK(drained > 100);
}

}  // namespace cli_storm
