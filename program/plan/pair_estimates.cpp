#include "plan/pair_estimates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "goodput/pairs/utilised_pairs.hpp"

namespace cli {

using goodput::JobPair;

namespace {

/// Whether both jobs can use this type.
bool can_use(const Round& round, const JobPair& pair, std::size_t type) {
    return std::ranges::all_of(pair.jobs, [&](std::size_t j) {
        const goodput::Job& job = round.snapshot.jobs[j];
        return job.set_aside.empty() && job.types[type].max_atomic_batch > 0;
    });
}

/// "0.71".
std::string hundredths(double number) { return goodput::rounded_text_of(std::round(number * 100) / 100); }

}  // namespace

void PairEstimates::estimate(const Round& round, std::vector<JobPair>& pairs) {
    estimates_.clear();
    if (std::ranges::none_of(round.pairs, &RoundPair::is_estimated)) return;
    const std::vector<goodput::Job>& jobs = round.snapshot.jobs;
    const goodput::Cluster& cluster = round.snapshot.cluster;
    for (std::size_t type = 0; type < cluster.gpu_types.size(); ++type) {
        if (std::ranges::count(cluster.nodes, type, &goodput::Node::gpu_type) == 0) continue;
        std::vector<std::size_t> asked;
        std::vector<goodput::SeenPair> seen;
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            if (round.pairs[p].is_estimated() && can_use(round, pairs[p], type)) asked.push_back(p);
            // Parts out of range are refused with the pair.
            if (!round.pairs[p].is_estimated() && pairs[p].runs_on(type) &&
                std::ranges::max(pairs[p].parts[type]) <= 2)
                seen.push_back({pairs[p].jobs, pairs[p].parts[type]});
        }
        if (asked.empty()) continue;
        std::vector<goodput::UtilisedJob> used;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            used.push_back({jobs[j].name, round.utilisation[j].on(type)});
        const goodput::UtilisedPairs model(used, seen, round.sharing);
        for (const std::size_t p : asked) {
            const goodput::PairEstimate together = model.estimate(pairs[p].jobs);
            const bool offered = pairs[p].together || goodput::gain_is_likely(together);
            if (offered) pairs[p].parts[type] = together.parts;
            estimates_.push_back({p, type, together, model.assumed_utilisation(), offered});
        }
    }
    std::ranges::stable_sort(estimates_, {}, &OnType::pair);
}

std::string PairEstimates::reason(const OnType& estimate, const Round& round) {
    const RoundPair& pair = round.pairs[estimate.pair];
    const goodput::PairEstimate& together = estimate.together;
    const double sum = together.parts[0] + together.parts[1];
    const double deviation = std::hypot(together.deviations[0], together.deviations[1]);
    std::string why = "on " + round.snapshot.cluster.gpu_types[estimate.gpu_type] +
                      " the two are expected to do " + hundredths(sum) +
                      " of what one does alone, give or take " + hundredths(deviation);
    if (!goodput::gain_is_likely(together))
        why += pair.together ? ": a gain is not likely, but they share GPUs now"
                             : ": a gain is not likely, so they are not offered";
    for (const std::size_t j : pair.jobs)
        if (!round.utilisation[j].on(estimate.gpu_type))
            why += "; gpu_utilisation of job '" + round.snapshot.jobs[j].name + "' is not known, " +
                   hundredths(estimate.assumed) + " is assumed";
    return why;
}

void PairEstimates::add_to(Json& answer, const Round& round) const {
    for (std::size_t first = 0; first < estimates_.size();) {
        const RoundPair& pair = round.pairs[estimates_[first].pair];
        Json parts = Json::object(), offered = Json::array();
        std::string why;
        std::size_t e = first;
        for (; e < estimates_.size() && estimates_[e].pair == estimates_[first].pair; ++e) {
            const OnType& of = estimates_[e];
            const std::string& type = round.snapshot.cluster.gpu_types[of.gpu_type];
            parts[type] = of.together.parts;
            if (of.offered) offered.push_back(type);
            why += (why.empty() ? "" : "; ") + reason(of, round);
        }
        answer["pairs"].push_back(
            {{"jobs", {round.snapshot.jobs[pair.jobs[0]].name, round.snapshot.jobs[pair.jobs[1]].name}},
             {"part", std::move(parts)},
             {"offered", std::move(offered)},
             {"why", std::move(why)}});
        first = e;
    }
}

}  // namespace cli
