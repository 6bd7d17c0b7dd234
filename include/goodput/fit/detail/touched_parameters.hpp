#ifndef GOODPUT_FIT_DETAIL_TOUCHED_PARAMETERS_HPP
#define GOODPUT_FIT_DETAIL_TOUCHED_PARAMETERS_HPP

// Parameters that become variables when they are read. A value computed from a few of many parameters then
// carries derivatives with respect to these few only (Ceres' jets).

#include <ceres/jet.h>

#include <array>
#include <cstddef>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1::detail {

/// The parameters at `values`. At most `Most` different ones may be read.
template <int Most>
class TouchedParameters {
public:
    using Scalar = ceres::Jet<double, Most>;

    explicit TouchedParameters(const double* values) : values_(values) {}

    /// Reads a parameter as a variable. Throws std::invalid_argument if more than `Most` are read.
    [[nodiscard]] Scalar operator[](std::size_t i) {
        int slot = 0;
        while (slot < count_ && at_[static_cast<std::size_t>(slot)] != i) ++slot;
        if (slot == count_) {
            if (count_ == Most)
                bad_input("throughput terms", "most_touched", Most, "all parameters that one term reads");
            at_[static_cast<std::size_t>(count_++)] = i;
        }
        return Scalar(values_[i], slot);
    }

    /// Calls visit(i, derivative by parameter i) for the parameters read so far.
    template <class Visit>
    void for_each_derivative(const Scalar& term, Visit visit) const {
        for (int slot = 0; slot < count_; ++slot) visit(at_[static_cast<std::size_t>(slot)], term.v[slot]);
    }

private:
    const double* values_;
    std::array<std::size_t, static_cast<std::size_t>(Most)> at_{};
    int count_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
