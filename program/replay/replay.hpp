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
    std::string workload{};                     ///< CSV file; embedded if empty
    std::string profiles{};                     ///< folder; embedded if empty
    std::string cluster{};                      ///< if empty, the cluster that goes with the profiles
    std::vector<std::string> policies{};        ///< all if empty
    std::vector<std::string> policy_options{};  ///< settings of a policy, key=value; only if one policy is
                                                ///< named
    std::string models{};                       ///< if empty, those that go with each policy
    std::string moves = "free";  ///< or "restart": the cost of moving to other nodes of the same shape
    std::string events{};        ///< CSV file; no events if empty
    double checkpoint_seconds = 1800;
    double node_mtbf_hours = 0;            ///< mean time between failures of a node; 0: never
    double node_off_seconds = 600;         ///< seconds until a failed node returns
    std::uint64_t interruptions_seed = 1;  ///< seed that the failures are drawn with
    std::string checkpoints{};             ///< free, fixed or chosen; if empty, free, or chosen if nodes fail
    std::string availability = "values";   ///< or "ignored": values as if there were no interruptions
    std::string rent{};                    ///< ours, pollux or fixed; if empty, ours if there are offers
    std::string offers{};             ///< nodes that may be rented; if empty, the cluster is always there
    double hour_worth = 10;           ///< dollars per hour in which a job is not complete
    double rent_start_seconds = 180;  ///< seconds from ordering a node to its first job
    double interval_seconds = 60;
    bool own_rounds = false;        ///< policies with published rounds use these instead
    std::string sizes = "elastic";  ///< or "fixed": every job keeps its GPUs and batch of the trace
    double load = 1;                ///< divides the times of submission
    std::string rates = "given";    ///< or "none": no rates are known before a job's first run
    std::uint64_t seed = 0;         ///< breaks ties between equal values
    /// Seed of another trace of the same mix (embedded), or of another order of the same jobs (from a
    /// file). Without it, the trace stays unchanged.
    std::optional<std::uint64_t> trace_seed{};
    std::string line{};    ///< the command as typed in a shell, without --report and its argument
    std::string report{};  ///< HTML file; none if empty
    std::string csv{};     ///< CSV file of the fields; none if empty
    std::string latex{};   ///< file of the tables for LaTeX; none if empty
    std::string charts{};  ///< folder of charts; none if empty
    // Only for the world "synergy".
    std::vector<std::string> hosts{};    ///< ways to divide cores and memory; all if empty
    std::optional<double> cores{};       ///< CPU cores per node; 24 if not given
    std::optional<double> memory_gib{};  ///< memory per node; 500 if not given
    std::string placement{};             ///< placement of published allocators; synergy if empty
    std::string table{};                 ///< table of speeds, only for the world "shockwave"; tacc if empty
    bool json = false;
    bool jobs = false;                 ///< with `json`: the outcome of every job
    std::vector<std::string> given{};  ///< names of the options that were given: "--seed"
};

/// Runs `goodput replay`: how the jobs of a trace fare under each policy. Writes the results to `out` and
/// returns the exit status.
int run_replay(const ReplayCommand& command, std::ostream& out);
/// The same in Sia's world, for options that are known to be in range.
int run_sia_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
