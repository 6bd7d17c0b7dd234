#ifndef GOODPUT_PROGRAM_REPORT_COURSES_HPP
#define GOODPUT_PROGRAM_REPORT_COURSES_HPP

// The course of a replay over time: waiting jobs and held GPUs.

#include <algorithm>
#include <utility>
#include <vector>

#include "report/figures.hpp"

namespace cli {

/// A number over time, by its changes.
struct Course {
    std::vector<std::pair<double, double>> steps{};  ///< seconds and number, by time
};

/// Jobs that were submitted, are not complete, and hold nothing.
Course waiting_jobs(const PolicyReplay& replay);
/// GPUs that are held, in per cent of those that exist.
Course held_part(const PolicyReplay& replay);
/// Returns the mean of a course, which begins at 0, over each period of that many seconds.
Course means_over(const Course& course, double part_seconds, double end_seconds);

}  // namespace cli

#endif
