#ifndef GOODPUT_PROGRAM_JSON_NAMES_HPP
#define GOODPUT_PROGRAM_JSON_NAMES_HPP

// Names that people mistype (core/detail/names.hpp), and texts that are too long to read.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "goodput/core/detail/names.hpp"

namespace cli {

using goodput::did_you_mean;

/// Returns "a, b, c" for things whose names `name` returns.
template <class List, class Name = std::identity>
[[nodiscard]] std::string joined(const List& list, Name name = {}, std::string_view separator = ", ") {
    std::string names;
    for (const auto& thing : list)
        names.append(names.empty() ? "" : separator).append(std::invoke(name, thing));
    return names;
}

/// The same for things that have the member `name`.
template <class List>
[[nodiscard]] std::string names_of(const List& list) {
    return joined(list, [](const auto& thing) { return thing.name; });
}

/// Whether a byte of a text in UTF-8 continues a character.
[[nodiscard]] inline bool is_inside_character(const std::string& text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

/// The beginning of the text, and "...", if it has more than `most` bytes; whole characters stay whole.
[[nodiscard]] inline std::string cut_off(const std::string& text, std::size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && is_inside_character(text, most)) --most;
    return text.substr(0, most) + "...";
}

/// The text with "..." instead of its middle if it has more than `most` bytes; whole characters stay whole.
[[nodiscard]] inline std::string shortened(const std::string& text, std::size_t most = 480) {
    if (text.size() <= most) return text;
    std::size_t head = most * 2 / 3, tail = text.size() - (most - head);
    while (head > 0 && is_inside_character(text, head)) --head;
    while (is_inside_character(text, tail)) ++tail;
    return text.substr(0, head) + " ... " + text.substr(tail);
}

}  // namespace cli

#endif
