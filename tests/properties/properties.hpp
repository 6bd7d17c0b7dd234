#ifndef GOODPUT_TESTS_PROPERTIES_PROPERTIES_HPP
#define GOODPUT_TESTS_PROPERTIES_PROPERTIES_HPP

// Runs a property over many random cases. Every case draws from its own seed (first seed + its number), so
// that a failing case can be run alone:
//
//     GOODPUT_PROPERTY_CASES   cases of a property whose cases are cheap; expensive ones run a fraction
//     GOODPUT_PROPERTY_SEED    seed of the first case
//
// A property stops at its first failing case. For tests: includes doctest.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

namespace properties {

/// Failed assertions and exceptions of the program so far, counted by main.cpp.
inline int failures = 0;

/// One random case.
struct Case {
    std::uint64_t seed;
    support::Random random{seed};
    std::map<std::string, long long>& kinds;

    /// Counts the case as one of this kind, for the line printed at the end.
    void count(const char* kind) { ++kinds[kind]; }
};

/// Thrown by a case that ends without a verdict. It is counted under that kind.
struct NoVerdict {
    const char* kind;
};

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    if (!text) return otherwise;
    std::size_t read = 0;
    const std::uint64_t number = std::stoull(text, &read);
    if (text[read] != '\0') throw std::invalid_argument(std::string(name) + " is no number: " + text);
    return number;
}

/// The result of a property, printed however the property ends.
class Tally {
public:
    Tally(std::uint64_t first, std::uint64_t cases) : first_(first), planned_(cases) {}
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;
    ~Tally() {
        const std::string name = doctest::getContextOptions()->currentTest->m_name;
        std::cout << run_ << " cases from seed " << first_;
        for (const auto& [kind, count] : kinds_) std::cout << ", " << count << ' ' << kind;
        std::cout << ": " << name << '\n';
        if (run_ < planned_ || failed_)
            std::cout << "FAILED with seed " << first_ + run_ - 1
                      << "; alone:\n    GOODPUT_PROPERTY_SEED=" << first_ + run_ - 1
                      << " GOODPUT_PROPERTY_CASES=1 properties_test --test-case='" << pattern(name) << "'\n";
        std::cout.flush();
    }

    template <class Body>
    void run(Body& body) {
        const int before = failures;
        while (run_ < planned_ && !failed_) {
            Case one{.seed = first_ + run_, .kinds = kinds_};
            ++run_;
            INFO("seed of the case: ", one.seed);
            try {
                body(one);
            } catch (const NoVerdict& without) {
                one.count(without.kind);
            }
            failed_ = failures > before;
        }
    }

private:
    /// Replaces commas, which doctest treats as separators of patterns.
    static std::string pattern(std::string name) {
        std::replace(name.begin(), name.end(), ',', '?');
        return name;
    }

    std::uint64_t first_, planned_, run_ = 0;
    bool failed_ = false;
    std::map<std::string, long long> kinds_;
};

/// Runs `body(Case&)` on the number of cases in the environment divided by `expense`, but at least one.
template <class Body>
void for_all(std::uint64_t expense, Body body) {
    const std::uint64_t cases = number_from_environment("GOODPUT_PROPERTY_CASES",
                                                        static_cast<std::uint64_t>(support::trials(5000))),
                        first = number_from_environment("GOODPUT_PROPERTY_SEED", 1);
    Tally(first, std::max<std::uint64_t>(cases / expense, 1)).run(body);
}

/// Returns a random order: the new index of each of `count` things.
inline std::vector<std::size_t> random_order(support::Random& random, std::size_t count) {
    std::vector<std::size_t> to(count);
    for (std::size_t i = 0; i < count; ++i) to[i] = i;
    for (std::size_t i = count; i > 1; --i)
        std::swap(to[i - 1], to[static_cast<std::size_t>(random.integer(0, static_cast<int>(i) - 1))]);
    return to;
}

/// Returns a power of two, far from 1 or not, or a number that causes rounding.
inline double random_factor(support::Random& random) {
    if (random.chance(0.5)) return std::ldexp(1.0, random.integer(-60, 60));
    constexpr double factors[] = {3, 1e-6, 1e9, 0.1, 7e-12, 1.0 / 3};
    return factors[random.integer(0, 5)];
}

}  // namespace properties

#endif
