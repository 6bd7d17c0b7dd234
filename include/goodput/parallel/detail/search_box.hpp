#ifndef GOODPUT_PARALLEL_DETAIL_SEARCH_BOX_HPP
#define GOODPUT_PARALLEL_DETAIL_SEARCH_BOX_HPP

// What the search for a plan divides and cuts: the global batch into a micro-batch and replicas, and the
// plans of each such division into boxes, by the number of stages, the seconds of the largest stage and of
// the gradients, and the spending.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"

namespace goodput::detail {

/// Plans that are searched together.
struct SearchBox {
    double bound = 0;
    std::size_t division = 0;
    std::vector<double> gpus{};                  // of a type for each replica, as far as the spending allows
    std::vector<double> by_stages{};             // bounds by number of stages; none beyond
    double low = 0, high = never;                // of the largest stage, seconds
    double reduce_low = 0, reduce_high = never;  // of gradients, seconds
    double spend_low = 0, spend_high = never;
    std::vector<double> least_spending{};  // by number of stages; empty where only spend_low is known
    std::vector<double> price{};           // of a GPU by type, seconds a replica; behind them the slope
    bool limited = false;                  // `low` counts what room there is
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
    StageCharges need{};           // of a replica, in the mean
    double least = 0;              // of any stage
};

/// What all divisions with the same micro-batch share.
struct MicrobatchTables {
    explicit MicrobatchTables(StageTables with) : tables(std::move(with)), relaxation(tables) {}
    MicrobatchTables(const MicrobatchTables&) = delete;  // the relaxation refers to the tables
    MicrobatchTables& operator=(const MicrobatchTables&) = delete;

    StageTables tables;
    ChainRelaxation relaxation;
    std::vector<double> least_sum{};                        // by stages: computing and sending
    double most_send = 0;                                   // seconds, of a stage
    std::vector<double> least_forward{}, least_backward{};  // by class
};

/// How the global batch is divided: a micro-batch and a number of replicas.
struct BatchDivision {
    int replicas = 0;
    double repeats = 0;          // micro-batches of a replica but one
    std::vector<double> gpus{};  // of a type for each replica
    std::size_t most_stages = 0;
    std::unique_ptr<ReduceTables> reduce{};
    MicrobatchTables* common = nullptr;
    std::vector<double> least_reduce{};  // by stages left, layer
    double spend_low = 0;                // of one stage at least
    double low = 0;                      // seconds of the largest stage at least
    std::vector<double> price{};         // the last good one
    std::vector<GpuTest> tests{};
    StageCharges spending{};  // of a replica
};

}  // namespace goodput::detail

#endif
