#ifndef GOODPUT_PROGRAM_REPORT_CHARTS_HPP
#define GOODPUT_PROGRAM_REPORT_CHARTS_HPP

// The charts in which policies are compared, as numbers: the page of --report draws them in a browser, and
// chart_files.hpp without one.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/figures.hpp"

namespace cli {

/// A number in steps: from each x on it is y, until the next point; from the last one on until `end`.
struct Line {
    std::string name{};
    std::vector<std::pair<double, double>> points{};  ///< x and y, by x
    double end = 0;
};

/// Lines over the same axes. The axis of y begins at 0.
struct Chart {
    std::string name{};   ///< as files and pages call it: small letters and hyphens
    std::string title{};  ///< what it shows, a sentence without its full stop
    std::string x_title{}, y_title{};
    bool over_time = false;    ///< x is hours since the start of the trace
    bool logarithmic = false;  ///< x, which is above 0
    double x_least = 0, x_most = 1;
    double y_most = 1;
    std::vector<Line> lines{};
};

/// Hours to a third of a second, as pages have them.
[[nodiscard]] double rounded(double hours);

/// The hour at which time axes end: when jobs of one policy alone are left, or of none where that is no
/// later than a twentieth after.
[[nodiscard]] double shown_hours(std::span<const PolicyReplay> replays);

/// Completion times, jobs that wait, GPUs that are held, restarts over time and restarts by job: a line a
/// policy, in the order of the replays. Charts over time have all of it, and say in x_most where to cut.
[[nodiscard]] std::vector<Chart> charts_of(std::span<const PolicyReplay> replays);

/// What a GPU of each pool was worth to one policy, in its own units: a line a pool. No lines where no price
/// was ever above 0. Peaks of a hundredth of the time may be above y_most. `gpu_types`: names.
[[nodiscard]] Chart price_chart(std::span<const std::string> gpu_types, const PolicyReplay& replay,
                                double hours);

}  // namespace cli

#endif
