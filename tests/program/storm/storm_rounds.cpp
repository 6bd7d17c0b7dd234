// Storms of rounds for `goodput plan`: random clusters with deadlines and pairs, in which each answer
// becomes the state of the next round. Prints every false claim with the smallest storm that shows it, and
// then exits with status 1.
//
//     storm_rounds PROGRAM [--seed N] [--rounds N] [--kind deadlines|pairs|both|crowds] [--write FOLDER]
//                          [--slack-ms N] [--world N] [--feature NAME]
//
// `--seed random` draws a fresh seed and prints it. `--write` keeps the lines
// of every fault's smallest storm. `--feature` limits storms to the features
// with that name (cluster_storm.hpp); it may be given several times. `--world`
// runs a single storm and writes its lines to standard output as they are
// asked.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "changed_lines.hpp"
#include "cluster_storm.hpp"
#include "crowds.hpp"
#include "line_claims.hpp"
#include "support/program.hpp"

namespace {

using namespace storm;
using support::Program;

struct Wishes {
    std::string program{}, kind{}, folder{};
    std::set<std::string> features{};  ///< empty: all
    std::uint64_t seed = 1;
    int rounds = 1000;
    double slack_ms = 2000;
    std::optional<std::uint64_t> world{};
};

/// A fault with the lines that lead to it.
struct Found {
    Fault fault{};
    std::uint64_t world = 0;
    std::vector<std::string> options{};
    std::vector<Json> lines{};
    int times = 1;

    [[nodiscard]] std::pair<std::size_t, std::size_t> size() const {
        return {lines.size(), lines.back()["jobs"].size()};
    }
};

class Storms {
public:
    explicit Storms(Wishes wishes) : wishes_(std::move(wishes)) {}

    int run() {
        for (std::uint64_t world = wishes_.world.value_or(wishes_.seed); rounds_ < wishes_.rounds; ++world) {
            if (wishes_.kind == "crowds" || (wishes_.kind.empty() && world % 100 == 99))
                crowd(world);
            else
                storm(world);
            if (wishes_.world) break;
        }
        for (const auto& [claim, found] : found_) {
            std::cout << found.times << " x " << claim << "\n    world " << found.world << ", "
                      << found.lines.size() << " rounds, " << found.lines.back()["jobs"].size() << " jobs, ";
            for (const std::string& option : found.options) std::cout << option << " ";
            std::cout << "\n    " << found.fault.detail.substr(0, 300) << "\n";
            if (!wishes_.folder.empty()) write(claim, found);
        }
        std::cout << rounds_ << " rounds, " << found_.size() << " kinds of faults\n";
        return found_.empty() ? 0 : 1;
    }

private:
    static std::vector<std::string> arguments(const Wishes& wishes, const std::vector<std::string>& options) {
        std::vector<std::string> all{wishes.program, "plan"};
        all.insert(all.end(), options.begin(), options.end());
        return all;
    }

    void note(std::uint64_t world, const std::vector<std::string>& options, const std::vector<Json>& lines,
              const std::vector<Fault>& faults) {
        for (const Fault& fault : faults) {
            Found found{fault, world, options, lines};
            const auto [at, first] = found_.emplace(fault.claim, found);
            if (first) continue;
            found.times = at->second.times + 1;
            if (found.size() < at->second.size()) at->second = std::move(found);
            at->second.times = std::max(at->second.times, found.times);
        }
    }

    /// Returns the answer to a line. A line that takes longer than it may is a fault. One that takes ten
    /// seconds more than that is reported like a crash.
    Json ask(Program& program, const Json& line, double limit_ms, std::vector<Fault>& faults) {
        const auto start = std::chrono::steady_clock::now();
        Json answer = Json::parse(program.ask(line.dump()));
        const double ms =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        if (ms > limit_ms + wishes_.slack_ms)
            faults.push_back({"a line takes too long", std::to_string(ms) + " ms", {}, true});
        return answer;
    }

