#ifndef GOODPUT_TESTS_PROGRAM_STORM_CLUSTER_STORM_HPP
#define GOODPUT_TESTS_PROGRAM_STORM_CLUSTER_STORM_HPP

// A random cluster over many rounds: lines for `goodput plan` with deadlines, pairs or both, and jobs that do
// exactly what the answers say. A job works at the goodput that the last answer gave, once its restart is
// over. The seed alone decides what the cluster is like. Events in the cluster also depend
// on the answers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/random.hpp"

namespace storm {

using Json = nlohmann::ordered_json;
using support::Random;

/// What the jobs of a storm ask for.
enum class Kind { deadlines, pairs, both };

/// A job as the storm knows it. Each line describes it anew.
struct StormJob {
    Json asks{};                ///< the fields that stay the same
    Json held = Json::array();  ///< pairs [node, GPUs]
    std::string with{};         ///< name of the job that has the same GPUs; empty if none
    double restart = 0;         ///< seconds that a restart costs, stated or estimated
    double restart_left = 0;    ///< seconds until it works again
    double done = 0;            ///< examples
    double speed = 0;           ///< examples/s in the last answer
    double attained = 0;        ///< GPU-seconds
    int restarts = 0;
    double started = 0;         ///< when an answer last said that it starts
    bool promised = false;      ///< an answer said "kept", and none said "broken" since
    bool was_promised = false;  ///< an answer said "kept" once
    bool excused = false;       ///< an unannounced event happened, so its promise may be broken
};

class ClusterStorm {
public:
    /// `allowed`: names of the only features that the storm may have; empty means all.
    ClusterStorm(std::uint64_t seed, Kind kind, const std::set<std::string>& allowed = {})
        : random_(seed), starts_random_(~seed), kind_(kind) {
        for (const char* feature :
             {"cores",  "deadline_ms", "gang",         "late",      "leave",     "long restart",
              "loss",   "minimum run", "names again",  "odd nodes", "odd sizes", "or_never",
              "pinned", "quota",       "racks",        "reload",    "running",   "short restart",
              "slip",   "two types",   "unknown work", "windows"})
            if (random_.chance(allowed.empty() ? 0.22 : 0.7) &&
                (allowed.empty() || allowed.contains(feature)))
                features_.insert(feature);
        if (starts_random_.chance(allowed.empty() ? 0.22 : 0.7) &&
            (allowed.empty() || allowed.contains("starts")))
            features_.insert("starts");
        constexpr const char* policies[] = {"goodput", "goodput", "goodput",          "fifo", "srtf",
                                            "pollux",  "sia",     "goodput-declared", "las",  "tiresias"};
        options_ = {"--policy", policies[random_.integer(0, 9)]};
        if (random_.chance(0.3)) options_.push_back("--explain");
        interval_ = one_of({30, 60, 60, 120});
        if (has("two types")) types_.push_back("B");
        const int nodes = random_.integer(1, 4);
        for (int i = 0; i < nodes; ++i) nodes_.push_back(fresh_node(i));
        if (has("quota")) teams_ = {{"red", {{"gpus", random_.integer(1, 6)}}}};
        if (kind_ == Kind::pairs && random_.chance(0.3)) add_running_pair();
        const int jobs =
            kind_ == Kind::pairs && random_.chance(0.06) ? random_.integer(25, 30) : random_.integer(1, 4);
        for (int i = 0; i < jobs; ++i) add_job(has("running") && random_.chance(0.6));
    }

    /// Returns the options of the command.
    [[nodiscard]] const std::vector<std::string>& options() const { return options_; }
    [[nodiscard]] bool has(const std::string& feature) const { return features_.contains(feature); }
    [[nodiscard]] const std::set<std::string>& features() const { return features_; }
    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] const std::map<std::string, StormJob>& jobs() const { return jobs_; }
    [[nodiscard]] double interval() const { return interval_; }
    /// Jobs for which the last line stated something wrong, or not how much work is left.
    [[nodiscard]] const std::set<std::string>& misreported() const { return misreported_; }
    /// Those of them that cannot be planned, and are set aside.
    [[nodiscard]] const std::set<std::string>& unusable() const { return unusable_; }
    [[nodiscard]] Random& random() { return random_; }

