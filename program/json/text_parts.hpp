#ifndef GOODPUT_PROGRAM_JSON_TEXT_PARTS_HPP
#define GOODPUT_PROGRAM_JSON_TEXT_PARTS_HPP

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace cli {

/// Returns the number that a text consists of. Returns nothing if the text is not a number, or goes on
/// behind it.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// Returns the beginning of a text up to the separator, and removes both from the text.
inline std::string_view next_part(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

}  // namespace cli

#endif
