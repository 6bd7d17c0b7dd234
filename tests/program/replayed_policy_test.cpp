#include "replay/replayed_policy.hpp"

#include <span>
#include <vector>

#include <doctest/doctest.h>

namespace cli_replayed {

using namespace goodput;

struct WorthItsGoodput {
    [[nodiscard]] double value(const Round&, const Job&, const Option& option) const {
        return option.goodput;
    }
};

/// Returns the value of an option of goodput 2 and availability 0.5 to a job of weight 3.
double value_under(const cli::ReplayedPolicy<WorthItsGoodput>& policy) {
    const Cluster cluster;
    const Job job{.name = "a", .weight = 3};
    std::vector<Option> options(1);
    options[0].goodput = 2;
    options[0].checkpointing.availability = 0.5;
    std::vector<double> values(1);
    const OptionRow row{job, options, values};
    value_rows(policy, {.cluster = cluster, .pools = {}}, std::span(&row, 1));
    return values[0];
}

TEST_CASE("A replayed policy counts the weight of a job once") {
    CHECK(value_under({}) == 6);
    CHECK(value_under({.unaware = true}) == 12);
    const double drawn = value_under({.seed = 5});
    CHECK(drawn != 6);
    CHECK(drawn == doctest::Approx(6).epsilon(2e-6));
}

}  // namespace cli_replayed