    /// Returns the line of the round that begins now.
    Json line() {
        misreported_.clear();
        const std::set<std::string> unusable_before = std::exchange(unusable_, {});
        Json jobs = Json::array();
        for (auto& [name, job] : jobs_) {
            Json entry = job.asks;
            entry["remaining_examples"] =
                std::max(0.001, job.asks["remaining_examples"].get<double>() - job.done);
            entry["done_examples"] = job.done;
            entry["attained_gpu_s"] = job.attained;
            entry["restarts"] = job.restarts;
            if (!job.held.empty()) {
                entry["placement"] = {{"nodes", job.held}};
                if (!job.with.empty()) entry["with"] = job.with;
                if (job.restart_left > 1e-9) entry["restarting"] = true;
            }
            if (has("reload") && job.promised) entry["promise"] = "kept";
            if (has("slip") && random_.chance(0.07)) {
                entry[random_.chance(0.5) ? "remaining_examples" : "weight"] = -1;
                unusable_.insert(name);
                // The job cannot start now, whatever it was promised.
                job.excused |= job.held.empty();
                // A promise cannot count on the GPUs of a job whose line is wrong again and again.
                if (unusable_before.contains(name) && !job.held.empty())
                    for (auto& [other, its_job] : jobs_) its_job.excused = true;
                misreported_.insert(name);
            } else if (has("unknown work") && random_.chance(0.07)) {
                entry.erase("remaining_examples");
                misreported_.insert(name);
            }
            jobs.push_back(std::move(entry));
        }
        Json line{{"time_s", time_}, {"interval_s", interval_}, {"nodes", nodes_}, {"jobs", jobs}};
        if (!teams_.is_null()) line["teams"] = teams_;
        if (has("deadline_ms")) line["deadline_ms"] = 20;
        return line;
    }

    /// Follows the answer until the next round. Returns jobs whose promised end has passed without their
    /// ending, with a lower bound on their delay in seconds.
    std::vector<std::pair<std::string, double>> carry_out(const Json& answer) {
        double seconds = interval_;
        if (has("late") && random_.chance(0.3)) {
            const double late = random_.between(0, std::max(0.0, 0.9 * interval_ - lateness_));
            lateness_ += late;
            seconds += late;
        }
        std::vector<std::pair<std::string, double>> late_jobs;
        std::vector<std::string> ended;
        for (const Json& got : answer["plan"]) {
            const auto name = got["name"].get<std::string>();
            StormJob& job = jobs_.at(name);
            if (!misreported_.contains(name)) {
                if (got.value("promise", "") == "kept") job.promised = job.was_promised = true;
                if (got.value("promise", "") == "broken") job.promised = false;
            }
            follow(job, got);
            const double end = work(job, seconds);
            if (std::isfinite(end)) ended.push_back(name);
            // The page on deadlines says that plans over time ignore quotas.
            if (!job.promised || job.excused || !job.asks.contains("deadline_s") || job.asks.contains("team"))
                continue;
            const double late = std::min(end, time_ + seconds) - job.asks["deadline_s"].get<double>();
            if (late > 1e-3) {
                late_jobs.emplace_back(name, late);
                job.excused = true;
            }
        }
        names_free_.clear();
        for (const std::string& name : ended) {
            jobs_.erase(name);
            names_free_.push_back(name);
        }
        for (auto& [name, job] : jobs_)
            if (!jobs_.contains(job.with)) job.with.clear();
        time_ += seconds;
        change_nodes();
        if (jobs_.empty() || (jobs_.size() < 7 && random_.chance(0.35))) add_job(false);
        return late_jobs;
    }

    /// Whether a node of a line takes new jobs at the time of the line.
    static bool is_there(const Json& node, double time) {
        constexpr double never = std::numeric_limits<double>::infinity();
        return node.value("from_s", -never) <= time && time < node.value("until_s", never);
    }

private:
    double one_of(std::initializer_list<double> values) {
        return values.begin()[random_.integer(0, static_cast<int>(values.size()) - 1)];
    }
    int size_of(std::initializer_list<int> values) {
        return values.begin()[random_.integer(0, static_cast<int>(values.size()) - 1)];
    }

