#ifndef GOODPUT_EXAMPLES_CLI_PEERS_BOUNDED_QUASI_NEWTON_HPP
#define GOODPUT_EXAMPLES_CLI_PEERS_BOUNDED_QUASI_NEWTON_HPP

// Minimises a function of a few variables within bounds: L-BFGS-B (Byrd, Lu, Nocedal and Zhu, SIAM Journal on
// Scientific Computing 16, 1995, with the subspace step of Morales and Nocedal 2011), where a caller wants
// not just a minimum but the place at which this method stops.
//
// From x with gradient g the quadratic model g.z + z.Bz/2 is minimised in three steps. (1) Along the path
// P(x - t g), projected onto the bounds, the first local minimum (the Cauchy point): the path is straight
// between the times at which variables meet their bounds. (2) Over the variables that are free there, by
// solving with their part of B, and projecting; where that is no descent, a shorter step instead. (3) From x
// towards that point a line search (wolfe_search.hpp).
//
// B is theta I, changed by the last ten steps s and changes of the gradient y as BFGS has it, theta = y.y /
// s.y of the newest. A step without curvature is not kept. Where B is not positive definite in the numbers
// that it is held in, or the search finds no step, all pairs are forgotten. Variables whose bounds are equal
// stay, but their derivatives count in theta.
//
// It stops where the value falls by less than a part of max(|f|, 1) in an iteration, or where no component
// of the projected gradient is larger than a tolerance.
//
// With n variables and m pairs an iteration takes O(m n^2) besides the evaluations: the matrix is kept whole,
// which pays for few variables only.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "peers/wolfe_search.hpp"

namespace goodput::peers {

enum class QuasiNewtonStatus {
    small_decrease,
    small_gradient,
    limit,  ///< of iterations or evaluations
    stuck   ///< no step along the steepest descent lowers the value
};

struct QuasiNewtonOptions {
    double decrease = 1e-5;  ///< least relative fall of the value in an iteration
    double gradient = 1e-5;  ///< largest component of the projected gradient
    int max_iterations = 15000;
    int max_evaluations = 15000;
};

template <std::size_t N>
struct QuasiNewtonResult {
    std::array<double, N> point{};
    double value = 0;
    int iterations = 0;
    int evaluations = 0;
    QuasiNewtonStatus status = QuasiNewtonStatus::limit;
};

template <std::size_t N>
class BoundedQuasiNewton {
public:
    using Vector = std::array<double, N>;

    /// lower <= upper, infinite where there is none.
    BoundedQuasiNewton(const Vector& lower, const Vector& upper) : lower_(lower), upper_(upper) {}

    /// `evaluate(point, gradient)` returns the value and writes the gradient; `start` is moved into bounds.
    template <class Evaluate>
    [[nodiscard]] QuasiNewtonResult<N> minimise(const Vector& start, Evaluate&& evaluate,
                                                const QuasiNewtonOptions& options = {});

private:
    using Matrix = std::array<Vector, N>;
    static constexpr std::size_t most_pairs = 10;
    static constexpr int most_steps = 20;  ///< of a line search
    static constexpr double rounding = std::numeric_limits<double>::epsilon();

    static double dot(const Vector& a, const Vector& b) {
        double sum = 0;
        for (std::size_t i = 0; i < N; ++i) sum += a[i] * b[i];
        return sum;
    }
    static Vector times(const Matrix& matrix, const Vector& vector) {
        Vector product;
        for (std::size_t i = 0; i < N; ++i) product[i] = dot(matrix[i], vector);
        return product;
    }

    [[nodiscard]] double projected_gradient() const;
    [[nodiscard]] bool update_model();
    void find_cauchy_point();
    [[nodiscard]] bool improve_in_subspace();
    [[nodiscard]] double longest_step(const Vector& direction) const;
    void remember(const Vector& step, const Vector& change, double curvature);

