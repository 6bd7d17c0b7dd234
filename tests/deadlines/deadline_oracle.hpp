#ifndef GOODPUT_TESTS_DEADLINES_DEADLINE_ORACLE_HPP
#define GOODPUT_TESTS_DEADLINES_DEADLINE_ORACLE_HPP

// Checks plans over time and proofs that there is none, knowing nothing of how they are found: GPUs are laid
// on the nodes that are there, one by one, and all configurations of a moment are tried.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/deadlines.hpp"
#include "support/random.hpp"

namespace support {

using goodput::AdmissionOptions;
using goodput::ClusterOverTime;
using goodput::DeadlineJob;
using goodput::DeadlinePlan;
using goodput::HeldGpus;
using goodput::NodesOverTime;
using goodput::PlannedPiece;

/// Whether jobs that hold this at the same time find nodes, all of which are there from one moment to the
/// other.
inline bool fits(const ClusterOverTime& cluster, std::vector<HeldGpus> held, double from, double until) {
    std::sort(held.begin(), held.end(), [](const HeldGpus& a, const HeldGpus& b) { return a.gpus > b.gpus; });
    for (std::size_t type = 0; type < cluster.gpu_types.size(); ++type) {
        int block = 1;
        std::vector<int> free;
        for (const NodesOverTime& group : cluster.nodes) {
            if (group.gpu_type != type) continue;
            while (2 * block <= group.gpus_per_node) block *= 2;
            if (group.from_seconds <= from && group.until_seconds >= until)
                free.insert(free.end(), static_cast<std::size_t>(group.nodes), group.gpus_per_node);
        }
        for (const HeldGpus& one : held) {
            if (one.gpu_type != type) continue;
            const int size = std::min(one.gpus, block);
            for (int left = one.gpus; left > 0; left -= size) {
                // A node on which no larger block is spoilt: the one with the fewest free that has enough.
                auto best = free.end();
                for (auto node = free.begin(); node != free.end(); ++node)
                    if (*node >= size && (best == free.end() || *node % (2 * size) < *best % (2 * size) ||
                                          (*node % (2 * size) == *best % (2 * size) && *node < *best)))
                        best = node;
                if (best == free.end()) return false;
                *best -= size;
            }
        }
    }
    return true;
}

/// The first thing that is wrong with a plan; empty: it keeps all promises.
inline std::string wrong_with(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                              const DeadlinePlan& plan, double slot_seconds = 0) {
    std::vector<double> moments{0};
    std::vector<double> done(jobs.size(), 0.0), end(jobs.size(), 0.0);
    std::vector<std::optional<HeldGpus>> held(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) held[j] = jobs[j].holds;
    for (const PlannedPiece& piece : plan) {
        const auto [j, has, from, until] = piece;
        if (j >= jobs.size()) return "a piece of no job";
        if (!(from >= end[j] && until > from)) return "pieces of job " + std::to_string(j) + " overlap";
        int power = 0;
        while ((1 << power) < has.gpus) ++power;
        if ((1 << power) != has.gpus) return "a size that is no power of two";
        if (has.gpu_type >= jobs[j].speed.size() ||
            static_cast<std::size_t>(power) >= jobs[j].speed[has.gpu_type].size())
            return "a size without a speed";
        if (slot_seconds > 0)
            for (const double moment : {from, until})
                if (std::abs(moment / slot_seconds - std::round(moment / slot_seconds)) > 1e-6)
                    return "a moment that is no whole slot";
        const bool goes_on = from == end[j] && held[j] == has;
        const double useful =
            std::min(until, jobs[j].deadline_seconds) - from - (goes_on ? 0 : jobs[j].restart_seconds);
        done[j] += jobs[j].speed[has.gpu_type][static_cast<std::size_t>(power)] * std::max(0.0, useful);
        held[j] = has;
        end[j] = until;
        moments.push_back(from);
        moments.push_back(until);
    }
    for (std::size_t j = 0; j < jobs.size(); ++j)
        if (done[j] < jobs[j].work_left * (1 - 1e-7))
            return "job " + std::to_string(j) + " is not done in time";
    for (const NodesOverTime& group : cluster.nodes) {
        if (std::isfinite(group.from_seconds)) moments.push_back(std::max(0.0, group.from_seconds));
        if (std::isfinite(group.until_seconds)) moments.push_back(std::max(0.0, group.until_seconds));
    }
    std::sort(moments.begin(), moments.end());
    for (std::size_t k = 0; k + 1 < moments.size(); ++k) {
        // What is no longer than rounding errors is no time.
        if (moments[k + 1] - moments[k] <= 1e-9 * (1 + moments[k])) continue;
        const double middle = (moments[k] + moments[k + 1]) / 2;
        std::vector<HeldGpus> now;
        for (const PlannedPiece& piece : plan)
            if (piece.from_seconds <= middle && piece.until_seconds > middle) now.push_back(piece.held);
        if (!fits(cluster, now, middle, middle))
            return "more GPUs than there are at " + std::to_string(middle);
    }
    return "";
}

/// Calls with every choice of GPUs of the jobs that fits, by job.
inline void for_all_configurations(
    const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs, double from, double until,
    const std::function<void(const std::vector<std::optional<HeldGpus>>&)>& call) {
    std::vector<std::optional<HeldGpus>> choice(jobs.size());
    std::vector<HeldGpus> held;
    const std::function<void(std::size_t)> decide = [&](std::size_t j) {
        if (j == jobs.size()) return call(choice);
        decide(j + 1);
        for (std::size_t type = 0; type < jobs[j].speed.size(); ++type)
            for (std::size_t power = 0; power < jobs[j].speed[type].size(); ++power) {
                held.push_back({type, 1 << power});
                if (fits(cluster, held, from, until)) {
                    choice[j] = held.back();
                    decide(j + 1);
                    choice[j].reset();
                }
                held.pop_back();
            }
    };
    decide(0);
}

/// Whether prices of work prove that there is no plan: whatever GPUs do in time is worth less than what is
/// needed.
inline bool proves_none(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                        std::span<const double> prices) {
    double needed = 0, reachable = 0;
    std::vector<double> moments{0};
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!(prices[j] >= 0)) return false;
        double slowest = std::numeric_limits<double>::infinity();
        for (const auto& speeds : jobs[j].speed)
            for (const double speed : speeds)
                if (speed > 0) slowest = std::min(slowest, speed);
        // Who holds nothing loses at least one restart.
        const double start = jobs[j].work_left > 0 && !jobs[j].holds && std::isfinite(slowest)
                                 ? jobs[j].restart_seconds * slowest
                                 : 0;
        needed += prices[j] * (jobs[j].work_left + start);
        moments.push_back(std::max(0.0, jobs[j].deadline_seconds));
    }
    for (const NodesOverTime& group : cluster.nodes)
        for (const double moment : {group.from_seconds, group.until_seconds})
            if (std::isfinite(moment)) moments.push_back(std::max(0.0, moment));
    std::sort(moments.begin(), moments.end());
    for (std::size_t k = 0; k + 1 < moments.size(); ++k) {
        double most = 0;
        for_all_configurations(cluster, jobs, moments[k], moments[k + 1], [&](const auto& choice) {
            double worth = 0;
            for (std::size_t j = 0; j < jobs.size(); ++j)
                if (choice[j] && jobs[j].deadline_seconds >= moments[k + 1])
                    worth += prices[j] * jobs[j].speed_on(*choice[j]);
            most = std::max(most, worth);
        });
        reachable += most * (moments[k + 1] - moments[k]);
    }
    return needed > reachable * (1 + 1e-12);
}

