#ifndef GOODPUT_PROGRAM_REPLAY_CONTENDERS_HPP
#define GOODPUT_PROGRAM_REPLAY_CONTENDERS_HPP

// Who takes part in a replay: a policy, and how its jobs learn their own speed. A new one is one line in
// contenders.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// goodput::peers::PublishedModels, peers::SeparateModels and RefinedModels.
enum class Models { published, separate, refined };

inline constexpr std::string_view models_names = "published, separate, refined";

struct Contender {
    std::string_view name{};
    std::string_view policy{};  ///< as with_policy has it; empty: as fixed_policy() has it
    Models models = Models::published;
};

/// Peers learn as in Sia's public simulator, the first of them wholly as published.
inline constexpr std::array contenders{
    Contender{"sia", "sia", Models::published},
    Contender{"sia-refined", "sia", Models::refined},
    Contender{"goodput", "goodput", Models::refined},
    Contender{"goodput-declared", "goodput-declared", Models::refined},
    Contender{"goodput-estimated", "goodput-declared", Models::refined},
    Contender{"pollux", "pollux", Models::published},
    Contender{"optimus", "optimus", Models::published},
    Contender{"tiresias", "tiresias", Models::published},
    Contender{"las", "las", Models::published},
    Contender{"fifo", "fifo", Models::published},
    Contender{"srtf", "srtf", Models::published},
};

/// Their names, separated by commas.
std::string contender_names();

/// Those of the given names, all if there are none; `models`, unless empty, is what all of them learn with.
/// Unknown names are refused with the list of the known ones (std::invalid_argument).
std::vector<Contender> chosen_contenders(const std::vector<std::string>& names, std::string_view models);

}  // namespace cli

#endif
