#ifndef GOODPUT_PROGRAM_REPORT_MARKUP_HPP
#define GOODPUT_PROGRAM_REPORT_MARKUP_HPP

// Formats text and numbers for a page or a picture, the same in every locale.

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Escapes text for an element or an attribute of HTML and SVG.
std::string escaped(std::string_view text);

/// Returns a number and what it counts: "1 job", "2 jobs".
std::string counted(std::size_t number, std::string_view one, std::string_view many);

/// Returns a number with that many digits after the point, never a negative zero.
std::string fixed(double value, int digits);

/// The same without trailing zeros, for coordinates.
std::string trimmed(double value, int digits);

}  // namespace cli

#endif
