#ifndef GOODPUT_PARALLEL_DETAIL_REDUCE_TABLES_HPP
#define GOODPUT_PARALLEL_DETAIL_REDUCE_TABLES_HPP

// Lower bounds on the seconds of a stage's gradient reduction, for all replicas that it may have. The
// fastest link that neighbours in a ring can have gives one bound. If no zone has room for all replicas, a
// link between zones gives another.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/stage_tables.hpp"
#include "goodput/parallel/detail/zone_regions.hpp"

namespace goodput::inline v0_1::detail {

/// Lower bounds on the seconds of gradient reduction among `replicas`, by class and size.
class ReduceTables {
public:
    /// `across`: the gradients of every stage cross the region's cut.
    ReduceTables(const ZoneRegion& region, bool across, const StageTables& tables, int replicas,
                 const ParallelConstants& constants)
        : tables_(&tables),
          sizes_(tables.distinct_bytes().size()),
          of_stage_(tables.size() * sizes_, 0),
          at_least_(of_stage_),
          at_least_any_(sizes_, 0) {
        if (replicas <= 1) return;
        const ParallelCluster& cluster = region.cluster;
        for (std::size_t k = 0; k < tables.size(); ++k) {
            Neighbours near, crossing, apart;
            const StageClass& slowest = tables.classes()[k];
            const std::vector<int> shards = shards_of(tables, k, constants);
            const std::vector<long long> room = room_by_zone(cluster, tables, k);
            const bool in_one_zone = *std::max_element(room.begin(), room.end()) >= replicas;
            for (const std::size_t o : tables.as_fast(k)) {
                add(cluster, shards, slowest, tables.classes()[o], near);
                if (in_one_zone) continue;
                for (const std::size_t p : tables.as_fast(k))
                    add(cluster, shards, tables.classes()[o], tables.classes()[p], apart);
            }
            for (const Neighbour& pair : near)
                if (region.crosses(pair.from, pair.to)) crossing.push_back(pair);
            for (Neighbours* some : {&near, &crossing, &apart}) keep_unlike(*some);
            for (std::size_t size = 0; size < sizes_; ++size) {
                const double bytes = tables.distinct_bytes()[size];
                double least = least_of(near, bytes, replicas, constants);
                if (!in_one_zone)
                    least = std::max(least, between_zones(apart, room, bytes, replicas, constants));
                if (across) least = std::max(least, least_of(crossing, bytes, replicas, constants));
                of_stage_[k * sizes_ + size] = at_least_[k * sizes_ + size] = least;
                if (least < never) most_ = std::max(most_, least);
            }
            for (std::size_t at = (k + 1) * sizes_ - 1; at-- > k * sizes_;)
                at_least_[at] = std::min(at_least_[at], at_least_[at + 1]);
        }
        for (std::size_t size = 0; size < sizes_; ++size) {
            at_least_any_[size] = never;
            for (std::size_t k = 0; k < tables.size(); ++k)
                at_least_any_[size] = std::min(at_least_any_[size], at_least_[k * sizes_ + size]);
        }
    }

    /// of_stage() bounds the reduction of a stage of class k with layers [begin, end), at_least() that of
    /// stages with at least these layers.
    [[nodiscard]] double of_stage(std::size_t k, std::size_t begin, std::size_t end) const {
        return of_stage_[k * sizes_ + tables_->bytes_number(begin, end)];
    }
    [[nodiscard]] double at_least(std::size_t k, std::size_t begin, std::size_t end) const {
        return at_least_[k * sizes_ + tables_->bytes_number(begin, end)];
    }
    /// Returns the same bound for any class.
    [[nodiscard]] double at_least(std::size_t begin, std::size_t end) const {
        return at_least_any_[tables_->bytes_number(begin, end)];
    }
    /// Returns the longest bound of any stage, without the infinite ones.
    [[nodiscard]] double most() const { return most_; }

private:
    /// Two neighbours in a ring: their zones, the number of shards that the stage divides into, and a link
    /// between them.
    struct Neighbour {
        std::size_t from = 0, to = 0;
        int shards = 1;
        BandwidthCurve link{};

