#ifndef GOODPUT_TESTS_SUPPORT_RATED_SPEEDS_HPP
#define GOODPUT_TESTS_SUPPORT_RATED_SPEEDS_HPP

// A predictor and a policy that compile quickly.

#include <algorithm>
#include <cmath>
#include <span>

#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace support {

/// The goodput of one GPU is the reference rate, or 10 without one; each further GPU adds less.
struct RatedSpeeds {
    void operator()(const goodput::Job& job, const goodput::JobModel&,
                    std::span<goodput::Option> options) const {
        for (goodput::Option& option : options) {
            const goodput::PoolShare& part = option.configuration.first();
            const double rate = job.types[part.gpu_type].reference_rate;
            option.goodput = (rate > 0 ? rate : 10) * std::pow(part.shape.gpus, 0.8);
            option.plan = {1, 0};
            option.knowledge = goodput::Knowledge::measured;
        }
    }
};

struct RootOfGoodput {
    [[nodiscard]] double value(const goodput::Round&, const goodput::Job&,
                               const goodput::Option& option) const {
        return std::sqrt(std::max(option.goodput, 0.0));
    }
};

}  // namespace support

#endif
