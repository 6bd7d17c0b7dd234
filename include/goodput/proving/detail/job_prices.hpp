#ifndef GOODPUT_PROVING_DETAIL_JOB_PRICES_HPP
#define GOODPUT_PROVING_DETAIL_JOB_PRICES_HPP

// The second relaxation: prices on jobs instead of on capacities. Every job j has a price u_j, which the
// bound counts once. In return, any number of resources may serve the job, or none. Each resource r takes
// the jobs that are worth most to it beyond their prices, and keeps its capacity C_r in whole units. With
// v_k the value of option k, a_k its units, and x_k = 1 if the resource takes it (otherwise 0):
//
//     bound(u) = sum u_j + sum over resources of max { sum (v_k - u_j) x_k : sum a_k x_k <= C_r, one option
//     per job }
//
// (This is the Lagrangian relaxation of "one option per job"; Fisher, Jaikumar and Van Wassenhove 1986 for
// generalised assignment.) Dynamic programming solves the knapsacks exactly. So this bound knows what
// prices on capacities cannot know: units that no option fills are lost. Tables from both ends tell how far
// the bound falls if an option is taken, or if a resource does not serve a job. If the bound then falls to
// the threshold (only allotments worth more are of interest), the option is left out.
//
// An option must lie in one knapsack. If options use several resources, only some resources are treated as
// whole, chosen such that no option uses two of them. The other resources keep their prices of the first
// relaxation. The code calls each job a copy, because equal jobs form a group.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/proving/detail/table_rows.hpp"
#include "goodput/proving/detail/whole_resources.hpp"

namespace goodput::inline v0_1::detail {

class JobPrices {
public:
    /// Takes a problem, with all its options allowed. Returns false if a bound would read or write more
    /// than `most_work` numbers or keep more than `most_kept`, or if WholeResources chooses no resources:
    /// there are too many, or those used in whole units are worth less than half of all at these prices, so
    /// that the bound would gain little.
    bool assign(const CompactProblem& problem, std::span<const double> prices, std::size_t most_work,
                std::size_t most_kept) {
        if (!whole_.assign(problem, prices)) return false;
        lay_out(problem, prices);
        most_work_ = 0;
        std::size_t kept = 0;
        for (std::size_t r = 0; r < resources(); ++r) {
            const std::size_t numbers = segments_of_[r].size() * (whole_.room(r) + std::size_t{1});
            most_work_ += numbers;
            kept = std::max(kept, numbers);
        }
        return most_work_ > 0 && most_work_ <= most_work && kept <= most_kept;
    }

    [[nodiscard]] std::size_t resources() const { return whole_.count(); }
    [[nodiscard]] std::size_t copies() const { return allowed_of_.size(); }
    [[nodiscard]] std::size_t options() const { return allowed_.size(); }
    /// most_work(): how many numbers a bound reads or writes if all options are allowed. work(): how many
    /// the last bound read or wrote.
    [[nodiscard]] std::size_t most_work() const { return most_work_; }
    [[nodiscard]] std::size_t work() const { return work_; }
    /// first(), end(): the range of a copy's options, as indices for the other functions.
    [[nodiscard]] std::uint32_t first(std::size_t copy) const { return first_[copy]; }
    [[nodiscard]] std::uint32_t end(std::size_t copy) const { return first_[copy + 1]; }
    /// Returns the index of an option in the compact problem.
    [[nodiscard]] std::uint32_t original(std::uint32_t option) const { return original_[option]; }
    /// Returns the whole resource that an option uses, or `none`.
    [[nodiscard]] std::uint32_t resource(std::uint32_t option) const {
        return segments_[segment_[option]].resource;
    }
    /// units(): how many granules of its whole resource an option uses. value(): its value, less the price
    /// of what it uses of the other resources.
    [[nodiscard]] std::uint32_t units(std::uint32_t option) const { return units_[option]; }
    [[nodiscard]] double value(std::uint32_t option) const { return value_[option]; }
    [[nodiscard]] bool whole(std::size_t resource) const { return whole_.whole(resource); }
    [[nodiscard]] double granule(std::size_t resource) const { return whole_.granule(resource); }
    [[nodiscard]] bool allowed(std::uint32_t option) const { return allowed_[option] != 0; }
    /// Returns how many options of all copies together are still allowed.
    [[nodiscard]] std::size_t allowed() const { return allowed_.size() - trail_.size(); }
    /// Returns how many options of a copy are still allowed.
    [[nodiscard]] std::uint32_t allowed_of(std::size_t copy) const { return allowed_of_[copy]; }

