#ifndef GOODPUT_PROGRAM_REPORT_CHARTS_HPP
#define GOODPUT_PROGRAM_REPORT_CHARTS_HPP

// The charts that compare policies, as numbers. The page of --report draws them in a browser,
// chart_files.hpp draws them without one.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/figures.hpp"

namespace cli {

/// A step function: from each x on, it is y until the next point, and after the last point until `end`.
struct Line {
    std::string name{};
    std::vector<std::pair<double, double>> points{};  ///< x and y, by x
    double end = 0;
};

/// Lines over the same axes. The y axis begins at 0.
struct Chart {
    std::string name{};   ///< name in files and pages: lower-case letters and hyphens
    std::string title{};  ///< what the chart shows: a sentence without its full stop
    std::string x_title{}, y_title{};
    bool over_time = false;    ///< x is hours since the start of the trace
    bool logarithmic = false;  ///< x is above 0 and has a logarithmic axis
    double x_least = 0, x_most = 1;
    double y_most = 1;
    std::vector<Line> lines{};
};

/// Returns hours, rounded to a third of a second as in pages.
[[nodiscard]] double rounded(double hours);

/// Returns the hour at which time axes end: when only jobs of one policy are left, or when no jobs are left
/// if that is at most a twentieth later.
[[nodiscard]] double shown_hours(std::span<const PolicyReplay> replays);

/// Completion times, waiting jobs, held GPUs, restarts over time and restarts by job, with one line per
/// policy, in the order of the replays. Charts over time are complete; x_most says where to cut them.
[[nodiscard]] std::vector<Chart> charts_of(std::span<const PolicyReplay> replays);

/// The worth of a GPU of each pool under one policy, in its own units, with one line per pool. There are no
/// lines if no price was ever above 0. The highest hundredth of the time may be above y_most. `gpu_types`
/// are names.
[[nodiscard]] Chart price_chart(std::span<const std::string> gpu_types, const PolicyReplay& replay,
                                double hours);

}  // namespace cli

#endif
