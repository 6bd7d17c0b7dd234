#ifndef GOODPUT_FIT_DETAIL_LINE_HPP
#define GOODPUT_FIT_DETAIL_LINE_HPP

// Straight lines of least squares.

#include <algorithm>

namespace goodput {

/// y = intercept + slope x.
struct Line {
    double intercept = 0;  ///< y at 0
    double slope = 0;      ///< of y by x
    /// y at x.
    [[nodiscard]] double at(double x) const { return intercept + slope * x; }
};

/// What weighted points say of a line, taken in one by one: kept about their mean, where nothing cancels.
struct LineSums {
    double weight = 0;  ///< sum of the weights
    double x = 0;       ///< mean
    double y = 0;       ///< mean
    double xx = 0;      ///< weighted sum of products of the distances from the means
    double xy = 0;      ///< the same
    double yy = 0;      ///< the same

    /// Takes in a point of weight w, at least 0.
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

    /// Of all lines through one point, that of least squares; flat where all points have its x, but for
    /// rounding.
    [[nodiscard]] Line through(double at, double value) const {
        const double square = xx + weight * (x - at) * (x - at);
        const double slope =
            square > 1e-20 * weight * at * at ? (xy + weight * (x - at) * (y - value)) / square : 0;
        return {value - slope * at, slope};
    }

    /// Of all lines.
    [[nodiscard]] Line free_line() const { return through(x, y); }

    /// Of those with neither intercept nor slope negative, where no x is.
    [[nodiscard]] Line line() const {
        const Line free = free_line();
        if (free.slope <= 0) return {std::max(y, 0.0), 0};
        if (free.intercept < 0) return {0, std::max(through(0, 0).slope, 0.0)};
        return free;
    }
};

}  // namespace goodput

#endif
