#ifndef GOODPUT_PROGRAM_REPORT_CHART_FILES_HPP
#define GOODPUT_PROGRAM_REPORT_CHART_FILES_HPP

// Charts as files, for papers and slides: every curve in steps, one per policy, in a self-contained SVG
// file.

#include <span>
#include <string>

#include "report/charts.hpp"

namespace cli {

/// Returns the chart as an SVG document. Its lines differ by colour and, from the seventh on, also by
/// dashes.
std::string svg_of(const Chart& chart);

/// Writes completions.svg, waiting.svg, held.svg, restarts.svg, restarts-by-job.svg and, for each policy
/// with prices, prices-POLICY.svg into the folder. Creates the folder if necessary. Throws
/// std::runtime_error if it cannot be written. `gpu_types` are names.
void write_charts(const std::string& folder, std::span<const PolicyReplay> replays,
                  std::span<const std::string> gpu_types);

}  // namespace cli

#endif