/// Whether there is a plan in whole slots, by trying all.
inline bool has_slot_plan(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                          double slot_seconds) {
    using State = std::pair<std::vector<double>, std::vector<std::optional<HeldGpus>>>;
    std::vector<State> states{{std::vector<double>(jobs.size(), 0.0), {}}};
    for (const DeadlineJob& job : jobs) states[0].second.push_back(job.holds);
    double last = 0;
    for (const DeadlineJob& job : jobs) last = std::max(last, job.deadline_seconds);
    const auto done = [&](const State& state) {
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (state.first[j] < jobs[j].work_left * (1 - 1e-9)) return false;
        return true;
    };
    for (int slot = 0; slot * slot_seconds < last; ++slot) {
        const double from = slot * slot_seconds, until = from + slot_seconds;
        std::vector<State> next;
        for (const State& state : states) {
            if (done(state)) return true;
            for_all_configurations(cluster, jobs, from, until, [&](const auto& choice) {
                State after = state;
                for (std::size_t j = 0; j < jobs.size(); ++j) {
                    // A restart longer than a slot is not asked for here.
                    if (choice[j]) {
                        const double seconds = std::min(until, jobs[j].deadline_seconds) - from -
                                               (state.second[j] == choice[j] ? 0 : jobs[j].restart_seconds);
                        after.first[j] =
                            std::min(jobs[j].work_left,
                                     after.first[j] + jobs[j].speed_on(*choice[j]) * std::max(0.0, seconds));
                    }
                    after.second[j] = choice[j];
                }
                next.push_back(std::move(after));
            });
        }
        // Of states in which all hold the same, one with less work of each job is of no use.
        const auto key = [](const State& state) {
            std::vector<int> all;
            for (const auto& one : state.second)
                all.push_back(one ? static_cast<int>(one->gpu_type) * 1000 + one->gpus : 0);
            return all;
        };
        bool restarts = false;
        for (const DeadlineJob& job : jobs) restarts = restarts || job.restart_seconds > 0;
        std::map<std::vector<int>, std::vector<State>> best;
        for (State& state : next) {
            std::vector<State>& front = best[restarts ? key(state) : std::vector<int>{}];
            const auto covers = [&](const State& a, const State& b) {
                for (std::size_t j = 0; j < jobs.size(); ++j)
                    if (a.first[j] < b.first[j]) return false;
                return true;
            };
            if (std::any_of(front.begin(), front.end(),
                            [&](const State& other) { return covers(other, state); }))
                continue;
            std::erase_if(front, [&](const State& other) { return covers(state, other); });
            front.push_back(std::move(state));
        }
        states.clear();
        for (auto& [held, front] : best) states.insert(states.end(), front.begin(), front.end());
    }
    return std::any_of(states.begin(), states.end(), done);
}

