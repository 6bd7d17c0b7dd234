#ifndef GOODPUT_COMPILED_C_JSON_TEXT_HPP
#define GOODPUT_COMPILED_C_JSON_TEXT_HPP

#include <string>
#include <string_view>

namespace goodput::c {

/// Returns a text as JSON writes it, in quotes.
inline std::string json_text(std::string_view text) {
    std::string json = "\"";
    for (const char c : text) {
        constexpr std::string_view digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            json.append(1, '\\').append(1, c);
        else if (byte < 0x20)
            json.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
        else
            json.append(1, c);
    }
    return json.append(1, '"');
}

}  // namespace goodput::c

#endif