    void storm(std::uint64_t world) {
        const Kind kind = wishes_.kind == "deadlines" ? Kind::deadlines
                          : wishes_.kind == "pairs"   ? Kind::pairs
                          : wishes_.kind == "both"    ? Kind::both
                          : world % 10 == 9           ? Kind::both
                          : world % 5 < 3             ? Kind::deadlines
                                                      : Kind::pairs;
        ClusterStorm storm(world, kind, wishes_.features);
        Program program(arguments(wishes_, storm.options()));
        std::vector<Json> before;
        const AskAnew ask_anew = [&](const std::vector<Json>& lines, const Json& last) {
            Program other(arguments(wishes_, storm.options()));
            for (const Json& line : lines) other.ask(line.dump());
            return Json::parse(other.ask(last.dump()));
        };
        for (int round = 0; round < 14; ++round, ++rounds_) {
            const Json line = storm.line();
            if (wishes_.world) std::cout << line.dump() << "\n";
            std::vector<Json> lines = before;
            lines.push_back(line);
            std::vector<Fault> faults;
            const auto add = [&](std::vector<Fault> more) {
                faults.insert(faults.end(), more.begin(), more.end());
            };
            Json answer;
            try {
                // Without a deadline a proof may take long, but not for ever.
                answer = ask(program, line, line.value("deadline_ms", 8000.0), faults);
                if (wishes_.world) std::cerr << answer.dump() << "\n";
                add(LineClaims(storm, line, answer).check());
                if (!answer.contains("error") && storm.random().chance(0.5)) {
                    // If a deadline_ms cuts off a plan, asking twice need not give the same plan.
                    ChangedLines changed(storm, before, line, answer, ask_anew);
                    if (kind == Kind::deadlines && !line.contains("deadline_ms")) {
                        add(changed.follow_advice());
                        add(changed.add_node());
                    }
                    if (kind == Kind::pairs && !line.contains("deadline_ms")) add(changed.withdraw_pairs());
                }
            } catch (const std::exception& error) {
                add({{"the program crashes or hangs", std::string(error.what()).substr(0, 40), {}, false}});
            }
            const auto is_hard = [](const Fault& fault) { return !fault.soft; };
            if (std::none_of(faults.begin(), faults.end(), is_hard))
                for (const auto& [job, late] : storm.carry_out(answer))
                    add({{"kept, but it ends late", job + " " + std::to_string(late) + " s", {}, false}});
            note(world, storm.options(), lines, faults);
            before = std::move(lines);
            if (std::any_of(faults.begin(), faults.end(), is_hard)) return void(++rounds_);
        }
    }

    void crowd(std::uint64_t world) {
        Random random(world);
        const bool pairs = random.chance(0.7);
        const Json line = pairs ? crowd_of_pairs(random) : crowd_of_deadlines(random);
        if (wishes_.world) std::cout << line.dump() << "\n";
        const std::vector<std::string> options{"--policy", "goodput"};
        std::vector<Fault> faults;
        try {
            Program program(arguments(wishes_, options)), other(arguments(wishes_, options));
            const Json answer = ask(program, line, line.value("deadline_ms", 0.0), faults);
            const double all = answer["objective"].get<double>();
            if (all > answer["bound"].get<double>() * (1 + 1e-6))
                faults.push_back({"the objective is above the bound", std::to_string(all), {}, true});
            if (pairs) {
                const Json fewer = with_fewer_pairs(line);
                const double some = ask(other, fewer, 0, faults)["objective"].get<double>();
                if (all < some * (1 - 1e-6))
                    faults.push_back({"more pairs on offer are worse",
                                      std::to_string(all) + " instead of " + std::to_string(some), fewer,
                                      true});
            }
        } catch (const std::exception& error) {
            faults.push_back({"a line takes too long", std::string(error.what()).substr(0, 40), {}, true});
        }
        note(world, options, {line}, faults);
        ++rounds_;
    }

    void write(const std::string& claim, const Found& found) const {
        std::string name = claim;
        std::replace_if(
            name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
            '_');
        std::ofstream file(wishes_.folder + "/" + name + ".jsonl");
        for (const Json& line : found.lines) file << line.dump() << "\n";
        if (!found.fault.changed.is_null())
            std::ofstream(wishes_.folder + "/" + name + "_changed.jsonl")
                << found.fault.changed.dump() << "\n";
    }

    Wishes wishes_;
    std::map<std::string, Found> found_{};
    int rounds_ = 0;
};

Wishes wishes_of(const std::vector<std::string>& words) {
    Wishes wishes;
    if (words.empty()) throw std::invalid_argument("storm_rounds: which program?");
    wishes.program = words[0];
    for (std::size_t i = 1; i + 1 < words.size() + 1; i += 2) {
        if (i + 1 >= words.size()) throw std::invalid_argument(words[i] + " needs a value");
        const std::string &word = words[i], &value = words[i + 1];
        if (word == "--seed" && value == "random")
            std::cout << "seed " << (wishes.seed = std::random_device()()) << "\n";
        else if (word == "--seed")
            wishes.seed = std::stoull(value);
        else if (word == "--rounds")
            wishes.rounds = std::stoi(value);
        else if (word == "--kind")
            wishes.kind = value;
        else if (word == "--write")
            wishes.folder = value;
        else if (word == "--feature")
            wishes.features.insert(value);
        else if (word == "--slack-ms")
            wishes.slack_ms = std::stod(value);
        else if (word == "--world")
            wishes.world = std::stoull(value);
        else
            throw std::invalid_argument(word + " is not known");
    }
    return wishes;
}

}  // namespace

int main(int count, char** words) {
    try {
        return Storms(wishes_of({words + 1, words + count})).run();
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
