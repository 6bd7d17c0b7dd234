#ifndef GOODPUT_PLACE_DETAIL_WITHIN_DOMAINS_HPP
#define GOODPUT_PLACE_DETAIL_WITHIN_DOMAINS_HPP

// Finds placements in which every job that must stay within a domain does so (topology_placer.hpp). A draft
// is an answer of the inner placer in which roaming jobs were laid out again. A job that finds no domain in
// a draft is homeless. Homeless jobs are considered one by one: the draft without the job is compared with
// drafts in which other jobs are told to leave one of its domains.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/place/detail/holders.hpp"
#include "goodput/place/detail/least_moves.hpp"
#include "goodput/place/detail/spread_layout.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"

namespace goodput::inline v0_1::detail {

/// Counts the effort that may still be spent on further drafts, for all pools together.
class PlacingEffort {
public:
    explicit PlacingEffort(const Clock& clock) : clock_(clock) {}

    /// Whether the caller's deadline has passed.
    [[nodiscard]] bool late() { return clock_.late(); }
    [[nodiscard]] Clock& clock() { return clock_; }
    /// Whether one more draft of this many jobs and nodes may be tried. If so, subtracts its effort.
    [[nodiscard]] bool allows(std::size_t jobs_and_nodes) {
        if (late() || drafts_ == 0 || work_ < jobs_and_nodes) return false;
        --drafts_;
        work_ -= jobs_and_nodes;
        return true;
    }

private:
    std::size_t drafts_ = 400;
    std::size_t work_ = 200'000;  // jobs and nodes looked at
    Clock clock_;
};

/// One call of a placer that keeps jobs within domains.
class WithinDomains {
public:
    WithinDomains(LeastMoves& inner, SpreadLayout& layout, const Topology& topology, const Cluster& cluster,
                  std::span<const Pool> pools, std::span<const PlacementRequest> requests,
                  PlacingEffort& effort)
        : inner_(inner),
          layout_(layout),
          topology_(topology),
          cluster_(cluster),
          pools_(pools),
          requests_(requests),
          effort_(effort) {}

    /// Returns the placement for valid requests. Sets `above` to the amount by which the jobs that were
    /// laid out again cost more than their bounds.
    PlacementResult place(double& above);

private:
    // Largest number of domains that other jobs are told to leave in favour of one job.
    static constexpr std::size_t most_domains = 8;
    static constexpr std::size_t most_drafts = 32;  // drafts per pool

    // Orders drafts, better ones first: by the fewest jobs left out, then by which jobs are placed (running
    // ones and lower indices first), then by the least move cost, the fewest moves and the least spread.
    struct Score {
        std::size_t left_out = 0;
        std::vector<char> who;
        std::int64_t move_cost = 0;
        std::size_t moves = 0;
        double spread = 0;
        friend auto operator<=>(const Score&, const Score&) = default;
    };
    struct Draft {
        PlacementResult result;
        std::vector<std::size_t> homeless;
        double above = 0;
        Score score;
    };
    struct Leaving {
        std::int64_t cost = 0;
        std::set<std::size_t> jobs;  // jobs that must leave
    };

    void read();
    Draft draft(std::span<const PlacementRequest> asked);
    void count_moves(PlacementResult& result) const;
    std::vector<Leaving> ways_to_vacate(std::size_t job, const PlacementResult& result) const;
    double give_free_nodes(PlacementResult& result) const;
    void say_why(PlacementResult& result) const;
    void bound_moves(PlacementResult& result, bool first_draft);
    [[nodiscard]] bool is_open(std::size_t node) const { return !cluster_.nodes[node].drained; }
    [[nodiscard]] std::int64_t cost_of(std::size_t job) const {
        return milliseconds(requests_[job].move_cost);
    }

