#ifndef GOODPUT_TESTS_SHARE_SHARE_LEXICOGRAPHIC_HPP
#define GOODPUT_TESTS_SHARE_SHARE_LEXICOGRAPHIC_HPP

// Computes the lexicographically best levels by their definition: raises all rising jobs until one more step
// has no solution; asks for each job, by a linear program of its own, whether it could have more while all
// others keep what they have; continues with those that could. A simplex method on a dense tableau in long
// double solves the programs, with errors of a few parts in 1e16. For a dozen jobs.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/share/problem.hpp"
#include "goodput/share/water_filling.hpp"
#include "share/share_oracle.hpp"

namespace support {

/// The set of all x >= 0 with rows x <= right sides.
class SmallProgram {
public:
    using Row = std::vector<long double>;

    /// `right` may be negative.
    SmallProgram(const std::vector<Row>& rows, const Row& right, std::size_t variables) {
        // Subtracts one more variable from every row, and then drives it out of the basis.
        const std::size_t extra = variables;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            table_.push_back(rows[i]);
            table_.back().push_back(-1);
            table_.back().push_back(right[i]);
            basic_.push_back(variables + 1 + i);
        }
        for (std::size_t k = 0; k <= variables; ++k) free_.push_back(k);
        std::size_t worst = 0;
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (right[i] < right[worst]) worst = i;
        if (rows.empty() || right[worst] >= 0) {
            drop(extra);
            return;
        }
        pivot(worst, extra);
        Row wanted(variables + 1, 0);
        wanted[extra] = -1;
        const long double left = maximise(wanted);
        feasible_ = left >= -1e-14L;
        for (std::size_t i = 0; i < basic_.size(); ++i) {
            if (basic_[i] != extra) continue;
            std::size_t best = 0;
            for (std::size_t k = 0; k < free_.size(); ++k)
                if (size(table_[i][k]) > size(table_[i][best])) best = k;
            pivot(i, best);
        }
        drop(extra);
    }
    [[nodiscard]] bool feasible() const { return feasible_; }
    /// Returns the maximum of wanted . x.
    [[nodiscard]] long double most(const Row& wanted) const { return SmallProgram(*this).maximise(wanted); }

private:
    static long double size(long double value) { return value < 0 ? -value : value; }

    void drop(std::size_t variable) {
        const auto at =
            static_cast<std::ptrdiff_t>(std::find(free_.begin(), free_.end(), variable) - free_.begin());
        free_.erase(free_.begin() + at);
        for (Row& row : table_) row.erase(row.begin() + at);
    }
    void pivot(std::size_t row, std::size_t column) {
        Row& chosen = table_[row];
        const long double by = 1 / chosen[column];
        for (long double& entry : chosen) entry *= by;
        chosen[column] = by;
        const auto take_off = [&](Row& other) {
            const long double times = other[column];
            if (times == 0) return;
            other[column] = 0;
            for (std::size_t k = 0; k < other.size(); ++k) other[k] -= times * chosen[k];
        };
        for (std::size_t i = 0; i < table_.size(); ++i)
            if (i != row) take_off(table_[i]);
        if (!gain_.empty()) take_off(gain_);
        std::swap(basic_[row], free_[column]);
    }
    long double maximise(const Row& wanted) {
        const std::size_t width = free_.size();
        gain_.assign(width + 1, 0);  // its negative, as a row
        const auto weight = [&](std::size_t variable) {
            return variable < wanted.size() ? wanted[variable] : 0;
        };
        for (std::size_t k = 0; k < width; ++k) gain_[k] = -weight(free_[k]);
        for (std::size_t i = 0; i < table_.size(); ++i)
            if (const long double its = weight(basic_[i]); its != 0)
                for (std::size_t k = 0; k <= width; ++k) gain_[k] += its * table_[i][k];
        for (int step = 0; step < 20000; ++step) {
            // Takes the steepest column. Switches to Bland's rule after a while, which cannot go in circles.
            std::size_t column = width;
            for (std::size_t k = 0; k < width; ++k) {
                if (gain_[k] >= -1e-15L) continue;
                if (column == width || (step < 200 ? gain_[k] < gain_[column] : free_[k] < free_[column]))
                    column = k;
            }
            if (column == width) break;
            std::size_t row = table_.size();
            for (std::size_t i = 0; i < table_.size(); ++i) {
                if (table_[i][column] <= 1e-14L) continue;
                if (row == table_.size()) {
                    row = i;
                    continue;
                }
                const long double here = table_[i].back() / table_[i][column],
                                  best = table_[row].back() / table_[row][column];
                if (here < best || (here == best && basic_[i] < basic_[row])) row = i;
            }
            if (row == table_.size()) return 1e30L;
            pivot(row, column);
        }
        const long double found = gain_.back();
        gain_.clear();
        return found;
    }

    std::vector<Row> table_;  // by basic variable; the last entry is its value
    Row gain_;
    std::vector<std::size_t> basic_, free_;
    bool feasible_ = true;
};

