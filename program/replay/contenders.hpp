#ifndef GOODPUT_PROGRAM_REPLAY_CONTENDERS_HPP
#define GOODPUT_PROGRAM_REPLAY_CONTENDERS_HPP

// The contenders of a replay: a policy, and how its jobs learn their own speed. To add one, add a line to
// `contenders`.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// How jobs learn their speed: goodput::peers::PublishedModels, peers::SeparateModels or RefinedModels.
enum class Models { published, separate, refined };

inline constexpr std::string_view models_names = "published, separate, refined";

struct Contender {
    std::string_view name{};
    std::string_view policy{};  ///< name for with_policy(); empty if fixed_policy() knows it
    Models models = Models::published;
};

/// The jobs of published policies learn as in Sia's public simulator. The first contender is entirely as
/// published.
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

/// Returns the names of all contenders, separated by commas.
std::string contender_names();

/// Returns the contenders of the given names, or all if there are none. `models`, unless empty, replaces
/// how they all learn. Throws std::invalid_argument with the list of known names for an unknown name.
std::vector<Contender> chosen_contenders(const std::vector<std::string>& names, std::string_view models);

}  // namespace cli

#endif
