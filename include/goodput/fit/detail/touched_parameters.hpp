#ifndef GOODPUT_FIT_DETAIL_TOUCHED_PARAMETERS_HPP
#define GOODPUT_FIT_DETAIL_TOUCHED_PARAMETERS_HPP

// Parameters that become variables when they are read, so that what is computed of a few of many carries the
// derivatives by these few alone (Ceres' jets).

#include <ceres/jet.h>

#include <array>
#include <cstddef>

#include "goodput/core/error.hpp"

namespace goodput::detail {

/// The parameters at `values`, of which at most `Most` different ones are read.
template <int Most>
class TouchedParameters {
public:
    using Scalar = ceres::Jet<double, Most>;

    explicit TouchedParameters(const double* values) : values_(values) {}

    /// A variable.
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

    /// Calls visit(i, derivative by parameter i) for what was read so far.
    template <class Visit>
    void for_each_derivative(const Scalar& of, Visit visit) const {
        for (int slot = 0; slot < count_; ++slot) visit(at_[static_cast<std::size_t>(slot)], of.v[slot]);
    }

private:
    const double* values_;
    std::array<std::size_t, static_cast<std::size_t>(Most)> at_{};
    int count_ = 0;
};

}  // namespace goodput::detail

#endif
