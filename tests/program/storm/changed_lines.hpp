#ifndef GOODPUT_TESTS_PROGRAM_STORM_CHANGED_LINES_HPP
#define GOODPUT_TESTS_PROGRAM_STORM_CHANGED_LINES_HPP

// Claims about two answers: a second program gets the same lines with the last one changed. The change
// follows advice to the letter, adds a node, or offers fewer pairs.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "line_claims.hpp"

namespace storm {

/// Answers the last of some lines, from a new program that is asked all of them in order.
using AskAnew = std::function<Json(const std::vector<Json>& before, const Json& last)>;

class ChangedLines {
public:
    ChangedLines(ClusterStorm& storm, const std::vector<Json>& before, const Json& line, const Json& answer,
                 AskAnew ask)
        : storm_(storm), before_(before), line_(line), answer_(answer), ask_(std::move(ask)) {}

    /// Each change that a refusal names must lead to a promise when it is made.
    std::vector<Fault> follow_advice() {
        const std::string mark = "it could be promised with ";
        for (const Json& got : answer_["plan"]) {
            const auto why = got.value("why", "");
            const std::size_t at = why.find(mark);
            if (at == std::string::npos) continue;
            const std::string ways = why.substr(at + mark.size());
            for (std::size_t from = 0; from < ways.size();) {
                const std::size_t end = std::min(ways.find(", or ", from), ways.size());
                follow(got["name"].get<std::string>(), ways.substr(from, end - from));
                from = end + 5;
            }
        }
        return std::move(faults_);
    }

    /// If all deadlines are promised, the same holds with one more node. The page on deadlines excepts a
    /// node with fewer cores per GPU than others of its kind.
    std::vector<Fault> add_node() {
        bool any = false;
        if (storm_.has("cores")) return {};
        for (const Json& got : answer_["plan"]) {
            any |= got.contains("promise");
            if (got.value("promise", "kept") != "kept") return {};
        }
        if (!any) return {};
        Json changed = line_;
        Json more = changed["nodes"][0];
        for (const char* field : {"from_s", "until_s", "rack"}) more.erase(field);
        more["name"] = "more";
        more["gpus"] = storm_.random().integer(1, 8);
        changed["nodes"].push_back(std::move(more));
        const Json again = ask_(before_, changed);
        for (const Json& got : again.value("plan", Json::array()))
            if (got.value("promise", "kept") != "kept" &&
                !storm_.misreported().contains(got["name"].get<std::string>()))
                fault("with one more node less is promised",
                      got["name"].get<std::string>() + ": " + got.value("why", ""), changed);
        return std::move(faults_);
    }

    /// Offering more pairs is never worse. This withdraws only pairs that say nothing about the others: the
    /// program uses measured pairs to estimate the others.
    std::vector<Fault> withdraw_pairs() {
        Json changed = line_;
        bool any = false;
        const bool all = storm_.random().chance(0.5);
        for (Json& job : changed["jobs"]) {
            const bool together =
                std::any_of(line_["jobs"].begin(), line_["jobs"].end(), [&](const Json& other) {
                    return job.contains("with") || other.value("with", "") == job["name"];
                });
            if (!job.contains("shares_with") || together || tells(job) ||
                (!all && storm_.random().chance(0.5)))
                continue;
            job.erase("shares_with");
            any = true;
        }
        if (!any) return {};
        const Json fewer = ask_(before_, changed);
        if (!fewer.contains("objective")) return {};
        const auto running = [](const Json& answer) {
            return std::count_if(answer["plan"].begin(), answer["plan"].end(),
                                 [](const Json& got) { return !got["nodes"].empty(); });
        };
        const auto& policy = storm_.options()[1];
        const double with = answer_["objective"].get<double>(), without = fewer["objective"].get<double>();
        if (policy == "fifo" || policy == "srtf" || policy == "las" || policy == "tiresias") {
            if (running(answer_) < running(fewer))
                fault("fewer jobs run because pairs are on offer", policy, changed);
        } else if (without > answer_["bound"].get<double>() * (1 + 1e-6) + 1e-6) {
            fault("a plan with fewer pairs is above the bound", std::to_string(without), changed);
        } else if (without > with * (1 + 1e-6) + 1e-6) {
            fault("more pairs on offer are worse",
                  std::to_string(with) + " instead of " + std::to_string(without), changed);
        }
        return std::move(faults_);
    }

private:
    /// Whether a job's offers say something about other pairs in the line.
    [[nodiscard]] bool tells(const Json& job) const {
        const auto is_measured = [](const Json& offer) { return offer.contains("part"); };
        const auto measured = [&](const Json& offers) {
            return std::any_of(offers.begin(), offers.end(), is_measured);
        };
        const auto all_measured = [&](const Json& offers) {
            return std::all_of(offers.begin(), offers.end(), is_measured);
        };
        const bool estimates = !std::all_of(
            line_["jobs"].begin(), line_["jobs"].end(),
            [&](const Json& other) { return all_measured(other.value("shares_with", Json::array())); });
        return estimates && measured(job["shares_with"]);
    }
    void fault(std::string claim, std::string detail, const Json& changed) {
        faults_.push_back({std::move(claim), std::move(detail), changed, true});
    }

    void follow(const std::string& name, const std::string& way) {
        static const std::regex later("a deadline ([0-9.e+]+) min later.*");
        static const std::regex more(
            "([0-9]+) more (\\w+)(?: on nodes of ([0-9]+))?.* for the next ([0-9.e+]+) min.*");
        static const std::regex no_promise("no promise to job '(.*)'.*");
        Json changed = line_;
        std::string kind;
        std::smatch found;
        if (std::regex_match(way, found, later)) {
            kind = "a later deadline";
            for (Json& job : changed["jobs"])
                if (job["name"] == name)
                    job["deadline_s"] = job["deadline_s"].get<double>() + 60 * std::stod(found[1]);
        } else if (std::regex_match(way, found, more)) {
            kind = "more nodes";
            int size = 0;
            for (const Json& node : line_["nodes"])
                if (node["gpu_type"] == found[2].str()) size = std::max(size, node["gpus"].get<int>());
            if (found[3].matched) size = std::stoi(found[3]);
            for (int gpus = std::stoi(found[1]), i = 0; gpus > 0; gpus -= size)
                changed["nodes"].push_back(
                    {{"name", "more" + std::to_string(i++)},
                     {"gpu_type", found[2].str()},
                     {"gpus", size},
                     {"until_s", line_["time_s"].get<double>() + 60 * std::stod(found[4])}});
        } else if (std::regex_match(way, found, no_promise)) {
            kind = "no promise to another job";
            for (Json& job : changed["jobs"])
                if (job["name"] == found[1].str()) {
                    job.erase("deadline_s");
                    job.erase("deadline");
                    job.erase("promise");
                }
        } else {
            return fault("advice that nobody understands", way, {});
        }
        const Json again = ask_(before_, changed);
        for (const Json& got : again.value("plan", Json::array()))
            if (got["name"] == name && got.value("promise", "") != "kept")
                fault("advice does not help: " + kind, name + ": " + way, changed);
    }

    ClusterStorm& storm_;
    const std::vector<Json>& before_;
    const Json &line_, &answer_;
    AskAnew ask_;
    std::vector<Fault> faults_{};
};

}  // namespace storm

#endif
