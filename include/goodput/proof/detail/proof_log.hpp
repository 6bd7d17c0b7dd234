#ifndef GOODPUT_PROOF_DETAIL_PROOF_LOG_HPP
#define GOODPUT_PROOF_DETAIL_PROOF_LOG_HPP

// Writes a search as derivations (proof steps) of VIPR 1.1. A RecordedTree reports the search event by
// event.
//
// Each closed node is one linear combination of rows. The multipliers of the capacities are the node's
// prices. The multiplier of a job's row is what the job gains at these prices. Multiples of the rows x >= 0
// make up for the rest. The prices are rounded first, and everything else is computed from them exactly, so
// the search's own arithmetic never matters. A branching is a pair of assumptions. They are discharged when
// both sides are done, because what both sides prove holds without the assumptions. The root is the node
// before any branching.
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

    void weigh(std::span<const double> prices, const ExtraRow* extra);

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
    void weigh_sides(std::size_t group);
    template <class Excluded>
    void price_shared(std::size_t group, const std::vector<const SideRow*>& rows,
                      const std::vector<Whole>& left, const std::vector<std::size_t>& option,
                      Excluded excluded, std::vector<Whole>& prices);

    void weigh_jobs();

    /// Closes the node, whatever its prices, if the settled options exceed the capacity of a row. Returns
    /// whether they do.
    bool close_as_contradiction(const UseRow& row);
    /// Closes the node, whatever its prices, if the branchings leave a group no option. Returns whether they
    /// do.
    bool close_as_contradiction(std::size_t group);

    void close_by_weights(bool absurd = false);
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
    void assume_more();
    /// Ends the assumption of assume_more() and derives the bound on the objective. The job rows account
    /// for the differences between values and multiples.
    Whole conclude_whole();
    /// Returns the worth of all variables before anything was fixed at the root.
    [[nodiscard]] const std::vector<Whole>& all_worth() const {
        return worth_at_root_.empty() ? worth_of_ : worth_at_root_;
    }

    /// Bans options that alone exceed a capacity. The capacity's row, divided by the least that one of them
    /// uses, says that fewer than 1 of them are taken, so none.
    void ban_too_large();
    /// Derives `other` from the multipliers, which contradict the assumption of `assumed`.
    void rule_out(const SideRow& assumed, SideRow& other);

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

    /// Derives the capacities of `tight` that are rounded down, and its added rows.
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

}  // namespace goodput::inline v0_1::detail

#include "goodput/proof/detail/node_weights.hpp"
#include "goodput/proof/detail/root_fixing.hpp"
#include "goodput/proof/detail/root_rows.hpp"

#endif
