#ifndef GOODPUT_FIT_DETAIL_LINE_HPP
#define GOODPUT_FIT_DETAIL_LINE_HPP

// Straight lines by least squares.

#include <algorithm>

namespace goodput::inline v0_1 {

/// y = intercept + slope x.
struct Line {
    double intercept = 0;  ///< y at 0
    double slope = 0;      ///< change of y per unit of x
    /// y at x.
    [[nodiscard]] double at(double x) const { return intercept + slope * x; }
};

/// Sums over weighted points that determine a line, taken in one by one. They are kept relative to the
/// mean, so that no digits cancel.
struct LineSums {
    double weight = 0;  ///< sum of the weights
    double x = 0;       ///< weighted mean of x
    double y = 0;       ///< weighted mean of y
    double xx = 0;      ///< weighted sum of the squared deviations of x
    double xy = 0;      ///< weighted sum of the products of both deviations
    double yy = 0;      ///< weighted sum of the squared deviations of y

    /// Takes in a point with weight w, which is at least 0.
    void add(double w, double at, double value) {
        weight += w;
        if (!(weight > 0)) return;
        const double off = at - x;
        x += w / weight * off;
        const double above = value - y;
        y += w / weight * above;
        yy += w * above * (value - y);
        xx += w * off * (at - x);
        xy += w * off * (value - y);
    }

    /// Weighted sum of the squared distances from a line.
    [[nodiscard]] double squares(const Line& line) const {
        const double above = y - line.at(x);
        return std::max(yy + line.slope * (line.slope * xx - 2 * xy), 0.0) + weight * above * above;
    }

    /// Returns the least-squares line through one point. It is flat if all points have the x of that point,
    /// up to rounding.
    [[nodiscard]] Line through(double at, double value) const {
        const double square = xx + weight * (x - at) * (x - at);
        const double slope =
            square > 1e-20 * weight * at * at ? (xy + weight * (x - at) * (y - value)) / square : 0;
        return {value - slope * at, slope};
    }

    /// Returns the least-squares line.
    [[nodiscard]] Line free_line() const { return through(x, y); }

    /// Returns the least-squares line with intercept and slope not negative. No x may be negative.
    [[nodiscard]] Line line() const {
        const Line free = free_line();
        if (free.slope <= 0) return {std::max(y, 0.0), 0};
        if (free.intercept < 0) return {0, std::max(through(0, 0).slope, 0.0)};
        return free;
    }
};

}  // namespace goodput::inline v0_1

#endif
