#ifndef GOODPUT_EXAMPLES_CLI_JOB_FIT_HPP
#define GOODPUT_EXAMPLES_CLI_JOB_FIT_HPP

// One job on several GPU types: each type's own fit, and predictions that borrow from the other types what a
// type's own samples leave open. Computing differs between GPU types by more than synchronising measured in
// units of computing, so a borrowed synchronisation time is scaled by the ratio of the computing times (so
// does Sia, SOSP'23, section 3.2, for a type that has run on one GPU only):
//
//     never several replicas        all of the synchronisation is borrowed
//     never a third replica         what each further replica adds is borrowed
//     one node only                 several nodes are 1.1 times one node, as the fit has it
//     no samples at all             computing is borrowed too, as it is
//
// The lender is a GPU type measured on several replicas of that kind (one node, or several), if there is one,
// and of these the one measured on most, the first of equals. What is borrowed may be wrong by a factor, and
// the prediction's range is widened by that.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/fit/throughput_fit.hpp"

namespace cli {

struct Prediction {
    double seconds = 0;
    double low_seconds = 0, high_seconds = 0;  ///< enclose the central 90 %
};

class JobFit {
public:
    /// Adds a checked measurement on a GPU type.
    void add(const std::string& gpu_type, const goodput::ThroughputSample& sample);
    /// Fits every GPU type.
    void fit(goodput::ThroughputFitter& fitter, const std::string& subject);
    /// Seconds of an iteration; none where there are no samples at all.
    [[nodiscard]] std::optional<Prediction> predict(const std::string& gpu_type, goodput::Shape shape,
                                                    goodput::BatchPlan plan) const;

    struct OfType {
        std::string name{};
        std::vector<goodput::ThroughputSample> samples{};
        goodput::ThroughputFit fit{};
        int most_replicas = 0;
    };
    [[nodiscard]] const std::vector<OfType>& types() const { return types_; }

private:
    /// From whom a prediction for that GPU type and shape may borrow; nullptr: nobody.
    [[nodiscard]] const goodput::ThroughputFit* lender_to(const std::string& gpu_type,
                                                          goodput::Shape shape) const;

    std::vector<OfType> types_;  ///< in the order in which they were first measured
};

}  // namespace cli

#endif
