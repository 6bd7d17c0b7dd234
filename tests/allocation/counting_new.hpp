#ifndef GOODPUT_TESTS_ALLOCATION_COUNTING_NEW_HPP
#define GOODPUT_TESTS_ALLOCATION_COUNTING_NEW_HPP

// Replaces the global operators new and delete by ones that count: for one source of a program of its own.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace support {

inline std::atomic<std::size_t> allocations{0};

namespace detail {

inline void* counted(std::size_t size, std::size_t alignment) {
    ++allocations;
    const std::size_t whole = (size + alignment - 1) / alignment * alignment;
    if (void* memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment)) return memory;
    throw std::bad_alloc();
}

}  // namespace detail

/// Allocations during a call.
template <class Call>
std::size_t allocations_during(Call call) {
    const std::size_t before = allocations;
    call();
    return allocations - before;
}

}  // namespace support

// The other forms of new and delete call these. Where g++ 12 inlines one of a pair, it takes the pair for a
// mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    return support::detail::counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    return support::detail::counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

#endif
