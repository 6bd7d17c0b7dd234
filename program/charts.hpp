#ifndef GOODPUT_EXAMPLES_CLI_CHARTS_HPP
#define GOODPUT_EXAMPLES_CLI_CHARTS_HPP

// What the page's pictures have in common: their size, the axis of time, and the axis of logarithmic hours.

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "figures.hpp"
#include "report.hpp"

namespace cli {

/// Colours that the page's style knows for applications and pools; more share the last one.
inline constexpr std::size_t colours = 8;
inline std::size_t colour_of(std::size_t index) { return index < colours ? index : colours - 1; }
/// A policy's class in the page's style: twelve colours, from the seventh on dashed as well, so that curves
/// can be told apart without colours; then they begin again.
inline constexpr std::size_t policy_colours = 12;
inline std::string policy_class(std::size_t index) { return "p" + std::to_string(index % policy_colours); }

/// Where a picture's curves are drawn, in its own units.
struct Frame {
    double left = 96, top = 8, width = 1052, height = 200;
    [[nodiscard]] double right() const { return left + width; }
    [[nodiscard]] double bottom() const { return top + height; }
};

/// Time in whole quanta, so that no picture needs fractions; all pictures of a page share it.
struct TimeAxis {
    double quantum_seconds = 1;
    long end = 1;  ///< quanta

    [[nodiscard]] long at(double seconds) const;
    [[nodiscard]] double hours(long quanta) const {
        return static_cast<double>(quanta) * quantum_seconds / 3600;
    }
};
TimeAxis time_axis_of(std::span<const PolicyReplay> replays);

/// Opens and ends a picture of that size that `label` describes.
void begin_picture(std::ostream& out, double width, double height, const std::string& label,
                   const std::string& attributes = {});
void end_picture(std::ostream& out);

/// Opens a view into the frame with quanta to the right and `units` downwards, which the script zooms.
void begin_time_view(std::ostream& out, const Frame& frame, const TimeAxis& axis, double units,
                     const std::string& attributes = {}, const std::string& style = {});
void end_time_view(std::ostream& out);

/// Grid lines, hours and, below, what they are. The script draws it anew when it zooms.
void write_time_axis(std::ostream& out, const Frame& frame, const TimeAxis& axis);

/// Marks from 0 to at least `most` at about `count` round values.
struct Scale {
    std::vector<double> marks{};
    int digits = 0;
    [[nodiscard]] double most() const { return marks.back(); }
};
Scale scale_to(double most, int count);

/// Lines across the frame at the scale's marks, with their values and `unit` to the left.
void write_scale(std::ostream& out, const Frame& frame, const Scale& scale, const std::string& unit = {});

/// Positive hours from `low` to `high` on a logarithmic axis.
struct LogAxis {
    double low = 0.01, high = 1;
    [[nodiscard]] double fraction(double hours) const;
};
LogAxis log_axis_of(std::span<const PolicyReplay> replays);
void write_log_axis(std::ostream& out, const Frame& frame, const LogAxis& axis, const std::string& label);

/// Hours from submission to completion, by job; below 0: not completed.
std::vector<double> completion_hours(const goodput::ReplayResult& result);

/// Applications with their colours.
void write_legend(std::ostream& out, std::span<const std::string> applications);
/// Policies with theirs.
void write_legend(std::ostream& out, std::span<const PolicyReplay> replays);

// The page's pictures. Each draws what its name says, and nothing where there is nothing to draw.

/// One cumulative curve a policy, and below it, on the same axis, boxes by application.
void write_completions(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays);
/// Restarts over time and by job.
void write_restarts(std::ostream& out, std::span<const PolicyReplay> replays, const TimeAxis& axis);
/// Jobs that wait and GPUs that are held, over time.
void write_load(std::ostream& out, std::span<const PolicyReplay> replays, const TimeAxis& axis);
/// Who held which GPUs when, one lane a GPU type. `index`: of the policy.
void write_gpus(std::ostream& out, const ReplayedTrace& trace, const PolicyReplay& replay,
                const TimeAxis& axis, std::size_t index);
/// Prices of the pools over time.
void write_prices(std::ostream& out, const ReplayedTrace& trace, const PolicyReplay& replay,
                  const TimeAxis& axis);

/// The page's style sheet and script.
extern const char* const report_style;
extern const char* const report_script;

}  // namespace cli

#endif