/// A question: whole numbers, so that many are just possible or just not.
struct DeadlineCase {
    ClusterOverTime cluster{};
    std::vector<DeadlineJob> jobs{};
};

inline DeadlineCase random_deadline_case(Random& random, int most_jobs, int most_gpus, double restart = 0) {
    DeadlineCase its;
    const int types = random.chance(0.3) ? 2 : 1;
    for (int type = 0; type < types; ++type) {
        its.cluster.gpu_types.push_back("type" + std::to_string(type));
        const int groups = random.integer(1, 2);
        for (int left = most_gpus / types, k = 0; k < groups && left > 0; ++k) {
            NodesOverTime group{static_cast<std::size_t>(type), 1, random.integer(1, left)};
            left -= group.gpus_per_node;
            if (left >= group.gpus_per_node && random.chance(0.5)) {
                group.nodes = 2;
                left -= group.gpus_per_node;
            }
            if (random.chance(0.2)) group.from_seconds = random.integer(1, 6);
            if (random.chance(0.2)) group.until_seconds = random.integer(3, 9);
            its.cluster.nodes.push_back(group);
        }
    }
    const int count = random.integer(1, most_jobs);
    for (int j = 0; j < count; ++j) {
        DeadlineJob job{.name = std::to_string(j), .deadline_seconds = 1.0 * random.integer(1, 8)};
        double most = 0;
        for (int type = 0; type < types; ++type) {
            auto& speeds = job.speed.emplace_back();
            double speed = random.integer(1, 3);
            for (int power = 0; (1 << power) <= most_gpus; ++power) {
                speeds.push_back(random.chance(0.15) ? 0 : speed);
                most = std::max(most, speeds.back());
                speed = std::max(0.0, speed + random.integer(-1, 4));
            }
        }
        job.work_left = std::max(1.0, std::round(most * job.deadline_seconds * random.between(0.1, 0.9)));
        job.restart_seconds = restart;
        if (random.chance(0.3)) job.holds = HeldGpus{0, 1 << random.integer(0, 1)};
        its.jobs.push_back(std::move(job));
    }
    return its;
}

