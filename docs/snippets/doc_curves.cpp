// Estimates from its metric how long a training still takes, alone and with earlier jobs of the kind.

#include <goodput/tasks/learning_curve.hpp>
#include <iostream>
#include <vector>

using namespace goodput;

int main() {
    // [forecast]
    const std::vector<double> accuracy{0.44, 0.60, 0.66, 0.75, 0.78, 0.80,
                                       0.82, 0.83, 0.85, 0.85, 0.86, 0.87};
    const CurveTarget target{.metric = 0.93};
    std::vector<CurvePoint> seen;
    for (const double now : accuracy) {
        const double epochs = static_cast<double>(seen.size()) + 1;
        seen.push_back({epochs, now});
        if (seen.size() % 4 != 0) continue;
        const CurveForecast alone = forecast_curve(seen, target, epochs);
        const CurveForecast informed = forecast_curve(seen, target, epochs, {.earlier_totals = {55, 70, 60}});
        std::cout << "after " << epochs << " epochs: " << alone.remaining << " more, between "
                  << alone.interval.low << " and " << alone.interval.high << "; with earlier jobs "
                  << informed.remaining << ", between " << informed.interval.low << " and "
                  << informed.interval.high << "\n";
    }
    // [/forecast]
    return 0;
}