    Json fresh_node(int index) {
        int gpus = has("odd nodes") ? random_.integer(1, 8) : size_of({1, 2, 4, 4, 8, 8});
        if (!has("odd nodes") && !nodes_.empty() && random_.chance(0.7)) gpus = nodes_[0]["gpus"].get<int>();
        const int type = random_.integer(0, static_cast<int>(types_.size()) - 1);
        Json node{{"name", "n" + std::to_string(index)},
                  {"gpu_type", types_[static_cast<std::size_t>(type)]},
                  {"gpus", gpus}};
        if (has("racks")) node["rack"] = "r" + std::to_string(random_.integer(0, 1));
        if (has("cores") && random_.chance(0.8)) {
            node["cores"] = gpus * size_of({2, 4, 8});
            node["memory_gib"] = gpus * size_of({16, 64});
        }
        if (has("windows") && index > 0) {
            if (random_.chance(0.5)) node["from_s"] = time_ + one_of({1, 3, 5.5}) * interval_;
            if (random_.chance(0.5))
                node["until_s"] = node.value("from_s", time_) + one_of({2, 4.5, 9}) * interval_;
        }
        return node;
    }

    std::string fresh_name() {
        if (has("names again") && !names_free_.empty() && random_.chance(0.5)) {
            std::string name = names_free_.back();
            names_free_.pop_back();
            if (!jobs_.contains(name)) return name;
        }
        return "j" + std::to_string(count_++);
    }

    StormJob& add_job(bool runs) {
        int least = size_of({1, 1, 2, 4}), most = std::max(least, size_of({1, 2, 4, 8, 16}));
        if (has("odd sizes") && random_.chance(0.5)) {
            least = size_of({1, 2, 3, 5, 6, 12});
            most = std::max(least, size_of({3, 6, 12}));
        }
        if (has("gang") && random_.chance(0.5)) most = least;
        Json rate = Json::object(), local = Json::object();
        double best = 0;
        for (const std::string& type : types_)
            if (random_.chance(0.85)) rate[type] = one_of({100, 100, 200, 400});
        if (rate.empty()) rate[types_[0]] = 100;
        for (const auto& [type, speed] : rate.items()) {
            local[type] = {1, 256};
            best = std::max(best, speed.get<double>());
        }
        double restart = 0;
        if (has("long restart") && random_.chance(0.6))
            restart = one_of({90, 150, 300, 400});
        else if (has("short restart"))
            restart = one_of({5, 10, 30});
        // The estimate that the program makes if the line says only what starts took, how large a
        // checkpoint is, or nothing.
        Json starts = Json::array();
        double checkpoint = 0;
        const bool estimated = has("starts") && starts_random_.chance(0.6);
        if (estimated) {
            double sum = 3;
            for (int n = starts_random_.integer(0, 3); n > 0; --n) {
                starts.push_back(restart * starts_random_.between(0.8, 1.2));
                sum += starts.back().get<double>();
            }
            if (starts_random_.chance(0.5)) checkpoint = starts_random_.between(0, 10);
            restart = sum / (0.1 + static_cast<double>(starts.size())) + 2 * checkpoint;
        }
        const double seconds = one_of({2, 5, 10, 20}) * interval_ * random_.between(0.6, 1.4);
        const std::string name = fresh_name();
        StormJob job;
        job.asks = {{"name", name},
                    {"kind", name},  // no job learns from another
                    {"submitted_s", time_},
                    {"gpus", {least, most}},
                    {"adapt", has("gang") && random_.chance(0.3) ? "none" : "gpus"},
                    {"restart_cost_s", restart},
                    {"batch", {{"initial", 256}, {"target", 256}, {"local", local}, {"rate", rate}}},
                    {"remaining_examples", std::round(seconds * best * least)}};
        job.restart = restart;
        if (estimated) {
            job.asks.erase("restart_cost_s");
            if (!starts.empty()) job.asks["restart_s"] = starts;
            if (checkpoint > 0) job.asks["checkpoint_gib"] = checkpoint;
        }
        if (kind_ != Kind::pairs && random_.chance(0.75)) {
            job.asks["deadline_s"] = time_ + restart + seconds * one_of({0.3, 0.6, 1, 1.3, 1.6, 2, 3}) +
                                     interval_ * one_of({0, 0.5, 1, 2, 3});
            if (has("or_never") && random_.chance(0.5)) job.asks["deadline"] = "or_never";
        }
        if (has("minimum run") && random_.chance(0.6))
            job.asks["min_run_s"] = one_of({1.5, 3, 6}) * interval_;
        if (has("pinned") && random_.chance(0.4)) job.asks["preemptible"] = false;
        if (has("racks") && random_.chance(0.4)) job.asks["within"] = "rack";
        if (has("cores") && random_.chance(0.5)) {
            const int cores = size_of({1, 2, 4, 6}), memory = size_of({4, 16, 40});
            job.asks["host"] = {{"cores_per_gpu", {cores, cores * random_.integer(1, 2)}},
                                {"memory_gib_per_gpu", {memory, memory}}};
        }
        if (!teams_.is_null() && random_.chance(0.6)) job.asks["team"] = "red";
        if (random_.chance(0.6)) job.asks["gpu_utilisation"] = std::round(100 * random_.unit()) / 100;
        if (kind_ != Kind::deadlines && random_.chance(0.8)) offer_pairs(job);
        if (runs) let_run(job);
        return jobs_[name] = std::move(job);
    }

