#ifndef GOODPUT_PROOF_DETAIL_PROOF_LOG_HPP
#define GOODPUT_PROOF_DETAIL_PROOF_LOG_HPP

// Writes a search, of which a RecordedTree tells it event by event, as derivations (proof steps) of VIPR
// 1.1.
//
// Each closed node is one linear combination of rows. The multipliers of the capacities are the node's
// prices. The multiplier of a job's row is what the job gains at these prices. Multiples of the rows x >= 0
// make up for the rest. The prices are rounded first, and everything is then computed from them exactly, so
// the search's own arithmetic never matters. A branching is a pair of assumptions. They are discharged when
// both sides are done: what both sides prove then holds without them. The root is the node before any
// branching.
//
// There are three goals:
//
// - `bound`: a node derives objective <= its bound.
// - `whole`: all values are multiples of a granule (up to rounding), so their sum in granules is either at
//   most `most` or at least most + 1. The proof assumes the latter, and every node derives a contradiction.
// - `infeasible`: every node derives a contradiction, without any objective.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/proof/detail/exact_numbers.hpp"
#include "goodput/proof/detail/exact_problem.hpp"
#include "goodput/proof/detail/proof_text.hpp"
#include "goodput/proof/detail/same_side.hpp"

namespace goodput::inline v0_1::detail {

enum class ProofGoal { bound, whole, infeasible };

/// All values are multiples of `granule`, up to rounding. The proof must show that their sum is at most
/// most * granule.
struct WholeValues {
    double granule = 0;
    std::int64_t most = 0;
};

template <class Whole>
class ProofLog {
public:
    /// `target`: the bound that nodes should reach, in units of exact.value_bits. It only decides whether
    /// the root's prices suffice, and which options are fixed at the root.
    ProofLog(const AllotmentProblem& problem, const ExactProblem<Whole>& exact, ProofGoal goal, Whole target,
             std::size_t most_bytes, WholeValues whole = {})
        : problem_(problem),
          exact_(exact),
          goal_(goal),
          target_(goal == ProofGoal::bound ? std::move(target) : Whole(-1)),
          whole_(whole),
          most_bytes_(most_bytes),
          next_(exact.given_rows()),
          settled_(problem.jobs(), no_option) {
        rows_.reserve(exact.rows.size());
        for (std::size_t r = 0; r < exact.rows.size(); ++r)
            rows_.push_back(
                {exact.row_of_resource(r), exact.unit_bits, exact.rows[r].capacity, exact.rows[r].uses});
        if (goal == ProofGoal::bound) worth_of_ = exact.value;
        worth_of_.resize(exact.variables());
        variables_.resize(exact.variables());
        std::iota(variables_.begin(), variables_.end(), std::uint32_t{0});
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            job_at_.push_back(jobs_.size());
            jobs_.push_back(
                {exact.row_of_job(job), job, problem.must(job), exact.first[job], exact.first[job + 1]});
            if (goal == ProofGoal::whole)
                for (std::size_t v = exact.first[job]; v < exact.first[job + 1]; ++v)
                    worth_of_[v] = granule() * multiple_of(problem.value(job, v - exact.first[job]));
        }
        banned_.assign(variables_.size(), 0);
        if (goal == ProofGoal::whole) assume_more();
        ban_too_large();
    }

    /// Tries to close the root by these prices. Returns false if they do not reach the target, so that a
    /// search is needed.
    bool root(std::span<const double> prices) {
        fallback_.assign(prices.begin(), prices.end());
        weigh(prices, nullptr);
        if (bound_ > target_) return false;
        close_by_weights();
        return true;
    }

    // The events of a search:

    /// Begins the log of a search. The search is about `compact`, which is the same problem, with the rows
    /// of `tight`: the capacities, perhaps rounded down to what options can use of them, and the rows that
    /// WholeUnits has added.
    void begin_search(const CompactProblem& compact, const CompactProblem& tight) {
        compact_ = &compact;
        sides_.emplace(problem_, compact);
        tighten(tight);
    }

