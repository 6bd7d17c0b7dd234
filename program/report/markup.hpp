#ifndef GOODPUT_PROGRAM_REPORT_MARKUP_HPP
#define GOODPUT_PROGRAM_REPORT_MARKUP_HPP

// Text and numbers as they may stand in a page or a picture, the same in every locale.

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Text as the content of an element or an attribute of HTML and SVG.
std::string escaped(std::string_view text);

/// A number and what it counts: "1 job", "2 jobs".
std::string counted(std::size_t number, std::string_view one, std::string_view many);

/// That many digits after the point, and no negative zero.
std::string fixed(double value, int digits);

/// The same without zeros at the end, for coordinates.
std::string trimmed(double value, int digits);

}  // namespace cli

#endif
