#ifndef GOODPUT_PROGRAM_REPLAY_REPLAY_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAY_HPP

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace cli {

struct ReplayCommand {
    std::string world = "sia";                  ///< one of replay_worlds
    std::string workload{};                     ///< CSV file; empty: embedded
    std::string profiles{};                     ///< folder; empty: embedded
    std::string cluster{};                      ///< empty: the one that goes with the profiles
    std::vector<std::string> policies{};        ///< empty: all
    std::vector<std::string> policy_options{};  ///< settings of the policy, key=value; of one policy only
    std::string models{};                       ///< empty: those that go with each policy
    std::string moves = "free";                 ///< or "restart": what other nodes of the same shape cost
    std::string events{};                       ///< CSV file; empty: nothing happens
    double checkpoint_seconds = 1800;
    double node_mtbf_hours = 0;            ///< each node fails once in so many hours on average; 0: never
    double node_off_seconds = 600;         ///< until it returns
    std::uint64_t interruptions_seed = 1;  ///< which failures these are
    std::string checkpoints{};             ///< free, fixed or chosen; empty: free, chosen where nodes fail
    std::string availability = "values";   ///< or "ignored": values are those without interruptions
    std::string rent{};                    ///< ours, pollux or fixed; empty: ours where there are offers
    std::string offers{};                  ///< nodes that may be rented; empty: none, the cluster is there
    double hour_worth = 10;                ///< dollars, of an hour in which a job is not complete
    double rent_start_seconds = 180;       ///< from the order of a node to its first job
    double interval_seconds = 60;
    bool own_rounds = false;        ///< policies with published rounds have these instead
    std::string sizes = "elastic";  ///< or "fixed": every job keeps the GPUs and the batch of the trace
    double load = 1;                ///< by which the times of submission are divided
    std::string rates = "given";    ///< or "none": no job's rates are known before its first run
    std::uint64_t seed = 0;         ///< breaks ties between equal values
    /// Another trace of the same mix (embedded), or the same jobs in another order (from a file); none: as
    /// is.
    std::optional<std::uint64_t> trace_seed{};
    std::string line{};    ///< the command as a shell takes it, without --report and what it names
    std::string report{};  ///< HTML file; empty: none
    std::string csv{};     ///< CSV file of the fields; empty: none
    std::string latex{};   ///< file of the tables for LaTeX; empty: none
    std::string charts{};  ///< folder of charts; empty: none
    // Of the world "synergy" only.
    std::vector<std::string> hosts{};    ///< who gives cores and memory; empty: all
    std::optional<double> cores{};       ///< CPU cores of a node; none: 24
    std::optional<double> memory_gib{};  ///< of a node; none: 500
    std::string placement{};             ///< of published allocators; empty: synergy
    std::string table{};                 ///< of speeds, in the world "shockwave" only; empty: tacc
    bool json = false;
    bool jobs = false;  ///< with `json`: how every job fared
};

/// `goodput replay`: what a trace of jobs comes to under each policy. Writes them to `out` and returns
/// the exit status.
int run_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
