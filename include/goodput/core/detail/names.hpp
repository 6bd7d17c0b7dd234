#ifndef GOODPUT_CORE_DETAIL_NAMES_HPP
#define GOODPUT_CORE_DETAIL_NAMES_HPP

// Names in messages to people who may not know C++: suggestions for mistyped names, the jobs or nodes that
// a warning names, and the names that the JSON formats and the C interface use for members of the library's
// types.

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// The jobs or nodes that one warning names together: "job 'a'", "job 'a' and 2 others".
class NameList {
public:
    /// Adds a name. Only the first name appears in the text.
    void add(std::string_view name) {
        if (count_++ == 0) first_ = name;
    }
    /// Whether no name was added.
    [[nodiscard]] bool empty() const { return count_ == 0; }
    /// The names in words. `kind` says what they stand for, for example "job".
    [[nodiscard]] std::string text(std::string_view kind) const {
        std::string all(kind);
        all.append(" '").append(first_).append("'");
        if (count_ > 1) all.append(" and ").append(text_of(count_ - 1));
        if (count_ > 1) all.append(count_ == 2 ? " other" : " others");
        return all;
    }

private:
    std::string_view first_{};
    std::size_t count_ = 0;
};

/// Returns the number of typing errors that turn `a` into `b`: letters changed, added, left out, or swapped
/// with their neighbour.
[[nodiscard]] inline std::size_t typing_errors(std::string_view a, std::string_view b) {
    std::vector<std::size_t> two_before, before(b.size() + 1), now(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) before[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
            now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + other});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], two_before[j - 2] + 1);
        }
        two_before = std::exchange(before, now);
    }
    return before.back();
}

/// Returns the entry of `known` that the writer of `name` most likely meant, or an empty text if none is
/// close. Upper and lower case count as the same letter.
template <class Names>
[[nodiscard]] std::string_view nearest_name(std::string_view name, const Names& known) {
    constexpr std::size_t longest = 64;
    if (name.size() > longest) return {};
    const auto lower = [](std::string_view text) {
        std::string folded(text);
        for (char& c : folded)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return folded;
    };
    std::string_view nearest;
    std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
    for (const std::string_view candidate : known) {
        if (candidate.size() > longest) continue;
        const std::string written = lower(name), meant = lower(candidate);
        constexpr std::size_t stem = 4;  // "predictions" is "predict" with another ending
        const bool same_stem = std::min(written.size(), meant.size()) >= stem &&
                               (written.starts_with(meant) || meant.starts_with(written));
        const std::size_t errors = same_stem ? 1 : typing_errors(written, meant);
        if (errors < least) {
            least = errors;
            nearest = candidate;
        }
    }
    return nearest;
}

/// Returns " (did you mean NAME?)", or nothing if no known name is close.
template <class Names>
[[nodiscard]] std::string did_you_mean(std::string_view name, const Names& known) {
    const std::string_view nearest = nearest_name(name, known);
    return nearest.empty() ? std::string() : " (did you mean " + std::string(nearest) + "?)";
}

/// Returns the short name of a field of BadInput, or the field itself if it has no short name.
[[nodiscard]] inline std::string_view short_name_of(std::string_view field) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 26> names{
        {{"sample.shape.nodes", "samples.nodes"},
         {"sample.shape.gpus", "samples.gpus"},
         {"sample.plan.atomic_batch", "samples.local_batch"},
         {"sample.plan.accumulation_steps", "samples.accumulation"},
         {"sample.step_seconds", "samples.step_s"},
         {"sample.sync_seconds", "samples.sync_s"},
         {"sample.host.cores_per_gpu", "samples.cores_per_gpu"},
         {"sample.host.memory_gib_per_gpu", "samples.memory_gib_per_gpu"},
         {"gradient.squared_norm", "gradient.sqr"},
         {"gradient.variance", "gradient.var"},
         {"submitted_seconds", "submitted_s"},
         {"restart_cost_seconds", "restart_cost_s"},
         {"attained_gpu_seconds", "attained_gpu_s"},
         {"checkpoint_seconds", "checkpoint_s"},
         {"pause_seconds", "pause_s"},
         {"write_seconds", "write_s"},
         {"restore_seconds", "restore_s"},
         {"dollars_per_hour", "price_h"},
         {"interruptions_per_hour", "interruptions_h"},
         {"start_seconds", "start_s"},
         {"most_nodes", "most"},
         {"time_seconds", "time_s"},
         {"interruptions.per_hour", "interruptions_h"},
         {"interruptions.off_seconds", "off_s"},
         {"work_seconds", "work_s"},
         {"extra_seconds", "extra_s"}}};
    for (const auto& [member, short_name] : names)
        if (field == member) return short_name;
    return field;
}

/// Returns the text of an exception, with the short name of the field if it is a BadInput.
[[nodiscard]] inline std::string text_in_short_names(const std::exception& error) {
    const auto* bad = dynamic_cast<const BadInput*>(&error);
    if (!bad) return error.what();
    return BadInput(bad->subject, short_name_of(bad->field), bad->value, bad->expected).what();
}

}  // namespace goodput::inline v0_1

#endif