    /// Forbids an option of a copy. undo() allows again all options forbidden since its mark().
    void forbid(std::uint32_t option) {
        allowed_[option] = 0;
        --allowed_of_[copy_[option]];
        trail_.push_back(option);
    }
    /// Gets which options of the problem are forbidden for some copy. Copies are alike, so no copy needs
    /// them.
    void left_out(std::vector<std::uint8_t>& by_original, std::size_t count) const {
        by_original.assign(count, 0);
        for (const std::uint32_t k : trail_) by_original[original_[k]] = 1;
    }
    [[nodiscard]] std::size_t mark() const { return trail_.size(); }
    void undo(std::size_t mark) {
        for (; trail_.size() > mark; trail_.pop_back()) {
            allowed_[trail_.back()] = 1;
            ++allowed_of_[copy_[trail_.back()]];
        }
    }
    /// Forbids all other options of the option's copy.
    void decide(std::uint32_t option) {
        const std::uint32_t copy = copy_[option];
        for (std::uint32_t k = first_[copy]; k < first_[copy + 1]; ++k)
            if (k != option && allowed_[k]) forbid(k);
    }

    /// Gets job prices to start from: each copy's best value less price at the prices of the first
    /// relaxation.
    void start(std::vector<double>& job_prices, std::span<const double> prices) const {
        job_prices.assign(copies(), 0);
        for (std::size_t copy = 0; copy < copies(); ++copy) {
            double best = -std::numeric_limits<double>::infinity();
            for (std::uint32_t k = first_[copy]; k < first_[copy + 1]; ++k) {
                const std::uint32_t r = segments_[segment_[k]].resource;
                best =
                    std::max(best, value_[k] - (r == none ? 0 : prices[r] * whole_.granule(r) * units_[k]));
            }
            job_prices[copy] = best;
        }
    }

    /// Argument of bound() that asks for no losses (see loss()). Any other value asks for all losses up to
    /// it. For a larger loss, loss() returns a number between this limit and the true loss.
    static constexpr double no_losses = -1;

    /// Returns the bound at these job prices for the allowed options, or -infinity if the decided copies do
    /// not fit. If time runs out during the call, none of its results has a meaning.
    double bound(std::span<const double> job_prices, Clock& clock, double most_loss = no_losses) {
        const bool losses = most_loss >= 0;
        served_.assign(copies(), 0);
        std::fill(taken_.begin(), taken_.end(), std::uint8_t{0});
        if (losses) {
            out_of_copy_.assign(copies(), 0);
            std::fill(in_.begin(), in_.end(), std::numeric_limits<double>::infinity());
        }
        double sum = constant_;
        work_ = options();
        for (std::size_t copy = 0; copy < copies(); ++copy) {
            if (allowed_of_[copy] == 0) return -std::numeric_limits<double>::infinity();
            sum += job_prices[copy] + idle(copy, job_prices[copy], losses);
        }
        for (std::size_t r = 0; r < resources(); ++r) {
            if (!whole_.whole(r)) continue;
            if (clock.late(segments_of_[r].size() * whole_.room(r)))
                return std::numeric_limits<double>::infinity();
            const double part = knapsack(r, job_prices, most_loss);
            if (part == -std::numeric_limits<double>::infinity()) return part;
            sum += part;
        }
        return sum;
    }

