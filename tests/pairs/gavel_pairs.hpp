#ifndef GOODPUT_TESTS_PAIRS_GAVEL_PAIRS_HPP
#define GOODPUT_TESTS_PAIRS_GAVEL_PAIRS_HPP

// Pairs of jobs on one GPU, as measured for Gavel (OSDI'20), and how well they are predicted when the pairs
// of one kind of job are left out, or all but a few of them. Reads as the program does: links its readers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/pairs/pair_fit.hpp"
#include "json/json_files.hpp"
#include "support/random.hpp"

namespace support {

/// The published table: kinds of jobs of one worker, and all their pairs on three GPU types.
struct GavelPairs {
    std::vector<std::string> types{"v100", "p100", "k80"};
    std::vector<goodput::PairKind> kinds{};
    std::vector<goodput::PairSample> samples{};  ///< each pair once a type
    int unmeasured = 0;                          ///< pairs of jobs of more workers: {0, 0}, all of them ...
    int measured = 0;                            ///< ... but these
};

/// From the file "simulation_throughputs.json.gz".
inline GavelPairs read_gavel_pairs(const std::string& path) {
    GavelPairs pairs;
    const auto table = cli::read_json_file(path);
    std::map<std::string, std::size_t> index;
    for (std::size_t t = 0; t < pairs.types.size(); ++t)
        for (const auto& [name, row] : table.at(pairs.types[t]).items()) {
            if (!name.ends_with(", 1)")) {
                for (const auto& [other, rates] : row.items())
                    if (other != "null") ++(rates.at(0) > 0 ? pairs.measured : pairs.unmeasured);
                continue;
            }
            const auto [at, is_new] = index.try_emplace(name, pairs.kinds.size());
            if (is_new)
                pairs.kinds.push_back({.name = name,
                                       .rates = std::vector<double>(pairs.types.size(), 0),
                                       // ResNet-18 of "('ResNet-18 (batch size 16)', 1)"
                                       .family = name.substr(2, name.find_first_of("('", 2) - 2)});
            pairs.kinds[at->second].rates[t] = row.at("null");
        }
    for (std::size_t t = 0; t < pairs.types.size(); ++t)
        for (const auto& [name, first] : index)
            for (const auto& [other, second] : index) {
                if (first > second) continue;
                const auto& rates = table.at(pairs.types[t]).at(name).at(other);
                pairs.samples.push_back({{first, second}, t, {rates.at(0), rates.at(1)}});
            }
    return pairs;
}

/// How far off predictions were, of parts of the speed alone; and which pairs they said fit into memory.
struct PairErrors {
    std::vector<double> model{}, half{}, others{}, alike{};  ///< absolute errors, rate by rate
    std::size_t inside = 0;                                  ///< measured in the 90 % interval
    /// Pairs by whether they fit into memory, and those that the model refused, without and with care.
    std::size_t fit = 0, unfit = 0;
    std::array<std::size_t, 2> fit_refused{}, unfit_refused{};

