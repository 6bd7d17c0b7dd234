#include "replay/contenders.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "replay/replay_options.hpp"
#include "worlds/replay_fixed.hpp"

namespace cli {

namespace {

Models models_called(std::string_view name) {
    if (name == "published") return Models::published;
    if (name == "separate") return Models::separate;
    if (name == "refined") return Models::refined;
    throw std::invalid_argument("there are no models '" + std::string(name) + "'; known are " +
                                std::string(models_names));
}

Contender contender_called(std::string_view name) {
    const auto found = std::find_if(contenders.begin(), contenders.end(),
                                    [&](const Contender& contender) { return contender.name == name; });
    if (found != contenders.end()) return *found;
    if (const std::optional<std::string_view> fixed = fixed_policy(name)) return {.name = *fixed};
    throw std::invalid_argument("there is no policy '" + std::string(name) +
                                "' in the world sia; known are " + contender_names() + ", " +
                                fixed_policy_names() + worlds_with(std::string(name)));
}

}  // namespace

std::string contender_names() { return names_of(contenders); }

std::vector<Contender> chosen_contenders(const std::vector<std::string>& names, std::string_view models) {
    std::vector<Contender> chosen;
    if (names.empty()) chosen.assign(contenders.begin(), contenders.end());
    for (const std::string& name : names) chosen.push_back(contender_called(name));
    if (!models.empty())
        for (Contender& contender : chosen) contender.models = models_called(models);
    return chosen;
}

}  // namespace cli
