#ifndef GOODPUT_TESTS_SUPPORT_VALIDATION_HPP
#define GOODPUT_TESTS_SUPPORT_VALIDATION_HPP

// Reads the validation runs published with Sia, profiles/APPLICATION/validation-BATCH.csv, and computes how
// well the statistics of one run predict the efficiency of another.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/model/efficiency.hpp"
#include "goodput/statistics/gradient_by_batch.hpp"
#include "support/profiles.hpp"

namespace support {

/// State at the end of an epoch.
struct ValidationEpoch {
    double progress, iteration;  ///< iterations at the initial batch size, and real iterations
    goodput::GradientStatistics gradient;
};

/// Runs of one application by total batch size; the smallest is the initial one.
using ValidationRuns = std::map<int, std::vector<ValidationEpoch>>;

inline ValidationRuns read_validation(const std::string& folder) {
    ValidationRuns runs;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string(), path = entry.path().string();
        if (name.rfind("validation-", 0) != 0) continue;
        const Csv csv = read_csv(path);
        const auto &progress = column(csv, "progress", path), &iteration = column(csv, "iteration", path),
                   &sqr = column(csv, "grad_sqr", path), &var = column(csv, "grad_var", path);
        auto& run = runs[number<int>(name.substr(11, name.size() - 15), path)];
        for (std::size_t i = 0; i < progress.size(); ++i)
            run.push_back({number<double>(progress[i], path),
                           number<double>(iteration[i], path),
                           {number<double>(sqr[i], path), number<double>(var[i], path)}});
    }
    if (runs.empty()) throw std::runtime_error(folder + ": no validation runs");
    return runs;
}

/// Returns the statistics of a run at the epoch that ends nearest to `progress`.
inline const goodput::GradientStatistics& statistics_at(const std::vector<ValidationEpoch>& run,
                                                        double progress) {
    return std::min_element(run.begin(), run.end(),
                            [progress](const ValidationEpoch& a, const ValidationEpoch& b) {
                                return std::abs(a.progress - progress) < std::abs(b.progress - progress);
                            })
        ->gradient;
}

inline double quantile(std::vector<double> values, double part) {
    const auto index = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
    return values[index];
}
/// Returns the median; for an even number of values, the mean of the middle two.
inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// What predictions are compared with: the run's own progress per real iteration, relative to the batch, or
/// the formula with the run's own statistics at the end of the epoch.
enum class EfficiencyTruth { measured_gain, own_statistics };

/// Returns a relative error for each epoch of the run at batch size `asked`. Its efficiency is predicted from
/// the runs at the batch sizes `known` at the same progress, with NoiseScaleEfficiency for one of them and
/// BatchDependentEfficiency for several.
inline std::vector<double> efficiency_errors(const ValidationRuns& runs, std::span<const int> known,
                                             int asked,
                                             EfficiencyTruth against = EfficiencyTruth::measured_gain) {
    const double initial = runs.begin()->first;
    std::vector<double> errors;
    std::vector<goodput::GradientAtBatch> measured;
    ValidationEpoch before{0, 0, {}};
    for (const ValidationEpoch& epoch : runs.at(asked)) {
        double truth = 0;
        if (against == EfficiencyTruth::own_statistics)
            truth = goodput::NoiseScaleEfficiency{initial, epoch.gradient}.efficiency(asked);
        else
            truth =
                (epoch.progress - before.progress) / (epoch.iteration - before.iteration) * initial / asked;
        measured.clear();
        for (const int batch : known)
            measured.push_back({static_cast<double>(batch), statistics_at(runs.at(batch), epoch.progress)});
        const double predicted =
            known.size() == 1
                ? goodput::NoiseScaleEfficiency{initial, measured.front().gradient}.efficiency(asked)
                : goodput::efficiency_from_batches(measured, initial).efficiency(asked);
        errors.push_back(std::abs(predicted / truth - 1));
        before = epoch;
    }
    return errors;
}

/// Errors over a whole application.
struct EfficiencyReport {
    std::vector<double> all, upward;  ///< errors of each epoch; upward: for larger batch sizes
    double worst_median = 0;          ///< largest median of a combination of batch sizes
    std::vector<int> worst_known{};   ///< the combination with this median
    int worst_asked = 0;
    int combinations = 0, beyond_ten_percent = 0;  ///< combinations, and those with medians above 10 %
};

/// Evaluates every choice of `known` batch sizes (1 or 2) against every other batch size.
inline EfficiencyReport efficiency_report(const ValidationRuns& runs, int known,
                                          EfficiencyTruth against = EfficiencyTruth::measured_gain) {
    EfficiencyReport report;
    const auto add = [&](const std::vector<int>& from) {
        for (const auto& [asked, run] : runs) {
            if (std::find(from.begin(), from.end(), asked) != from.end()) continue;
            const std::vector<double> errors = efficiency_errors(runs, from, asked, against);
            report.all.insert(report.all.end(), errors.begin(), errors.end());
            if (asked > from.back()) report.upward.insert(report.upward.end(), errors.begin(), errors.end());
            const double middle = median(errors);
            ++report.combinations;
            report.beyond_ten_percent += middle > 0.1;
            if (middle < report.worst_median) continue;
            report.worst_median = middle;
            report.worst_known = from;
            report.worst_asked = asked;
        }
    };
    for (auto first = runs.begin(); first != runs.end(); ++first) {
        if (known == 1) add({first->first});
        for (auto second = std::next(first); known == 2 && second != runs.end(); ++second)
            add({first->first, second->first});
    }
    return report;
}

}  // namespace support

#endif
