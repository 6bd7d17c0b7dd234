#ifndef GOODPUT_TESTS_PROGRAM_STORM_LINE_CLAIMS_HPP
#define GOODPUT_TESTS_PROGRAM_STORM_LINE_CLAIMS_HPP

// Claims that every answer to a line of a storm must meet, checked from the line and the answer alone.

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster_storm.hpp"

namespace storm {

/// A claim that is false.
struct Fault {
    std::string claim{};   ///< the same words for faults of the same kind
    std::string detail{};  ///< job, node or reason
    Json changed{};        ///< the line that was asked in addition; null if none
    bool soft = false;     ///< the storm goes on, because nothing later depends on this
};

class LineClaims {
public:
    LineClaims(const ClusterStorm& storm, const Json& line, const Json& answer)
        : storm_(storm), line_(line), answer_(answer), time_(line["time_s"].get<double>()) {}

    /// Returns all claims that are false.
    std::vector<Fault> check() {
        if (answer_.contains("error")) {
            fault("a line is refused", answer_["error"].get<std::string>());
            return std::move(faults_);
        }
        if (answer_["plan"].size() != line_["jobs"].size()) {
            fault("not every job has an answer", "");
            return std::move(faults_);
        }
        for (const Json& node : line_["nodes"]) {
            nodes_[node["name"]] = &node;
            free_[node["name"]] = node["gpus"].get<int>();
        }
        for (const Json& got : answer_["plan"]) answers_[got["name"]] = &got;
        const double objective = answer_["objective"].get<double>(), bound = answer_["bound"].get<double>();
        if (objective > bound * (1 + 1e-6) + 1e-6)
            fault("the objective is above the bound", answer_["objective"].dump());
        for (const Json& conflict : answer_.value("conflicts", Json::array()))
            for (const Json& name : conflict["jobs"])
                if (!answers_.contains(name.get<std::string>()))
                    fault("a conflict names an unknown job", name.dump());
        for (std::size_t j = 0; j < line_["jobs"].size(); ++j)
            check_job(line_["jobs"][j], answer_["plan"][j]);
        for (std::size_t j = 0; j < line_["jobs"].size(); ++j)
            check_stop(line_["jobs"][j], answer_["plan"][j]);
        check_estimates();
        return std::move(faults_);
    }

private:
    static std::set<std::pair<std::string, int>> shares_of(const Json& nodes) {
        std::set<std::pair<std::string, int>> shares;
        for (const Json& share : nodes) shares.emplace(share[0].get<std::string>(), share[1].get<int>());
        return shares;
    }
    static Json held_by(const Json& job) {
        return job.contains("placement") ? job["placement"]["nodes"] : Json::array();
    }
    void fault(std::string claim, std::string detail, bool soft = false) {
        faults_.push_back({std::move(claim), std::move(detail), {}, soft});
    }

    void check_job(const Json& job, const Json& got) {
        const auto name = job["name"].get<std::string>(), why = got.value("why", "");
        if (got["name"] != name) return fault("answers are not in the order of the jobs", name);
        const bool set_aside = why.find("set aside") != std::string::npos;
        if (set_aside && !storm_.unusable().contains(name) && why.find("same GPUs as") == std::string::npos)
            fault("a job is set aside without a slip", why);
        const Json held = held_by(job);
        const bool changed = shares_of(held) != shares_of(got["nodes"]);
        if (storm_.unusable().contains(name) && changed) fault("a job that is set aside is moved", name);
        check_nodes(job, got, name, changed, set_aside);
        if (changed && !held.empty() && job.value("preemptible", true) == false)
            fault("a job that is not preemptible is moved or stopped", name);
        if (changed && !held.empty() && job.value("restarting", false))
            fault("a job is moved or stopped in the middle of its restart", name);
        // Promises take precedence.
        const bool promises = std::any_of(line_["jobs"].begin(), line_["jobs"].end(),
                                          [](const Json& each) { return each.contains("deadline_s"); });
        if (changed && !held.empty() && !promises &&
            time_ < storm_.jobs().at(name).started + job.value("min_run_s", 0.0))
            fault("a job is moved or stopped within its minimum run time", name);
        check_pair(job, got, name);
        check_promise(job, got, name, set_aside);
        if (got.value("outcome", "") == "impossible" && is_possible(job, why) && !set_aside)
            fault("impossible, although it could run", name + ": " + why, true);
    }

