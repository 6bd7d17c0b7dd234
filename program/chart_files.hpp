#ifndef GOODPUT_EXAMPLES_CLI_CHART_FILES_HPP
#define GOODPUT_EXAMPLES_CLI_CHART_FILES_HPP

// Charts as files, for papers and slides: every curve in steps, one a policy, in an SVG file that needs
// nothing else.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "figures.hpp"

namespace cli {

/// A number in steps, from left to right, up to where the chart ends.
struct Curve {
    std::string name{};
    std::vector<std::pair<double, double>> steps{};
};

/// Curves over one axis.
struct StepChart {
    std::string title{};
    std::string across{};      ///< what goes from left to right
    std::string up{};          ///< what goes upwards, from 0 on
    bool logarithmic = false;  ///< from left to right; steps at 0 or below are then left out
    std::vector<Curve> curves{};
};

/// The chart as an SVG document; its curves differ by colour and, from the seventh on, by dashes, too.
std::string svg_of(const StepChart& chart);

/// Writes completions.svg, waiting.svg, held.svg, restarts.svg and for each policy with prices
/// prices-POLICY.svg into the folder, which is made where it is not there. std::runtime_error if it cannot be
/// written. `gpu_types`: names.
void write_charts(const std::string& folder, std::span<const PolicyReplay> replays,
                  std::span<const std::string> gpu_types);

}  // namespace cli

#endif