    Vector lower_, upper_;
    Vector x_{}, gradient_{};
    Vector target_{};             ///< minimiser of the model
    std::array<bool, N> free_{};  ///< at the Cauchy point
    std::array<Vector, most_pairs> steps_{}, changes_{};
    std::array<double, most_pairs> curvatures_{};
    std::size_t pairs_ = 0, oldest_ = 0;
    double scale_ = 1;  ///< theta
    Matrix model_{};    ///< B
};

template <std::size_t N>
template <class Evaluate>
QuasiNewtonResult<N> BoundedQuasiNewton<N>::minimise(const Vector& start, Evaluate&& evaluate,
                                                     const QuasiNewtonOptions& options) {
    pairs_ = 0;
    scale_ = 1;
    for (std::size_t i = 0; i < N; ++i) x_[i] = std::min(std::max(start[i], lower_[i]), upper_[i]);
    QuasiNewtonResult<N> result;
    result.value = evaluate(x_, gradient_);
    result.evaluations = 1;
    const auto ended = [&](QuasiNewtonStatus status) {
        result.point = x_;
        result.status = status;
        return result;
    };
    if (projected_gradient() <= options.gradient) return ended(QuasiNewtonStatus::small_gradient);
    while (result.iterations < options.max_iterations && result.evaluations < options.max_evaluations) {
        const auto forget = [&] {
            pairs_ = 0;
            scale_ = 1;
        };
        if (!update_model()) {
            forget();
            continue;
        }
        find_cauchy_point();
        if (pairs_ > 0 && !improve_in_subspace()) {
            forget();
            continue;
        }
        Vector direction;
        for (std::size_t i = 0; i < N; ++i) direction[i] = target_[i] - x_[i];
        const double slope = dot(gradient_, direction);
        const double longest = result.iterations == 0 ? 1 : longest_step(direction);
        // The first direction has the gradient's length, which says nothing of the step.
        const double first =
            result.iterations == 0 ? std::min(1 / std::sqrt(dot(direction, direction)), longest) : 1;

        const Vector from = x_, gradient_there = gradient_;
        const double value_there = result.value;
        WolfeSearch search(value_there, slope, first, longest);
        double slope_here = slope;
        int tried = 0;
        while (slope < 0 && !search.done() && tried < most_steps) {
            const double step = search.step();
            for (std::size_t i = 0; i < N; ++i) {
                const double moved = step == 1 ? target_[i] : from[i] + step * direction[i];
                x_[i] = std::min(std::max(moved, lower_[i]), upper_[i]);
            }
            result.value = evaluate(x_, gradient_);
            ++result.evaluations;
            ++tried;
            slope_here = dot(gradient_, direction);
            search.tell(result.value, slope_here);
        }
        if (!search.done()) {
            x_ = from;
            gradient_ = gradient_there;
            result.value = value_there;
            if (pairs_ == 0) return ended(QuasiNewtonStatus::stuck);
            forget();
            continue;
        }
        ++result.iterations;
        if (projected_gradient() <= options.gradient) return ended(QuasiNewtonStatus::small_gradient);
        const double size = std::max({std::abs(value_there), std::abs(result.value), 1.0});
        if (value_there - result.value <= options.decrease * size)
            return ended(QuasiNewtonStatus::small_decrease);

        Vector step, change;
        for (std::size_t i = 0; i < N; ++i) {
            step[i] = search.step() * direction[i];
            change[i] = gradient_[i] - gradient_there[i];
        }
        const double curvature = search.step() * (slope_here - slope);
        if (curvature > rounding * search.step() * -slope) remember(step, change, curvature);
    }
    return ended(QuasiNewtonStatus::limit);
}

/// The largest way that a variable could go downhill, in units of its gradient.
template <std::size_t N>
double BoundedQuasiNewton<N>::projected_gradient() const {
    double largest = 0;
    for (std::size_t i = 0; i < N; ++i) {
        const double allowed = gradient_[i] < 0 ? std::max(x_[i] - upper_[i], gradient_[i])
                                                : std::min(x_[i] - lower_[i], gradient_[i]);
        largest = std::max(largest, std::abs(allowed));
    }
    return largest;
}

template <std::size_t N>
void BoundedQuasiNewton<N>::remember(const Vector& step, const Vector& change, double curvature) {
    const std::size_t at = (oldest_ + pairs_) % most_pairs;
    if (pairs_ == most_pairs)
        oldest_ = (oldest_ + 1) % most_pairs;
    else
        ++pairs_;
    steps_[at] = step;
    changes_[at] = change;
    curvatures_[at] = curvature;
    scale_ = dot(change, change) / curvature;
}

/// Writes B; false where rounding has made it indefinite.
template <std::size_t N>
bool BoundedQuasiNewton<N>::update_model() {
    for (std::size_t i = 0; i < N; ++i) {
        model_[i].fill(0);
        model_[i][i] = scale_;
    }
    for (std::size_t k = 0; k < pairs_; ++k) {
        const std::size_t at = (oldest_ + k) % most_pairs;
        const Vector& y = changes_[at];
        const Vector image = times(model_, steps_[at]);
        const double before = dot(steps_[at], image);
        if (!(before > 0)) return false;
        const double gained = 1 / curvatures_[at], lost = 1 / before;
        for (std::size_t i = 0; i < N; ++i) {
            const double by_change = gained * y[i], by_image = lost * image[i];
            for (std::size_t j = 0; j < N; ++j) model_[i][j] += by_change * y[j] - by_image * image[j];
        }
    }
    return true;
}

/// The first local minimum of the model along the projected path of steepest descent, and who is free there.
template <std::size_t N>
void BoundedQuasiNewton<N>::find_cauchy_point() {
    constexpr double never = std::numeric_limits<double>::infinity();
    Vector direction{}, meets_bound;  // time at which a variable meets its bound
    target_ = x_;
    for (std::size_t i = 0; i < N; ++i) {
        const double downhill = -gradient_[i];
        const bool held = lower_[i] == upper_[i] || (x_[i] <= lower_[i] && downhill <= 0) ||
                          (x_[i] >= upper_[i] && downhill >= 0);
        free_[i] = !held;
        meets_bound[i] = never;
        if (held || downhill == 0) continue;
        direction[i] = downhill;
        const double room = downhill < 0 ? x_[i] - lower_[i] : upper_[i] - x_[i];
        meets_bound[i] = room / std::abs(downhill);
    }
    double slope = -dot(direction, direction);
    if (slope == 0) return;
    double curvature = dot(direction, times(model_, direction));
    const double least_curvature = rounding * curvature;
    double time = 0;
    Vector moved{};
    for (;;) {
        const auto next = std::min_element(meets_bound.begin(), meets_bound.end());
        const double to_minimum = -slope / curvature;
        if (*next == never || to_minimum < *next - time) {
            time += std::max(to_minimum, 0.0);
            for (std::size_t i = 0; i < N; ++i)
                if (direction[i] != 0) target_[i] = x_[i] + time * direction[i];
            return;
        }
        // As in the paper by what changes: the same numbers anew would be rounded otherwise, and large
        // gradients at small lower bounds leave few digits.
        const auto at = static_cast<std::size_t>(next - meets_bound.begin());
        const double passed = *next - time, gone = direction[at];
        time = *next;
        target_[at] = gone > 0 ? upper_[at] : lower_[at];
        for (std::size_t i = 0; i < N; ++i) moved[i] += passed * direction[i];
        moved[at] = target_[at] - x_[at];
        slope = slope + passed * curvature + gone * gone - gone * dot(model_[at], moved);
        curvature -= 2 * gone * dot(model_[at], direction) - gone * gone * model_[at][at];
        curvature = std::max(curvature, least_curvature);
        direction[at] = 0;
        free_[at] = false;
        meets_bound[at] = never;
    }
}

/// Moves the target from the Cauchy point towards the model's minimum over the free variables; false where
/// their part of B is not positive definite.
template <std::size_t N>
bool BoundedQuasiNewton<N>::improve_in_subspace() {
    std::array<std::size_t, N> index{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < N; ++i)
        if (free_[i]) index[count++] = i;
    if (count == 0) return true;

    Vector moved, newton{};
    for (std::size_t i = 0; i < N; ++i) moved[i] = target_[i] - x_[i];
    Matrix root{};  // of B's part, lower triangle; forwards through the right-hand side at once
    for (std::size_t i = 0; i < count; ++i) {
        double right = -gradient_[index[i]] - dot(model_[index[i]], moved);
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = model_[index[i]][index[j]];
            for (std::size_t k = 0; k < j; ++k) sum -= root[i][k] * root[j][k];
            if (j < i) {
                root[i][j] = sum / root[j][j];
                right -= root[i][j] * newton[j];
            } else {
                if (!(sum > 0)) return false;
                root[i][i] = std::sqrt(sum);
            }
        }
        newton[i] = right / root[i][i];
    }
    for (std::size_t i = count; i-- > 0;) {
        for (std::size_t k = i + 1; k < count; ++k) newton[i] -= root[k][i] * newton[k];
        newton[i] /= root[i][i];
    }