    /// Adds a row: at most `most` copies of the groups take an option that uses at least its group's
    /// threshold of resource `source`.
    void cut(std::size_t source, std::span<const double> thresholds, std::size_t most);
    /// Leaves out, from here on, options that lose too much at the root's prices (root_fixing.hpp). Call it
    /// before the first branching.
    void fix(std::span<const double> prices);
    /// Promises that no option costs more than this at the prices of any node. Call it before the first
    /// branching.
    void expect_payments(double most) { most_paid_ = std::min(most, 1e300); }
    /// Opens the first side of a branching: at most `most` copies of a group take one of these options of
    /// the compact problem. On the second side, more copies do.
    void branch(std::size_t group, std::span<const std::uint32_t> options, std::size_t most) {
        auto [at_most, more] = sides_of(group, options, most);
        Frame frame;
        frame.second = std::move(more);
        frame.first_assumed = assume(at_most);
        path_.push_back(std::move(at_most));
        frames_.push_back(std::move(frame));
    }
    void turn() {
        Frame& frame = frames_.back();
        frame.first_done = last_;
        path_.pop_back();
        frame.second_assumed = assume(frame.second);
        path_.push_back(std::move(frame.second));
        frame.turned = true;
    }
    void join() {
        const Frame& frame = frames_.back();
        discharge(frame.first_done, frame.first_assumed, last_, frame.second_assumed);
        path_.pop_back();
        frames_.pop_back();
    }
    void close(std::span<const double> prices) {
        for (const SideRow& row : path_)
            if (row.absurd) {
                multipliers_.assign(1, {row.index, row.at_most ? 1 : -1, 0});
                return close_by_multipliers(true);
            }
        for (const UseRow& row : rows_)
            if (close_as_contradiction(row)) return;
        for (const SideRow& row : path_)
            if (close_as_contradiction(row.group)) return;
        weigh(prices, nullptr);
        close_by_weights();
    }

    /// Ends the proof: closes by the prices of the root what the search has left open, and derives the
    /// bound on the objective. Returns the bound in units of 2^-value_bits, or nothing if the proof failed.
    std::optional<Whole> finish() {
        if (last_.index == no_row) close(fallback_);
        while (!frames_.empty()) {
            if (!frames_.back().turned) {
                turn();
                close(fallback_);
            }
            join();
        }
        for (; !fixings_.empty(); fixings_.pop_back()) {
            const Frame& fixing = fixings_.back();
            discharge(last_, fixing.first_assumed, fixing.first_done, fixing.second_assumed);
        }
        if (goal_ == ProofGoal::bound) return last_.bound;
        if (failed_) return std::nullopt;
        return goal_ == ProofGoal::whole ? conclude_whole() : Whole(-1);
    }

    [[nodiscard]] std::string_view text() const { return text_.view(); }
    /// Returns whether the text has reached its limit.
    [[nodiscard]] bool full() const { return text_.size() >= most_bytes_; }
    [[nodiscard]] std::size_t derivations() const { return next_ - exact_.given_rows(); }
    [[nodiscard]] std::size_t nodes() const { return nodes_; }

private:
    static constexpr std::size_t no_row = static_cast<std::size_t>(-1);
    using Uses = std::vector<std::pair<std::uint32_t, Whole>>;

    // Rows refer to positions: variables_ lists the variables that are still open, one per position.

    /// A capacity or a further row.
    struct UseRow {
        std::size_t index;
        int bits;  // its numbers are in units of 2^-bits
        Whole capacity;
        Uses uses;
    };
    struct JobRow {
        std::size_t index, job;
        bool must;
        std::size_t begin, end;  // range of its positions
        bool served = false;     // whether fix() has assumed that the job takes something
    };
    /// A row which says that no option at the positions can be taken.
    struct ZeroRow {
        std::size_t index;
        std::vector<std::uint32_t> positions;
    };
    /// One side of a branching: sign * sum of x over the positions <= rhs, or >= rhs.
    struct SideRow {
        std::size_t index = no_row, group = no_row;
        bool at_most = true;
        int sign = 1;
        std::int64_t rhs = 0;
        std::vector<std::uint32_t> positions{};
        // The same for the group: at most `most_forbidden` copies take a forbidden option. `forbidden` is
        // by given option; the last entry is for getting nothing.
        std::vector<std::uint8_t> forbidden{};
        std::int64_t most_forbidden = 0;
        bool absurd = false;
    };
    struct Derived {
        std::size_t index = no_row;
        Whole bound{};
        bool absurd = false;  ///< a contradiction, so any bound holds
    };
    struct Frame {
        std::size_t first_assumed = no_row, second_assumed = no_row;
        Derived first_done{};
        SideRow second{};
        bool turned = false;
    };
    struct Multiplier {
        std::size_t row;
        Whole number;
        int bits;
    };
    /// A row with a multiplier of its own in the weights of a node: sum of coefficient * x >= rhs.
    struct ExtraRow {
        std::size_t index;
        std::int64_t rhs;
        std::vector<std::pair<std::uint32_t, int>> entries;
        Whole multiplier;
    };