    LeastMoves& inner_;
    SpreadLayout& layout_;
    const Topology& topology_;
    const Cluster& cluster_;
    std::span<const Pool> pools_;
    std::span<const PlacementRequest> requests_;
    PlacingEffort& effort_;
    Holders holders_;
    std::vector<PlacementRequest> asked_;        // present requests to the inner placer
    std::vector<std::size_t> by_priority_;       // jobs, running ones first
    std::vector<std::size_t> unlawful_;          // jobs whose present allotment spans several domains
    std::map<std::size_t, Verdict> impossible_;  // by job
};

// ---------------------------------------------------------------------------------------------------------

inline PlacementResult WithinDomains::place(double& above) {
    read();
    Draft best = draft(asked_);
    const bool fewest_proven = best.result.fewest_unplaced_proven;
    const std::size_t fewest = best.result.unplaced.size();
    const bool complete = best.homeless.empty();
    std::size_t drafts_left = most_drafts;
    const std::size_t work = cluster_.nodes.size() + requests_.size();
    while (!best.homeless.empty() && !effort_.late()) {
        if (drafts_left == 0 || !effort_.allows(work)) {
            // Let all homeless jobs release their nodes to other jobs at the same time.
            for (const std::size_t job : best.homeless) asked_[job].part = {};
            best = draft(asked_);
            continue;
        }
        const auto job = *std::find_if(by_priority_.begin(), by_priority_.end(), [&](std::size_t j) {
            return std::find(best.homeless.begin(), best.homeless.end(), j) != best.homeless.end();
        });
        asked_[job].part = {};
        best = draft(asked_);
        std::vector<PlacementRequest> asked = asked_;
        for (const Leaving& leaving : ways_to_vacate(job, best.result)) {
            if (drafts_left == 0 || !effort_.allows(work)) break;
            --drafts_left;
            std::vector<PlacementRequest> with = asked_;
            with[job].part = requests_[job].part;
            for (const std::size_t other : leaving.jobs) with[other].leaves = true;
            Draft other = draft(with);
            if (other.result.placements[job].empty() || !(other.score < best.score)) continue;
            best = std::move(other);
            asked = std::move(with);
        }
        asked_ = std::move(asked);
    }
    PlacementResult& result = best.result;
    above = best.above;
    if (!complete) above += give_free_nodes(result);
    count_moves(result);
    bound_moves(result, complete);
    say_why(result);
    const auto waiting = static_cast<std::size_t>(
        std::count_if(result.unplaced.begin(), result.unplaced.end(),
                      [&](const UnplacedJob& unplaced) { return !impossible_.contains(unplaced.job); }));
    result.fewest_unplaced_proven = fewest_proven && waiting <= fewest;
    return std::move(result);
}

// Prepares the requests to the inner placer: jobs that hold nodes of several domains must leave them, and
// jobs for which no domain has enough nodes are not requested.
inline void WithinDomains::read() {
    holders_.find(cluster_, requests_);
    asked_.assign(requests_.begin(), requests_.end());
    for (const bool running : {true, false})
        for (std::size_t job = 0; job < requests_.size(); ++job)
            if (requests_[job].current.empty() != running) by_priority_.push_back(job);
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> most_of;  // by level and pool
    for (std::size_t job = 0; job < requests_.size(); ++job) {
        const PlacementRequest& request = requests_[job];
        const std::size_t l = level_within(topology_, request);
        if (l == topology_.levels.size() || (request.pinned && !request.current.empty())) continue;
        const TopologyLevel& level = topology_.levels[l];
        if (holders_.holds(job) && domains(level, request.current) == 1) continue;
        const std::size_t pool = find_pool(pools_, request.part);
        if (pool == pools_.size()) continue;  // the inner placer reports the error
        const auto [known, is_new] = most_of.try_emplace({l, pool}, 0);
        if (is_new)
            known->second =
                largest_domain(level, pools_[pool], [&](std::size_t n) { return is_open(n); }).size();
        const std::size_t most = known->second;
        if (most < static_cast<std::size_t>(request.part.shape.nodes)) {
            const PoolShare& part = request.part;
            impossible_[job] = {Outcome::impossible,
                                "needs " + text_of(part.shape.nodes) + " whole " +
                                    cluster_.gpu_types[part.gpu_type] + " nodes of " +
                                    text_of(part.gpus_per_node) + " GPUs in one " + request.within + "; no " +
                                    request.within + " has more than " + text_of(most) + " that are healthy"};
            asked_[job].part = {};
        } else if (holders_.holds(job)) {
            asked_[job].leaves = true;
            unlawful_.push_back(job);
        }
    }
}

inline auto WithinDomains::draft(std::span<const PlacementRequest> asked) -> Draft {
    Draft draft;
    draft.result = inner_.place(cluster_, asked);
    for (const Pool& pool : pools_)
        draft.above +=
            layout_.lay_out(cluster_, topology_, pool, asked, draft.result, draft.homeless, effort_.clock());
    count_moves(draft.result);
    Score& score = draft.score;
    for (const std::size_t job : by_priority_) {
        const bool out = !requests_[job].part.empty() && draft.result.placements[job].empty();
        score.who.push_back(out ? 1 : 0);
        score.left_out += out ? 1 : 0;
    }
    for (const std::size_t job : draft.result.moved) score.move_cost += cost_of(job);
    score.moves = draft.result.moved.size();
    score.spread = spread_cost(topology_, draft.result.placements);
    return draft;
}

inline void WithinDomains::count_moves(PlacementResult& result) const {
    result.moved.clear();
    std::int64_t cost = 0;
    for (std::size_t job = 0; job < requests_.size(); ++job) {
        const Placement& placement = result.placements[job];
        if (placement.empty() || !holders_.holds(job) || placement == requests_[job].current) continue;
        result.moved.push_back(job);
        cost += cost_of(job);
    }
    result.move_cost = static_cast<double>(cost) / 1000;
}

// For each domain in which a job could run, returns the jobs that would have to leave it, the cheapest
// domains first.
inline auto WithinDomains::ways_to_vacate(std::size_t job, const PlacementResult& result) const
    -> std::vector<Leaving> {
    const PlacementRequest& request = requests_[job];
    std::vector<std::vector<std::size_t>> stayers(cluster_.nodes.size());
    std::vector<char> blocked(cluster_.nodes.size(), 0);
    for (std::size_t other = 0; other < requests_.size(); ++other)
        for (const NodeShare& share : result.placements[other]) {
            if (result.placements[other] != requests_[other].current) continue;
            stayers[share.node].push_back(other);
            if (holders_.fixed(other)) blocked[share.node] = 1;
        }
    const TopologyLevel& level = topology_.levels[level_within(topology_, request)];
    std::map<std::size_t, std::vector<std::size_t>> domains;
    for (const std::size_t node : pools_[find_pool(pools_, request.part)].nodes)
        if (is_open(node) && !blocked[node]) domains[level.domain_of[node]].push_back(node);
    std::vector<Leaving> ways;
    for (auto& [domain, nodes] : domains) {
        if (nodes.size() < static_cast<std::size_t>(request.part.shape.nodes)) continue;
        Leaving leaving;
        for (int left = request.part.shape.nodes; left > 0; --left) {
            const auto added = [&](std::size_t node) {
                std::pair<std::int64_t, std::size_t> sum{0, 0};
                for (const std::size_t other : stayers[node])
                    if (!leaving.jobs.contains(other)) sum.first += cost_of(other), ++sum.second;
                return sum;
            };
            const auto next = std::min_element(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
                return added(a) < added(b);
            });
            leaving.cost += added(*next).first;
            leaving.jobs.insert(stayers[*next].begin(), stayers[*next].end());
            nodes.erase(next);
        }
        ways.push_back(std::move(leaving));
    }
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Leaving& a, const Leaving& b) { return a.cost < b.cost; });
    if (ways.size() > most_domains) ways.resize(most_domains);
    return ways;
}

