// The C interface with whatever stands in its structs: every call ends with a status that the header knows, a
// refusal says why, and an answer keeps to the capacities and the nodes. Arrays have the lengths that their
// counts say; numbers, indices, flags, names and sizes are anything.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "goodput/goodput.h"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using fuzz::Bytes;
using fuzz::check;

namespace {

/// Whether a call was accepted.
bool accepted(goodput_status status, const char* sentence) {
    check(status >= GOODPUT_OK && status <= GOODPUT_NO_MEMORY, "a status that is no fault", status);
    check((status == GOODPUT_OK) == (sentence[0] == '\0'), "a refusal says why, and nothing else does",
          status);
    return status == GOODPUT_OK;
}

/// Mostly an index that there is.
std::size_t index_of(Bytes& bytes, std::size_t count) {
    const std::uint32_t value = bytes.field();
    if ((value & 0xFFU) >= fuzz::hostile_kind) return value % 3 == 0 ? SIZE_MAX : count + value % 3 - 1;
    return count == 0 ? 0 : (value >> 8) % count;
}

/// Mostly the size of the struct.
template <class Struct>
std::size_t size_of(Bytes& bytes) {
    const std::uint32_t value = bytes.field();
    return (value & 0xFFFU) >= 0xFF0U ? value >> 12 & 0xFFU : sizeof(Struct);
}

void allot(Bytes& bytes) {
    Bytes head = bytes.record();
    std::vector<double> capacity(head.count(4)), values, units;
    for (double& amount : capacity) amount = head.number(0, 20);
    std::vector<std::size_t> option_begin{0}, use_begin{0};
    std::vector<std::uint32_t> resources;
    std::vector<std::uint8_t> must;
    while (!bytes.empty() && must.size() < 20) {
        Bytes record = bytes.record();
        must.push_back(record.integer(0, 9) == 9);
        for (std::size_t options = record.count(3); options > 0; --options) {
            values.push_back(record.number(-5, 30));
            resources.push_back(static_cast<std::uint32_t>(index_of(record, capacity.size())));
            units.push_back(record.number(0, 12));
            use_begin.push_back(resources.size());
        }
        option_begin.push_back(values.size());
    }
    std::vector<std::size_t> choice(must.size());
    std::vector<double> price(capacity.size());
    goodput_allot_problem problem{};
    problem.struct_size = size_of<goodput_allot_problem>(head);
    problem.resource_count = capacity.size();
    problem.capacity = capacity.data();
    problem.job_count = must.size();
    problem.option_begin = option_begin.data();
    problem.must = must.data();
    problem.value = values.data();
    problem.use_begin = use_begin.data();
    problem.use_resource = resources.data();
    problem.use_units = units.data();
    problem.most_states = 1 << 12;
    problem.memory_states = 1 << 12;
    // A newer program's struct would go on past the end of this one.
    if (problem.struct_size > sizeof problem) problem.struct_size = sizeof problem;
    goodput_allot_answer answer{};
    answer.struct_size = sizeof answer;
    answer.choice = choice.data();
    answer.choice_capacity = choice.size();
    answer.price = price.data();
    answer.price_capacity = price.size();
    goodput_allotter* allotter = goodput_allotter_create();
    if (accepted(goodput_allot(allotter, &problem, &answer), goodput_allotter_error(allotter)) &&
        answer.proof != GOODPUT_INFEASIBLE && answer.proof != GOODPUT_UNKNOWN) {
        std::vector<double> used(capacity.size());
        for (std::size_t j = 0; j < choice.size(); ++j) {
            if (choice[j] == GOODPUT_NO_OPTION) {
                check(!must[j], "who must run has an option", static_cast<double>(j));
                continue;
            }
            const std::size_t option = option_begin[j] + choice[j];
            check(option < option_begin[j + 1], "an option of the job", static_cast<double>(choice[j]));
            for (std::size_t use = use_begin[option]; use < use_begin[option + 1]; ++use)
                used[resources[use]] += units[use];
        }
        for (std::size_t r = 0; r < capacity.size(); ++r)
            check(used[r] <= capacity[r] * (1 + 1e-9), "the capacity", used[r], capacity[r]);
    }
    goodput_allotter_destroy(allotter);
}

/// A round in arrays of its own; names stay where they are.
struct Round {
    std::vector<std::string> names;
    std::vector<const char*> types;
    std::vector<goodput_node> nodes;
    std::vector<goodput_job> jobs;
    std::vector<goodput_type_limits> limits;
    std::vector<goodput_share> held;
    std::vector<goodput_sample> samples;
    std::vector<goodput_speed_model> models;
    std::vector<goodput_team> teams;
    goodput_round round{};

