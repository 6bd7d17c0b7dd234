#ifndef GOODPUT_PAIRS_PAIR_FIT_HPP
#define GOODPUT_PAIRS_PAIR_FIT_HPP

// Fits what kinds of jobs use of GPU types (pair_model.hpp) to measurements of some pairs, each GPU type by
// itself. Speeds alone say much about a kind that was never measured in a pair: a job of short steps loses
// more in pairs, and a job that a faster GPU hardly speeds up leaves that GPU idle. So the prior of a kind
// is linear in the logarithms of its speeds alone on all GPU types, plus a term that all kinds of its
// family have in common. The fit learns this prior and its uncertainty from all measured kinds.
//
// The fraction of the memory that a kind takes is learned from its speeds and from which pairs fitted: the
// sum over a pair should be below the whole memory by some margin if the pair fitted, and above it by as
// much if not. Give the memory where you know it: what is learned is a guess.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/pairs/detail/use_fit.hpp"
#include "goodput/pairs/pair_model.hpp"

namespace goodput::inline v0_1 {

/// Jobs that are alike, such as those of one model with one batch size.
struct PairKind {
    std::string name{};           ///< for messages
    std::vector<double> rates{};  ///< by GPU type: steps/s alone; 0 if not known
    /// Kinds of one family, such as one model with several batch sizes, are more alike than others. Empty
    /// if no other kind is like it.
    std::string family{};
    /// By GPU type: fraction of the GPU's memory at the peak, in [0, 1]; 0 if not known. Empty if known
    /// nowhere.
    std::vector<double> memory{};
};

/// Jobs of two kinds that were measured on one GPU at the same time.
struct PairSample {
    std::array<std::size_t, 2> kinds{};  ///< indices of the kinds, which may be the same
    std::size_t type = 0;                ///< GPU type
    std::array<double, 2> rates{};       ///< steps/s of each job; {0, 0} if they did not fit into memory
};

/// How one GPU type was fitted.
struct PairTypeFit {
    int samples = 0;      ///< pairs whose rates were measured
    int did_not_fit = 0;  ///< pairs that did not fit into memory
    /// Pairs among both numbers above for which the model predicts wrongly whether they fit.
    int misjudged = 0;
    double error = 0;                          ///< root mean square error, as a fraction of the speed alone
    FitStatus status = FitStatus::prior_kept;  ///< status of the speeds; prior_kept: nothing was measured
};

/// A model of pairs, and how it was fitted.
struct PairFit {
    PairModel model{};                   ///< covers all kinds, including those in no sample
    std::vector<PairTypeFit> by_type{};  ///< how it was found

    /// One line for a log.
    [[nodiscard]] std::string report() const;
};

/// Fits what kinds of jobs use on `types` GPU types to samples, which may be in any order and repeat pairs.
/// A kind that is in no sample gets what its speeds alone suggest, with wide intervals. Rates above the
/// rate alone count as the rate alone. Refuses wrong numbers of rates and memories, numbers out of range,
/// samples with kinds or types that do not exist, and samples of kinds whose rate alone is not known
/// (std::invalid_argument). Time grows with samples times the square of kinds: about 0.2 s per type for 26
/// kinds with all their pairs.
[[nodiscard]] PairFit fit_pair_model(std::span<const PairKind> kinds, std::size_t types,
                                     std::span<const PairSample> samples);

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The fraction of its speed that a job keeps while sharing with another.
struct SpeedTerms {
    static constexpr int numbers = 3, starts = 6;
    static constexpr bool scatters = true;
    double usual_scatter = 0.05;

    [[nodiscard]] static UseLaw<numbers> usual() {
        UseLaw<numbers> law;
        law.mean << std::log(0.7), std::log(0.7), std::log(0.7);
        law.covariance *= 0.25;
        return law;
    }
    [[nodiscard]] static UseError<numbers> error(const double* own, const double* other, double measured) {
        const PartOfSpeed at = part_of_speed(own, other);
        return {at.part - measured, at.by_own, at.by_other};
    }
};

/// How far two jobs are on the wrong side of the memory limit: `measured` is 1 if they fitted, else -1.
struct MemoryTerms {
    static constexpr int numbers = 1, starts = 1;
    static constexpr bool scatters = false;
    double usual_scatter = 0.035;  // also the width of the margin

