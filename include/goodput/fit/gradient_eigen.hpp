#ifndef GOODPUT_FIT_GRADIENT_EIGEN_HPP
#define GOODPUT_FIT_GRADIENT_EIGEN_HPP

// Eigen's vectors as the spans that GradientStream takes, without a copy.

#include <cstddef>
#include <span>

#include <Eigen/Core>

#include "goodput/core/error.hpp"

namespace goodput {

/// The numbers of a vector or matrix (Eigen::VectorXd, MatrixXf, Map, Ref, a block), which must outlive the
/// span. Expressions are not accepted: evaluate them first. Refuses numbers that do not lie side by side
/// (std::invalid_argument).
template <class Derived>
[[nodiscard]] std::span<const typename Derived::Scalar> as_span(const Eigen::DenseBase<Derived>& gradient) {
    static_assert((Derived::Flags & Eigen::DirectAccessBit) != 0, "evaluate the expression first");
    const Derived& dense = gradient.derived();
    const bool contiguous = dense.size() <= 1 || (dense.innerStride() == 1 &&
                                                  (Derived::IsVectorAtCompileTime || dense.outerSize() == 1 ||
                                                   dense.outerStride() == dense.innerSize()));
    if (!contiguous) bad_input("gradient", "stride", "not 1", "1: numbers side by side");
    return {dense.data(), static_cast<std::size_t>(dense.size())};
}

}  // namespace goodput

#endif
