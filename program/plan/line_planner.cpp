#include "plan/line_planner.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/allot/allot.hpp"
#include "goodput/availability/lost_time.hpp"
#include "goodput/deadlines/promises_engine.hpp"
#include "goodput/hosts/with_hosts.hpp"
#include "goodput/pairs/pairs_engine.hpp"
#include "goodput/place/topology_placer.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/limits.hpp"
#include "plan/pair_estimates.hpp"

namespace cli {

namespace {

using goodput::JobPair;

/// Converts a job's rate while it shares GPUs into a fraction of its rate alone.
class PartsOfRates {
public:
    PartsOfRates(Round& round, const goodput::PredictorJoint& predictor)
        : round_(round), predictor_(predictor) {}

    /// Returns the pair as the scheduler expects it, without the rates of jobs whose own speed is unknown.
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
                        " is not known, and so is what it loses while it shares with job '" +
                        round_.snapshot.jobs[pair.jobs[1 - i]].name +
                        "'; say its batch.rate, or the part of its speed in shares_with");
                answer.parts[type][i] = alone ? rates[i] / *alone : 0;
            }
        return answer;
    }

private:
    /// Returns the job's rate alone on the GPUs that the pair's rates refer to, or nothing if it is unknown
    /// or 0.
    std::optional<double> rate_alone(const RoundPair& pair, std::size_t j, std::size_t type) {
        const goodput::Snapshot& now = round_.snapshot;
        if (!now.jobs[j].set_aside.empty()) return std::nullopt;
        int node_size = 0;
        for (const goodput::Node& node : now.cluster.nodes)
            if (node.gpu_type == type) node_size = std::max(node_size, node.gpus);
        if (node_size == 0) return std::nullopt;
        int gpus = pair.gpus.value_or(
            std::max(now.jobs[pair.jobs[0]].fewest_gpus(), now.jobs[pair.jobs[1]].fewest_gpus()));
        if (!pair.gpus)
            for (const std::size_t job : pair.jobs) {
                const int replica = now.jobs[job].types[type].gpus_per_replica;
                gpus = (gpus + replica - 1) / replica * replica;
            }
        const goodput::Shape shape{(gpus + node_size - 1) / node_size, gpus};
        goodput::Option option;
        option.configuration = goodput::Configuration(type, node_size, shape);
        predictor_.predict(predictor_.part, now.jobs[j], model_of(now, j), std::span(&option, 1));
        if (option.knowledge == goodput::Knowledge::unknown || !(option.goodput > 0)) return std::nullopt;
        return option.goodput;
    }

    Round& round_;
    goodput::PredictorJoint predictor_;
};

/// An Allotter that can keep the last problem and its answer.
class KeepingAllotter {
public:
    const goodput::AllotResult& operator()(const goodput::AllotmentProblem& problem,
                                           const goodput::AllotOptions& options) {
        const goodput::AllotResult& result = allotter_(problem, options);
        if (keeps) kept = Allotment{problem, result, options.gap};
        return result;
    }

    bool keeps = false;
    std::optional<Allotment> kept{};

private:
    goodput::Allotter<> allotter_{};
};

}  // namespace

struct LinePlanner::Inside {
    using Limits =
        goodput::Limits<goodput::TeamQuotas, goodput::Budget, goodput::SpotCap, goodput::HostCapacity>;
    using Factors = goodput::Factors<goodput::HostFactor, goodput::LostTime>;

    goodput::PolicyJoint policy{};
    OwnedPredictor predictor{}, promised{};

    goodput::HostShares<> maker{};
    Limits limits{};
    Factors factors{};
    goodput::TopologyPlacer placer{};
    KeepingAllotter solver{};
    bool keeps_allotment = false;
    goodput::DividedHosts station{};
    goodput::AllotOptions options{};

    goodput::RoundEngine round{};
    goodput::PairsEngine paired{};
    goodput::PromisesEngine promises{};

    std::vector<JobPair> pairs{};     ///< pairs of the last line
    PairEstimates estimates{};        ///< those of them that nobody measured
    bool has_promises = false;        ///< in the last line
    std::set<std::string> refused{};  ///< jobs that were refused in earlier lines

    [[nodiscard]] goodput::Joints joints() {
        return {policy,
                predictor.joint,
                goodput::maker_joint(maker),
                goodput::limits_joint(limits),
                goodput::factor_joint(factors),
                goodput::placer_joint(placer),
                goodput::solver_joint(solver),
                goodput::station_joint(station)};
    }

    /// Takes over what a line says in addition to its jobs and nodes: racks, limits, the deadline.
    void set_up(const Round& line) {
        placer.set_topology(line.topology);
        limits = Limits(goodput::TeamQuotas(line.teams), goodput::Budget(line.budget_h),
                        goodput::SpotCap(line.spot_gpus), goodput::HostCapacity());
        options = line.allot_options;
    }

    /// Ends the promises of jobs that are no longer in a line. Returns whether any of its jobs has a
    /// promise.
    bool keep_only(const Round& line) {
        if (promises.promises().empty()) return false;
        std::set<std::string> names;
        for (const goodput::Job& job : line.snapshot.jobs) names.insert(job.name);
        promises.promises().keep_only(names);
        return !promises.promises().kept().empty();
    }

