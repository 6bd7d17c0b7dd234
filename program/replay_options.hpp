#ifndef GOODPUT_EXAMPLES_CLI_REPLAY_OPTIONS_HPP
#define GOODPUT_EXAMPLES_CLI_REPLAY_OPTIONS_HPP

// The worlds of `goodput replay`, and which options belong to which of them.

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "replay.hpp"

namespace cli {

struct ReplayWorld {
    std::string_view name{};
    double interval_seconds = 0;  ///< where none is given
};
inline constexpr std::array replay_worlds{
    ReplayWorld{"sia", 60},        ReplayWorld{"gavel", 360},  ReplayWorld{"synergy", 300},
    ReplayWorld{"shockwave", 120}, ReplayWorld{"tasks", 3600},
};

/// The seconds of a round where none are given; 60 for an unknown world.
inline double usual_interval(std::string_view world) {
    for (const ReplayWorld& known : replay_worlds)
        if (known.name == world) return known.interval_seconds;
    return replay_worlds.front().interval_seconds;
}

/// Refuses options that only other worlds have (std::invalid_argument).
void refuse_options_of_other_worlds(const ReplayCommand& command);

/// Refuses a command without --workload or --profiles (std::invalid_argument): only Sia's world has some of
/// its own.
void require_files(const ReplayCommand& command);

/// Names, separated by commas.
template <class List>
std::string names_of(const List& list) {
    std::string names;
    for (const auto& entry : list) names.append(names.empty() ? "" : ", ").append(entry.name);
    return names;
}

/// Those of the given names, all if there are none. Refuses others (std::invalid_argument); `kind` says what
/// they are.
template <class List>
std::vector<typename List::value_type> chosen(const List& list, const std::vector<std::string>& names,
                                              std::string_view kind, std::string_view world) {
    if (names.empty()) return {list.begin(), list.end()};
    std::vector<typename List::value_type> found;
    for (const std::string& name : names) {
        const auto at =
            std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.name == name; });
        if (at == list.end())
            throw std::invalid_argument("there is no " + std::string(kind) + " '" + name + "' in the world " +
                                        std::string(world) + "; known are " + names_of(list));
        found.push_back(*at);
    }
    return found;
}

}  // namespace cli

#endif
