#ifndef GOODPUT_PROGRAM_JSON_NAMES_HPP
#define GOODPUT_PROGRAM_JSON_NAMES_HPP

// Names that people mistype (core/detail/names.hpp), and texts that are too long to read.

#include <cstddef>
#include <string>

#include "goodput/core/detail/names.hpp"

namespace cli {

using goodput::did_you_mean;

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
