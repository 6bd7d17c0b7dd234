#ifndef GOODPUT_TESTS_FUZZ_PROGRAM_JSON_MUTATION_HPP
#define GOODPUT_TESTS_FUZZ_PROGRAM_JSON_MUTATION_HPP

// Mutations that keep a fuzzer's input within its format most of the time, so that what is tried is not the
// parser alone: values of JSON documents, whole documents, cells and rows of tables. Every one depends on the
// seed only.
//
// An input is one byte that chooses options of the command, and then text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

/// What a format has names for.
struct Format {
    std::vector<std::string> names{};  ///< of fields
    std::vector<std::string> texts{};  ///< that mean something as values
};

/// Mutates `data`, one byte of options and lines of JSON, in place, and returns the new size, at most `most`.
std::size_t mutate_json_lines(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                              const Format& format);

/// The same for one byte of options and lines of values separated by commas.
std::size_t mutate_table(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                         const Format& format);

/// Writes a mixture of two inputs of JSON lines to `out` and returns its size, at most `most`.
std::size_t cross_json_lines(const std::uint8_t* first, std::size_t first_size, const std::uint8_t* second,
                             std::size_t second_size, std::uint8_t* out, std::size_t most, unsigned seed);

}  // namespace fuzz

#endif
