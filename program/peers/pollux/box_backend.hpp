#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_BOX_BACKEND_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_BOX_BACKEND_HPP

#include "goodput/fit/least_squares.hpp"
#include "peers/pollux/pollux_residuals.hpp"

namespace goodput::peers {

/// The whole of Ceres Solver, which keeps to bounds: what a fit takes for a backend, so that tests can give
/// it a worse one. Compiled by itself, because ceres.h brings glog's macros along.
struct BoxBackend {
    /// Moves `x` to a local minimum within the box, if any point there is better than where it starts.
    Minimisation minimise(const PolluxResiduals& residuals, const PolluxBox& box, PolluxPoint& x,
                          const LeastSquaresOptions& options) const;
};

}  // namespace goodput::peers

#endif
