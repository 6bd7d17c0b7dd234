#ifndef GOODPUT_TESTS_FIT_PUBLISHED_FITS_HPP
#define GOODPUT_TESTS_FIT_PUBLISHED_FITS_HPP

// The errors of the released fit on the published profiles, and these samples.

#include <array>
#include <string>
#include <vector>

#include "goodput/core/sample.hpp"
#include "support/profiles.hpp"

namespace support {

struct PublishedFit {
    const char* application;
    const char* type;
    double step_rmsle;
};

// Root mean square errors of ln(step time) of the released fit of Pollux and Sia, over all of an
// application's placements: objective, bounds, start and tolerance (1e-5) as published, scipy 1.10's
// L-BFGS-B, exact gradient. Made by benchmarks/compare/published_fit.py, column `step`.
inline constexpr std::array<PublishedFit, 18> published_fits{{
    {"bert", "aws", 0.122099},
    {"bert", "dgx-ext", 0.032418},
    {"bert", "rtx", 0.097652},
    {"cifar10", "aws", 0.199349},
    {"cifar10", "dgx-ext", 0.059592},
    {"cifar10", "rtx", 0.147934},
    {"deepspeech2", "aws", 0.108778},
    {"deepspeech2", "dgx-ext", 0.085379},
    {"deepspeech2", "rtx", 0.111737},
    {"imagenet", "aws", 0.147493},
    {"imagenet", "dgx-ext", 0.102341},
    {"imagenet", "rtx", 0.083321},
    {"ncf", "aws", 0.240115},
    {"ncf", "dgx-ext", 0.155137},
    {"ncf", "rtx", 0.088394},
    {"yolov3", "aws", 0.126282},
    {"yolov3", "dgx-ext", 0.273341},
    {"yolov3", "rtx", 0.127175},
}};

/// Returns all measured placements of an application on a GPU type.
inline std::vector<goodput::ThroughputSample> measured_samples(const std::string& application,
                                                               const std::string& type) {
    const std::string folder = std::string(GOODPUT_DATA_DIR "/sia/profiles/") + application;
    std::vector<goodput::ThroughputSample> samples;
    for (const goodput::PlacementSample& placement : read_profile(folder, type).placements) {
        goodput::Shape shape{static_cast<int>(placement.gpus_by_node.size()), 0};
        for (const int gpus : placement.gpus_by_node) shape.gpus += gpus;
        samples.push_back(
            {shape, {placement.atomic_batch, 0}, placement.step_seconds, placement.sync_seconds});
    }
    return samples;
}

}  // namespace support

#endif