    [[nodiscard]] static UseLaw<numbers> usual() {
        UseLaw<numbers> law;
        law.mean << std::log(0.2);
        law.covariance *= 0.25;
        return law;
    }
    [[nodiscard]] UseError<numbers> error(const double* own, const double* other, double measured) const {
        const double of_own = std::exp(std::min(*own, 1.0)), of_other = std::exp(std::min(*other, 1.0));
        const double short_of = usual_scatter - measured * (1 - of_own - of_other);
        if (short_of <= 0) return {};
        return {short_of, {measured * of_own}, {measured * of_other}};
    }
};

inline void require_pair_inputs(std::span<const PairKind> kinds, std::size_t types,
                                std::span<const PairSample> samples) {
    for (const PairKind& kind : kinds) {
        const auto subject = [&] { return "kind '" + kind.name + "'"; };
        const std::string as_many = "that of GPU types, " + text_of(types);
        if (kind.rates.size() != types) bad_input(subject(), "number of rates", kind.rates.size(), as_many);
        if (!kind.memory.empty() && kind.memory.size() != types)
            bad_input(subject(), "number of memories", kind.memory.size(), as_many);
        for (const double rate : kind.rates)
            if (!(rate == 0 || (rate >= 1e-12 && rate <= 1e15)))
                bad_input(subject(), "rate", rate, "0, or from 1e-12 to 1e15");
        for (const double part : kind.memory)
            if (!(part >= 0 && part <= 1)) bad_input(subject(), "memory", part, "from 0 to 1");
    }
    for (std::size_t s = 0; s < samples.size(); ++s) {
        const PairSample& sample = samples[s];
        const auto subject = [&] { return "pair sample " + text_of(s); };
        if (sample.type >= types) bad_input(subject(), "type", sample.type, "an index into the GPU types");
        for (std::size_t i = 0; i < 2; ++i) {
            if (sample.kinds[i] >= kinds.size())
                bad_input(subject(), "kind", sample.kinds[i], "an index into the kinds");
            const double rate = sample.rates[i];
            if (!(rate == 0 || (rate >= 1e-12 && rate <= 1e15)) || (rate == 0) != (sample.rates[0] == 0))
                bad_input(subject(), "rate", rate, "from 1e-12 to 1e15, or 0 of both");
            if (rate > 0 && kinds[sample.kinds[i]].rates[sample.type] == 0)
                bad_input(subject(), "rate of kind '" + kinds[sample.kinds[i]].name + "' alone", 0,
                          "known where it was measured while sharing with another");
        }
    }
}

/// Returns, by kind, 1 and the logarithms of speeds alone less their means over the kinds; 0 for an unknown
/// speed.
inline Eigen::MatrixXd pair_features(std::span<const PairKind> kinds, std::size_t types) {
    Eigen::MatrixXd features =
        Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(kinds.size()), static_cast<Eigen::Index>(types) + 1);
    features.col(0).setOnes();
    for (std::size_t t = 0; t < types; ++t) {
        double sum = 0, count = 0;
        for (const PairKind& kind : kinds)
            if (kind.rates[t] > 0) sum += std::log(kind.rates[t]), count += 1;
        for (std::size_t i = 0; i < kinds.size(); ++i)
            if (kinds[i].rates[t] > 0)
                features(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(t) + 1) =
                    std::log(kinds[i].rates[t]) - sum / count;
    }
    return features;
}

/// Returns, by kind, the index of its family, counted from 0; empty if no kind names one.
inline std::vector<std::size_t> pair_families(std::span<const PairKind> kinds) {
    std::vector<std::size_t> families;
    std::map<std::string_view, std::size_t> index;
    std::size_t next = 0;
    for (const PairKind& kind : kinds)
        families.push_back(kind.family.empty() ? next++ : [&] {
            const auto [at, is_new] = index.try_emplace(kind.family, next);
            next += is_new ? 1 : 0;
            return at->second;
        }());
    if (index.empty()) families.clear();
    return families;
}

}  // namespace detail

