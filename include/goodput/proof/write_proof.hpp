#ifndef GOODPUT_PROOF_WRITE_PROOF_HPP
#define GOODPUT_PROOF_WRITE_PROOF_HPP

// Writes a certificate for the answer to an allotment problem, in the format VIPR 1.1, a text format for
// proofs about integer programs. Independent programs can check it. It proves that the answer keeps all
// constraints, what the answer is worth, and that no allotment is worth more than a bound. All numbers are
// exact.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/compactor.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/price_tree.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/whole_units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"
#include "goodput/proof/detail/exact_numbers.hpp"
#include "goodput/proof/detail/exact_problem.hpp"
#include "goodput/proof/detail/proof_log.hpp"
#include "goodput/proof/detail/proof_text.hpp"
#include "goodput/proof/detail/recorded_tree.hpp"

namespace goodput::inline v0_1 {

/// Settings of a certificate: what it must prove, and what it may cost.
struct ProofOptions {
    /// Gap that is good enough, relative to the objective; usually the AllotOptions::gap with which the
    /// answer was computed. If the answer's bound is lower than objective + gap * |objective|, proving the
    /// latter is enough. This may save most of a search.
    double gap = 0;
    /// Largest number of states that the search may examine, like AllotOptions::most_states.
    std::size_t most_states = std::size_t{1} << 23;
    /// Limit on the bytes of the derivations (the steps of the proof). Once it is reached, the prices of
    /// the root (before any branching) close all remaining nodes of the search, so the proven bound may be
    /// larger.
    std::size_t most_bytes = std::size_t{1} << 30;
    /// Time for the search, without the writing; empty if there is no limit.
    std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
};

/// A certificate, and what it proves.
struct Proof {
    std::string text{};  ///< the certificate; empty if nothing is proven
    /// Whether the certificate proves everything that the answer claims: its bound or the gap, up to
    /// rounding, or that there is no allotment.
    bool closed = false;
    double objective = 0;   ///< value of the answer, 0 if it has no allotment
    double bound = 0;       ///< no allotment is worth more, which is proven exactly
    std::size_t nodes = 0;  ///< number of nodes of the search that the certificate closes
    /// Resources of which the answer uses more than the capacity, within the solver's tolerance. The
    /// certificate holds for these capacities with the tolerance added.
    std::vector<std::size_t> with_tolerance{};
};

namespace detail {

/// Writes one certificate.
class ProofWriter {
public:
    ProofWriter(const AllotmentProblem& problem, const AllotResult& result, const ProofOptions& options)
        : problem_(problem),
          result_(result),
          options_(options),
          target_(result.bound),
          scale_(problem, result.choice) {
        if (found_allotment(result.status))
            target_ = std::max(target_, result.objective + options.gap * std::abs(result.objective));
        scale_.refine(target_);
    }

    Proof operator()() {
        Written written = Written::too_narrow;
        if (narrow(most_paid(result_.prices, scale_.largest))) written = write<NarrowNumber>();
        if (written == Written::too_narrow) written = write<WholeNumber>();
        constexpr double rounding = 1e-12;  // as AllotResult::bound
        proof_.closed = written == Written::yes &&
                        (infeasible() || proof_.bound <= target_ + rounding * scale_.magnitude);
        return std::move(proof_);
    }

private:
    enum class Written { yes, no, too_narrow };  ///< too_narrow: the numbers may be too large for their type

    [[nodiscard]] bool infeasible() const { return result_.status == AllotStatus::infeasible; }
    [[nodiscard]] bool narrow(double most_paid) const {
        return scale_.narrow(problem_.jobs(), most_paid + (infeasible() ? 0 : std::abs(target_)));
    }

    /// Writes the certificate with numbers of this type.
    template <class Whole>
    Written write() {
        if (infeasible()) return prove<Whole>(ProofGoal::infeasible, true);
        if (const Written written = prove<Whole>(ProofGoal::bound, false); written != Written::no)
            return written;
        begin_search();
        if (const double granule = compact_.granularity; granule > 0 && multiples_fit(granule)) {
            scale_.refine(granule);
            if (const Written written = prove<Whole>(ProofGoal::whole, true); written != Written::no)
                return written;
        }
        return prove<Whole>(ProofGoal::bound, true);
    }
    /// Writes the certificate from the prices of the answer or, if these do not suffice and `may_search` is
    /// set, from a search.
    template <class Whole>
    Written prove(ProofGoal goal, bool may_search) {
        constexpr bool narrow_numbers = std::is_same_v<Whole, NarrowNumber>;
        if (narrow_numbers && !narrow(most_paid(result_.prices, scale_.largest))) return Written::too_narrow;
        const ExactProblem<Whole> exact(problem_, scale_, result_.choice);
        const double granule = compact_.granularity;
        WholeValues values{granule, 0};
        if (goal == ProofGoal::whole)
            values.most = static_cast<std::int64_t>(std::floor(target_ / granule + 1e-6));
        // The search's own numbers are rounded, so allow for that.
        const Whole target = scaled<Whole>(infeasible() ? 0 : target_, exact.value_bits) +
                             scaled<Whole>(0x1p-42 * scale_.magnitude, exact.value_bits);
        ProofLog<Whole> log(problem_, exact, goal, target, options_.most_bytes, values);
        if (!log.root(result_.prices)) {
            if (!may_search) return Written::no;
            search();
            if (narrow_numbers && !narrow(tree_->most_paid(tight_))) return Written::too_narrow;
            log.begin_search(compact_, tight_);
            tree_->tell(tight_, log);
        }
        const std::optional<Whole> bound = log.finish();
        if (!bound) return Written::no;
        assemble(exact, log, *bound);
        return Written::yes;
    }

