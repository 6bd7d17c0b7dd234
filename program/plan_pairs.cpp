#include "plan_pairs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "goodput/availability/lost_time.hpp"
#include "goodput/hosts/with_hosts.hpp"
#include "goodput/pairs/paired_scheduler.hpp"
#include "goodput/place/topology_placer.hpp"
#include "plan_parts.hpp"

namespace cli {

namespace {

using goodput::JobPair;

/// A rate beside another job as a part of the rate alone.
class PartsOfRates {
public:
    PartsOfRates(Round& round, PlanModels models) : round_(round), predict_(models) {}

    /// The pair as the scheduler takes it; rates of jobs whose speed alone is not known are left out.
    JobPair operator()(const RoundPair& pair) {
        const std::size_t types = round_.snapshot.cluster.gpu_types.size();
        JobPair answer{pair.jobs, std::vector<std::array<double, 2>>(types, {0, 0}), pair.together};
        for (const auto& [type, parts] : pair.parts) answer.parts[type] = parts;
        for (const auto& [type, rates] : pair.rates)
            for (std::size_t i = 0; i < 2; ++i) {
                const goodput::Job& job = round_.snapshot.jobs[pair.jobs[i]];
                const std::optional<double> alone = rate_alone(pair, pair.jobs[i], type);
                if (!alone)
                    round_.snapshot.warnings.push_back(
                        "job '" + job.name + "': its speed alone on " +
                        round_.snapshot.cluster.gpu_types[type] +
                        " is not known, so nor is what it loses beside job '" +
                        round_.snapshot.jobs[pair.jobs[1 - i]].name +
                        "'; say its batch.rate, or the part of its speed in shares_with");
                answer.parts[type][i] = alone ? rates[i] / *alone : 0;
            }
        return answer;
    }

private:
    static int fewest_gpus(const goodput::Job& job) {
        return job.adaptivity == goodput::Adaptivity::none ? job.max_gpus : job.min_gpus;
    }
    /// What a job does alone on the GPUs that the rates are of; none: not known, or nothing.
    std::optional<double> rate_alone(const RoundPair& pair, std::size_t j, std::size_t type) {
        const goodput::Snapshot& now = round_.snapshot;
        if (!now.jobs[j].set_aside.empty()) return std::nullopt;
        int node_size = 0;
        for (const goodput::Node& node : now.cluster.nodes)
            if (node.gpu_type == type) node_size = std::max(node_size, node.gpus);
        if (node_size == 0) return std::nullopt;
        int gpus = pair.gpus.value_or(
            std::max(fewest_gpus(now.jobs[pair.jobs[0]]), fewest_gpus(now.jobs[pair.jobs[1]])));
        if (!pair.gpus)
            for (const std::size_t job : pair.jobs) {
                const int replica = now.jobs[job].types[type].gpus_per_replica;
                gpus = (gpus + replica - 1) / replica * replica;
            }
        const goodput::Shape shape{(gpus + node_size - 1) / node_size, gpus};
        goodput::Option option;
        option.configuration = goodput::Configuration(type, node_size, shape);
        predict_(now.jobs[j], model_of(now, j), std::span(&option, 1));
        if (option.knowledge == goodput::Knowledge::unknown || !(option.goodput > 0)) return std::nullopt;
        return option.goodput;
    }

    Round& round_;
    PlanPredictor predict_;
};

}  // namespace

struct PairedRounds::Inside {
    using Scheduler = goodput::PairedScheduler<AnyPolicy<false>, goodput::TopologyPlacer, goodput::Allotter<>,
                                               PlanPredictor, PlanLimits, goodput::HostShares<>,
                                               goodput::Factors<goodput::HostFactor, goodput::LostTime>,
                                               goodput::DividedHosts>;

    PlanModels models;
    Scheduler scheduler;
    std::vector<JobPair> pairs{};
};

PairedRounds::PairedRounds(AnyPolicy<false> policy, PlanModels models)
    : inside_(std::make_shared<Inside>(Inside{
          models, Inside::Scheduler({.policy = std::move(policy), .predictor = PlanPredictor(models)})})) {}

const goodput::Plan& PairedRounds::plan(Round& round, const std::function<void(goodput::PlanStep)>& step) {
    PartsOfRates parts(round, inside_->models);
    inside_->pairs.clear();
    for (const RoundPair& pair : round.pairs) inside_->pairs.push_back(parts(pair));
    set_up(inside_->scheduler, round);
    return inside_->scheduler.plan(round.snapshot, inside_->pairs, step);
}

double PairedRounds::part_of(std::size_t job) const {
    const goodput::Decision& decision = inside_->scheduler.last_plan().decisions[job];
    for (const JobPair& pair : inside_->pairs)
        for (std::size_t i = 0; i < 2; ++i)
            if (pair.jobs[i] == job && pair.jobs[1 - i] == decision.shares_with)
                return pair.parts[decision.option.configuration.first().gpu_type][i];
    return 0;
}

std::vector<goodput::DecisionExplanation> PairedRounds::explain() const {
    return inside_->scheduler.explain();
}

}  // namespace cli
