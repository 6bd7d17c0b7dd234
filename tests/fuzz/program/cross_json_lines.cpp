// The crossover function of targets whose input is lines of JSON.

#include <cstddef>
#include <cstdint>

#include "json_mutation.hpp"

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size,
                                                 std::uint8_t* out, std::size_t most, unsigned seed) {
    return fuzz::cross_json_lines(first, first_size, second, second_size, out, most, seed);
}
