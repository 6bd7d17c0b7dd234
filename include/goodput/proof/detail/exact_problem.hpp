#ifndef GOODPUT_PROOF_DETAIL_EXACT_PROBLEM_HPP
#define GOODPUT_PROOF_DETAIL_EXACT_PROBLEM_HPP

// An allotment problem in exact numbers, and the sections VAR to CON of its certificate.
//
// Variables are the options, job after job. Rows are counted as VIPR counts them: x >= 0 for each variable,
// the capacities, the jobs, and then what is derived.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/proof/detail/exact_numbers.hpp"

namespace goodput::detail {

struct ExactProblem {
    /// One capacity: what variables use of it, in units of 2^-unit_bits.
    struct Row {
        WholeNumber capacity{};
        std::vector<std::pair<std::uint32_t, WholeNumber>> uses{};
        bool with_tolerance = false;  ///< the answer needs the solver's tolerance
    };

    std::vector<std::size_t> first{};  ///< by job, and one more: its first variable
    std::vector<WholeNumber> value{};  ///< by variable, in units of 2^-value_bits
    std::vector<Row> rows{};           ///< by resource
    int unit_bits = 0, price_bits = 0, value_bits = 0;

    /// Reads `problem`; capacities that `choice` exceeds by no more than the solver's tolerance include it.
    /// `magnitude`: what all jobs are worth at most. `finest`: further values that have to be exact.
    ExactProblem(const AllotmentProblem& problem, std::span<const std::size_t> choice, double magnitude,
                 std::span<const double> finest) {
        first.assign(1, 0);
        double capacities = 1;
        int bits = 0;
        for (const double c : problem.capacity) {
            unit_bits = std::max({unit_bits, fraction_bits(c), fraction_bits(c + capacity_tolerance(c))});
            capacities += c;
        }
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            first.push_back(first.back() + problem.options_of(job));
            for (const ResourceUse& use : problem.uses(job))
                unit_bits = std::max(unit_bits, fraction_bits(use.units));
            for (const double v : problem.values(job)) bits = std::max(bits, fraction_bits(v));
        }
        for (const double number : finest) bits = std::max(bits, fraction_bits(number));
        // So fine that rounded prices change a bound by far less than the rounding of doubles.
        const double part = magnitude > 0 ? capacities / magnitude : 1;
        price_bits = std::max({0, bits - unit_bits, 52 + static_cast<int>(std::ceil(std::log2(part)))});
        value_bits = unit_bits + price_bits;
        value.reserve(variables());
        for (std::size_t job = 0; job < problem.jobs(); ++job)
            for (const double v : problem.values(job)) value.push_back(scaled(v, value_bits));
        read_rows(problem, choice);
    }

    [[nodiscard]] std::size_t variables() const { return first.back(); }
    [[nodiscard]] std::size_t jobs() const { return first.size() - 1; }
    [[nodiscard]] std::size_t row_of_resource(std::size_t r) const { return variables() + r; }
    [[nodiscard]] std::size_t row_of_job(std::size_t job) const { return variables() + rows.size() + job; }
    /// The first row that is derived.
    [[nodiscard]] std::size_t given_rows() const { return row_of_job(jobs()); }

    /// Appends the sections VAR, INT, OBJ and CON.
    void append_to(std::string& text, const AllotmentProblem& problem, FractionText& fractions) const {
        const std::size_t n = variables();
        text += "VAR ";
        append_whole(text, n);
        for (std::size_t job = 0; job < jobs(); ++job) {
            text += '\n';
            for (std::size_t v = first[job]; v < first[job + 1]; ++v) {
                text += 'x';
                append_whole(text, job);
                text += '_';
                append_whole(text, v - first[job]);
                text += ' ';
            }
        }
        text += "\nINT ";
        append_whole(text, n);
        text += '\n';
        for (std::size_t v = 0; v < n; ++v) append_index(text, v);
        text += "\nOBJ max\n";
        append_whole(text, static_cast<std::size_t>(std::count_if(value.begin(), value.end(),
                                                                  [](const auto& v) { return v != 0; })));
        for (std::size_t v = 0; v < n; ++v)
            if (value[v] != 0) append_entry(text, v, value[v], value_bits, fractions);
        text += "\nCON ";
        append_whole(text, given_rows());
        append_index(text, n);
        text += '\n';
        for (std::size_t v = 0; v < n; ++v) {
            append_name(text, 'b', v);
            text += " G 0 1";
            append_index(text, v);
            text += " 1\n";
        }
        for (std::size_t r = 0; r < rows.size(); ++r) {
            append_name(text, 'c', r);
            text += " L ";
            fractions.append(text, rows[r].capacity, unit_bits);
            append_index(text, rows[r].uses.size());
            for (const auto& [v, units] : rows[r].uses) append_entry(text, v, units, unit_bits, fractions);
            text += '\n';
        }
        for (std::size_t job = 0; job < jobs(); ++job) {
            append_name(text, 'j', job);
            text += problem.must(job) ? " E 1" : " L 1";
            append_index(text, first[job + 1] - first[job]);
            for (std::size_t v = first[job]; v < first[job + 1]; ++v) {
                append_index(text, v);
                text += " 1";
            }
            text += '\n';
        }
    }

    static void append_index(std::string& text, std::size_t index) {
        text += ' ';
        append_whole(text, index);
    }
    static void append_name(std::string& text, char kind, std::size_t index) {
        text += kind;
        append_whole(text, index);
    }
    static void append_entry(std::string& text, std::size_t index, const WholeNumber& number, int bits,
                             FractionText& fractions) {
        append_index(text, index);
        text += ' ';
        fractions.append(text, number, bits);
    }

private:
    void read_rows(const AllotmentProblem& problem, std::span<const std::size_t> choice) {
        rows.resize(problem.capacity.size());
        std::vector<WholeNumber> used(rows.size());
        for (std::size_t job = 0; job < problem.jobs(); ++job)
            for (std::size_t k = 0; k < problem.options_of(job); ++k) {
                const auto v = static_cast<std::uint32_t>(first[job] + k);
                for (const ResourceUse& use : problem.uses(job, k)) {
                    if (use.units == 0) continue;
                    const WholeNumber units = scaled(use.units, unit_bits);
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
            rows[r].capacity = scaled(c, unit_bits);
            rows[r].with_tolerance = used[r] > rows[r].capacity;
            if (rows[r].with_tolerance) rows[r].capacity = scaled(c + capacity_tolerance(c), unit_bits);
        }
    }
};

}  // namespace goodput::detail

#endif