    /// served(): how many times the last bound() served a copy. taken(): whether it took an option of its
    /// copy.
    [[nodiscard]] std::uint32_t served(std::size_t copy) const { return served_[copy]; }
    [[nodiscard]] bool taken(std::uint32_t option) const { return taken_[option] != 0; }
    /// Returns the least amount by which the bound falls, at the same prices, if the copy takes this
    /// option. The option must be allowed, and its copy must have several allowed options.
    [[nodiscard]] double loss(std::uint32_t option) const {
        return in_[option] + out_of_copy_[copy_[option]] - out_[segment_[option]];
    }

private:
    /// The options of a copy on one whole resource, or on none of them (`none`).
    struct Segment {
        std::uint32_t copy, resource, first, end;
    };

    void lay_out(const CompactProblem& problem, std::span<const double> prices) {
        first_.clear();
        value_.clear();
        units_.clear();
        original_.clear();
        copy_.clear();
        segment_.clear();
        segments_.clear();
        segments_of_.resize(problem.resources());
        for (auto& segments : segments_of_) segments.clear();
        constant_ = 0;
        for (std::size_t r = 0; r < problem.resources(); ++r)
            if (!whole_.whole(r)) constant_ += prices[r] * problem.capacity[r];
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            sorted_.clear();
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                sorted_.push_back({whole_use(problem, k).resource, k});
            std::sort(sorted_.begin(), sorted_.end());
            for (std::uint32_t copy = problem.first_copy[group]; copy < problem.first_copy[group + 1];
                 ++copy) {
                first_.push_back(static_cast<std::uint32_t>(value_.size()));
                for (std::size_t i = 0; i < sorted_.size(); ++i) {
                    const auto option = static_cast<std::uint32_t>(value_.size());
                    if (i == 0 || sorted_[i].first != sorted_[i - 1].first) {
                        if (sorted_[i].first != none)
                            segments_of_[sorted_[i].first].push_back(
                                static_cast<std::uint32_t>(segments_.size()));
                        segments_.push_back({copy, sorted_[i].first, option, option});
                    }
                    ++segments_.back().end;
                    add_option(problem, prices, copy, sorted_[i].second);
                }
            }
        }
        first_.push_back(static_cast<std::uint32_t>(value_.size()));
        allowed_.assign(value_.size(), 1);
        taken_.assign(value_.size(), 0);
        in_.assign(value_.size(), 0);
        out_.assign(segments_.size(), 0);
        allowed_of_.clear();
        for (std::size_t copy = 0; copy + 1 < first_.size(); ++copy)
            allowed_of_.push_back(first_[copy + 1] - first_[copy]);
        trail_.clear();
    }

    struct WholeUse {
        std::uint32_t resource, units;
    };
    [[nodiscard]] WholeUse whole_use(const CompactProblem& problem, std::uint32_t option) const {
        for (const ResourceUse& use : problem.uses_of(option))
            if (whole_.whole(use.resource))
                return {static_cast<std::uint32_t>(use.resource),
                        static_cast<std::uint32_t>(use.units / whole_.granule(use.resource))};
        return {none, 0};
    }

    void add_option(const CompactProblem& problem, std::span<const double> prices, std::uint32_t copy,
                    std::uint32_t option) {
        double value = problem.value[option];
        for (const ResourceUse& use : problem.uses_of(option))
            if (!whole_.whole(use.resource)) value -= prices[use.resource] * use.units;
        value_.push_back(value);
        units_.push_back(whole_use(problem, option).units);
        original_.push_back(option);
        copy_.push_back(copy);
        segment_.push_back(static_cast<std::uint32_t>(segments_.size() - 1));
    }