/// Returns the levels by job, as fill_water() defines them.
inline std::vector<double> lexicographic_levels(const goodput::ShareProblem& problem,
                                                const goodput::ShareHierarchy& hierarchy) {
    using Row = SmallProgram::Row;
    const std::size_t jobs = problem.jobs.size(), types = problem.types();
    // A height is workers * rate / proportional rate, stored as a fraction of the job's highest one.
    Row top(jobs, 0), height(jobs, 0);
    std::vector<char> rising(jobs, 0);
    std::vector<std::size_t> first_of(jobs, 0);  // index of its first variable
    std::size_t variables = 1;                   // variable 0 is how far the water rises
    const auto usable = [&](std::size_t j, std::size_t t) { return share_usable(problem, j, t); };
    Row fastest(jobs, 0);
    for (std::size_t j = 0; j < jobs; ++j) {
        long double proportional = 0, all = 0;
        for (std::size_t t = 0; t < types; ++t) {
            all += problem.gpus[t];
            if (!usable(j, t)) continue;
            proportional += static_cast<long double>(problem.jobs[j].rates[t]) * problem.gpus[t];
            fastest[j] = std::max(fastest[j], static_cast<long double>(problem.jobs[j].rates[t]));
        }
        if (fastest[j] <= 0) continue;
        rising[j] = 1;
        top[j] = fastest[j] * problem.jobs[j].workers / (proportional / all);
        first_of[j] = variables;
        variables += types;
    }
    std::vector<Row> limits;
    Row right;
    for (std::size_t j = 0; j < jobs; ++j) {
        if (!rising[j]) continue;
        limits.emplace_back(variables, 0);
        for (std::size_t t = 0; t < types; ++t) limits.back()[first_of[j] + t] = 1;
        right.push_back(1);
    }
    for (std::size_t t = 0; t < types; ++t) {
        limits.emplace_back(variables, 0);
        for (std::size_t j = 0; j < jobs; ++j)
            if (fastest[j] > 0)
                limits.back()[first_of[j] + t] =
                    usable(j, t) ? problem.jobs[j].workers / static_cast<long double>(problem.gpus[t]) : 0;
        right.push_back(problem.gpus[t] > 0 ? 1 : 0);
    }
    const auto rate_row = [&](std::size_t j) {
        Row row(variables, 0);
        for (std::size_t t = 0; t < types; ++t)
            if (usable(j, t)) row[first_of[j] + t] = problem.jobs[j].rates[t] / fastest[j];
        return row;
    };
    const Row runs = fastest;
    // Slack for rounding.
    constexpr long double slack = 1e-15L;
    // The program in which every job keeps its height and rises at its speed.
    const auto program_of = [&](const Row& speed) {
        std::vector<Row> rows = limits;
        Row sides = right;
        for (std::size_t j = 0; j < jobs; ++j) {
            if (runs[j] <= 0) continue;
            rows.push_back(rate_row(j));
            for (long double& entry : rows.back()) entry = -entry;
            rows.back()[0] = speed[j];
            sides.push_back(-height[j] * (1 - slack));
        }
        return SmallProgram(rows, sides, variables);
    };
    for (;;) {
        Row speed(jobs, 0);
        const auto entity = [&](std::size_t j) { return hierarchy.entities[hierarchy.entity_of[j]]; };
        for (std::size_t j = 0; j < jobs; ++j) {
            if (!rising[j]) continue;
            long double part = problem.jobs[j].weight;
            if (!hierarchy.entities.empty()) {
                long double weights = 0;
                bool is_first = true;
                for (std::size_t k = 0; k < jobs; ++k) {
                    if (!rising[k] || hierarchy.entity_of[k] != hierarchy.entity_of[j]) continue;
                    weights += problem.jobs[k].weight;
                    is_first = is_first && k >= j;
                }
                part = entity(j).in_order ? (is_first ? 1 : 0) : part / weights;
                part *= entity(j).weight;
            }
            speed[j] = part / top[j];
        }
        Row first(variables, 0);
        long double scale = 0;  // scaled so that the fastest riser reaches its top at 1
        for (const long double its : speed) scale = std::max(scale, its);
        if (scale <= 0) break;
        for (long double& its : speed) its /= scale;
        first[0] = 1;
        const long double risen = std::max(program_of(speed).most(first), 0.0L);
        for (std::size_t j = 0; j < jobs; ++j) height[j] += risen * speed[j];
        const SmallProgram after = program_of(Row(jobs, 0));
        bool any = false;
        long double least = 1e30L;
        std::size_t least_job = 0;
        for (std::size_t j = 0; j < jobs; ++j) {
            if (speed[j] <= 0) continue;
            const long double more = (after.most(rate_row(j)) - height[j]) / std::max(height[j], 1e-12L);
            if (more < least) {
                least = more;
                least_job = j;
            }
            if (more > 1e-8L) continue;
            rising[j] = 0;
            any = true;
        }
        if (!any) rising[least_job] = 0;
    }
    std::vector<double> levels;
    for (std::size_t j = 0; j < jobs; ++j)
        levels.push_back(static_cast<double>(height[j] * top[j] / problem.jobs[j].weight));
    return levels;
}

}  // namespace support

#endif
