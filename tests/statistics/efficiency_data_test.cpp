// Gradient statistics measured at one batch size predict the efficiency at another, on the validation runs
// published with Sia.

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "goodput/model/efficiency.hpp"
#include "goodput/statistics/gradient_by_batch.hpp"
#include "support/validation.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

// Leaves out gpt_pmp, because its runs are copies of bert's.
constexpr std::array applications{"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"};

support::ValidationRuns runs_of(const std::string& application) {
    return support::read_validation(GOODPUT_DATA_DIR "/sia/profiles/" + application);
}

}  // namespace

TEST_SUITE("data") {
    TEST_CASE("Statistics at one batch size predict the efficiency at the others to 2 % in the median") {
        for (const char* application : applications) {
            CAPTURE(application);
            const support::ValidationRuns runs = runs_of(application);
            CHECK(runs.size() >= 6);
            const support::EfficiencyReport report = support::efficiency_report(runs, 1);
            CHECK(report.combinations == static_cast<int>(runs.size() * (runs.size() - 1)));
            CHECK(support::median(report.all) < 0.02);
            // Leaves out predictions for a smaller batch, which cannot fail.
            CHECK(support::median(report.upward) < 0.06);
        }
    }

    TEST_CASE("A second batch size takes the farthest predictions from 38 % to below 10 %") {
        double worst_of_one = 0;
        for (const char* application : applications) {
            CAPTURE(application);
            const support::ValidationRuns runs = runs_of(application);
            const support::EfficiencyReport one = support::efficiency_report(runs, 1),
                                            two = support::efficiency_report(runs, 2);
            worst_of_one = std::max(worst_of_one, one.worst_median);
            CHECK(two.beyond_ten_percent == 0);
            CHECK(support::quantile(two.all, 0.9) < 0.1);
        }
        CHECK(worst_of_one > 0.3);  // one batch size cannot show this
    }

    TEST_CASE("The progress that the runs report is the gain of their own statistics") {
        // Either may therefore serve as truth. The statistics are those at the end of an epoch, and drift
        // during it.
        for (const char* application : applications) {
            CAPTURE(application);
            const support::ValidationRuns runs = runs_of(application);
            const double initial = runs.begin()->first;
            std::vector<double> differences;
            for (const auto& [batch, run] : runs)
                for (std::size_t e = 1; e < run.size(); ++e) {
                    const double steps = run[e].iteration - run[e - 1].iteration;
                    const double measured = (run[e].progress - run[e - 1].progress) / steps;
                    differences.push_back(std::abs(gain(run[e].gradient, batch / initial) / measured - 1));
                }
            CHECK(support::median(differences) < 0.01);
        }
    }
}
