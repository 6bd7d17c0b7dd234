#ifndef GOODPUT_AGENT_GRADIENT_PRECONDITIONER_HPP
#define GOODPUT_AGENT_GRADIENT_PRECONDITIONER_HPP

// In which metric is a gradient's norm taken? An optimiser that divides gradients by a diagonal P sees the
// noise of P^-1 g, so that is what the noise scale of its training is computed from (Pollux's released code,
// gradient_noise_scale.py):
//
//     SGD     P = 1
//     Adam    P_i = sqrt(v_i / (1 - beta2^step)) + epsilon       once step >= 5; before, v is too poor: P = 1
//
// v must not contain the gradient that is measured yet, or large gradients divide themselves by themselves:
// take P before the optimiser's update.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "goodput/core/error.hpp"

namespace goodput {

/// A diagonal metric: `inverse(i)` is 1 / P_i for parameter i, `ready()` whether it is to be used at all
/// (else P = 1), `check(parameters)` refuses what cannot be one for so many parameters
/// (std::invalid_argument). Satisfied by IdentityPreconditioner and AdamPreconditioner.
template <class P>
concept GradientPreconditioner = requires(const P& p, std::size_t i) {
    { p.ready() } -> std::convertible_to<bool>;
    { p.inverse(i) } -> std::convertible_to<double>;
    p.check(i);
};

/// SGD: gradients as they are.
struct IdentityPreconditioner {
    /// P = 1 always.
    [[nodiscard]] static constexpr bool ready() { return false; }
    /// 1.
    [[nodiscard]] static constexpr double inverse(std::size_t) { return 1; }
    /// Refuses nothing.
    static constexpr void check(std::size_t) {}
};

/// Adam and AdamW.
template <std::floating_point Real>
struct AdamPreconditioner {
    std::span<const Real> second_moments{};  ///< v, not corrected for its start; one a parameter
    std::int64_t step = 0;                   ///< updates that v has seen
    double beta2 = 0.999;                    ///< in (0, 1)
    double epsilon = 1e-8;                   ///< above 0

    /// Whether v has seen enough updates.
    [[nodiscard]] bool ready() const { return step >= 5; }

    /// 1 / P_i.
    [[nodiscard]] double inverse(std::size_t i) const { return inverse(i, correction()); }

    /// The same with correction() computed once for all parameters.
    [[nodiscard]] double inverse(std::size_t i, double correction) const {
        return 1 / (std::sqrt(static_cast<double>(second_moments[i]) * correction) + epsilon);
    }

    /// What v is multiplied by for its start at zero.
    [[nodiscard]] double correction() const {
        return -1 / std::expm1(static_cast<double>(step) * std::log(beta2));
    }

    /// Refuses another number of moments than parameters, and settings outside their ranges.
    void check(std::size_t parameters) const {
        if (!(beta2 > 0 && beta2 < 1)) bad_input("Adam", "beta2", beta2, "between 0 and 1");
        require_positive("Adam", "epsilon", epsilon);
        require_at_least("Adam", "step", static_cast<double>(step), 0);
        if (ready() && second_moments.size() != parameters)
            bad_input("Adam", "number of second moments", second_moments.size(), text_of(parameters));
    }
};

}  // namespace goodput

#endif
