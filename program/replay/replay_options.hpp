#ifndef GOODPUT_PROGRAM_REPLAY_REPLAY_OPTIONS_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAY_OPTIONS_HPP

// The worlds of `goodput replay`, and the options that belong to each.

#include <algorithm>
#include <iosfwd>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "json/names.hpp"
#include "replay/replay.hpp"
#include "replay/workload.hpp"

namespace cli {

struct ReplayWorld {
    std::string_view name{};
    double interval_seconds = 0;              ///< default length of a round
    std::string (*policy_names)() = nullptr;  ///< separated by ", "
    int (*run)(const ReplayCommand& command, std::ostream& out) = nullptr;
};
std::span<const ReplayWorld> replay_worlds();

/// Returns the world of that name. Throws std::invalid_argument if there is none.
const ReplayWorld& world_called(std::string_view name);

/// Throws std::invalid_argument for options that only other worlds have.
void refuse_options_of_other_worlds(const ReplayCommand& command);

/// Throws std::invalid_argument for a command without --workload or --profiles: only Sia's world has
/// built-in ones.
void require_files(const ReplayCommand& command);

/// Returns the nodes of --cluster, or of `usual` without it. Throws std::invalid_argument for spot nodes
/// and nodes that are lost: only Sia's world has them.
goodput::Cluster plain_cluster(const ReplayCommand& command, const std::string& usual);

/// Returns the end of a message that says in which other worlds a policy of that name runs; empty if there
/// is none.
std::string worlds_with(const std::string& policy);

/// Applies --trace-seed and --load to the jobs of a trace. Returns their names.
template <class Job>
std::vector<std::string> shuffle_and_squeeze(const ReplayCommand& command, std::vector<Job>& jobs) {
    if (command.trace_seed) shuffle_jobs(jobs, &Job::submitted_seconds, *command.trace_seed);
    std::vector<std::string> names;
    for (Job& job : jobs) {
        job.submitted_seconds /= command.load;
        names.push_back(job.name);
    }
    return names;
}

/// Returns the entries of the given names, or all if there are none. Throws std::invalid_argument for other
/// names, which it calls a `kind`.
template <class List>
std::vector<typename List::value_type> chosen(const List& list, const std::vector<std::string>& names,
                                              std::string_view kind, std::string_view world) {
    std::vector<typename List::value_type> found;
    if (names.empty())
        std::copy_if(list.begin(), list.end(), std::back_inserter(found), [](const auto& entry) {
            if constexpr (requires { entry.only_named; })
                return !entry.only_named;
            else
                return true;
        });
    for (const std::string& name : names) {
        const auto at =
            std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.name == name; });
        if (at == list.end())
            throw std::invalid_argument("there is no " + std::string(kind) + " '" + name + "' in the world " +
                                        std::string(world) + "; known are " + names_of(list) +
                                        worlds_with(name));
        found.push_back(*at);
    }
    return found;
}

}  // namespace cli

#endif
