#ifndef GOODPUT_PROOF_DETAIL_EXACT_PROBLEM_HPP
#define GOODPUT_PROOF_DETAIL_EXACT_PROBLEM_HPP

// An allotment problem in exact numbers, and the sections of its certificate in the format VIPR that state
// the problem: VAR (variables), INT (which of them are whole), OBJ (objective) and CON (constraints).
//
// The variables are the options, job after job. Rows are numbered as in VIPR: x >= 0 for each variable x,
// then one row per capacity, one per job, and the rows that the proof derives.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/proof/detail/exact_numbers.hpp"
#include "goodput/proof/detail/proof_text.hpp"

namespace goodput::inline v0_1::detail {

/// Returns an upper limit on what all capacities together, or any one option, cost at these prices.
/// `largest`: by resource, the larger one of its capacity and of the most that an option uses of it.
inline double most_paid(std::span<const double> prices, std::span<const double> largest) {
    double paid = 0;
    for (std::size_t r = 0; r < std::min(prices.size(), largest.size()); ++r)
        paid += std::max(0.0, prices[r]) * largest[r];
    return paid;
}

/// The precision that the numbers of a certificate need, and the sizes that they reach.
struct ExactScale {
    /// Bits after the binary point of units, prices and values; value_bits is the sum of the other two.
    int unit_bits = 0, price_bits = 0, value_bits = 0;
    /// Sum over jobs of the largest |value| of an option that fits.
    double magnitude = 0;
    /// Sum over jobs of the largest |value| of any option.
    double everything = 0;
    /// By resource: the larger one of its capacity and of the most that an option uses of it.
    std::vector<double> largest{};
    std::vector<std::size_t> uses{};  ///< number of uses of each resource

    ExactScale() = default;
    /// The scale for a problem, and for an answer that may need the solver's tolerance.
    ExactScale(const AllotmentProblem& problem, std::span<const std::size_t> choice) {
        double capacities = 1;
        int bits = 0;
        largest = problem.capacity;
        uses.assign(largest.size(), 0);
        for (const double c : problem.capacity) {
            unit_bits = std::max(unit_bits, fraction_bits(c));
            capacities += c;
        }
        const std::vector<double> used = units_taken(problem, choice);
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            for (const ResourceUse& use : problem.uses(job)) {
                unit_bits = std::max(unit_bits, fraction_bits(use.units));
                largest[use.resource] = std::max(largest[use.resource], use.units);
                ++uses[use.resource];
            }
            double most = 0, most_fitting = 0;
            for (std::size_t k = 0; k < problem.options_of(job); ++k) {
                const double v = problem.value(job, k);
                bits = std::max(bits, fraction_bits(v));
                most = std::max(most, std::abs(v));
                if (std::abs(v) > most_fitting && fits_alone(problem.uses(job, k), problem.capacity))
                    most_fitting = std::abs(v);
            }
            magnitude += most_fitting;
            everything += most;
        }
        // Sums of whole units are exact, so only a use above the capacity needs the tolerance.
        const double nearly = unit_bits == 0 ? 1 : 1 - 1e-9;
        for (std::size_t r = 0; r < used.size(); ++r)
            if (const double c = problem.capacity[r]; used[r] > nearly * c)
                unit_bits = std::max(unit_bits, fraction_bits(c + capacity_tolerance(c)));
        // Make prices so precise that rounding them changes a bound by about as little as storing it in a
        // double.
        const double part = magnitude > 0 ? capacities / magnitude : 1;
        price_bits = std::max({0, bits - unit_bits, 52 + static_cast<int>(std::ceil(std::log2(part)))});
        value_bits = unit_bits + price_bits;
    }

    /// Makes values precise enough to hold `number` exactly.
    void refine(double number) {
        price_bits = std::max(price_bits, fraction_bits(number) - unit_bits);
        value_bits = unit_bits + price_bits;
    }
    /// Returns whether the numbers for `jobs` jobs fit into a NarrowNumber, if neither all capacities
    /// together nor any option cost more than `most_paid` at any prices. The largest numbers are sums of
    /// values and prices over all jobs, times a number of jobs. Fixing options before the search
    /// (root_fixing.hpp) may double them several times.
    [[nodiscard]] bool narrow(std::size_t jobs, double most_paid) const {
        constexpr double room = 100;
        const double often = 2 * std::log2(static_cast<double>(jobs) + 8);
        double units = 1;
        for (const double u : largest) units = std::max(units, u);
        return value_bits + std::log2(everything + most_paid + 1) + often < room &&
               unit_bits + std::log2(units) + often < room;
    }
};

template <class Whole>
struct ExactProblem {
    /// One capacity, and what variables use of it, in units of 2^-unit_bits.
    struct Row {
        Whole capacity{};
        std::vector<std::pair<std::uint32_t, Whole>> uses{};
        bool with_tolerance = false;  ///< whether the answer needs the solver's tolerance
    };