    /// Offers that the job shares its GPUs with up to three of the others.
    void offer_pairs(StormJob& job) {
        Json offers = Json::array();
        for (const auto& [name, other] : jobs_) {
            Json part = Json::object();
            for (const auto& [type, speed] : job.asks["batch"]["rate"].items())
                if (other.asks["batch"]["rate"].contains(type))
                    part[type] = {random_.between(0.3, 1), random_.between(0.3, 1)};
            if (part.empty() || other.asks["gpus"][0] > job.asks["gpus"][1] ||
                other.asks["gpus"][1] < job.asks["gpus"][0])
                continue;
            if (!random_.chance(2.0 / static_cast<double>(jobs_.size() + 1))) continue;
            offers.push_back({{"job", name}});
            if (random_.chance(0.6)) offers.back()["part"] = part;  // otherwise the pair was not measured
        }
        if (!offers.empty()) job.asks["shares_with"] = std::move(offers);
    }

    std::map<std::string, int> free_gpus() const {
        std::map<std::string, int> free;
        for (const Json& node : nodes_)
            if (is_there(node, time_)) free[node["name"]] = node["gpus"].get<int>();
        for (const auto& [name, job] : jobs_) {
            if (!job.with.empty() && job.with < name) continue;
            for (const Json& share : job.held)
                if (const auto node = free.find(share[0].get<std::string>()); node != free.end())
                    node->second -= share[1].get<int>();
        }
        return free;
    }

    /// Makes the job run already, on any free GPUs: another scheduler or a person has placed it there.
    void let_run(StormJob& job) {
        if (job.asks.contains("host") || job.asks.contains("within") || job.asks.contains("team")) return;
        const std::map<std::string, int> free = free_gpus();
        int want = random_.integer(job.asks["gpus"][0].get<int>(), job.asks["gpus"][1].get<int>()), got = 0;
        if (job.asks["adapt"] == "none") want = job.asks["gpus"][1].get<int>();
        Json held = Json::array();
        std::string type;
        std::size_t at = static_cast<std::size_t>(random_.integer(0, static_cast<int>(nodes_.size()) - 1));
        for (std::size_t i = 0; i < nodes_.size() && got < want; ++i, at = (at + 1) % nodes_.size()) {
            const Json& node = nodes_[at];
            const auto there = free.find(node["name"].get<std::string>());
            const auto of_node = node["gpu_type"].get<std::string>();
            if (there == free.end() || there->second <= 0 || (!type.empty() && type != of_node) ||
                !job.asks["batch"]["rate"].contains(of_node))
                continue;
            type = of_node;
            const int part = std::min(there->second, want - got);
            held.push_back({node["name"], part});
            got += part;
        }
        if (got < job.asks["gpus"][0].get<int>() || (job.asks["adapt"] == "none" && got != want)) return;
        job.held = std::move(held);
        job.attained = 60.0 * got;
        job.asks["submitted_s"] = time_ - 600;
        job.asks.erase("shares_with");
    }

