#ifndef GOODPUT_PROGRAM_REPORT_COURSES_HPP
#define GOODPUT_PROGRAM_REPORT_COURSES_HPP

// How a replay goes on over time: jobs that wait, and GPUs that are held.

#include <algorithm>
#include <utility>
#include <vector>

#include "report/figures.hpp"

namespace cli {

/// What a number is from a time on.
struct Course {
    std::vector<std::pair<double, double>> steps{};  ///< seconds and number, by time
};

/// Jobs that were submitted, are not complete, and hold nothing.
Course waiting_jobs(const PolicyReplay& replay);
/// GPUs that are held, in per cent of those that are there.
Course held_part(const PolicyReplay& replay);
/// The mean of a course, which begins at 0, over each part of so many seconds.
Course means_over(const Course& course, double part_seconds, double end_seconds);

}  // namespace cli

#endif
