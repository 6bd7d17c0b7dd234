#ifndef GOODPUT_EXAMPLES_CLI_NAMES_HPP
#define GOODPUT_EXAMPLES_CLI_NAMES_HPP

// Names that people mistype, and texts that are too long to read.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

/// How many letters have to be changed, added, left out or exchanged with their neighbour to make `b` of `a`.
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

/// The one of `known` that somebody who wrote `name` most likely meant; empty if none is close. Upper and
/// lower case count as the same letter.
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

/// " (did you mean NAME?)", or nothing where no known name is close.
template <class Names>
[[nodiscard]] std::string did_you_mean(std::string_view name, const Names& known) {
    const std::string_view nearest = nearest_name(name, known);
    return nearest.empty() ? std::string() : " (did you mean " + std::string(nearest) + "?)";
}

/// The text with "..." instead of its middle if it has more than `most` bytes; whole characters stay whole.
[[nodiscard]] inline std::string shortened(const std::string& text, std::size_t most = 480) {
    if (text.size() <= most) return text;
    const auto inside = [&](std::size_t at) {
        return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
    };
    std::size_t head = most * 2 / 3, tail = text.size() - (most - head);
    while (head > 0 && inside(head)) --head;
    while (inside(tail)) ++tail;
    return text.substr(0, head) + " ... " + text.substr(tail);
}

}  // namespace cli

#endif