    void begin_search() {
        if (begun_) return;
        begun_ = true;
        Clock clock(std::nullopt);
        Compactor().assign(problem_, compact_, false, clock);
    }
    /// Searches for a proof of the answer's bound.
    void search() {
        if (tree_) return;
        begin_search();
        Clock clock(options_.deadline);
        tight_ = compact_;
        WholeUnits()(tight_);
        Relaxation relaxation;
        relaxation.solve(tight_, false, clock);
        // The search looks for allotments worth more than the answer's bound, so it closes every node
        // without one.
        Incumbent incumbent;
        incumbent.clear(tight_);
        // This is less than any sum of values, so a search that finds no better allotment proves that there
        // is no allotment.
        incumbent.value = infeasible() ? -2 * compact_.magnitude - 1 : target_;
        AllotOptions within;
        within.gap = 0;
        within.most_states = options_.most_states;
        PriceTree<RecordedTree> tree;
        tree.run(tight_, relaxation, incumbent, within, clock);
        tree_ = std::move(tree.log());
    }
    /// Returns whether all values are small enough to be counted in multiples of the granule.
    [[nodiscard]] bool multiples_fit(double granule) const {
        for (std::size_t job = 0; job < problem_.jobs(); ++job)
            for (const double value : problem_.values(job))
                if (!(std::abs(value) < 0x1p50 * granule)) return false;
        return std::abs(target_) < 0x1p50 * granule;
    }

    /// Assembles the sections of the certificate.
    template <class Whole>
    void assemble(const ExactProblem<Whole>& exact, const ProofLog<Whole>& log, const Whole& bound) {
        ProofText text;
        text.reserve(log.text().size() + 160 * exact.variables() + 4096);
        text.add("% A certificate for an allotment: its worth, and a bound on that of any other.\n");
        for (std::size_t r = 0; r < exact.rows.size(); ++r) {
            if (!exact.rows[r].with_tolerance) continue;
            proof_.with_tolerance.push_back(r);
            text.add("% The right side of c");
            text.whole(r);
            text.add(" includes the solver's tolerance of 1e-12 times the capacity.\n");
        }
        text.add("VER 1.1\n");
        exact.append_to(text, problem_);
        const bool found = found_allotment(result_.status);
        if (infeasible()) {
            text.add("RTP infeas");
        } else {
            text.add("RTP range ");
            Whole worth = 0;
            if (found) {
                for (std::size_t job = 0; job < problem_.jobs(); ++job)
                    if (result_.choice[job] != no_option)
                        worth += exact.value[exact.first[job] + result_.choice[job]];
                text.fraction(worth, exact.value_bits);
            } else {
                text.add("-inf");
            }
            text.add(' ');
            text.fraction(bound, exact.value_bits);
            proof_.bound = double_above(WholeNumber(bound), exact.value_bits);
            proof_.objective = found ? to_double(worth, exact.value_bits) : 0;
        }
        text.add(found ? "\nSOL 1\nanswer" : "\nSOL 0");
        if (found) append_answer(text, exact.first);
        text.add("\nDER");
        text.index(log.derivations());
        text.add('\n');
        text.add(log.text());
        proof_.nodes = log.nodes();
        proof_.text = text.take();
    }
    void append_answer(ProofText& text, std::span<const std::size_t> first) const {
        std::size_t served = 0;
        for (const std::size_t option : result_.choice) served += option != no_option ? 1 : 0;
        text.index(served);
        for (std::size_t job = 0; job < problem_.jobs(); ++job)
            if (result_.choice[job] != no_option) text.entry(first[job] + result_.choice[job]);
    }

    const AllotmentProblem& problem_;
    const AllotResult& result_;
    const ProofOptions& options_;
    double target_;  // bound that the certificate must prove
    ExactScale scale_;
    bool begun_ = false;
    CompactProblem compact_, tight_;
    std::optional<RecordedTree> tree_;
    Proof proof_;
};

}  // namespace detail

/// Writes a certificate for an answer that an Allotter or a ProvingAllotter gave to a problem. If the
/// answer's prices alone do not prove its bound, the certificate needs a search of its own. This search may
/// be cut off, or be weaker than the one that found the answer. Then the certificate has a larger bound
/// than the answer. Throws std::invalid_argument if the answer does not have as many jobs and resources as
/// the problem.
[[nodiscard]] inline Proof write_proof(const AllotmentProblem& problem, const AllotResult& result,
                                       const ProofOptions& options = {}) {
    if (result.choice.size() != problem.jobs() || result.prices.size() != problem.capacity.size())
        bad_input("proof", "number of choices", result.choice.size(),
                  "the answer to this problem, which has " + text_of(problem.jobs()) + " jobs");
    return detail::ProofWriter(problem, result, options)();
}

}  // namespace goodput::inline v0_1

#endif
