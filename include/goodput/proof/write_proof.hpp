#ifndef GOODPUT_PROOF_WRITE_PROOF_HPP
#define GOODPUT_PROOF_WRITE_PROOF_HPP

// Writes a certificate for the answer to an allotment problem, in the format VIPR 1.1, which programs of
// others check: that the answer keeps all constraints, what it is worth, and that no allotment is worth more
// than a bound. All numbers are exact.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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
#include "goodput/proof/detail/recorded_tree.hpp"

namespace goodput {

/// What a certificate has to prove, and what may be spent on it.
struct ProofOptions {
    /// A bound is enough that lies this far above the objective, relative to it, where the answer's own is
    /// less: AllotOptions::gap of the answer. It may save most of a search.
    double gap = 0;
    /// States that the search may look at, as AllotOptions::most_states.
    std::size_t most_states = std::size_t{1} << 23;
    /// Bytes of derivations after which nodes are closed by the prices of the root, so that the bound is
    /// larger.
    std::size_t most_bytes = std::size_t{1} << 30;
    /// Time for the search; empty if there is no limit. Writing comes on top.
    std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
};

/// A certificate, and what it proves.
struct Proof {
    std::string text{};  ///< the certificate; empty if nothing is proven
    /// The certificate proves as much as the answer says: its bound or the gap, up to rounding, or that there
    /// is no allotment.
    bool closed = false;
    double objective = 0;   ///< what the answer is worth, 0 if it has no allotment
    double bound = 0;       ///< no allotment is worth more; this is proven, rounding included
    std::size_t nodes = 0;  ///< nodes of the search that the certificate closes
    /// Resources of which the answer takes more than the capacity, within the solver's tolerance. The
    /// certificate is about the capacities with this tolerance.
    std::vector<std::size_t> with_tolerance{};
};

namespace detail {

/// Writes one certificate.
class ProofWriter {
public:
    ProofWriter(const AllotmentProblem& problem, const AllotResult& result, const ProofOptions& options)
        : problem_(problem), result_(result), options_(options), target_(result.bound) {
        if (found_allotment(result.status))
            target_ = std::max(target_, result.objective + options.gap * std::abs(result.objective));
    }

    Proof operator()() {
        Clock clock(std::nullopt);
        Compactor compactor;
        compactor.assign(problem_, compact_, false, clock);
        const double granule = compact_.granularity;
        const std::vector<double> finest{target_, granule};
        const ExactProblem exact(problem_, result_.choice, compact_.magnitude, finest);
        Proof proof;
        for (std::size_t r = 0; r < exact.rows.size(); ++r)
            if (exact.rows[r].with_tolerance) proof.with_tolerance.push_back(r);
        if (result_.status == AllotStatus::infeasible) {
            ProofLog log(problem_, exact, compact_, ProofGoal::infeasible, 0, options_.most_bytes);
            proof.closed = run(log) && assemble(exact, log, std::nullopt, proof);
            return proof;
        }
        const WholeNumber target = scaled(target_, exact.value_bits);
        const bool whole = granule > 0 && multiples_fit(granule);
        ProofLog log(problem_, exact, compact_, ProofGoal::bound, target, options_.most_bytes);
        if (log.root(result_.prices) || !whole || !prove_whole(exact, granule, proof)) {
            if (log.nodes() == 0) search(log);
            const std::optional<WholeNumber> bound = log.finish();
            assemble(exact, log, bound, proof);
        }
        constexpr double rounding = 1e-12;  // as AllotResult::bound
        proof.closed = proof.bound <= target_ + rounding * compact_.magnitude;
        return proof;
    }

private:
    bool run(ProofLog& log) {
        if (!log.root(result_.prices)) search(log);
        return log.finish().has_value();
    }

    /// Searches for what suffices to prove the answer's bound, and tells the log.
    void search(ProofLog& log) {
        Clock clock(options_.deadline);
        if (!tree_) {
            tree_.emplace();
            tight_ = compact_;
            WholeUnits()(tight_);
            Relaxation relaxation;
            relaxation.solve(tight_, false, clock);
            // The search looks for what is worth more than the answer's bound, so that it closes what is not.
            Incumbent incumbent;
            incumbent.clear(tight_);
            // Below what all values together could be, no allotment is left.
            incumbent.value =
                result_.status == AllotStatus::infeasible ? -2 * compact_.magnitude - 1 : target_;
            AllotOptions within;
            within.gap = 0;
            within.most_states = options_.most_states;
            PriceTree<RecordedTree> tree;
            tree.run(tight_, relaxation, incumbent, within, clock);
            *tree_ = std::move(tree.log());
        }
        log.tighten(tight_);
        tree_->tell(tight_, log);
    }

