#ifndef GOODPUT_CORE_NAMES_HPP
#define GOODPUT_CORE_NAMES_HPP

// Names that people mistype, and names in warnings.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// Whom a warning is about, so that it is said once for all of them: "job 'a'", "job 'a' and 2 others".
class Whom {
public:
    /// One more; the name of the first is said.
    void add(std::string_view name) {
        if (count_++ == 0) first_ = name;
    }
    /// Whether there is none.
    [[nodiscard]] bool empty() const { return count_ == 0; }
    /// All of them in words; `kind`: what each of them is.
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

}  // namespace goodput

#endif