    [[nodiscard]] Whole granule() const { return scaled<Whole>(whole_.granule, exact_.value_bits); }
    [[nodiscard]] std::int64_t multiple_of(double value) const {
        return static_cast<std::int64_t>(std::ceil(value / whole_.granule - 1e-6));
    }

    // Lines of the certificate:

    std::size_t begin_line(const char* sense) {
        text_.add('d');
        text_.whole(next_);
        text_.add(sense);
        return next_++;
    }
    void begin_multipliers(const char* reason, std::size_t count) {
        text_.add(" { ");
        text_.add(reason);
        text_.index(count);
    }
    /// Appends the multipliers, all divided by `divisor`.
    void append_multipliers(const char* reason = "lin", const Whole& divisor = 1) {
        begin_multipliers(reason, multipliers_.size());
        for (const Multiplier& m : multipliers_) {
            if (divisor == 1) {
                text_.entry(m.row, m.number, m.bits);
                continue;
            }
            const Whole common = common_divisor(m.number, divisor);
            text_.entry(m.row, Whole(m.number / common), 0);
            if (common == divisor) continue;
            text_.add('/');
            text_.whole(Whole(divisor / common));
        }
        text_.add(" } -1\n");
    }
    void append_uses(const Uses& uses, int bits) {
        text_.index(uses.size());
        for (const auto& [p, number] : uses) text_.entry(variables_[p], number, bits);
    }
    void multiply(std::size_t row, const Whole& number, int bits) {
        if (number != 0) multipliers_.push_back({row, number, bits});
    }
    std::size_t assume(SideRow& row) {
        row.index = begin_line(row.at_most ? " L " : " G ");
        text_.whole(row.rhs);
        text_.index(row.positions.size());
        for (const std::uint32_t p : row.positions) text_.entry(variables_[p], row.sign > 0);
        text_.add(" { asm } -1\n");
        row.absurd = row.positions.empty() && (row.at_most ? row.rhs < 0 : row.rhs > 0);
        return row.index;
    }
    /// Derives what holds without the assumptions, because both sides of a branching derive it.
    void discharge(const Derived& a, std::size_t a_assumed, const Derived& b, std::size_t b_assumed) {
        Derived both;
        both.absurd = a.absurd && b.absurd;
        both.bound = a.absurd ? b.bound : b.absurd ? a.bound : std::max(a.bound, b.bound);
        both.index = begin_result(both);
        text_.add(" { uns");
        for (const std::size_t index : {a.index, a_assumed, b.index, b_assumed}) text_.index(index);
        text_.add(" } -1\n");
        last_ = std::move(both);
    }
    std::size_t begin_result(const Derived& result) {
        const std::size_t index = begin_line(" L ");
        if (goal_ != ProofGoal::bound || result.absurd) {
            text_.add("-1 0");
        } else {
            text_.fraction(result.bound, exact_.value_bits);
            text_.add(" OBJ");
        }
        return index;
    }
    // Weights of a node: the multipliers of all rows, and the bound that they prove.

    void weigh(std::span<const double> prices, const ExtraRow* extra) {
        multipliers_.clear();
        worth_ = worth_of_;
        bound_ = objective_rhs_;
        if (objective_) multipliers_.push_back(*objective_);
        for (std::size_t r = 0; r < std::min(rows_.size(), prices.size()); ++r) {
            const int bits = exact_.value_bits - rows_[r].bits;
            const Whole price = scaled<Whole>(prices[r], bits);
            if (price <= 0 || rows_[r].index == no_row) continue;
            multiply(rows_[r].index, price, bits);
            bound_ += price * rows_[r].capacity;
            for (const auto& [p, units] : rows_[r].uses) worth_[p] -= price * units;
        }
        if (extra) {
            multiply(extra->index, -extra->multiplier, exact_.value_bits);
            bound_ -= extra->multiplier * extra->rhs;
            for (const auto& [p, coefficient] : extra->entries) worth_[p] += extra->multiplier * coefficient;
        }
        for (std::size_t i = 0; i < path_.size(); ++i) {
            const auto same_group = [&](const SideRow& row) { return row.group == path_[i].group; };
            if (std::none_of(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(i), same_group))
                weigh_sides(path_[i].group);
        }
        weigh_jobs();
    }

    void count(const SideRow& row, const Whole& multiplier) {
        const Whole number = row.at_most ? multiplier : -multiplier;
        multiply(row.index, number, exact_.value_bits);
        bound_ += number * row.rhs;
        const Whole each = number * row.sign;
        for (const std::uint32_t p : row.positions) worth_[p] -= each;
    }