/// A question with a plan that just answers it: at whole seconds jobs get GPUs by chance that find nodes, and
/// what they do with them is their work. Up to three GPU types, nodes of odd sizes, some that come or go, and
/// jobs that hold GPUs. In half of the cases all GPUs of a type are worth the same, so that none can be
/// spared.
struct PlantedDeadlineCase {
    DeadlineCase its{};
    DeadlinePlan plan{};
};

inline PlantedDeadlineCase planted_deadline_case(Random& random, int most_jobs, double restart) {
    PlantedDeadlineCase planted;
    ClusterOverTime& cluster = planted.its.cluster;
    std::vector<DeadlineJob>& jobs = planted.its.jobs;
    const int types = random.integer(1, 3), seconds = random.integer(4, 16);
    for (int type = 0; type < types; ++type) {
        cluster.gpu_types.push_back("type" + std::to_string(type));
        for (int groups = random.integer(1, 2); groups > 0; --groups) {
            NodesOverTime group{static_cast<std::size_t>(type), random.integer(1, 2), random.integer(1, 9)};
            if (random.chance(0.2)) group.from_seconds = random.integer(1, seconds - 1);
            if (random.chance(0.2)) group.until_seconds = random.integer(1, seconds);
            cluster.nodes.push_back(group);
        }
    }
    const bool linear = random.chance(0.5);
    std::vector<std::vector<HeldGpus>> sizes;  // by job: those at which it runs
    std::vector<std::optional<HeldGpus>> held;
    for (int count = random.integer(2, most_jobs); count > 0; --count) {
        DeadlineJob job{.name = std::to_string(count), .restart_seconds = restart};
        auto& its = sizes.emplace_back();
        for (int type = 0; type < types; ++type) {
            auto& speeds = job.speed.emplace_back();
            int speed = random.integer(1, 3);
            for (int power = 0; power <= 3; ++power) {
                if (linear) speed = (type + 1) << power;
                speeds.push_back(random.chance(linear ? 0.4 : 0.1) ? 0 : speed);
                if (speeds.back() > 0) its.push_back({static_cast<std::size_t>(type), 1 << power});
                speed = std::max(0, speed + random.integer(-1, 4));
            }
        }
        held.emplace_back();
        if (!its.empty() && random.chance(0.3))
            held.back() = job.holds = its[static_cast<std::size_t>(random.integer(0, 99)) % its.size()];
        jobs.push_back(std::move(job));
    }
    std::vector<DeadlinePlan> pieces(jobs.size());
    for (double now = 0; now < seconds; ++now) {
        std::vector<HeldGpus> taken;
        const auto gets = [&](const HeldGpus& wish) {
            taken.push_back(wish);
            if (fits(cluster, taken, now, now + 1)) return true;
            taken.pop_back();
            return false;
        };
        const std::size_t first = static_cast<std::size_t>(random.integer(0, 99));
        for (std::size_t k = 0; k < jobs.size(); ++k) {
            const std::size_t j = (first + k) % jobs.size();
            // Most keep what they have from one second to the next.
            const bool keeps = held[j] && random.chance(0.8) && gets(*held[j]);
            if (!keeps) {
                held[j].reset();
                const std::size_t start = static_cast<std::size_t>(random.integer(0, 99));
                for (std::size_t s = 0; s < sizes[j].size() && !held[j]; ++s)
                    if (gets(sizes[j][(start + s) % sizes[j].size()])) held[j] = taken.back();
            }
            if (!held[j]) continue;
            DeadlinePlan& its = pieces[j];
            if (!its.empty() && its.back().held == *held[j] && its.back().until_seconds == now)
                its.back().until_seconds = now + 1;
            else
                its.push_back({j, *held[j], now, now + 1});
        }
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        std::optional<HeldGpus> before = jobs[j].holds;
        double end = 0;
        for (const PlannedPiece& piece : pieces[j]) {
            const bool goes_on = before == piece.held && piece.from_seconds == end;
            end = piece.until_seconds;
            before = piece.held;
            jobs[j].work_left += jobs[j].speed_on(piece.held) *
                                 std::max(0.0, end - piece.from_seconds - (goes_on ? 0 : restart));
            planted.plan.push_back(piece);
        }
        jobs[j].deadline_seconds = end;
    }
    return planted;
}

}  // namespace support

#endif