// Gives free nodes to jobs that were left out before and fit now. Returns the cost of their spread.
inline double WithinDomains::give_free_nodes(PlacementResult& result) const {
    double cost = 0;
    std::vector<int> free = free_gpus(cluster_, result.placements);
    for (const std::size_t job : by_priority_) {
        const PlacementRequest& request = requests_[job];
        const std::size_t l = level_within(topology_, request);
        const std::size_t pool = find_pool(pools_, request.part);
        Placement& placement = result.placements[job];
        if (l == topology_.levels.size() || pool == pools_.size() || !placement.empty()) continue;
        const auto nodes = largest_domain(topology_.levels[l], pools_[pool], [&](std::size_t node) {
            return free[node] == request.part.gpus_per_node;
        });
        const auto needed = static_cast<std::size_t>(request.part.shape.nodes);
        if (nodes.size() < needed) continue;
        for (std::size_t i = 0; i < needed; ++i) {
            placement.push_back({nodes[i], 0});
            free[nodes[i]] = 0;
        }
        fill_whole_nodes(request.part, placement);
        cost += spread_cost(topology_, placement);
    }
    return cost;
}

inline void WithinDomains::say_why(PlacementResult& result) const {
    std::erase_if(result.unplaced,
                  [&](const UnplacedJob& unplaced) { return !result.placements[unplaced.job].empty(); });
    std::vector<char> said(requests_.size(), 0);
    for (const UnplacedJob& unplaced : result.unplaced) said[unplaced.job] = 1;
    for (std::size_t job = 0; job < requests_.size(); ++job) {
        const PlacementRequest& request = requests_[job];
        if (request.part.empty() || !result.placements[job].empty() || said[job]) continue;
        const auto known = impossible_.find(job);
        result.unplaced.push_back(
            {job, known != impossible_.end()
                      ? known->second
                      : Verdict{Outcome::waits, "no " + request.within + " has " +
                                                    text_of(request.part.shape.nodes) +
                                                    " whole nodes for it that are free"}});
    }
    result.sort();
    const FreeSpace space = free_space(cluster_, result.placements);
    result.whole_free_nodes = space.whole_nodes;
    result.largest_free_block = space.largest_block;
}

// Bounds the move cost from below: the inner placer's bound for the same jobs, plus the cost of jobs that
// cannot stay where they are.
inline void WithinDomains::bound_moves(PlacementResult& result, bool first_draft) {
    double bound = result.move_cost_bound;
    if (!first_draft) {
        asked_.assign(requests_.begin(), requests_.end());
        for (std::size_t job = 0; job < requests_.size(); ++job)
            if (result.placements[job].empty()) asked_[job].part = {};
        for (const std::size_t job : unlawful_) asked_[job].leaves = true;
        const PlacementResult anywhere = inner_.place(cluster_, asked_);
        bound = anywhere.unplaced.empty() ? anywhere.move_cost_bound : 0;
    }
    std::int64_t leaving = 0;
    for (const std::size_t job : unlawful_) leaving += result.placements[job].empty() ? 0 : cost_of(job);
    result.move_cost_bound = std::min(bound + static_cast<double>(leaving) / 1000, result.move_cost);
}

}  // namespace goodput::inline v0_1::detail

#endif
