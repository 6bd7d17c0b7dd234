#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_SYNERGY_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_SYNERGY_HPP

// `goodput replay --world synergy`: the order in which jobs are served (--policy), and how cores and memory
// are divided (--host).

#include <array>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "peers/synergy/synergy_allocator.hpp"
#include "replay/replay.hpp"

namespace cli {

struct SynergyPolicy {
    std::string_view name{};
    std::optional<goodput::peers::SynergyOrder> order =
        goodput::peers::SynergyOrder::fifo;  ///< none for our policies
};
inline constexpr std::array synergy_policies{
    SynergyPolicy{"fifo", goodput::peers::SynergyOrder::fifo},
    SynergyPolicy{"srtf", goodput::peers::SynergyOrder::srtf},
    SynergyPolicy{"las", goodput::peers::SynergyOrder::las},
    SynergyPolicy{"ftf", goodput::peers::SynergyOrder::ftf},
    SynergyPolicy{"drf", goodput::peers::SynergyOrder::drf},
    SynergyPolicy{"tetris", goodput::peers::SynergyOrder::tetris},
    SynergyPolicy{"goodput", std::nullopt},
    SynergyPolicy{"goodput-declared", std::nullopt},
};

/// How cores and memory are divided: by a published allocator, or by this library's prices. Our policies
/// work only with the latter.
struct SynergyHost {
    std::string_view name{};
    std::optional<goodput::peers::SynergyMode> mode{};  ///< none for this library
};
inline constexpr std::array synergy_hosts{
    SynergyHost{"proportional", goodput::peers::SynergyMode::proportional},
    SynergyHost{"greedy", goodput::peers::SynergyMode::greedy},
    SynergyHost{"tune", goodput::peers::SynergyMode::tune},
    SynergyHost{"opt", goodput::peers::SynergyMode::opt},
    SynergyHost{"goodput", std::nullopt},
};

/// Returns the names of both, separated by commas.
std::string synergy_policy_names();
std::string synergy_host_names();

/// Replays the trace for each combination of policy and host, writes one row per combination to `out`, and
/// returns the exit status. Throws std::invalid_argument for invalid options and std::runtime_error for
/// invalid files.
int run_synergy_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