inline PairFit fit_pair_model(std::span<const PairKind> kinds, std::size_t types,
                              std::span<const PairSample> samples) {
    detail::require_pair_inputs(kinds, types, samples);
    PairFit fit{.model{.types = types, .uses = std::vector<PairUse>(kinds.size() * types)}};
    const Eigen::MatrixXd features = detail::pair_features(kinds, types);
    const std::vector<std::size_t> families = detail::pair_families(kinds);
    const std::size_t count = families.empty() ? 0 : *std::max_element(families.begin(), families.end()) + 1;
    for (std::size_t t = 0; t < types; ++t) {
        detail::UseProblem<detail::SpeedTerms> speed{
            .features = features, .families = families, .family_count = count};
        detail::UseProblem<detail::MemoryTerms> memory{.features = features};
        for (const PairKind& kind : kinds) {
            const double part = kind.memory.empty() ? 0 : kind.memory[t];
            memory.is_known.push_back(part > 0);
            memory.known.emplace_back();
            memory.known.back().mean << std::log(std::max(part, 1e-6));
            memory.known.back().covariance << 1e-6;
        }
        PairTypeFit how;
        for (const PairSample& sample : samples) {
            if (sample.type != t) continue;
            const bool fits = sample.rates[0] > 0;
            (fits ? how.samples : how.did_not_fit) += 1;
            memory.rows.push_back({sample.kinds[0], sample.kinds[1], fits ? 1.0 : -1.0});
            for (std::size_t i = 0; i < 2 && fits; ++i)
                speed.rows.push_back({sample.kinds[i], sample.kinds[1 - i],
                                      std::min(sample.rates[i] / kinds[sample.kinds[i]].rates[t], 1.0)});
        }
        const detail::UseFit<3> speeds = detail::fit_uses(speed);
        const detail::UseFit<1> memories = detail::fit_uses(memory);
        fit.model.scatter.push_back(speeds.scatter);
        how.status = speeds.status;
        for (std::size_t k = 0; k < kinds.size(); ++k) {
            PairUse& use = fit.model.uses[k * types + t];
            for (Eigen::Index i = 0; i < 3; ++i) {
                use.mean_log[static_cast<std::size_t>(i)] = speeds.uses[k].mean[i];
                for (Eigen::Index j = 0; j < 3; ++j)
                    use.covariance[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
                        speeds.uses[k].covariance(i, j);
            }
            if (memory.is_known[k]) {
                use.memory = kinds[k].memory[t];
            } else {
                use.memory = std::min(std::exp(memories.uses[k].mean[0]), 1.0);
                use.memory_deviation = use.memory * std::sqrt(memories.uses[k].covariance(0, 0));
            }
        }
        double squares = 0;
        for (const detail::UseRow& row : speed.rows) {
            const double* const own = fit.model.use(row.own, t).mean_log.data();
            const double* const other = fit.model.use(row.other, t).mean_log.data();
            const double off = detail::part_of_speed(own, other).part - row.measured;
            squares += off * off;
        }
        if (!speed.rows.empty()) how.error = std::sqrt(squares / static_cast<double>(speed.rows.size()));
        for (const detail::UseRow& row : memory.rows)
            how.misjudged += fit.model.fits({row.own, row.other}, t) != (row.measured > 0);
        fit.by_type.push_back(how);
    }
    return fit;
}

inline std::string PairFit::report() const {
    std::string line;
    for (std::size_t t = 0; t < by_type.size(); ++t) {
        const PairTypeFit& how = by_type[t];
        if (t > 0) line += "; ";
        line += "type " + text_of(t) + ": " + text_of(how.samples) + " pairs measured, error " +
                rounded_text_of(how.error) + " of the speed alone, " + text_of(how.did_not_fit) +
                " did not fit into memory, " + text_of(how.misjudged) + " misjudged";
    }
    return line;
}

}  // namespace goodput::inline v0_1

#endif