    /// Returns the most that a copy's options without a whole resource are worth beyond the copy's price.
    /// This is at least 0 unless the copy is decided.
    double idle(std::size_t copy, double price, bool losses) {
        const std::uint32_t begin = first_[copy];
        // Options on no whole resource come last, because `none` is the largest number.
        const std::uint32_t segment = segment_[first_[copy + 1] - 1];
        if (segments_[segment].resource != none) return 0;
        const std::uint32_t first = std::max(segments_[segment].first, begin), end = segments_[segment].end;
        double best = -std::numeric_limits<double>::infinity();
        std::uint32_t at = none;
        for (std::uint32_t k = first; k < end; ++k)
            if (allowed_[k] && value_[k] - price > best) {
                best = value_[k] - price;
                at = k;
            }
        const bool decided = allowed_of_[copy] == 1;
        const double worth = decided && at != none ? best : std::max(best, 0.0);
        if (at != none && (decided || best > 0)) {
            ++served_[copy];
            taken_[at] = 1;
        }
        if (losses) {
            for (std::uint32_t k = first; k < end; ++k)
                if (allowed_[k]) in_[k] = worth - (value_[k] - price);
            out_[segment] = decided && at != none ? std::numeric_limits<double>::infinity() : worth;
            out_of_copy_[copy] += out_[segment];
        }
        return worth;
    }

    /// Returns the most that a resource's jobs are worth beyond their prices, or -infinity if the decided
    /// copies do not fit.
    double knapsack(std::size_t r, std::span<const double> job_prices, double most_loss) {
        std::int64_t room = whole_.room(r);
        double decided = 0;
        rows_.clear();
        for (const std::uint32_t s : segments_of_[r]) {
            const Segment& segment = segments_[s];
            const double price = job_prices[segment.copy];
            if (most_loss >= 0) out_[s] = 0;
            if (allowed_of_[segment.copy] == 1) {
                for (std::uint32_t k = segment.first; k < segment.end; ++k) {
                    if (!allowed_[k]) continue;
                    room -= units_[k];
                    decided += value_[k] - price;
                    ++served_[segment.copy];
                    taken_[k] = 1;
                }
                continue;
            }
            for (std::uint32_t k = segment.first; k < segment.end; ++k)
                if (allowed_[k] && value_[k] > price) {
                    rows_.push_back(s);
                    break;
                }
        }
        if (room < 0) return -std::numeric_limits<double>::infinity();
        const auto width = static_cast<std::size_t>(room) + 1;
        work_ += (rows_.size() + 1) * width;
        table_.resize(std::max(table_.size(), (rows_.size() + 1) * width));
        std::fill_n(table_.begin(), width, 0.0);
        for (std::size_t i = 0; i < rows_.size(); ++i)
            add_row(segments_[rows_[i]], job_prices[segments_[rows_[i]].copy], table_.data() + i * width,
                    table_.data() + (i + 1) * width, width);
        const double* full = table_.data() + rows_.size() * width;
        const double most = full[width - 1];
        trace(width, job_prices);
        if (most_loss >= 0) find_losses(r, width, job_prices, most, most_loss);
        return decided + most;
    }

    /// Adds a copy to the table of best sums: `after`[q] is the best sum with at most q units.
    void add_row(const Segment& segment, double price, const double* before, double* after,
                 std::size_t width) const {
        const double* numbers = before;  // until the first option has been written to `after`
        for (std::uint32_t k = segment.first; k < segment.end; ++k) {
            const double worth = value_[k] - price;
            const std::size_t units = units_[k];
            if (!allowed_[k] || worth <= 0 || units >= width) continue;
            if (numbers == before) std::copy_n(before, units, after);
            larger_of(numbers + units, before, worth, after + units, width - units);
            numbers = after;
        }
        if (numbers == before) std::copy_n(before, width, after);
    }

