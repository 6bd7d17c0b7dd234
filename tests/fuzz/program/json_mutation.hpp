#ifndef GOODPUT_TESTS_FUZZ_PROGRAM_JSON_MUTATION_HPP
#define GOODPUT_TESTS_FUZZ_PROGRAM_JSON_MUTATION_HPP

// Mutations that mostly keep a fuzzer's input within its format, so that fuzzing gets beyond the
// parser: of values of JSON documents, whole documents, cells and rows of tables. They depend only on
// the seed.
//
// An input is one byte that chooses options of the command, and then text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

/// The words that a format knows.
struct Format {
    std::vector<std::string> names{};  ///< names of fields
    std::vector<std::string> texts{};  ///< values with a meaning
};

/// Mutates `data` (one byte of options, then lines of JSON) in place. Returns the new size, at most `most`.
std::size_t mutate_json_lines(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                              const Format& format);

/// The same for one byte of options, then lines of comma-separated values.
std::size_t mutate_table(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                         const Format& format);

/// Writes a mixture of two inputs of JSON lines to `out` and returns its size, at most `most`.
std::size_t cross_json_lines(const std::uint8_t* first, std::size_t first_size, const std::uint8_t* second,
                             std::size_t second_size, std::uint8_t* out, std::size_t most, unsigned seed);

}  // namespace fuzz

#endif