    Round() {
        for (const char* prefix : {"a", "b", "c"})
            for (int i = 0; i < 8; ++i) names.push_back(prefix + std::to_string(i));
    }

    const char* name(Bytes& bytes, std::size_t kind) {
        const std::uint32_t value = bytes.field();
        if ((value & 0xFFU) >= fuzz::hostile_kind) return value & 0x100U ? "" : nullptr;
        return names[8 * kind + (value >> 8) % 8].c_str();
    }

    void read(Bytes& bytes) {
        Bytes head = bytes.record();
        bytes.let_in_hostile(head.integer(0, 3) == 3);
        head.let_in_hostile(false);
        round.time_s = head.number(0, 1e5);
        for (std::size_t t = head.count(3); t > 0; --t) types.push_back(t == 1 ? "t1" : t == 2 ? "t2" : "t3");
        for (std::size_t n = head.count(6); n > 0; --n) {
            Bytes record = bytes.record();
            goodput_node node{};
            node.name = name(record, 0);
            node.gpu_type = index_of(record, types.size());
            node.gpus = record.hostile_integer(1, 8);
            node.flags = record.field() % 8 == 7 ? record.field() : 0;
            node.cores = record.number(0, 64);
            node.interruptions_h = record.number(0, 0.1);
            nodes.push_back(node);
        }
        for (std::size_t j = head.count(6); j > 0; --j) read_job(bytes);
        for (std::size_t m = head.count(2); m > 0; --m) {
            Bytes record = bytes.record();
            goodput_speed_model model{};
            model.job = index_of(record, jobs.size());
            model.gpu_type = index_of(record, types.size());
            model.alpha_c = record.number(0, 1);
            model.beta_c = record.number(0, 0.01);
            model.alpha_n = model.alpha_r = record.number(0, 1);
            model.gamma = record.number(1, 10);
            model.most_replicas = record.hostile_integer(0, 16);
            models.push_back(model);
        }
        if (head.flag()) {
            goodput_team team{};
            team.name = "c0";
            team.gpus = bytes.record().number(0, 8);
            team.flags = GOODPUT_TEAM_HAS_GPUS;
            teams.push_back(team);
        }
        const auto give = [&](auto& array, auto& pointer, std::size_t& count, std::size_t& size) {
            pointer = array.data();
            count = array.size();
            size = sizeof array[0];
        };
        round.struct_size = sizeof round;
        round.gpu_type = types.data();
        round.gpu_type_count = types.size();
        give(nodes, round.node, round.node_count, round.node_size);
        give(jobs, round.job, round.job_count, round.job_size);
        give(limits, round.limits, round.limits_count, round.limits_size);
        give(held, round.held, round.held_count, round.held_size);
        give(samples, round.sample, round.sample_count, round.sample_size);
        give(models, round.model, round.model_count, round.model_size);
        give(teams, round.team, round.team_count, round.team_size);
    }

