#ifndef GOODPUT_PARALLEL_DETAIL_SEARCH_BOX_HPP
#define GOODPUT_PARALLEL_DETAIL_SEARCH_BOX_HPP

// What the search for a plan divides and cuts: the global batch into a micro-batch and replicas, and the
// plans of each such division into boxes, by the number of stages, the seconds of the largest stage and of
// the gradients, and the spending.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"

namespace goodput::detail {

/// Plans that are searched together.
struct SearchBox {
    double bound = 0;
    std::size_t division = 0;
    int last_replicas = 0;            // the bound is of all plans with up to so many, too, unless 0
    std::vector<double> gpus{};       // of a type for each replica, as far as the spending allows
    std::vector<double> by_stages{};  // bounds by number of stages; none beyond
    double low = 0, high = never;     // of the largest stage, seconds
    double reduce_low = 0, reduce_high = never;  // of gradients, seconds
    double spend_low = 0, spend_high = never;
    std::vector<double> least_spending{};  // by number of stages; empty where only spend_low is known
    std::vector<double> price{};           // of a GPU by type, seconds a replica; behind them the slope
    bool limited = false;                  // least_spending is of this box
    bool priced = false;                   // the bound is the relaxation's
    /// Of plans with that many stages.
    [[nodiscard]] double least_spending_of(std::size_t stages) const {
        return least_spending.empty() ? spend_low : std::max(spend_low, least_spending[stages]);
    }
    friend bool operator<(const SearchBox& a, const SearchBox& b) {  // the queue's top is the least
        if (a.bound != b.bound) return a.bound > b.bound;
        return std::tie(a.division, a.low, a.high) > std::tie(b.division, b.low, b.high);
    }
};

/// Weights of GPU types with which GPUs are counted while chains grow.
struct GpuTest {
    std::vector<double> weight{};  // by type
    std::vector<double> need{};    // of a replica, in the mean, by class
    double least = 0;              // of any stage
};

/// What all divisions with the same region and micro-batch share.
struct MicrobatchTables {
    MicrobatchTables(const ZoneRegion& of, StageTables with)
        : region(&of), tables(std::move(with)), relaxation(tables) {}
    MicrobatchTables(const MicrobatchTables&) = delete;  // the relaxation refers to the tables
    MicrobatchTables& operator=(const MicrobatchTables&) = delete;

    const ZoneRegion* region;
    StageTables tables;
    std::optional<ClassMessages> cut{};  // those that cross the cut, where the region has one
    ChainRelaxation relaxation;
    std::vector<double> least_sum{};  // by stages: computing and sending
    long long most_replicas = 0;      // that there are GPUs for
    std::vector<int> least_gpus{};    // of a replica, by type; 0: none is of that type
    double message_usd = 0;  // of a micro-batch's messages between two zones, there and back, at least
};

/// How the global batch is divided: a micro-batch and a number of replicas. In which zones, too.
struct BatchDivision {
    double bound = 0;  // of all its plans
    int replicas = 0;
    double repeats = 0;          // micro-batches of a replica but one
    std::vector<double> gpus{};  // of a type for each replica
    std::size_t most_stages = 0;
    std::size_t most_in_flight = 0;  // micro-batches whose activations a stage keeps
    std::unique_ptr<ReduceTables> reduce{};
    MicrobatchTables* common = nullptr;
    ZoneCrossing crossing = ZoneCrossing::none;
    double ring_usd = 0;      // of all gradients at least, each time that they go from zone to zone
    double pipeline_usd = 0;  // of messages between zones at least, where all replicas send some
    std::vector<double> zone_spending{};  // of all GPUs in so many zones at most
    std::vector<double> least_reduce{};   // by stages left, layer
    double spend_low = 0;                 // of one stage at least
    double low = 0;                       // seconds of the largest stage at least
    std::vector<double> price{};          // the last good one
    std::vector<GpuTest> tests{};
    std::vector<double> spending{};  // of a replica, by class

    [[nodiscard]] const ZoneRegion& region() const { return *common->region; }
    /// Micro-batches whose activations a stage keeps that has so many from itself to the last.
    [[nodiscard]] std::size_t in_flight(std::size_t stages_left) const {
        return std::min(stages_left, most_in_flight);
    }
    /// Messages one of which has to be in every plan, or nullptr.
    [[nodiscard]] const ClassMessages* cut() const {
        return crossing == ZoneCrossing::messages ? &*common->cut : nullptr;
    }
    /// Dollars of traffic of a plan at least, if it spends at least so much on GPUs. Pipelines that send
    /// nothing between zones lie in one each, and as many as these have GPUs for. Where they lie in several
    /// zones, the gradients of all stages go round these.
    [[nodiscard]] double traffic_usd(double spending) const {
        if (crossing == ZoneCrossing::none) return 0;
        double least = never;
        for (std::size_t zones = 0; zones < zone_spending.size(); ++zones) {
            const double within = spending > 0 ? std::min(1.0, zone_spending[zones] / spending) : 1;
            const double round = zones < 2 ? 0 : static_cast<double>(zones) * ring_usd;
            least = std::min(least, round + (1 - within) * pipeline_usd);
        }
        return std::max(least, crossing == ZoneCrossing::gradients ? 2 * ring_usd : pipeline_usd / replicas);
    }
};

}  // namespace goodput::detail

#endif