    [[nodiscard]] double covered() const {
        return static_cast<double>(inside) / static_cast<double>(model.size());
    }
};

namespace detail {

/// Parts of the speed alone beside each other, by two kinds; below 0: not known.
class KnownParts {
public:
    KnownParts(const GavelPairs& pairs, const std::vector<goodput::PairSample>& samples, std::size_t type)
        : kinds_(pairs.kinds.size()), parts_(kinds_ * kinds_, -1) {
        for (const goodput::PairSample& sample : samples)
            for (std::size_t i = 0; i < 2 && sample.type == type && sample.rates[0] > 0; ++i)
                parts_[sample.kinds[i] * kinds_ + sample.kinds[1 - i]] =
                    sample.rates[i] / pairs.kinds[sample.kinds[i]].rates[type];
    }
    [[nodiscard]] double operator()(std::size_t own, std::size_t other) const {
        return parts_[own * kinds_ + other];
    }
    /// Of a kind beside the others (as_own), or of the others beside it; half where nothing is known.
    [[nodiscard]] double mean(std::size_t kind, bool as_own) const {
        double sum = 0, count = 0;
        for (std::size_t k = 0; k < kinds_; ++k) {
            const double part = as_own ? (*this)(kind, k) : (*this)(k, kind);
            if (part >= 0) sum += part, count += 1;
        }
        return count > 0 ? sum / count : 0.5;
    }
    /// The kind whose known parts are least far from those of this one (Gavel's estimator, section 6).
    [[nodiscard]] std::size_t most_like(std::size_t kind) const {
        std::size_t best = kind;
        double least = 1e300;
        for (std::size_t k = 0; k < kinds_; ++k) {
            double sum = 0, count = 0;
            for (std::size_t other = 0; other < kinds_; ++other)
                for (const bool as_own : {true, false}) {
                    const double mine = as_own ? (*this)(kind, other) : (*this)(other, kind);
                    const double its = as_own ? (*this)(k, other) : (*this)(other, k);
                    if (k == kind || other == kind || mine < 0 || its < 0) continue;
                    sum += (mine - its) * (mine - its);
                    count += 1;
                }
            if (count > 0 && sum / count < least) best = k, least = sum / count;
        }
        return best;
    }

private:
    std::size_t kinds_;
    std::vector<double> parts_;
};

}  // namespace detail

/// What is left out.
struct LeftOut {
    std::size_t known = 0;  ///< pairs of the kind on each GPU type that are not, by lot
    bool family = false;    ///< the same model with other batch sizes altogether
    std::size_t every = 1;  ///< only every so many kinds in turn
};

/// Predicts all pairs of each kind in turn from the pairs of the others, and a few of its own. By GPU type.
inline std::vector<PairErrors> left_out_errors(const GavelPairs& pairs, const LeftOut& what, Random& random) {
    std::vector<PairErrors> errors(pairs.types.size());
    for (std::size_t out = 0; out < pairs.kinds.size(); out += what.every) {
        std::vector<goodput::PairSample> given, asked;
        std::vector<std::vector<goodput::PairSample>> own(pairs.types.size());
        const auto is_out = [&](std::size_t kind) {
            return what.family && kind != out && pairs.kinds[kind].family == pairs.kinds[out].family;
        };
        for (const goodput::PairSample& sample : pairs.samples)
            if (!is_out(sample.kinds[0]) && !is_out(sample.kinds[1]))
                (sample.kinds[0] == out || sample.kinds[1] == out ? own[sample.type] : given)
                    .push_back(sample);
        for (auto& of_type : own)
            for (std::size_t i = 0; i < of_type.size(); ++i) {
                const auto last = static_cast<int>(of_type.size()) - 1;
                std::swap(of_type[i],
                          of_type[static_cast<std::size_t>(random.integer(static_cast<int>(i), last))]);
                (i < what.known ? given : asked).push_back(of_type[i]);
            }
        goodput::PairModel model = goodput::fit_pair_model(pairs.kinds, pairs.types.size(), given).model;
        goodput::PairModel speeds = model;  // also of pairs that are said not to fit
        for (goodput::PairUse& use : speeds.uses) use.memory = use.memory_deviation = 0;
        std::vector<detail::KnownParts> parts;
        for (std::size_t t = 0; t < pairs.types.size(); ++t) parts.emplace_back(pairs, given, t);
        for (const goodput::PairSample& sample : asked) {
            PairErrors& of = errors[sample.type];
            const bool does_fit = sample.rates[0] > 0;
            ++(does_fit ? of.fit : of.unfit);
            for (const std::size_t careful : {0U, 1U}) {
                model.careful = static_cast<double>(careful);
                (does_fit ? of.fit_refused : of.unfit_refused)[careful] +=
                    !model.fits(sample.kinds, sample.type);
            }
            if (!does_fit) continue;
            const goodput::PairEstimate estimate = speeds.estimate(sample.kinds, sample.type);
            const detail::KnownParts& known_parts = parts[sample.type];
            const std::size_t like = known_parts.most_like(out);
            for (std::size_t i = 0; i < 2; ++i) {
                const std::size_t self = sample.kinds[i], other = sample.kinds[1 - i];
                const double part = sample.rates[i] / pairs.kinds[self].rates[sample.type];
                const goodput::Interval interval = estimate.interval(i);
                of.model.push_back(std::abs(estimate.parts[i] - part));
                of.inside += part >= interval.low && part <= interval.high;
                of.half.push_back(std::abs(0.5 - part));
                const double mean =
                    self == out ? known_parts.mean(other, false) : known_parts.mean(self, true);
                of.others.push_back(std::abs(mean - part));
                const double its = known_parts(self == out ? like : self, other == out ? like : other);
                of.alike.push_back(std::abs((its >= 0 ? its : mean) - part));
            }
        }
    }
    return errors;
}

}  // namespace support

#endif
