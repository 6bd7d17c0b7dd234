#ifndef GOODPUT_VERSION_HPP
#define GOODPUT_VERSION_HPP

#include <string_view>

/// The whole library. `goodput::detail` is private and may change at any time.
namespace goodput::inline v0_1 {

/// The version of the library; the build files and packages read it from this line.
inline constexpr std::string_view version = "0.1.0";

}  // namespace goodput::inline v0_1

#endif
