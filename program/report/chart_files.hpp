#ifndef GOODPUT_PROGRAM_REPORT_CHART_FILES_HPP
#define GOODPUT_PROGRAM_REPORT_CHART_FILES_HPP

// Charts as files, for papers and slides: every curve in steps, one a policy, in an SVG file that needs
// nothing else.

#include <span>
#include <string>

#include "report/charts.hpp"

namespace cli {

/// The chart as an SVG document; its lines differ by colour and, from the seventh on, by dashes, too.
std::string svg_of(const Chart& chart);

/// Writes completions.svg, waiting.svg, held.svg, restarts.svg, restarts-by-job.svg and for each policy with
/// prices prices-POLICY.svg into the folder, which is made where it is not there. std::runtime_error if it
/// cannot be written. `gpu_types`: names.
void write_charts(const std::string& folder, std::span<const PolicyReplay> replays,
                  std::span<const std::string> gpu_types);

}  // namespace cli

#endif
