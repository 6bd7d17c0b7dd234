#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_PYTHON_RANDOM_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_PYTHON_RANDOM_HPP

// Shuffles lists as Python's random.Random(seed).shuffle() does, and draws pairs as sample(list, 2) does,
// for peers whose results depend on it.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

namespace goodput::peers {

/// A Mersenne Twister with the state that Python gives it: init_by_array of the single number (Matsumoto
/// and Nishimura, mt19937ar.c, 2002). std::mt19937 would take its state from a seed sequence.
class PythonRandom {
public:
    explicit PythonRandom(std::uint32_t seed) {
        Seeds seeds{seed};
        twister_.seed(seeds);
    }

    /// Shuffles the elements.
    template <class T>
    void shuffle(std::vector<T>& elements) {
        using std::swap;
        for (std::size_t i = elements.size(); i-- > 1;)
            swap(elements[i], elements[below(static_cast<std::uint32_t>(i + 1))]);
    }

    /// Returns two different indices below `count`, which is at least 2.
    std::pair<std::size_t, std::size_t> two_of(std::size_t count) {
        constexpr std::size_t few = 21;  // up to this count, Python keeps the remaining ones as a list
        const auto n = static_cast<std::uint32_t>(count);
        const std::size_t first = below(n);
        std::size_t second = 0;
        if (count <= few) {
            second = below(n - 1);
            if (second == first) second = count - 1;
        } else {
            do {
                second = below(n);
            } while (second == first);
        }
        return {first, second};
    }

private:
    struct Seeds {
        using result_type = std::uint32_t;
        std::uint32_t seed;

        template <class Iterator>
        void generate(Iterator begin, Iterator end) const {
            const auto n = static_cast<std::size_t>(std::distance(begin, end));
            std::vector<std::uint32_t> state(n);
            state[0] = 19650218U;
            const auto mixed = [&](std::size_t i, std::uint32_t factor) {
                return (state[i - 1] ^ (state[i - 1] >> 30)) * factor;
            };
            for (std::size_t i = 1; i < n; ++i)
                state[i] = mixed(i, 1812433253U) + static_cast<std::uint32_t>(i);
            std::size_t i = 1;
            const auto next = [&] {
                if (++i < n) return;
                state[0] = state[n - 1];
                i = 1;
            };
            for (std::size_t k = 0; k < n; ++k, next()) state[i] = (state[i] ^ mixed(i, 1664525U)) + seed;
            for (std::size_t k = 1; k < n; ++k, next())
                state[i] = (state[i] ^ mixed(i, 1566083941U)) - static_cast<std::uint32_t>(i);
            state[0] = 0x80000000U;
            for (const std::uint32_t word : state) *begin++ = word;
        }
        // The concept of a seed sequence requires this, but it is not used.
        template <class Out>
        void param(Out out) const {
            *out = seed;
        }
        [[nodiscard]] static std::size_t size() { return 1; }
    };

    /// Returns a number below n. Draws as many bits as n has until they are below n.
    std::uint32_t below(std::uint32_t n) {
        unsigned bits = 0;
        while (n >> bits) ++bits;
        for (;;) {
            const auto drawn = static_cast<std::uint32_t>(twister_()) >> (32 - bits);
            if (drawn < n) return drawn;
        }
    }

    std::mt19937 twister_;
};

}  // namespace goodput::peers

#endif
