#ifndef GOODPUT_PROGRAM_PLAN_POLICIES_HPP
#define GOODPUT_PROGRAM_PLAN_POLICIES_HPP

// The policies by name, with their settings. To add a policy, add one line to with_policy and, if it has
// settings, one table of them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/policies/optimus.hpp"
#include "goodput/policies/pollux.hpp"
#include "goodput/policies/tiresias.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "json/names.hpp"
#include "json/text_parts.hpp"

namespace cli {

/// The names that a user may ask for. Unknown names and settings are refused with the list of known ones.
inline constexpr std::string_view policy_names =
    "sia, goodput, goodput-declared, pollux, optimus, tiresias, las, fifo, srtf";

/// A setting that `--policy-option name=value` changes.
template <class P>
struct Setting {
    std::string_view name;
    std::variant<double P::*, bool P::*, std::vector<double> P::*> member;
};

namespace detail {

inline std::pair<std::string, std::string> split_setting(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw std::invalid_argument("--policy-option '" + text + "' must have the form key=value");
    return {text.substr(0, equals), text.substr(equals + 1)};
}

inline void read(std::string_view subject, std::string_view name, const std::string& text, double& number) {
    const auto given = number_in<double>(text);
    if (!given || !std::isfinite(*given))
        goodput::bad_input(subject, name, "'" + text + "'", "a finite number");
    number = *given;
}

inline void read(std::string_view subject, std::string_view name, const std::string& text, bool& flag) {
    flag = text == "true" || text == "1";
    if (!flag && text != "false" && text != "0")
        goodput::bad_input(subject, name, "'" + text + "'", "true or false");
}

/// Reads numbers separated by commas. An empty text has no numbers.
inline void read(std::string_view subject, std::string_view name, const std::string& text,
                 std::vector<double>& numbers) {
    numbers.clear();
    for (std::string_view rest = text; !rest.empty();)
        read(subject, name, std::string(next_part(rest, ',')), numbers.emplace_back());
}

/// Returns the numbers of a policy as settings.
template <class P, std::size_t N>
std::vector<Setting<P>> settings_of(const goodput::PolicyNumber<P> (&numbers)[N]) {
    std::vector<Setting<P>> settings;
    for (const auto& [name, number] : numbers) settings.push_back({name, number});
    return settings;
}

/// Returns `policy` with the settings that the user gave.
template <class P>
P configured(P policy, std::string_view name, const std::vector<Setting<P>>& known,
             std::span<const std::string> settings) {
    const std::string subject = "policy " + std::string(name);
    for (const std::string& text : settings) {
        const auto [key, value] = split_setting(text);
        const auto found = std::ranges::find(known, key, &Setting<P>::name);
        if (found == known.end())
            throw std::invalid_argument(subject + " has no option '" + key + "'; it has " +
                                        (known.empty() ? "none" : names_of(known)));
        std::visit(
            [&, &key = key, &value = value](auto member) { read(subject, key, value, policy.*member); },
            found->member);
    }
    if constexpr (requires { policy.validate(); }) policy.validate();
    return policy;
}

}  // namespace detail

/// Calls use(policy) with the policy of that name and returns what it returns. Throws std::invalid_argument
/// for unknown names and settings, and for settings that the policy itself refuses.
template <class Use>
auto with_policy(std::string_view name, std::span<const std::string> settings, Use use) {
    using namespace goodput;
    using cli::detail::configured, cli::detail::settings_of;
    if (name == "sia") return use(configured<Sia>({}, name, settings_of(sia_numbers), settings));
    if (name == "goodput" || name == "goodput-declared") {
        const auto ours = [&](const GoodputPolicy& policy) {
            return configured(policy, name, settings_of(goodput_numbers), settings);
        };
        return name == "goodput" ? use(ours({}))
                                 : use(DeclaredGoodputPolicy{ours(DeclaredGoodputPolicy{}.undeclared)});
    }
    if (name == "pollux")
        return use(configured<Pollux>(
            {}, name, {{"p", &Pollux::fairness_power}, {"idle", &Pollux::idle_speedup}}, settings));
    if (name == "optimus")
        return use(configured<Optimus>(
            {}, name, {{"assumed", &Optimus::assumed_seconds}, {"restarts", &Optimus::counts_restarts}},
            settings));
    if (name == "tiresias")
        return use(configured<Tiresias>(
            {}, name, {{"thresholds", &Tiresias::thresholds_gpu_seconds}, {"backfill", &Tiresias::backfill}},
            settings));
    if (name == "las")
        return use(configured<LeastAttainedService>({}, name,
                                                    {{"lead", &LeastAttainedService::lead_gpu_seconds},
                                                     {"backfill", &LeastAttainedService::backfill}},
                                                    settings));
    if (name == "fifo") return use(configured<Fifo>({}, name, {{"backfill", &Fifo::backfill}}, settings));
    if (name == "srtf")
        return use(configured<ShortestRemainingTime>(
            {}, name, {{"backfill", &ShortestRemainingTime::backfill}}, settings));
    throw std::invalid_argument("there is no policy '" + std::string(name) + "'; known are " +
                                std::string(policy_names));
}

}  // namespace cli

#endif
