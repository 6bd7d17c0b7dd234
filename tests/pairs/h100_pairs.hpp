#ifndef GOODPUT_TESTS_PAIRS_H100_PAIRS_HPP
#define GOODPUT_TESTS_PAIRS_H100_PAIRS_HPP

// Pairs of trainings measured on one H100 (data/h100/pairs.csv), and how well their speeds are predicted if
// one of the two was never seen beside others, or in a few pairs only.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/pairs/pair_fit.hpp"
#include "goodput/pairs/utilised_pairs.hpp"

namespace support {

/// Pairs of one mode. Jobs that were measured alone in the other mode only are as there.
struct H100Pairs {
    std::vector<goodput::UtilisedJob> jobs{};
    std::vector<double> rates{};  ///< by job: steps/s alone
    std::vector<goodput::SeenPair> pairs{};
};

/// Reads them. Throws std::runtime_error for a file that is not there.
inline H100Pairs read_h100_pairs(const std::string& path, goodput::GpuSharing sharing) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("no file " + path);
    const std::string mode = sharing == goodput::GpuSharing::mps ? "mps" : "time_slicing";
    std::map<std::string, std::size_t> column;
    const auto cells_of = [](const std::string& line) {
        std::vector<std::string> cells;
        std::istringstream text(line);
        for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
        return cells;
    };
    std::string line;
    std::getline(file, line);
    for (const std::string& name : cells_of(line)) column.emplace(name, column.size());
    H100Pairs all;
    const auto job_of = [&](const std::string& name, double rate) {
        for (std::size_t j = 0; j < all.jobs.size(); ++j)
            if (all.jobs[j].name == name) return j;
        all.jobs.push_back({.name = name});
        all.rates.push_back(rate);
        return all.jobs.size() - 1;
    };
    while (std::getline(file, line)) {
        const std::vector<std::string> cells = cells_of(line);
        const auto at = [&](const char* name) { return cells.at(column.at(name)); };
        const auto number = [&](const char* name) { return std::stod(at(name)); };
        const std::size_t a = job_of(at("a"), number("alone_a"));
        if (at("b").empty()) {
            if (at("mode") == mode || !all.jobs[a].utilisation)
                all.jobs[a].utilisation = number("util_gpu") / 100;
        } else if (at("mode") == mode) {
            all.pairs.push_back(
                {{a, job_of(at("b"), number("alone_b"))}, {number("part_a"), number("part_b")}});
        }
    }
    return all;
}

/// How far off predictions were, and the gains that they promised.
struct H100Errors {
    std::vector<double> errors{};                ///< absolute ones, part by part
    std::size_t inside = 0;                      ///< measured in the 90 % interval
    std::size_t lose = 0, promised_in_vain = 0;  ///< pairs that do not gain, and those promised a gain
    std::size_t gain = 0, missed = 0;            ///< pairs that gain, and those not promised it

    [[nodiscard]] double mean() const {
        double sum = 0;
        for (const double error : errors) sum += error;
        return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
    }
    [[nodiscard]] double covered() const {
        return static_cast<double>(inside) / static_cast<double>(errors.size());
    }
    void add(const goodput::SeenPair& pair, const goodput::PairEstimate& estimate, bool promised) {
        for (std::size_t i = 0; i < 2; ++i) {
            errors.push_back(std::abs(estimate.parts[i] - pair.parts[i]));
            const goodput::Interval within = estimate.interval(i);
            const double measured = std::min(pair.parts[i], 1.0);
            inside += measured >= within.low && measured <= within.high ? 1 : 0;
        }
        const bool gains = pair.parts[0] + pair.parts[1] > 1;
        (gains ? gain : lose) += 1;
        if (promised != gains) (gains ? missed : promised_in_vain) += 1;
    }
};

/// What answers are compared.
enum class PairAnswer { half, mean_of_partner, fitted, utilisation, utilisation_hidden };

/// Pairs of a job that is left out, from `known` of its pairs (every choice of them) and from all pairs of
/// the other jobs, or without those.
inline H100Errors h100_left_out(const H100Pairs& all, goodput::GpuSharing sharing, PairAnswer answer,
                                std::size_t known, bool others = true) {
    H100Errors result;
    for (std::size_t out = 0; out < all.jobs.size(); ++out) {
        std::vector<goodput::SeenPair> given, own;
        for (const goodput::SeenPair& pair : all.pairs)
            if (pair.jobs[0] == out || pair.jobs[1] == out)
                own.push_back(pair);
            else if (others)
                given.push_back(pair);
        if (own.size() <= known) continue;
        std::vector<char> chosen(own.size(), 0);  // every choice of `known` of its pairs, in order
        std::fill_n(chosen.begin(), known, char{1});
        do {
            std::vector<goodput::SeenPair> seen = given;
            for (std::size_t p = 0; p < own.size(); ++p)
                if (chosen[p] != 0) seen.push_back(own[p]);
            std::vector<goodput::UtilisedJob> jobs = all.jobs;
            if (answer == PairAnswer::utilisation_hidden) jobs[out].utilisation.reset();
            const goodput::UtilisedPairs utilised(jobs, seen, sharing);
            goodput::PairModel model;
            if (answer == PairAnswer::fitted) {
                std::vector<goodput::PairKind> kinds;
                std::vector<goodput::PairSample> samples;
                for (std::size_t j = 0; j < all.jobs.size(); ++j)
                    kinds.push_back({.name = all.jobs[j].name, .rates = {all.rates[j]}, .memory = {0.1}});
                for (const goodput::SeenPair& pair : seen)
                    samples.push_back(
                        {pair.jobs,
                         0,
                         {pair.parts[0] * all.rates[pair.jobs[0]], pair.parts[1] * all.rates[pair.jobs[1]]}});
                model = goodput::fit_pair_model(kinds, 1, samples).model;
            }
            const auto mean_beside = [&](std::size_t partner) {  // what others lost beside it
                double sum = 0, count = 0;
                for (const goodput::SeenPair& pair : seen)
                    for (std::size_t i = 0; i < 2; ++i)
                        if (pair.jobs[1 - i] == partner) sum += pair.parts[i], count += 1;
                return count > 0 ? sum / count : 0.5;
            };
            for (std::size_t p = 0; p < own.size(); ++p) {
                if (chosen[p] != 0) continue;
                goodput::PairEstimate estimate{.fits = true, .parts = {0.5, 0.5}};
                if (answer == PairAnswer::mean_of_partner)
                    estimate.parts = {mean_beside(own[p].jobs[1]), mean_beside(own[p].jobs[0])};
                else if (answer == PairAnswer::fitted)
                    estimate = model.estimate(own[p].jobs, 0);
                else if (answer != PairAnswer::half)
                    estimate = utilised.estimate(own[p].jobs);
                const bool by_utilisation =
                    answer == PairAnswer::utilisation || answer == PairAnswer::utilisation_hidden;
                result.add(own[p], estimate,
                           by_utilisation ? goodput::gain_is_likely(estimate)
                                          : estimate.parts[0] + estimate.parts[1] > 1);
            }
        } while (std::prev_permutation(chosen.begin(), chosen.end()));
    }
    return result;
}

}  // namespace support

#endif
