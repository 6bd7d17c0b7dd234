// A placer of your own: it takes the first free nodes, for a cluster whose last nodes fail first. Running
// jobs stay in place if they keep their number of GPUs.

#include <goodput/schedule/scheduler.hpp>
#include <iostream>

// [placer]
struct FirstFree {
    goodput::PlacementResult place(const goodput::Cluster& cluster,
                                   std::span<const goodput::PlacementRequest> requests) const {
        goodput::PlacementResult result;
        result.placements.resize(requests.size());
        std::vector<int> free;
        for (const goodput::Node& node : cluster.nodes) free.push_back(node.drained ? 0 : node.gpus);
        const auto give = [&](std::size_t job, goodput::Placement placement) {
            for (const goodput::NodeShare& share : placement) free[share.node] -= share.gpus;
            result.placements[job] = std::move(placement);
        };
        for (std::size_t j = 0; j < requests.size(); ++j)
            if (goodput::pool_share_of(requests[j].current, cluster) == requests[j].part)
                give(j, requests[j].current);
        for (std::size_t j = 0; j < requests.size(); ++j) {
            const goodput::PoolShare& wanted = requests[j].part;
            if (wanted.empty() || !result.placements[j].empty()) continue;
            const int on_each = wanted.shape.gpus / wanted.shape.nodes;
            goodput::Placement placement;
            for (std::size_t n = 0; n < free.size(); ++n)
                if (cluster.nodes[n].gpu_type == wanted.gpu_type && free[n] >= on_each &&
                    static_cast<int>(placement.size()) < wanted.shape.nodes)
                    placement.push_back({n, on_each});
            if (static_cast<int>(placement.size()) == wanted.shape.nodes)
                give(j, std::move(placement));
            else
                result.unplaced.push_back({j, {goodput::Outcome::waits, "no nodes with so many free GPUs"}});
        }
        return result;
    }
};
static_assert(goodput::Placer<FirstFree>);
// [/placer]

int main() {
    goodput::Snapshot now{.cluster = {{"A100"}, {{"near", 0, 8}, {"middle", 0, 8}, {"far", 0, 8}}}};
    for (const char* name : {"vision", "speech"}) {
        goodput::Job job{.name = name, .min_gpus = 6, .max_gpus = 8, .initial_batch = 64, .max_batch = 64};
        job.types = {{.max_atomic_batch = 64}};
        now.jobs.push_back(job);
    }
    const goodput::Plan plan = goodput::plan(now, goodput::Sia{}, {}, FirstFree{});
    bool honoured = true;
    for (std::size_t j = 0; j < now.jobs.size(); ++j)
        for (const goodput::NodeShare& share : plan.decisions[j].placement) {
            std::cout << now.jobs[j].name << ": " << share.gpus << " on "
                      << now.cluster.nodes[share.node].name << "\n";
            honoured = honoured && share.node < 2;
        }
    return honoured ? 0 : 1;
}
