#ifndef GOODPUT_EXAMPLES_CLI_FIT_HPP
#define GOODPUT_EXAMPLES_CLI_FIT_HPP

namespace cli {

/// `goodput fit`: measurements of jobs from standard input. Returns the exit status.
int run_fit();

}  // namespace cli

#endif
