#ifndef GOODPUT_PROGRAM_PLAN_FIT_HPP
#define GOODPUT_PROGRAM_PLAN_FIT_HPP

#include <iosfwd>

namespace cli {

/// `goodput fit`: measurements of jobs, one a line. Returns the exit status.
int run_fit(bool strict, std::istream& in, std::ostream& out);

}  // namespace cli

#endif