    void check_nodes(const Json& job, const Json& got, const std::string& name, bool changed,
                     bool set_aside) {
        const auto with = got.value("with", "");
        const bool counted = !with.empty() && with < name && answers_.contains(with) &&
                             answers_[with]->value("with", "") == name;
        int gpus = 0;
        for (const Json& share : got["nodes"]) {
            const auto node = share[0].get<std::string>();
            if (!nodes_.contains(node)) return fault("an unknown node", node);
            gpus += share[1].get<int>();
            if (!counted && (free_[node] -= share[1].get<int>()) < 0)
                fault("more GPUs of a node are used than it has", node);
            if (changed && !ClusterStorm::is_there(*nodes_[node], time_))
                fault("a job comes to a node that is not there", name);
            if (changed && !set_aside && !job["batch"]["local"].contains((*nodes_[node])["gpu_type"]))
                fault("a GPU type that the job cannot use", name);
        }
        if (changed && !set_aside && gpus > 0 && (gpus < job["gpus"][0] || gpus > job["gpus"][1]))
            fault("a size that the job must not have", name);
    }

    /// For unmeasured pairs the answer states what it expects, and they come together only if a gain is
    /// likely.
    void check_estimates() {
        for (const Json& pair : answer_.value("pairs", Json::array())) {
            const std::string name = pair["jobs"].dump();
            for (const auto& [type, parts] : pair["part"].items())
                for (const Json& part : parts)
                    if (!(part >= 0 && part <= 1)) fault("an estimated part that is no part", name);
            for (const Json& type : pair["offered"])
                if (!pair["part"].contains(type.get<std::string>()))
                    fault("an offer on a type without an estimate", name);
            if (pair["why"] == "") fault("an estimate without a reason", name);
            const auto first = answers_.find(pair["jobs"][0].get<std::string>());
            if (first == answers_.end()) {
                fault("a pair of unknown jobs", name);
                continue;
            }
            const Json& got = *first->second;
            if (got.value("with", "") != pair["jobs"][1] || got["nodes"].empty() || !got.contains("part"))
                continue;
            const auto type = got["gpu_type"].get<std::string>();
            if (std::count(pair["offered"].begin(), pair["offered"].end(), type) == 0)
                fault("a pair runs where its gain is not likely", name);
            else if (pair["part"][type][0] != got["part"])
                fault("a pair runs at other speeds than estimated", name);
        }
    }

    void check_pair(const Json& job, const Json& got, const std::string& name) {
        const auto with = got.value("with", "");
        if (with.empty()) return;
        if (!answers_.contains(with) || answers_[with]->value("with", "") != name)
            return fault("partners of a pair do not name each other", name);
        const Json& other = *answers_[with];
        if (shares_of(other["nodes"]) != shares_of(got["nodes"]) || other["gpu_type"] != got["gpu_type"])
            fault("partners of a pair are not on the same GPUs", name);
        if (!(got["part"] >= 0) || !(got["part"] <= 1)) fault("a part of a speed above 1", name);
        const auto offers = [](const Json& from, const std::string& to) {
            for (const Json& offer : from.value("shares_with", Json::array()))
                if (offer["job"] == to) return true;
            return from.value("with", "") == to;
        };
        for (const Json& partner : line_["jobs"])
            if (partner["name"] == with && !offers(job, with) && !offers(partner, name))
                fault("a pair that nobody offered", name);
    }

    void check_promise(const Json& job, const Json& got, const std::string& name, bool set_aside) {
        if (!job.contains("deadline_s")) return;
        const auto promise = got.value("promise", "");
        if (promise.empty() && !set_aside && storm_.kind() == Kind::deadlines)
            fault("a deadline without an answer", name);
        if (promise == "kept" && !got.contains("done_by_s")) fault("kept, but without an end", name);
        if (promise == "kept" && got.contains("done_by_s") &&
            got["done_by_s"].get<double>() > job["deadline_s"].get<double>() + 1e-6)
            fault("kept, but with an end after the deadline", name);
        const StormJob& known = storm_.jobs().at(name);
        const bool misreported = storm_.misreported().contains(name);
        // The page on deadlines says that plans over time ignore quotas.
        if (known.promised && !known.excused && !misreported && !job.contains("team") &&
            (promise == "broken" || promise == "refused"))
            fault(promise + ", although it does what the plans say", name + ": " + got.value("why", ""));
        if (promise == "broken" && !known.promised && !known.was_promised)
            fault("broken, although nothing was promised", name);
        if (job.value("deadline", "") == "or_never" && !got["nodes"].empty() && held_by(job).empty() &&
            promise != "kept" && promise != "at_risk" && !set_aside && !(misreported && known.promised) &&
            !(known.was_promised && known.attained > 0))
            fault("or_never starts without a promise", name);
        check_even_with_all(job, got, name);
    }

