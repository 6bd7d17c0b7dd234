#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_BOX_BACKEND_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_BOX_BACKEND_HPP

#include "goodput/fit/least_squares.hpp"
#include "peers/pollux/pollux_residuals.hpp"

namespace goodput::peers {

/// All of Ceres Solver, which respects bounds: the backend of a fit. Tests can pass a worse one. Compiled
/// separately, because ceres.h brings glog's macros with it.
struct BoxBackend {
    /// Moves `x` to a local minimum within the box, if any point there is better than the start.
    Minimisation minimise(const PolluxResiduals& residuals, const PolluxBox& box, PolluxPoint& x,
                          const LeastSquaresOptions& options) const;
};

}  // namespace goodput::peers

#endif
