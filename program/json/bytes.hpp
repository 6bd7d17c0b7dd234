#ifndef GOODPUT_PROGRAM_JSON_BYTES_HPP
#define GOODPUT_PROGRAM_JSON_BYTES_HPP

namespace cli {

/// Documents count memory in GiB, the library in bytes.
inline constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;

}  // namespace cli

#endif