    /// Returns the jobs that share GPUs now.
    [[nodiscard]] std::vector<goodput::SharingJobs> sharing(const goodput::Snapshot& snapshot) const {
        std::vector<goodput::SharingJobs> all;
        for (const JobPair& pair : pairs) {
            const goodput::Placement& held = snapshot.jobs[pair.jobs[0]].placement;
            if (pair.together && !held.empty())
                all.push_back({pair.jobs, pair.parts[snapshot.cluster.nodes[held.front().node].gpu_type]});
        }
        return all;
    }

    const goodput::Plan& plan_round(const goodput::Snapshot& snapshot, const goodput::Joints& parts,
                                    const goodput::AllotOptions& within, std::span<const std::size_t> alone,
                                    const goodput::AfterStep& step) {
        if (pairs.empty()) return round.plan(snapshot, parts, within, step);
        return paired.plan(snapshot, pairs, parts, within, step, alone);
    }
};

LinePlanner::LinePlanner(const goodput::PolicyJoint& policy, const PlanModels& models)
    : inside_(std::make_unique<Inside>(
          Inside{.policy = policy, .predictor = models.predictor(), .promised = models.predictor()})) {}
LinePlanner::LinePlanner(LinePlanner&&) noexcept = default;
LinePlanner& LinePlanner::operator=(LinePlanner&&) noexcept = default;
LinePlanner::~LinePlanner() = default;

void LinePlanner::keep_allotment(bool keep) { inside_->keeps_allotment = keep; }
const Allotment* LinePlanner::kept_allotment() const {
    return inside_->solver.kept ? &*inside_->solver.kept : nullptr;
}

const goodput::Plan& LinePlanner::plan(Round& round, const goodput::AfterStep& after_step,
                                       const std::function<void()>& after_promises) {
    Inside& with = *inside_;
    with.solver.kept.reset();
    with.solver.keeps = with.keeps_allotment;
    const goodput::AfterStep step = [&](goodput::PlanStep done) {
        if (done == goodput::PlanStep::allot) with.solver.keeps = false;
        after_step(done);
    };
    with.set_up(round);
    with.pairs.clear();
    PartsOfRates parts(round, with.promised.joint);
    for (const RoundPair& pair : round.pairs) with.pairs.push_back(parts(pair));
    with.estimates.estimate(round, with.pairs);
    const bool promised_before = with.keep_only(round);
    with.has_promises = promised_before || !round.deadlines.empty();
    if (!with.has_promises) return with.plan_round(round.snapshot, with.joints(), with.options, {}, step);
    with.promises.set_round_seconds(round.interval_s);
    with.promises.set_node_times(round.node_times);
    for (const std::string& name : round.promised) with.promises.promises().give(name);
    return with.promises.plan(
        round.snapshot, round.deadlines,
        {with.joints(), with.options, with.promised.joint,
         [&with](const goodput::Snapshot& snapshot, const goodput::Joints& joints,
                 const goodput::AllotOptions& options, std::span<const std::size_t> alone,
                 const goodput::AfterStep& after) -> const goodput::Plan& {
             return with.plan_round(snapshot, joints, options, alone, after);
         },
         with.sharing(round.snapshot), after_promises},
        step);
}

bool LinePlanner::has_promises() const { return inside_->has_promises; }

void LinePlanner::add_promises(const Round& round, bool always, Json& jobs) {
    constexpr const char* names[] = {"kept", "refused", "broken", "at_risk"};
    constexpr int most_helped = 3;  // most jobs that get advice without --explain
    int helped = 0;
    std::set<std::string> refused;
    const std::vector<goodput::PromiseAnswer>& answers = inside_->promises.answers();
    for (std::size_t k = 0; k < answers.size(); ++k) {
        Json& job = jobs[round.deadlines[k].job];
        const goodput::PromiseAnswer& answer = answers[k];
        job["promise"] = names[static_cast<int>(answer.promise)];
        if (std::isfinite(answer.done_by_seconds)) job["done_by_s"] = answer.done_by_seconds;
        if (answer.promise == goodput::Promise::kept) continue;
        const std::string name = job["name"].get<std::string>();
        refused.insert(name);
        std::string why =
            (answer.promise == goodput::Promise::at_risk ? "promise at risk: " : "no promise: ") + answer.why;
        if ((always || (!inside_->refused.contains(name) && helped < most_helped)) && ++helped)
            if (const std::string help = inside_->promises.what_would_help(k); !help.empty())
                why += "; it could be promised with " + help;
        const std::string before = job.contains("why") ? job["why"].get<std::string>() + "; " : "";
        job["why"] = before + why;
    }
    inside_->refused = std::move(refused);
}

void LinePlanner::add_pairs(const Round& round, Json& answer) const {
    inside_->estimates.add_to(answer, round);
}

std::vector<goodput::DecisionExplanation> LinePlanner::explain(const Round& round) const {
    const Inside& with = *inside_;
    const goodput::NotesOf notes = [&](const goodput::GivenOption& given) {
        return with.factors.notes(given);
    };
    std::vector<goodput::DecisionExplanation> all =
        !with.pairs.empty() ? with.paired.explain(with.policy, notes)
                            : with.round.explain(with.has_promises ? with.promises.planned() : round.snapshot,
                                                 with.policy, notes);
    if (with.has_promises) with.promises.add_notes(all);
    return all;
}

}  // namespace cli