    const Vector cauchy = target_;
    bool cut = false;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = index[i];
        target_[at] = std::min(std::max(cauchy[at] + newton[i], lower_[at]), upper_[at]);
        cut = cut || target_[at] == lower_[at] || target_[at] == upper_[at];
    }
    double slope = 0;
    for (std::size_t i = 0; i < N; ++i) slope += (target_[i] - x_[i]) * gradient_[i];
    if (!cut || slope <= 0) return true;

    // Projected it leads uphill: as far as the first bound, then.
    double part = 1;
    std::size_t first = count;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = index[i];
        const double room = newton[i] < 0 ? lower_[at] - cauchy[at] : upper_[at] - cauchy[at];
        if (newton[i] == 0 || std::abs(part * newton[i]) <= std::abs(room)) continue;
        part = room / newton[i];
        first = i;
    }
    for (std::size_t i = 0; i < count; ++i) target_[index[i]] = cauchy[index[i]] + part * newton[i];
    if (first < count)
        target_[index[first]] = newton[first] < 0 ? lower_[index[first]] : upper_[index[first]];
    return true;
}

/// How far `direction` can be followed within bounds.
template <std::size_t N>
double BoundedQuasiNewton<N>::longest_step(const Vector& direction) const {
    double longest = 1e10;
    for (std::size_t i = 0; i < N; ++i) {
        if (direction[i] == 0) continue;
        const double room = direction[i] < 0 ? lower_[i] - x_[i] : upper_[i] - x_[i];
        if (std::abs(direction[i] * longest) > std::abs(room)) longest = room / direction[i];
    }
    return longest;
}

}  // namespace goodput::peers

#endif