    /// Adds two jobs that already run on the same GPUs.
    void add_running_pair() {
        Json& node = nodes_[0];
        node.erase("from_s");
        int gpus = 1;
        while (2 * gpus <= node["gpus"].get<int>() && random_.chance(0.7)) gpus *= 2;
        const auto type = node["gpu_type"].get<std::string>();
        std::vector<std::string> names;
        for (int i = 0; i < 2; ++i) {
            StormJob& job = add_job(false);
            for (const char* field : {"shares_with", "host", "within", "team", "preemptible"})
                job.asks.erase(field);
            job.asks["gpus"] = {random_.integer(1, gpus), gpus * random_.integer(1, 3)};
            job.asks["adapt"] = "gpus";
            job.asks["batch"]["rate"][type] = 100;
            job.asks["batch"]["local"][type] = {1, 256};
            job.asks["submitted_s"] = time_ - 600;
            if (random_.chance(0.3)) job.asks["preemptible"] = false;
            if (!teams_.is_null() && random_.chance(0.7)) job.asks["team"] = "red";
            job.held = Json::array({Json::array({node["name"], gpus})});
            job.attained = 60.0 * gpus;
            names.push_back(job.asks["name"].get<std::string>());
        }
        jobs_[names[0]].with = names[1];
        jobs_[names[1]].with = names[0];
        if (random_.chance(0.7))
            jobs_[names[1]].asks["shares_with"] = {{{"job", names[0]}, {"part", {{type, {0.6, 0.7}}}}}};
    }

    static bool same_nodes(Json a, Json b) {
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        return a == b;
    }

    /// Starts, moves or stops the job as the answer says.
    void follow(StormJob& job, const Json& got) const {
        const auto starts = got.value("starts", "");
        const bool same = same_nodes(job.held, got["nodes"]);
        if (!same || starts == "start" || starts == "move" || starts == "restart") {
            job.held = got["nodes"];
            job.started = time_;
            job.restart_left = job.held.empty() ? 0 : job.restart;
            if (!job.held.empty() && job.attained > 0) ++job.restarts;
        }
        if (got.contains("goodput")) job.speed = got["goodput"].get<double>();
        job.with = got.value("with", "");
    }

    /// Returns when the job ends within the next `seconds`, or infinity if it does not.
    double work(StormJob& job, double seconds) const {
        constexpr double never = std::numeric_limits<double>::infinity();
        if (job.held.empty()) return never;
        // If nodes leave within the round, the job does not work from then on.
        double until = time_ + seconds;
        int gpus = 0;
        for (const Json& share : job.held) {
            gpus += share[1].get<int>();
            for (const Json& node : nodes_)
                if (has("leave") && node["name"] == share[0])
                    until = std::min(until, node.value("until_s", never));
        }
        const double there = std::max(0.0, until - time_), waits = std::min(job.restart_left, there);
        job.restart_left -= waits;
        job.attained += gpus * there;
        const double left = job.asks["remaining_examples"].get<double>() - job.done;
        if (left <= job.speed * (there - waits) * (1 + 1e-12)) return time_ + waits + left / job.speed;
        job.done += job.speed * (there - waits);
        return never;
    }

    /// Removes nodes when they were announced to leave, and now and then one without notice.
    void change_nodes() {
        std::set<std::string> gone;
        const bool lost = has("loss") && nodes_.size() > 1 && random_.chance(0.08);
        if (lost) {
            gone.insert(nodes_.back()["name"].get<std::string>());
            nodes_.erase(nodes_.end() - 1);
            for (auto& [name, job] : jobs_) job.excused = true;
        }
        if (has("leave"))
            for (std::size_t i = nodes_.size(); i-- > 0 && nodes_.size() > 1;)
                if (nodes_[i].contains("until_s") && nodes_[i]["until_s"].get<double>() <= time_) {
                    gone.insert(nodes_[i]["name"].get<std::string>());
                    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
                }
        for (auto& [name, job] : jobs_)
            if (std::any_of(job.held.begin(), job.held.end(),
                            [&](const Json& share) { return gone.contains(share[0].get<std::string>()); })) {
                job.held = Json::array();
                job.with.clear();
                job.restart_left = 0;
            }
    }

    Random random_;
    Random starts_random_;  // for the later feature "starts": other storms stay as they were
    Kind kind_;
    std::set<std::string> features_{};
    std::vector<std::string> options_{}, types_{"A"};
    Json nodes_ = Json::array(), teams_{};
    std::map<std::string, StormJob> jobs_{};
    std::set<std::string> misreported_{}, unusable_{};
    std::vector<std::string> names_free_{};
    double time_ = 10000, interval_ = 60, lateness_ = 0;
    int count_ = 0;
};

}  // namespace storm

#endif