    /// "Even with all GPUs for itself" is wrong if the job ends in time with what it has in this answer.
    void check_even_with_all(const Json& job, const Json& got, const std::string& name) {
        if (got.value("why", "").find("even with all GPUs") == std::string::npos || got["nodes"].empty() ||
            !got.contains("goodput") || !job.contains("remaining_examples") ||
            !(got["goodput"].get<double>() > 0))
            return;
        const double work = job["remaining_examples"].get<double>() / (0.79 * got["goodput"].get<double>());
        const double end = time_ + work + storm_.jobs().at(name).restart + 2 * storm_.interval();
        if (end >= job["deadline_s"].get<double>()) return;
        for (const Json& share : got["nodes"])
            if (nodes_[share[0]]->value("until_s", end) < end) return;
        fault("not even with all GPUs, but with those that it has", name, true);
    }

    /// Whether some available node could take the job alone if it were empty. Only for jobs whose sizes are
    /// beyond doubt.
    bool is_possible(const Json& job, const std::string& why) const {
        const int least = job["gpus"][job["adapt"] == "none" ? 1 : 0].get<int>();
        if ((least & (least - 1)) != 0 || job.contains("host") || job.contains("team")) return false;
        if (job.value("deadline", "") == "or_never" &&
            (why.find("for itself") != std::string::npos || job["deadline_s"].get<double>() <= time_))
            return false;
        return std::any_of(line_["nodes"].begin(), line_["nodes"].end(), [&](const Json& node) {
            return node["gpus"] >= least && job["batch"]["local"].contains(node["gpu_type"]) &&
                   ClusterStorm::is_there(node, time_);
        });
    }

    /// Whether jobs have more of a node's cores or memory than the shares of their GPUs.
    [[nodiscard]] bool lacks_host(const std::string& node) const {
        for (const char* of_node : {"cores", "memory_gib"}) {
            if (!nodes_.at(node)->contains(of_node)) continue;
            const double used = 1 - free_.at(node) / nodes_.at(node)->at("gpus").get<double>();
            double left = used * nodes_.at(node)->at(of_node).get<double>();
            for (const Json& got : answer_["plan"])
                for (std::size_t i = 0; i < got["nodes"].size() && got.contains(of_node); ++i)
                    if (got["nodes"][i][0] == node) left -= got[of_node][i].get<double>();
            if (left < -1e-6) return true;
        }
        return false;
    }

    /// A running job is not stopped while all of its GPUs stay idle.
    void check_stop(const Json& job, const Json& got) {
        const Json held = held_by(job);
        if (held.empty() || !got["nodes"].empty() || job.contains("team") || job.contains("host") ||
            got.contains("promise"))
            return;
        for (const Json& share : held) {
            const auto node = share[0].get<std::string>();
            // A job on several nodes has them to itself.
            for (const Json& other : answer_["plan"])
                if (other["nodes"].size() > 1 &&
                    std::any_of(other["nodes"].begin(), other["nodes"].end(),
                                [&](const Json& of_node) { return of_node[0] == node; }))
                    return;
            // A job without `host` also needs its share of the node's cores and memory.
            if (!nodes_.contains(node) || free_[node] < share[1].get<int>() || lacks_host(node) ||
                !ClusterStorm::is_there(*nodes_[node], time_) ||
                !ClusterStorm::is_there(*nodes_[node], time_ + storm_.interval()))
                return;
        }
        fault("a running job is stopped, and its GPUs stay idle", job["name"].get<std::string>());
    }

    const ClusterStorm& storm_;
    const Json &line_, &answer_;
    double time_;
    std::map<std::string, const Json*> nodes_{}, answers_{};
    std::map<std::string, int> free_{};
    std::vector<Fault> faults_{};
};

}  // namespace storm

#endif