    bool prove_whole(const ExactProblem& exact, double granule, Proof& proof) {
        const WholeValues values{granule, static_cast<std::int64_t>(std::floor(target_ / granule + 1e-6))};
        ProofLog log(problem_, exact, compact_, ProofGoal::whole, 0, options_.most_bytes, values);
        if (!log.root(result_.prices)) search(log);
        const std::optional<WholeNumber> bound = log.finish();
        return bound && assemble(exact, log, bound, proof);
    }
    /// Whether all values are multiples of the granule that can be counted.
    [[nodiscard]] bool multiples_fit(double granule) const {
        for (std::size_t job = 0; job < problem_.jobs(); ++job)
            for (const double value : problem_.values(job))
                if (!(std::abs(value) < 0x1p50 * granule)) return false;
        return std::abs(target_) < 0x1p50 * granule;
    }

    /// Puts the sections together.
    bool assemble(const ExactProblem& exact, const ProofLog& log, const std::optional<WholeNumber>& bound,
                  Proof& proof) const {
        FractionText fractions;
        std::string& text = proof.text;
        text.clear();
        text.reserve(log.text().size() + 160 * exact.variables() + 256);
        text += "% A certificate for an allotment: its worth, and a bound on that of any other.\n";
        for (const std::size_t r : proof.with_tolerance) {
            text += "% The right side of c";
            append_whole(text, r);
            text += " includes the solver's tolerance of 1e-12 times the capacity.\n";
        }
        text += "VER 1.1\n";
        exact.append_to(text, problem_, fractions);
        const bool found = found_allotment(result_.status);
        WholeNumber worth = 0;
        if (bound) {
            text += "RTP range ";
            if (found) {
                for (std::size_t job = 0; job < problem_.jobs(); ++job)
                    if (result_.choice[job] != no_option)
                        worth += exact.value[exact.first[job] + result_.choice[job]];
                fractions.append(text, worth, exact.value_bits);
            } else {
                text += "-inf";
            }
            text += ' ';
            fractions.append(text, *bound, exact.value_bits);
            proof.bound = double_above(*bound, exact.value_bits);
            proof.objective = found ? to_double(worth, exact.value_bits) : 0;
        } else {
            text += "RTP infeas";
        }
        text += found ? "\nSOL 1\nanswer" : "\nSOL 0";
        if (found) append_answer(text, exact);
        text += "\nDER ";
        append_whole(text, log.derivations());
        text += '\n';
        text += log.text();
        proof.nodes = log.nodes();
        return true;
    }
    void append_answer(std::string& text, const ExactProblem& exact) const {
        std::size_t served = 0;
        for (const std::size_t option : result_.choice) served += option != no_option ? 1 : 0;
        ExactProblem::append_index(text, served);
        for (std::size_t job = 0; job < problem_.jobs(); ++job)
            if (result_.choice[job] != no_option) {
                ExactProblem::append_index(text, exact.first[job] + result_.choice[job]);
                text += " 1";
            }
    }

    const AllotmentProblem& problem_;
    const AllotResult& result_;
    const ProofOptions& options_;
    double target_;  // the bound to be proven
    CompactProblem compact_, tight_;
    std::optional<RecordedTree> tree_;
};

}  // namespace detail

/// Writes a certificate for an answer that an Allotter or a ProvingAllotter gave to a problem. If the
/// answer's prices alone do not prove its bound, the certificate needs a search of its own. This search may
/// be cut off, or be weaker than the one that found the answer. Then the certificate has a larger bound than
/// the answer. The answer to another problem: std::invalid_argument.
[[nodiscard]] inline Proof write_proof(const AllotmentProblem& problem, const AllotResult& result,
                                       const ProofOptions& options = {}) {
    if (result.choice.size() != problem.jobs() || result.prices.size() != problem.capacity.size())
        bad_input("proof", "number of choices", result.choice.size(),
                  "the answer to this problem, which has " + text_of(problem.jobs()) + " jobs");
    return detail::ProofWriter(problem, result, options)();
}

}  // namespace goodput

#endif