    /// Finds multipliers for the branchings of a group. A branching that forbids options altogether gets
    /// the difference between the worth of the best forbidden option and that of the best option left.
    /// Branchings that limit the number of copies get prices from a linear relaxation.
    void weigh_sides(std::size_t group) {
        std::vector<const SideRow*> rows;
        for (const SideRow& row : path_)
            if (row.group == group) rows.push_back(&row);
        const std::size_t at = job_at_[compact_->job[compact_->first_copy[group]]];
        if (at == no_row) return;
        const JobRow& job = jobs_[at];
        std::vector<Whole> left;  // worth of each option; the last entry may be for getting nothing
        std::vector<std::size_t> option;
        for (std::size_t p = job.begin; p < job.end; ++p)
            if (banned_[p] == 0) {
                left.push_back(worth_[p]);
                option.push_back(variables_[p] - exact_.first[job.job]);
            }
        if (!job.must) {
            left.emplace_back(0);
            option.push_back(rows.front()->forbidden.size() - 1);
        }
        const auto excluded = [&](std::size_t k) {
            return std::any_of(rows.begin(), rows.end(), [&](const SideRow* row) {
                return row->most_forbidden == 0 && row->forbidden[k] != 0;
            });
        };
        std::vector<Whole> prices(rows.size());
        price_shared(group, rows, left, option, excluded, prices);
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t o = 0; o < option.size(); ++o)
                if (rows[i]->forbidden[option[o]] != 0) left[o] -= prices[i];
        std::optional<Whole> best;
        for (std::size_t o = 0; o < option.size(); ++o)
            if (!excluded(option[o]) && (!best || left[o] > *best)) best = left[o];
        if (!best) best = -absolute(bound_) - 1;  // the job has no option left: a contradiction
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows[i]->most_forbidden == 0)
                for (std::size_t o = 0; o < option.size(); ++o)
                    if (rows[i]->forbidden[option[o]] != 0)
                        prices[i] = std::max(prices[i], Whole(left[o] - *best));
            if (prices[i] > 0) count(*rows[i], prices[i]);
        }
    }
    template <class Excluded>
    void price_shared(std::size_t group, const std::vector<const SideRow*>& rows,
                      const std::vector<Whole>& left, const std::vector<std::size_t>& option,
                      Excluded excluded, std::vector<Whole>& prices) {
        AllotmentProblem shared;
        std::vector<std::size_t> row_of;
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i]->most_forbidden > 0) {
                row_of.push_back(i);
                shared.capacity.push_back(static_cast<double>(rows[i]->most_forbidden));
            }
        if (row_of.empty()) return;
        shared.add_job(true);
        std::vector<ResourceUse> uses;
        for (std::size_t o = 0; o < option.size(); ++o) {
            if (excluded(option[o])) continue;
            uses.clear();
            for (std::uint32_t s = 0; s < row_of.size(); ++s)
                if (rows[row_of[s]]->forbidden[option[o]] != 0) uses.push_back({s, 1});
            shared.add_option(
                std::clamp(to_double(left[o], exact_.value_bits), -largest_number, largest_number), uses);
        }
        for (std::uint32_t copy = 1; copy < compact_->copies(group); ++copy) shared.add_job_like(0);
        const RelaxedAllotment relaxed = sharing_.relax(shared);
        for (std::size_t s = 0; s < row_of.size(); ++s)
            prices[row_of[s]] = scaled<Whole>(std::max(0.0, relaxed.prices[s]), exact_.value_bits);
    }

    void weigh_jobs() {
        gain_.resize(jobs_.size());
        regret_.resize(variables_.size());
        std::vector<Whole> ban_price(zeros_.size());
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            const JobRow& job = jobs_[j];
            std::optional<Whole> best;
            if (!job.must) best = 0;
            for (std::size_t p = job.begin; p < job.end; ++p)
                if (banned_[p] == 0 && (!best || worth_[p] > *best)) best = worth_[p];
            gain_[j] = best ? *best : Whole(-absolute(bound_) - 1);
            bound_ += gain_[j];
            multiply(job.index, gain_[j], exact_.value_bits);
            for (std::size_t p = job.begin; p < job.end; ++p) {
                regret_[p] = gain_[j] - worth_[p];
                if (banned_[p] != 0 && regret_[p] < 0)
                    ban_price[banned_[p] - 1] = std::max(ban_price[banned_[p] - 1], Whole(-regret_[p]));
            }
        }
        for (std::size_t z = 0; z < zeros_.size(); ++z) {
            multiply(zeros_[z].index, ban_price[z], exact_.value_bits);
            for (const std::uint32_t p : zeros_[z].positions) regret_[p] += ban_price[z];
        }
    }

    /// Closes the node, whatever its prices, if the settled options exceed the capacity of a row. Returns
    /// whether they do.
    bool close_as_contradiction(const UseRow& row) {
        if (row.index == no_row || row.capacity >= 0) return false;
        multipliers_.clear();
        multiply(row.index, 1, 0);
        for (const auto& [p, units] : row.uses) multiply(variables_[p], -units, row.bits);
        close_by_multipliers(true);
        return true;
    }
    /// Closes the node, whatever its prices, if the branchings leave a group no option. Returns whether they
    /// do.
    bool close_as_contradiction(std::size_t group) {
        const std::size_t at = job_at_[compact_->job[compact_->first_copy[group]]];
        if (at == no_row) return false;
        const JobRow job = jobs_[at];
        const auto excluded = [&](std::size_t k) {
            return std::any_of(path_.begin(), path_.end(), [&](const SideRow& row) {
                return row.group == group && row.most_forbidden == 0 && row.forbidden[k] != 0;
            });
        };
        if (!job.must && !excluded(exact_.first[job.job + 1] - exact_.first[job.job])) return false;
        for (std::size_t p = job.begin; p < job.end; ++p)
            if (banned_[p] == 0 && !excluded(variables_[p] - exact_.first[job.job])) return false;
        multipliers_.clear();
        worth_.assign(variables_.size(), 0);
        bound_ = 0;
        for (const SideRow& row : path_)
            if (row.group == group && row.most_forbidden == 0)
                count(row, Whole(1) << static_cast<unsigned>(exact_.value_bits));
        weigh_jobs();
        close_by_weights(true);
        return true;
    }

    void close_by_weights(bool absurd = false) {
        if (goal_ != ProofGoal::bound && bound_ >= 0) failed_ = true;
        begin_node(absurd);
        const auto several =
            std::count_if(regret_.begin(), regret_.end(), [](const Whole& regret) { return regret != 0; });
        begin_multipliers("lin", multipliers_.size() + static_cast<std::size_t>(several));
        for (const Multiplier& m : multipliers_) text_.entry(m.row, m.number, m.bits);
        for (std::size_t p = 0; p < regret_.size(); ++p)
            if (regret_[p] != 0) text_.entry(variables_[p], Whole(-regret_[p]), exact_.value_bits);
        text_.add(" } -1\n");
    }
    void close_by_multipliers(bool absurd) {
        begin_node(absurd);
        append_multipliers();
    }
    void begin_node(bool absurd) {
        ++nodes_;
        last_ = {next_, bound_, absurd};
        begin_result(last_);
    }

    // What is derived before the search:

    /// Assumes that the multiples sum to more than `most`. A second assumption is the opposite.
    void assume_more() {
        Uses multiples;
        for (std::uint32_t v = 0; v < worth_of_.size(); ++v)
            if (worth_of_[v] != 0) multiples.emplace_back(v, worth_of_[v] / granule());
        for (const bool more : {true, false}) {
            (more ? more_assumed_ : most_assumed_) = begin_line(more ? " G " : " L ");
            text_.whole(whole_.most + (more ? 1 : 0));
            append_uses(multiples, 0);
            text_.add(" { asm } -1\n");
        }
        objective_ = Multiplier{more_assumed_, -granule(), exact_.value_bits};
        objective_rhs_ = -granule() * (whole_.most + 1);
    }
    /// Ends the assumption of assume_more() and derives the bound on the objective. The job rows account
    /// for the differences between values and multiples.
    Whole conclude_whole() {
        const std::size_t not_more = begin_line(" L ");
        text_.whole(whole_.most);
        Uses multiples;
        std::vector<Whole> rest = exact_.value;
        for (std::uint32_t v = 0; v < all_worth().size(); ++v) {
            if (all_worth()[v] != 0) multiples.emplace_back(v, all_worth()[v] / granule());
            rest[v] -= all_worth()[v];
        }
        text_.index(multiples.size());
        for (const auto& [v, number] : multiples) text_.entry(v, number, 0);
        text_.add(" { uns");
        for (const std::size_t index : {last_.index, more_assumed_, most_assumed_, most_assumed_})
            text_.index(index);
        text_.add(" } -1\n");
        multipliers_.clear();
        multiply(not_more, granule(), exact_.value_bits);
        Whole bound = granule() * whole_.most;
        for (std::size_t job = 0; job < exact_.jobs(); ++job) {
            Whole most = 0;
            for (std::size_t v = exact_.first[job]; v < exact_.first[job + 1]; ++v)
                most = std::max(most, rest[v]);
            multiply(exact_.row_of_job(job), most, exact_.value_bits);
            bound += most;
            for (std::size_t v = exact_.first[job]; v < exact_.first[job + 1]; ++v)
                multiply(v, rest[v] - most, exact_.value_bits);
        }
        begin_line(" L ");
        text_.fraction(bound, exact_.value_bits);
        text_.add(" OBJ");
        append_multipliers();
        return bound;
    }
    /// Returns the worth of all variables before anything was fixed at the root.
    [[nodiscard]] const std::vector<Whole>& all_worth() const {
        return worth_at_root_.empty() ? worth_of_ : worth_at_root_;
    }

    /// Bans options that alone exceed a capacity. The capacity's row, divided by the least that one of them
    /// uses, says that fewer than 1 of them are taken, so none.
    void ban_too_large() {
        for (const UseRow& row : rows_) {
            ZeroRow zero;
            Whole least = 0;
            for (const auto& [v, units] : row.uses)
                if (banned_[v] == 0 && units > row.capacity) {
                    zero.positions.push_back(v);
                    if (least == 0 || units < least) least = units;
                }
            if (zero.positions.empty()) continue;
            // Rounding needs whole coefficients, but these quotients are not binary fractions. So assume
            // the opposite, which contradicts the capacity.
            SideRow some{.at_most = false, .rhs = 1, .positions = zero.positions};
            SideRow no{.at_most = true, .rhs = 0, .positions = zero.positions};
            assume(some);
            multipliers_.clear();
            multiply(row.index, 1, 0);
            multiply(some.index, -least, exact_.unit_bits);
            std::vector<std::uint8_t> too_large(variables_.size(), 0);
            for (const std::uint32_t v : zero.positions) too_large[v] = 1;
            for (const auto& [v, units] : row.uses)
                multiply(v, too_large[v] != 0 ? Whole(least - units) : -units, exact_.unit_bits);
            rule_out(some, no);
            zero.index = next_ - 1;
            zeros_.push_back(std::move(zero));
            for (const std::uint32_t v : zeros_.back().positions)
                banned_[v] = static_cast<std::uint32_t>(zeros_.size());
        }
    }
    /// Derives `other` from the multipliers, which contradict the assumption of `assumed`.
    void rule_out(const SideRow& assumed, SideRow& other) {
        const std::size_t absurd = begin_line(" L -1 0");
        append_multipliers();
        assume(other);
        const std::size_t assumption = other.index;
        other.index = begin_line(other.at_most ? " L " : " G ");
        text_.whole(other.rhs);
        text_.index(other.positions.size());
        for (const std::uint32_t p : other.positions) text_.entry(variables_[p]);
        text_.add(" { uns");
        for (const std::size_t index : {absurd, assumed.index, assumption, assumption}) text_.index(index);
        text_.add(" } -1\n");
    }

    // A branching in terms of variables:

    std::pair<SideRow, SideRow> sides_of(std::size_t group, std::span<const std::uint32_t> options,
                                         std::size_t most) {
        // By given option; the last entry is for getting nothing.
        const std::vector<std::uint8_t> in = sides_->with(group, options);
        const auto copies = static_cast<std::int64_t>(compact_->copies(group));
        SideRow less;
        less.group = group;
        less.sign = in.back() != 0 ? -1 : 1;
        const std::uint8_t listed = in.back() != 0 ? 0 : 1;
        // Copies that were settled at the root are constants here.
        std::int64_t settled = 0;
        for (std::uint32_t copy = compact_->first_copy[group]; copy < compact_->first_copy[group + 1];
             ++copy) {
            const std::size_t job = compact_->job[copy], at = job_at_[job];
            if (at == no_row) {
                const std::size_t given = settled_[job];
                if (given != no_option && in[given] == listed) ++settled;
                continue;
            }
            for (std::size_t p = jobs_[at].begin; p < jobs_[at].end; ++p)
                if (banned_[p] == 0 && in[variables_[p] - exact_.first[job]] == listed)
                    less.positions.push_back(static_cast<std::uint32_t>(p));
        }
        const auto limit =
            static_cast<std::int64_t>(most) - (less.sign < 0 ? copies : 0) - less.sign * settled;
        SideRow more = less;
        less.rhs = limit;
        less.forbidden = in;
        less.most_forbidden = static_cast<std::int64_t>(most);
        more.at_most = false;
        more.rhs = limit + 1;
        more.forbidden = in;
        for (std::uint8_t& side : more.forbidden) side = side != 0 ? 0 : 1;
        more.most_forbidden = copies - static_cast<std::int64_t>(most) - 1;
        return {std::move(less), std::move(more)};
    }

    void tighten(const CompactProblem& tight);
    static bool counts(const CompactProblem& tight, std::size_t row, std::size_t resource, double size);

    // Fixing options at the root:

    /// The fate of a position: open for the search, taken by no copy, or settled as its job's option.
    enum class Fate : std::uint8_t { open, out, settled };
    struct Fixing {
        std::vector<Fate> fate;                // fate of each position
        std::vector<std::size_t> settles;      // by job row: the position that is settled, or no_row
        std::vector<std::uint8_t> serves;      // by job row: whether the job takes something
        std::int64_t settled = 0, served = 0;  // number of job rows that are settled, and served
        std::size_t index = no_row;            // row: - sum of x over the settled positions <= - settled
        // Row of the assumption: no position that is out is taken, and served jobs take an open one.
        std::size_t assumed = no_row;
        /// Returns the coefficient of a position in the row of the assumption.
        [[nodiscard]] int coefficient(std::size_t job, std::size_t p, bool banned) const {
            const bool is_out = fate[p] == Fate::out && !banned;
            return serves[job] != 0 ? (is_out ? 0 : -1) : is_out ? 1 : 0;
        }
    };
    Fixing fates(const Whole& gap) const;
    void derive_settled(Fixing& fixing);
    void derive_row(UseRow& row, const Fixing& fixing);
    void derive_objective(const Fixing& fixing);
    void derive_jobs(const Fixing& fixing);
    void keep_open(const Fixing& fixing);

    const AllotmentProblem& problem_;
    const ExactProblem<Whole>& exact_;
    const CompactProblem* compact_ = nullptr;
    ProofGoal goal_;
    Whole target_;
    WholeValues whole_;
    std::size_t most_bytes_;
    std::optional<SameSide> sides_;

    ProofText text_;
    std::size_t next_;  // index of the next derived row
    std::size_t nodes_ = 0;
    bool failed_ = false;
    Derived last_;
    std::vector<Frame> frames_;
    std::vector<Frame> fixings_;
    std::vector<double> fallback_;
    double most_paid_ = 0;

    std::vector<std::uint32_t> variables_;  // variable of each position
    std::vector<Whole> worth_of_;           // worth of each position
    std::vector<std::uint32_t> banned_;     // by position: 1 + index of the row in zeros_ that bans it
    std::vector<UseRow> rows_;              // the capacities, then the cuts
    std::vector<SideRow> path_;
    std::vector<ZeroRow> zeros_;
    std::vector<JobRow> jobs_;
    std::vector<std::size_t> job_at_;  // index of each job in jobs_, or no_row
    // By job not in jobs_: the option that it has; the number of its options if it gets nothing.
    std::vector<std::size_t> settled_;
    std::vector<Whole> worth_at_root_;  // only if something was fixed at the root
    std::optional<Multiplier> objective_;
    Whole objective_rhs_ = 0;
    std::size_t more_assumed_ = no_row, most_assumed_ = no_row;

    std::vector<Multiplier> multipliers_;
    std::vector<Whole> worth_, gain_, regret_;
    Whole bound_;
    Allotter<> sharing_;
};

