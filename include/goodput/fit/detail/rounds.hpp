#ifndef GOODPUT_FIT_DETAIL_ROUNDS_HPP
#define GOODPUT_FIT_DETAIL_ROUNDS_HPP

// How residuals count depends on the parameters, and the other way round: so a fit takes turns.

#include <algorithm>
#include <cmath>
#include <span>

#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/fit_status.hpp"
#include "goodput/fit/least_squares.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/fit/throughput_residuals.hpp"

namespace goodput::detail {

/// How far steps scatter about a model, and what that rests on.
struct Scatter {
    double deviation = 0, freedom = 0;

    /// From weighted squared errors, less what so many parameters have taken up.
    Scatter(double squares, double weights, double parameters) {
        // A scatter of 3 %, worth two samples, is assumed beforehand: a perfect fit to few samples proves
        // little. Priors hold parameters back, so that they take up less than one sample each.
        constexpr double assumed_deviation = 0.03, assumed_freedom = 2;
        freedom = weights - std::min(parameters, weights / 2) + assumed_freedom;
        deviation = std::sqrt((squares + assumed_freedom * square(assumed_deviation)) / freedom);
    }
};

/// Minimises roughly as long as the scatter or a weight still changes by more than 5 %, then for good. Counts
/// on from `fit.iterations`. `adjust(scatter)` may change the scatter that the residuals at `x` ask for, and
/// says whether it changed the residuals otherwise.
template <ThroughputTerms Terms, class Fit, class Adjust>
FitStatus minimise_in_rounds(Minimise minimise, MinimiserBuffers& buffers,
                             ThroughputResiduals<Terms>& residuals, FitParameters& x, int max_iterations,
                             bool robust, Fit& fit, Adjust adjust) {
    const auto weigh = [&] {
        constexpr double much = 0.05;
        const WeighedRows weighed = residuals.weigh(x, robust);
        fit.stragglers = weighed.stragglers;
        double scatter = Scatter(weighed.squares, weighed.weights, residuals.parameters()).deviation;
        const bool adjusted = adjust(scatter);
        const double change = std::abs(std::log(scatter / residuals.scatter));
        residuals.scatter = scatter;
        return adjusted || change > much || weighed.largest_change > much;
    };
    weigh();
    bool settled = false;
    for (int round = 0;; ++round) {
        FitParameters y = residuals.to_units(x);
        const Minimisation found = minimise(residuals, std::span(y).first(residuals.terms.parameters()),
                                            {.max_iterations = max_iterations - fit.iterations,
                                             .relative_tolerance = 1e-11,
                                             .absolute_tolerance = settled ? 1e-5 : 1e-2,
                                             .rough = !settled},
                                            buffers);
        x = residuals.from_units(y.data());
        fit.iterations += found.iterations;
        if (settled || !is_fitted(found.status) || fit.iterations >= max_iterations) return found.status;
        settled = !weigh() || round == 7;
    }
}

}  // namespace goodput::detail

#endif
