#ifndef GOODPUT_PROGRAM_PEERS_SYNERGY_SYNERGY_ORDER_HPP
#define GOODPUT_PROGRAM_PEERS_SYNERGY_SYNERGY_ORDER_HPP

// The orders in which Synergy's public simulator serves jobs. FIFO, SRTF and LAS are published in words.
// Only the idea of the others is published; the formulas below reproduce its results to the round.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "peers/synergy/synergy_servers.hpp"

namespace goodput::peers {

/// The job with the smallest number comes first, and equal jobs follow their submission.
enum class SynergyOrder {
    fifo,   ///< time of submission
    srtf,   ///< seconds left
    las,    ///< GPU-seconds attained
    ftf,    ///< time since submission and seconds left, over the seconds of the whole job
    drf,    ///< largest fraction of the cluster's GPUs, cores or memory that it demands
    tetris  ///< seconds left times the sum of these fractions
};

/// What the orders know about a job.
struct SynergyStanding {
    double waited_seconds = 0;        ///< seconds since its submission
    double left_seconds = 0;          ///< seconds left at the speed that it is believed to have
    double whole_seconds = 0;         ///< seconds of all its work with its proportional share
    double attained_gpu_seconds = 0;  ///< GPU-seconds so far
    SynergyAmounts demand{};          ///< amounts with which it is fastest, whatever it will get
};

/// Returns the job's number in that order.
inline double synergy_rank(SynergyOrder order, const SynergyStanding& job, const SynergyAmounts& cluster) {
    const double gpus = job.demand.gpus / cluster.gpus, cores = job.demand.cores / cluster.cores,
                 memory = job.demand.memory_gib / cluster.memory_gib;
    switch (order) {
        case SynergyOrder::fifo:
            break;
        case SynergyOrder::srtf:
            return job.left_seconds;
        case SynergyOrder::las:
            return job.attained_gpu_seconds;
        case SynergyOrder::ftf:
            return (job.waited_seconds + job.left_seconds) / job.whole_seconds;
        case SynergyOrder::drf:
            return std::max({gpus, cores, memory});
        case SynergyOrder::tetris:
            return job.left_seconds * (gpus + cores + memory);
    }
    return -job.waited_seconds;
}

/// Returns the indices of jobs in the order of their ranks, and of their submission if ranks are equal.
/// `submitted(index)` returns the time of submission.
template <class Submitted>
std::vector<std::size_t> by_rank(std::span<const double> ranks, Submitted submitted) {
    std::vector<std::size_t> order(ranks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : submitted(a) < submitted(b);
    });
    return order;
}

}  // namespace goodput::peers

#endif