template <class Whole>
void ProofLog<Whole>::tighten(const CompactProblem& tight) {
    const std::size_t capacities = rows_.size();
    // Derive sum of floor(units / size) <= floor(capacity / size): multiply the capacity's row by 1 / size
    // and round.
    const auto derive = [&](const UseRow& from, const Whole& size) {
        UseRow row{no_row, 0, from.capacity / size, {}};
        multipliers_.clear();
        const auto multiply_part = [&](std::size_t index, const Whole& part) { multiply(index, part, 0); };
        multiply_part(from.index, Whole(1) << static_cast<unsigned>(from.bits));
        for (const auto& [p, units] : from.uses) {
            if (units >= size) row.uses.emplace_back(p, units / size);
            multiply_part(variables_[p], -(units % size));
        }
        row.index = begin_line(" L ");
        text_.fraction(row.capacity, 0);
        append_uses(row.uses, 0);
        append_multipliers("rnd", size);
        return row;
    };
    const std::vector<UseRow> given = rows_;
    std::size_t next = capacities;
    for (std::size_t r = 0; r < capacities; ++r) {
        double granule = std::numeric_limits<double>::infinity(), least = granule;
        for (const ResourceUse& use : compact_->uses)
            if (use.resource == r) granule = common_granule(granule, use.units);
        for (const ResourceUse& use : compact_->uses)
            if (use.resource == r && use.units > granule) least = std::min(least, use.units);
        if (tight.capacity[r] < compact_->capacity[r]) {
            const Whole size = scaled<Whole>(granule, exact_.unit_bits);
            UseRow row = derive(rows_[r], size);
            multipliers_.clear();
            multiply(row.index, size, exact_.unit_bits);
            row.bits = exact_.unit_bits;
            row.capacity *= size;
            for (auto& [p, units] : row.uses) units *= size;
            row.index = begin_line(" L ");
            text_.fraction(row.capacity, row.bits);
            append_uses(row.uses, row.bits);
            append_multipliers();
            rows_[r] = std::move(row);
        }
        // The added rows are in order of their resources.
        if (granule > 0 && std::isfinite(least) && next < tight.resources() &&
            counts(tight, next, r, least)) {
            rows_.push_back(derive(given[r], scaled<Whole>(least, exact_.unit_bits)));
            ++next;
        }
    }
    while (rows_.size() < tight.resources()) rows_.push_back({no_row, 0, 0, {}});
}