    std::vector<std::size_t> first{};  ///< first variable of each job, then the end of the last job's
    std::vector<Whole> value{};        ///< value of each variable, in units of 2^-value_bits
    std::vector<Row> rows{};           ///< row of each resource
    int unit_bits = 0, value_bits = 0;

    /// Reads `problem`. A capacity that `choice` exceeds within the solver's tolerance includes the
    /// tolerance.
    ExactProblem(const AllotmentProblem& problem, const ExactScale& scale,
                 std::span<const std::size_t> choice)
        : unit_bits(scale.unit_bits), value_bits(scale.value_bits) {
        first.reserve(problem.jobs() + 1);
        first.assign(1, 0);
        value.reserve(problem.options());
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            first.push_back(first.back() + problem.options_of(job));
            for (const double v : problem.values(job)) value.push_back(scaled<Whole>(v, value_bits));
        }
        read_rows(problem, scale, choice);
    }

    [[nodiscard]] std::size_t variables() const { return first.back(); }
    [[nodiscard]] std::size_t jobs() const { return first.size() - 1; }
    [[nodiscard]] std::size_t row_of_resource(std::size_t r) const { return variables() + r; }
    [[nodiscard]] std::size_t row_of_job(std::size_t job) const { return variables() + rows.size() + job; }
    /// Returns the number of given rows, which is the index of the first derived row.
    [[nodiscard]] std::size_t given_rows() const { return row_of_job(jobs()); }

    /// Appends the sections VAR, INT, OBJ and CON.
    void append_to(ProofText& text, const AllotmentProblem& problem) const {
        const std::size_t n = variables();
        text.add("VAR");
        text.index(n);
        for (std::size_t job = 0; job < jobs(); ++job) {
            text.add('\n');
            for (std::size_t v = first[job]; v < first[job + 1]; ++v) {
                text.add(v == first[job] ? "x" : " x");
                text.whole(job);
                text.add('_');
                text.whole(v - first[job]);
            }
        }
        text.add("\nINT");
        text.index(n);
        text.add('\n');
        for (std::size_t v = 0; v < n; ++v) text.index(v);
        text.add("\nOBJ max\n");
        text.whole(static_cast<std::size_t>(
            std::count_if(value.begin(), value.end(), [](const auto& v) { return v != 0; })));
        for (std::size_t v = 0; v < n; ++v)
            if (value[v] != 0) text.entry(v, value[v], value_bits);
        text.add("\nCON");
        text.index(given_rows());
        text.index(n);
        for (std::size_t v = 0; v < n; ++v) {
            text.add("\nb");
            text.whole(v);
            text.add(" G 0 1");
            text.entry(v);
        }
        for (std::size_t r = 0; r < rows.size(); ++r) {
            text.add("\nc");
            text.whole(r);
            text.add(" L ");
            text.fraction(rows[r].capacity, unit_bits);
            text.index(rows[r].uses.size());
            for (const auto& [v, units] : rows[r].uses) text.entry(v, units, unit_bits);
        }
        for (std::size_t job = 0; job < jobs(); ++job) {
            text.add("\nj");
            text.whole(job);
            text.add(problem.must(job) ? " E 1" : " L 1");
            text.index(first[job + 1] - first[job]);
            for (std::size_t v = first[job]; v < first[job + 1]; ++v) text.entry(v);
        }
        text.add('\n');
    }

private:
    void read_rows(const AllotmentProblem& problem, const ExactScale& scale,
                   std::span<const std::size_t> choice) {
        rows.resize(problem.capacity.size());
        for (std::size_t r = 0; r < rows.size(); ++r) rows[r].uses.reserve(scale.uses[r]);
        std::vector<Whole> used(rows.size());
        for (std::size_t job = 0; job < problem.jobs(); ++job)
            for (std::size_t k = 0; k < problem.options_of(job); ++k) {
                const auto v = static_cast<std::uint32_t>(first[job] + k);
                for (const ResourceUse& use : problem.uses(job, k)) {
                    if (use.units == 0) continue;
                    const Whole units = scaled<Whole>(use.units, unit_bits);
                    auto& uses = rows[use.resource].uses;
                    if (!uses.empty() && uses.back().first == v)
                        uses.back().second += units;
                    else
                        uses.emplace_back(v, units);
                    if (choice[job] == k) used[use.resource] += units;
                }
            }
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const double c = problem.capacity[r];
            rows[r].capacity = scaled<Whole>(c, unit_bits);
            rows[r].with_tolerance = used[r] > rows[r].capacity;
            if (rows[r].with_tolerance)
                rows[r].capacity = scaled<Whole>(c + capacity_tolerance(c), unit_bits);
        }
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
