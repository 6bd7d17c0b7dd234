#ifndef GOODPUT_CORE_BYTES_HPP
#define GOODPUT_CORE_BYTES_HPP

// The unit of memory. Bytes of memory are plain bytes except where a name says GiB, which is 2^30 bytes.

namespace goodput::inline v0_1 {

/// Bytes in one GiB.
inline constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;

}  // namespace goodput::inline v0_1

#endif