/// Returns whether a row counts how many times options, and the capacity, contain `size` units of a
/// resource.
template <class Whole>
bool ProofLog<Whole>::counts(const CompactProblem& tight, std::size_t row, std::size_t resource,
                             double size) {
    const double all = tight.capacity[resource] + tight.tolerance[resource];
    if (tight.capacity[row] != std::floor(all / size)) return false;
    for (std::uint32_t k = 0; k < tight.count; ++k) {
        double units = 0, times = 0;
        for (const ResourceUse& use : tight.uses_of(k)) {
            if (use.resource == resource) units = use.units;
            if (use.resource == row) times = use.units;
        }
        if (times != std::floor(units / size)) return false;
    }
    return true;
}

template <class Whole>
void ProofLog<Whole>::cut(std::size_t source, std::span<const double> thresholds, std::size_t most) {
    const int bits = rows_[source].bits;
    SideRow more{.at_most = false, .rhs = static_cast<std::int64_t>(most) + 1};
    std::vector<std::pair<Whole, std::size_t>> smallest;  // least use of a job in the cut, and the job
    std::vector<Whole> units_of(variables_.size());
    for (const auto& [p, units] : rows_[source].uses) units_of[p] = units;
    for (std::size_t group = 0; group < compact_->groups(); ++group) {
        if (!std::isfinite(thresholds[group])) continue;
        // The search added uses up in doubles, so allow for rounding.
        const Whole threshold = scaled<Whole>(thresholds[group] * (1 - 1e-12), bits);
        for (std::uint32_t copy = compact_->first_copy[group]; copy < compact_->first_copy[group + 1];
             ++copy) {
            const std::size_t at = job_at_[compact_->job[copy]];
            std::optional<Whole> least;
            for (std::size_t p = jobs_[at].begin; p < jobs_[at].end; ++p)
                if (banned_[p] == 0 && units_of[p] >= threshold) {
                    more.positions.push_back(static_cast<std::uint32_t>(p));
                    if (!least || units_of[p] < *least) least = units_of[p];
                }
            if (least) smallest.emplace_back(*least, at);
        }
    }
    rows_.push_back({no_row, 0, static_cast<std::int64_t>(most), {}});
    // Even the `most` + 1 jobs with the least uses exceed the capacity together. `each` is the use of the
    // largest of them. A job that uses less makes up for the difference by its own row.
    std::sort(smallest.begin(), smallest.end());
    Whole left = rows_[source].capacity;
    for (std::size_t i = 0; i <= most && i < smallest.size(); ++i) left -= smallest[i].first;
    // Leave the row out if it says nothing or is not valid: bounds hold without it.
    if (smallest.size() <= most || left >= 0) return;
    const Whole each = smallest[most].first;
    assume(more);
    multipliers_.clear();
    multiply(rows_[source].index, 1, 0);
    multiply(more.index, -each, bits);
    for (const std::uint32_t p : more.positions) units_of[p] -= each;
    for (std::size_t i = 0; i < most; ++i) {
        const JobRow& job = jobs_[smallest[i].second];
        const Whole back = each - smallest[i].first;
        multiply(job.index, back, bits);
        for (std::size_t p = job.begin; p < job.end; ++p) units_of[p] += back;
    }
    for (std::size_t p = 0; p < variables_.size(); ++p) multiply(variables_[p], -units_of[p], bits);
    SideRow less = more;
    less.at_most = true;
    less.rhs = static_cast<std::int64_t>(most);
    rule_out(more, less);
    rows_.back().index = less.index;
    for (const std::uint32_t p : less.positions) rows_.back().uses.emplace_back(p, 1);
}

}  // namespace goodput::inline v0_1::detail

#include "goodput/proof/detail/root_fixing.hpp"

#endif
