#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_SYNERGY_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_SYNERGY_HPP

// `goodput replay --world synergy`: who is served first (--policy), and who gives cores and memory beside the
// GPUs (--host).

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
    std::optional<goodput::peers::SynergyOrder> order = goodput::peers::SynergyOrder::fifo;  ///< none: ours
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

/// Who divides cores and memory: a published allocator, or this library's prices. Policies of ours go with
/// these alone.
struct SynergyHost {
    std::string_view name{};
    std::optional<goodput::peers::SynergyMode> mode{};  ///< none: ours
};
inline constexpr std::array synergy_hosts{
    SynergyHost{"proportional", goodput::peers::SynergyMode::proportional},
    SynergyHost{"greedy", goodput::peers::SynergyMode::greedy},
    SynergyHost{"tune", goodput::peers::SynergyMode::tune},
    SynergyHost{"opt", goodput::peers::SynergyMode::opt},
    SynergyHost{"goodput", std::nullopt},
};

/// Their names, separated by commas.
std::string synergy_policy_names();
std::string synergy_host_names();

/// Replays the trace for each pair of policy and host, writes one row for each to `out` and returns the exit
/// status. std::invalid_argument for options that make no sense, std::runtime_error for such files.
int run_synergy_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