    void trace(std::size_t width, std::span<const double> job_prices) {
        std::size_t left = width - 1;
        for (std::size_t i = rows_.size(); i-- > 0;) {
            const double *before = table_.data() + i * width, *after = before + width;
            if (after[left] == before[left]) continue;
            const Segment& segment = segments_[rows_[i]];
            for (std::uint32_t k = segment.first; k < segment.end; ++k) {
                const double worth = value_[k] - job_prices[segment.copy];
                if (!allowed_[k] || worth <= 0 || units_[k] > left ||
                    before[left - units_[k]] + worth != after[left])
                    continue;
                taken_[k] = 1;
                ++served_[segment.copy];
                left -= units_[k];
                break;
            }
        }
    }

    /// Fills in_ and out_ of a resource from its table and from the tables of the rows after each row. They
    /// say how far the resource's part of the bound falls if it takes an option, and if it does not serve a
    /// copy.
    void find_losses(std::size_t r, std::size_t width, std::span<const double> job_prices, double most,
                     double most_loss) {
        const double* full = table_.data() + rows_.size() * width;
        for (const std::uint32_t s : segments_of_[r]) {
            const Segment& segment = segments_[s];
            if (allowed_of_[segment.copy] == 1) continue;
            // The copy may take something here a second time, so this is at most the loss, and exact if the
            // copy takes nothing here.
            for (std::uint32_t k = segment.first; k < segment.end; ++k)
                if (allowed_[k] && units_[k] < width)
                    in_[k] = most - (full[width - 1 - units_[k]] + value_[k] - job_prices[segment.copy]);
        }
        after_.assign(width, 0);
        for (std::size_t i = rows_.size(); i-- > 0;) {
            const Segment& segment = segments_[rows_[i]];
            const double price = job_prices[segment.copy];
            const double* before = table_.data() + i * width;
            out_[rows_[i]] = most - best_sum(before, width, width);
            out_of_copy_[segment.copy] += out_[rows_[i]];
            for (std::uint32_t k = segment.first; k < segment.end; ++k)
                if (allowed_[k] && units_[k] < width && in_[k] < most_loss)
                    in_[k] = most - (best_sum(before, width - units_[k], width) + value_[k] - price);
            if (i == 0) break;
            next_after_.resize(width);
            add_row_after(segment, price, width);
            std::swap(after_, next_after_);
        }
    }
    /// Returns the most that the rows before a row and the rows after it are worth together with room - 1
    /// units. after_ is in reverse order, with q units at [width - 1 - q], so that both are read forwards.
    [[nodiscard]] double best_sum(const double* before, std::size_t room, std::size_t width) const {
        return largest_sum(before, after_.data() + (width - room), room);
    }
    /// Does the work of add_row() for after_, in reverse order, and writes to next_after_.
    void add_row_after(const Segment& segment, double price, std::size_t width) {
        const double *before = after_.data(), *numbers = before;
        double* after = next_after_.data();
        for (std::uint32_t k = segment.first; k < segment.end; ++k) {
            const double worth = value_[k] - price;
            const std::size_t units = units_[k];
            if (!allowed_[k] || worth <= 0 || units >= width) continue;
            larger_of(numbers, before + units, worth, after, width - units);
            if (numbers == before) std::copy_n(before + width - units, units, after + width - units);
            numbers = after;
        }
        if (numbers == before) std::copy_n(before, width, after);
    }

    // By resource.
    WholeResources whole_;
    std::vector<std::vector<std::uint32_t>> segments_of_;
    std::vector<Segment> segments_;
    // By copy; first_ has one more entry.
    std::vector<std::uint32_t> first_, allowed_of_, served_;
    std::vector<double> out_of_copy_;
    // By option of a copy.
    std::vector<double> value_, in_;
    std::vector<std::uint32_t> units_, original_, copy_, segment_;
    std::vector<std::uint8_t> allowed_, taken_;
    std::vector<double> out_;  // by segment
    std::vector<std::uint32_t> trail_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted_;
    std::vector<std::uint32_t> rows_;
    std::vector<double> table_, after_, next_after_;
    double constant_ = 0;
    std::size_t most_work_ = 0, work_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