        [[nodiscard]] auto in_order() const {
            return std::tuple(from, to, shards, link.square, link.linear, link.constant);
        }
    };
    using Neighbours = std::vector<Neighbour>;
    /// Removes duplicates.
    static void keep_unlike(Neighbours& neighbours) {
        std::sort(neighbours.begin(), neighbours.end(),
                  [](const Neighbour& a, const Neighbour& b) { return a.in_order() < b.in_order(); });
        const auto end =
            std::unique(neighbours.begin(), neighbours.end(),
                        [](const Neighbour& a, const Neighbour& b) { return a.in_order() == b.in_order(); });
        neighbours.erase(end, neighbours.end());
    }

    /// Returns the numbers of shards, ascending, into which gradients of a stage of class k may be divided.
    /// The number is that of GPUs in the narrowest replica, which may be of any class that joins.
    static std::vector<int> shards_of(const StageTables& tables, std::size_t k,
                                      const ParallelConstants& constants) {
        const int most = std::min(tables.classes()[k].tensor_parallel, constants.most_shards);
        std::vector<int> shards;
        for (const std::size_t o : tables.as_fast(k))
            shards.push_back(std::min(tables.classes()[o].tensor_parallel, most));
        std::sort(shards.begin(), shards.end());
        shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
        return shards;
    }

    static void add(const ParallelCluster& cluster, const std::vector<int>& shards, const StageClass& a,
                    const StageClass& b, Neighbours& neighbours) {
        const int most = std::min(a.tensor_parallel, b.tensor_parallel);
        for (std::size_t x = 0; x < cluster.zones.size(); ++x)
            for (std::size_t y = 0; y < cluster.zones.size(); ++y) {
                if (cluster.gpus[x][a.gpu_type] < a.tensor_parallel ||
                    cluster.gpus[y][b.gpu_type] < b.tensor_parallel)
                    continue;
                for (const BandwidthCurve* link : {cluster.link({x, a.gpu_type, 1}, {y, b.gpu_type, 1}),
                                                   cluster.link({y, b.gpu_type, 1}, {x, a.gpu_type, 1})})
                    for (const int parts : shards) {
                        if (link == nullptr || parts > most) break;
                        neighbours.push_back({x, y, parts, *link});
                    }
            }
    }
    /// Returns a lower bound on the seconds of a link between zones, if no zone has room for all replicas.
    /// Without this link, the zones that faster links connect have too little room even together.
    static double between_zones(const Neighbours& neighbours, const std::vector<long long>& room,
                                double bytes, int replicas, const ParallelConstants& constants) {
        std::vector<std::pair<double, const Neighbour*>> by_seconds;
        for (const Neighbour& pair : neighbours)
            if (pair.from != pair.to)
                by_seconds.emplace_back(reduce_seconds(bytes / pair.shards, replicas, pair.link, constants),
                                        &pair);
        std::sort(by_seconds.begin(), by_seconds.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<std::size_t> group(room.size());
        std::iota(group.begin(), group.end(), std::size_t{0});
        for (const auto& [seconds, pair] : by_seconds) {
            const std::size_t joined = group[pair->to], into = group[pair->from];
            long long sum = 0;
            for (std::size_t z = 0; z < group.size(); ++z) {
                if (group[z] == joined) group[z] = into;
                if (group[z] == into) sum += room[z];
            }
            if (sum >= replicas) return seconds;
        }
        return never;
    }
    static double least_of(const Neighbours& neighbours, double bytes, int replicas,
                           const ParallelConstants& constants) {
        double least = never;
        for (const Neighbour& pair : neighbours)
            least = std::min(least, reduce_seconds(bytes / pair.shards, replicas, pair.link, constants));
        return least;
    }
    /// Returns the replicas of a stage of class k that each zone has room for.
    static std::vector<long long> room_by_zone(const ParallelCluster& cluster, const StageTables& tables,
                                               std::size_t k) {
        std::vector<long long> room;
        for (const auto& zone : cluster.gpus) {
            std::vector<int> most(cluster.types.size(), 0);
            for (const std::size_t o : tables.as_fast(k)) {
                const StageClass& stage_class = tables.classes()[o];
                most[stage_class.gpu_type] = std::max(
                    most[stage_class.gpu_type], zone[stage_class.gpu_type] / stage_class.tensor_parallel);
            }
            room.push_back(std::accumulate(most.begin(), most.end(), 0LL));
        }
        return room;
    }

    const StageTables* tables_;
    std::size_t sizes_;                            // number of sizes that stages may have
    std::vector<double> of_stage_{}, at_least_{};  // by class, size
    std::vector<double> at_least_any_{};           // by size
    double most_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
