#ifndef GOODPUT_TESTS_PLACE_PLACE_BRUTE_FORCE_HPP
#define GOODPUT_TESTS_PLACE_PLACE_BRUTE_FORCE_HPP

// Finds the best placement by trying every node for every job. For a handful of nodes and jobs.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "goodput/place/topology.hpp"
#include "place/place_rounds.hpp"

namespace support::place {

/// Tries only placements in which jobs stay within their domain if they must, except for pinned jobs.
class BruteForce {
public:
    /// What makes a placement better, most important first: jobs left out, which jobs (by_priority), cost of
    /// moves in milliseconds, number of moves.
    struct Score {
        std::size_t unplaced = std::numeric_limits<std::size_t>::max();
        std::vector<bool> left_out{};
        std::int64_t cost = std::numeric_limits<std::int64_t>::max();
        int moves = 0;
        friend auto operator<=>(const Score&, const Score&) = default;
    };

    /// Tries all placements. With `given`, also finds the best of those that place the same jobs as `given`.
    explicit BruteForce(const Round& r, Topology topology = {}, const PlacementResult* given = nullptr)
        : round(r), topology_(std::move(topology)), given_(given), holds_(holders(r)) {
        const std::size_t n = r.requests.size();
        free_.resize(r.cluster.nodes.size());
        for (std::size_t h = 0; h < free_.size(); ++h)
            free_[h] = r.cluster.nodes[h].drained ? 0 : r.cluster.nodes[h].gpus;
        for (std::size_t j = 0; j < n; ++j) {
            const Placement& current = r.requests[j].current;
            if (!stays(j))
                order_.push_back(j);
            else
                for (const NodeShare& s : current)
                    free_[s.node] = current.size() > 1 ? 0 : std::max(free_[s.node] - s.gpus, 0);
        }
        std::erase_if(order_, [&](std::size_t j) { return r.requests[j].part.empty(); });
        // Running jobs first, then by index: jobs earlier in this order are worse to leave out.
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            return !r.requests[a].current.empty() && r.requests[b].current.empty();
        });
        now_.resize(n);
        placed_.assign(order_.size(), false);
        descend(0, 0, 0);
    }

    Score best;
    int whole_free = 0;  ///< most nodes left wholly free by one of the best placements
    /// Least cost of moves, and least spread, over placements of the same jobs as `given`. For the spread,
    /// only jobs on whole nodes that do not stay may have other nodes than in `given`.
    std::int64_t least_cost_of_given = std::numeric_limits<std::int64_t>::max();
    double least_spread_of_given = std::numeric_limits<double>::infinity();

    /// Returns the score of a result.
    [[nodiscard]] Score score_of(const PlacementResult& result) const {
        Score score{0, {}, 0, static_cast<int>(result.moved.size())};
        for (const std::size_t j : order_) {
            score.left_out.push_back(result.placements[j].empty());
            score.unplaced += result.placements[j].empty() ? 1 : 0;
        }
        for (const std::size_t j : result.moved) score.cost += cost_ms(round.requests[j]);
        return score;
    }

private:
    bool stays(std::size_t j) const {
        const PlacementRequest& request = round.requests[j];
        const bool on_drained =
            std::any_of(request.current.begin(), request.current.end(),
                        [&](const NodeShare& s) { return round.cluster.nodes[s.node].drained; });
        return stays_pinned(request) ||
               (holds_[j] && on_drained && lies_within(topology_, request.within, request.current));
    }

    void descend(std::size_t next, std::int64_t cost, int moves) {
        const auto out = static_cast<std::size_t>(
            std::count(placed_.begin(), placed_.begin() + static_cast<std::ptrdiff_t>(next), false));
        if (out > best.unplaced && !given_) return;
        if (next < order_.size()) {
            placed_[next] = true;
            choose(next, 0, round.requests[order_[next]].part.shape.nodes, {}, cost, moves);
            placed_[next] = false;
            descend(next + 1, cost, moves);
            return;
        }
        Score score{out, {}, cost, moves};
        for (const bool p : placed_) score.left_out.push_back(!p);
        int whole = 0;
        for (std::size_t h = 0; h < free_.size(); ++h) whole += free_[h] == round.cluster.nodes[h].gpus;
        if (score < best) best = score, whole_free = whole;
        if (score == best) whole_free = std::max(whole_free, whole);
        if (!given_) return;
        bool same_jobs = true, same_stay = true;
        double spread = 0;
        for (std::size_t j = 0; j < now_.size(); ++j) {
            const Placement& given = given_->placements[j];
            const bool fixed = std::find(order_.begin(), order_.end(), j) == order_.end();
            const Placement& now = fixed ? given : now_[j];
            same_jobs &= now.empty() == given.empty();
            const PlacementRequest& request = round.requests[j];
            const bool whole =
                request.part.occupied_gpus() == request.part.shape.nodes * request.part.gpus_per_node;
            same_stay &= given.empty() || (whole && given != request.current) || now == given;
            spread += spread_cost(topology_, now);
        }
        if (!same_jobs) return;
        least_cost_of_given = std::min(least_cost_of_given, cost);
        if (same_stay) least_spread_of_given = std::min(least_spread_of_given, spread);
    }

    void choose(std::size_t next, std::size_t from, int nodes, Placement chosen, std::int64_t cost,
                int moves) {
        const std::size_t job = order_[next];
        const PlacementRequest& request = round.requests[job];
        const bool whole = request.part.shape.nodes > 1;
        if (nodes == 0) {
            if (!lies_within(topology_, request.within, chosen)) return;
            // With the GPUs that the job holds there, so that staying is recognised.
            bool same = chosen.size() == request.current.size();
            for (std::size_t i = 0; same && i < chosen.size(); ++i)
                same = chosen[i].node == request.current[i].node;
            if (same && request.part == pool_share_of(request.current, round.cluster))
                chosen = request.current;
            const bool moves_now = holds_[job] && !same;
            now_[job] = std::move(chosen);
            descend(next + 1, cost + (moves_now ? cost_ms(request) : 0), moves + moves_now);
            now_[job].clear();
            return;
        }
        for (std::size_t h = from; h < free_.size(); ++h) {
            if (!is_node_of(round.cluster.nodes[h], request.part)) continue;
            const int takes = whole ? round.cluster.nodes[h].gpus : request.part.shape.gpus;
            if (free_[h] < takes) continue;
            free_[h] -= takes;
            chosen.push_back({h, takes});
            choose(next, h + 1, nodes - 1, chosen, cost, moves);
            chosen.pop_back();
            free_[h] += takes;
        }
    }

    const Round& round;
    Topology topology_;
    const PlacementResult* given_;
    std::vector<bool> holds_, placed_;
    std::vector<int> free_;
    std::vector<std::size_t> order_;
    std::vector<Placement> now_;
};

}  // namespace support::place

#endif