    void read_job(Bytes& bytes) {
        Bytes record = bytes.record(), more = bytes.record();
        goodput_job job{};
        job.name = name(record, 1);
        job.team = record.flag() ? "c0" : nullptr;
        job.submitted_s = record.number(0, 1e5);
        job.max_gpus = record.hostile_integer(0, 16);
        job.adapt = record.hostile_integer(0, 2);
        job.initial_batch = record.hostile_integer(1, 256);
        job.max_batch = job.target_batch = record.hostile_integer(256, 4096);
        const std::uint32_t flags = record.field();
        job.flags = flags % 16 == 15 ? flags : flags >> 8 & GOODPUT_JOB_HAS_GRADIENT;
        job.restart_cost_s = more.number(0, 300);
        job.weight = more.number(0, 4);
        job.gradient_sqr = more.number(0, 2);
        job.gradient_var = more.number(0, 50);
        for (std::size_t t = 0; t < types.size(); ++t)
            limits.push_back({1, more.hostile_integer(0, 512), 0, 0, more.number(0, 3000)});
        if (bytes.left() > 0 && more.flag()) {
            Bytes other = bytes.record();
            held.push_back({jobs.size(), index_of(other, nodes.size()), other.hostile_integer(1, 8), 0});
            goodput_sample sample{};
            sample.job = jobs.size();
            sample.gpu_type = index_of(other, types.size());
            sample.nodes = 1;
            sample.gpus = other.hostile_integer(1, 8);
            sample.local_batch = other.hostile_integer(1, 512);
            sample.step_s = other.number(1e-3, 10);
            sample.sync_s = other.number(0, 1e-3);
            samples.push_back(sample);
        }
        jobs.push_back(job);
    }
};

void plan(Bytes& bytes, bool sia) {
    goodput_scheduler* scheduler = goodput_scheduler_create();
    goodput_scheduler_settings settings{};
    settings.struct_size = sizeof settings;
    settings.policy = sia ? GOODPUT_POLICY_SIA : GOODPUT_POLICY_GOODPUT;
    settings.most_states = settings.memory_states = 1 << 12;
    check(goodput_scheduler_configure(scheduler, &settings) == GOODPUT_OK, "the settings are good");
    for (int rounds = 0; rounds < 3 && !bytes.empty(); ++rounds) {
        Round round;
        round.read(bytes);
        std::vector<goodput_decision> decisions(round.jobs.size());
        std::vector<goodput_share> shares(64);
        goodput_plan plan{};
        plan.struct_size = sizeof plan;
        plan.decision = decisions.data();
        plan.decision_capacity = decisions.size();
        plan.decision_size = sizeof(goodput_decision);
        plan.share = shares.data();
        plan.share_capacity = shares.size();
        plan.share_size = sizeof(goodput_share);
        const goodput_status status = goodput_scheduler_plan(scheduler, &round.round, &plan);
        accepted(status, goodput_scheduler_error(scheduler));
        if (status == GOODPUT_TOO_SMALL) {  // of prices and limits: what is written is right
            check(plan.share_count <= shares.size(), "GPUs are enough room for shares");
        } else if (status != GOODPUT_OK) {
            check(goodput_scheduler_last_plan(scheduler, &plan) == GOODPUT_NOT_YET,
                  "no plan of a refused round");
            continue;
        }
        std::vector<int> used(round.nodes.size());
        for (std::size_t s = 0; s < plan.share_count; ++s) {
            check(shares[s].node < used.size() && shares[s].gpus >= 1, "GPUs of a node that there is");
            used[shares[s].node] += shares[s].gpus;
            check(used[shares[s].node] <= round.nodes[shares[s].node].gpus, "as many as it has");
        }
        check(std::isfinite(plan.objective) &&
                  plan.objective <= plan.bound + 1e-6 * std::abs(plan.bound) + 1e-9,
              "the bound", plan.objective, plan.bound);
        char text[64];
        std::size_t length = 0;
        for (std::size_t j = 0; j < decisions.size(); ++j) {
            const goodput_status said =
                goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_JOB, j, text, sizeof text, &length);
            check((said == GOODPUT_OK) == (length < sizeof text) &&
                      std::strlen(text) == std::min(length, sizeof text - 1),
                  "a sentence, or its beginning", said);
        }
    }
    goodput_scheduler_destroy(scheduler);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const std::size_t what = bytes.record().index(3);
    if (what == 0)
        allot(bytes);
    else
        plan(bytes, what == 1);
    return 0;
}
