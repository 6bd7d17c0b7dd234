// The basic types that everything else uses: counts cannot overflow, pools partition the nodes, and bad input
// is refused by name.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns the message with which a call refuses its input, or an empty text if the call accepts it.
template <class Call>
std::string refusal(Call&& call) {
    try {
        call();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

Cluster random_cluster(support::Random& random) {
    Cluster cluster{{"t4", "rtx", "a100"}, {}};
    const int nodes = random.integer(1, 24);
    for (int n = 0; n < nodes; ++n)
        cluster.nodes.push_back({"n" + std::to_string(n), static_cast<std::size_t>(random.integer(0, 2)),
                                 1 << random.integer(0, 3)});
    for (Node& node : cluster.nodes) node.spot = random.chance(0.3);
    return cluster;
}

Placement random_placement(support::Random& random, const Cluster& cluster) {
    Placement placement;
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n)
        if (random.chance(0.25)) placement.push_back({n, random.integer(1, cluster.nodes[n].gpus)});
    return placement;
}

Cluster two_types() { return {{"t4", "a100"}, {{"n0", 0, 4}, {"n1", 0, 4}, {"n2", 1, 8}}}; }

Job good_job() {
    Job job;
    job.name = "bert-3";
    job.min_gpus = 1;
    job.max_gpus = 16;
    job.initial_batch = 128;
    job.max_batch = 4096;
    job.types = {{.max_atomic_batch = 64}, {.min_atomic_batch = 2, .max_atomic_batch = 256}};
    job.gradient = GradientStatistics{1.0, 2.0};
    job.remaining_examples = 1e6;
    job.placement = {{0, 4}, {1, 2}};
    return job;
}

/// Returns the message with which a job changed by `change` is refused.
template <class Change>
std::string refusal_of_job(Change&& change) {
    Job job = good_job();
    change(job);
    return refusal([&] { validate(job, two_types()); });
}

}  // namespace

TEST_CASE("text_of is the shortest text that reads back as the number") {
    std::mt19937_64 bits_of(1);
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t bits = bits_of();
        double number = 0;
        static_assert(sizeof number == sizeof bits);
        std::memcpy(&number, &bits, sizeof number);
        if (!std::isfinite(number)) continue;
        const std::string text = text_of(number);
        double back = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), back);
        REQUIRE(error == std::errc{});
        REQUIRE(end == text.data() + text.size());
        REQUIRE(back == number);
        REQUIRE(text_of(static_cast<std::int64_t>(bits)) == std::to_string(static_cast<std::int64_t>(bits)));
    }
    CHECK(text_of(0.1) == "0.1");
    CHECK(text_of(1e300) == "1e+300");
    CHECK(text_of(-infinity) == "-inf");
    CHECK(text_of(not_a_number) == "nan");
    CHECK(text_of(true) == "true");
    CHECK(text_of(false) == "false");
    CHECK(text_of(std::numeric_limits<double>::denorm_min()).size() < 64);
}

TEST_CASE("bad input is refused in one sentence that names subject, field, value and what it should be") {
    CHECK(refusal([] { bad_input("job 'a'", "gpus", "many", "a number"); }) ==
          "job 'a': gpus is many, but must be a number");
    CHECK(refusal([] { bad_input("job 'a'", "gpus", 0.5, "whole"); }) ==
          "job 'a': gpus is 0.5, but must be whole");
    CHECK(refusal([] { require_between("s", "f", -3, 1, 7); }) == "s: f is -3, but must be between 1 and 7");
    CHECK(refusal([] { require_positive("s", "f", 0); }) == "s: f is 0, but must be a finite number above 0");
    CHECK(refusal([] { require_at_least("s", "f", -1, 2); }) ==
          "s: f is -1, but must be a finite number of at least 2");
}

TEST_CASE("no check lets NaN or infinity through") {
    for (const double number : {not_a_number, infinity, -infinity}) {
        CHECK_FALSE(refusal([&] { require_positive("s", "f", number); }).empty());
        CHECK_FALSE(refusal([&] { require_at_least("s", "f", number, -1e300); }).empty());
    }
    CHECK(refusal([] { require_positive("s", "f", std::numeric_limits<double>::denorm_min()); }).empty());
    CHECK(refusal([] { require_at_least("s", "f", 2, 2); }).empty());
    CHECK(refusal([] { require_between("s", "f", 1, 1, 7); }).empty());
    CHECK(refusal([] { require_between("s", "f", 7, 1, 7); }).empty());
}

TEST_CASE("a total batch size is replicas times local batch times steps, for the largest of each too") {
    static_assert(BatchPlan{32, 0}.total(4) == 128);
    static_assert(BatchPlan{32, 3}.total(4) == 512);
    static_assert(BatchPlan{}.total(1000) == 0);
    // One more step would overflow an int, and the product needs more than 32 bits.
    static_assert(BatchPlan{1, std::numeric_limits<int>::max()}.total(1) == std::int64_t{1} << 31);
    static_assert(BatchPlan{1 << 30, 1}.total(1 << 20) == std::int64_t{1} << 51);
    support::Random random(2);
    for (int i = 0; i < 1000; ++i) {
        const BatchPlan plan{random.integer(0, 1 << 20), random.integer(0, 1 << 20)};
        const int replicas = random.integer(0, 1 << 20);
        const auto product = static_cast<long double>(replicas) *
                             static_cast<long double>(plan.atomic_batch) *
                             (static_cast<long double>(plan.accumulation_steps) + 1);
        REQUIRE(static_cast<long double>(plan.total(replicas)) == product);
    }
}

TEST_CASE("a configuration over several nodes occupies whole nodes, one within a node only its GPUs") {
    for (int gpus_per_node = 1; gpus_per_node <= 16; ++gpus_per_node) {
        for (int gpus = 1; gpus <= gpus_per_node; ++gpus)
            CHECK(Configuration{0, gpus_per_node, {1, gpus}}.occupied_gpus() == gpus);
        for (int nodes = 2; nodes <= 5; ++nodes)
            for (int gpus = nodes; gpus <= nodes * gpus_per_node; ++gpus)
                CHECK(Configuration{0, gpus_per_node, {nodes, gpus}}.occupied_gpus() ==
                      nodes * gpus_per_node);
    }
    CHECK(Configuration{}.empty());
    CHECK(Configuration{}.occupied_gpus() == 0);
    CHECK_FALSE(Configuration{0, 4, {1, 1}}.empty());
}

TEST_CASE("pools partition the nodes, are alike inside, and stand in order of GPU type, then node size") {
    support::Random random(3);
    for (int i = 0; i < 2000; ++i) {
        const Cluster cluster = random_cluster(random);
        const std::vector<Pool> pools = pools_of(cluster);
        std::vector<std::size_t> seen;
        int gpus = 0;
        for (const Pool& pool : pools) {
            REQUIRE_FALSE(pool.nodes.empty());
            REQUIRE(std::is_sorted(pool.nodes.begin(), pool.nodes.end()));
            int of_pool = 0;
            for (const std::size_t node : pool.nodes) {
                REQUIRE(is_node_of(cluster.nodes[node], pool));
                REQUIRE(find_pool(pools, cluster.nodes[node]) ==
                        static_cast<std::size_t>(&pool - pools.data()));
                of_pool += cluster.nodes[node].gpus;
                seen.push_back(node);
            }
            REQUIRE(pool.gpus() == of_pool);
            gpus += of_pool;
        }
        for (std::size_t p = 1; p < pools.size(); ++p)
            REQUIRE(std::tuple(pools[p - 1].gpu_type, pools[p - 1].gpus_per_node, pools[p - 1].spot) <
                    std::tuple(pools[p].gpu_type, pools[p].gpus_per_node, pools[p].spot));
        std::sort(seen.begin(), seen.end());
        REQUIRE(seen.size() == cluster.nodes.size());
        REQUIRE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
        int expected = 0;
        for (const Node& node : cluster.nodes) expected += node.gpus;
        REQUIRE(gpus == expected);
    }
    CHECK(pools_of(Cluster{}).empty());
}

TEST_CASE("a placement has a configuration of one part for every pool of its nodes") {
    support::Random random(4);
    int described = 0;
    int mixed = 0;
    for (int i = 0; i < 4000; ++i) {
        const Cluster cluster = random_cluster(random);
        const Placement placement = random_placement(random, cluster);
        const Configuration configuration = configuration_of(placement, cluster);
        std::set<std::tuple<std::size_t, int, bool>> kinds;
        int gpus = 0;
        for (const NodeShare& share : placement) {
            const Node& node = cluster.nodes[share.node];
            kinds.emplace(node.gpu_type, node.gpus, node.spot);
            gpus += share.gpus;
        }
        REQUIRE(shape_of(placement) == Shape{static_cast<int>(placement.size()), gpus});
        if (kinds.size() != 1) {
            REQUIRE(pool_share_of(placement, cluster) == PoolShare{});
            REQUIRE(configuration.parts().size() == kinds.size());
            REQUIRE(configuration.gpus() == gpus);
            REQUIRE(configuration.nodes() == static_cast<int>(placement.size()));
            for (const PoolShare& part : configuration.parts())
                REQUIRE(kinds.contains({part.gpu_type, part.gpus_per_node, part.spot}));
            mixed += kinds.size() > 1;
            continue;
        }
        ++described;
        REQUIRE(std::tuple(configuration.first().gpu_type, configuration.first().gpus_per_node,
                           configuration.first().spot) == *kinds.begin());
        REQUIRE(configuration.first().shape == shape_of(placement));
        REQUIRE(configuration.occupied_gpus() >= gpus);
    }
    CHECK(described > 100);
    CHECK(mixed > 100);
}

TEST_CASE(
    "a cluster is refused for names that are missing or twice, unknown GPU types and nodes without GPUs") {
    CHECK(refusal([] { validate(two_types()); }).empty());
    CHECK(refusal([] { validate(Cluster{}); }).empty());
    const auto refusal_of = [](Node node) {
        Cluster cluster = two_types();
        cluster.nodes.push_back(std::move(node));
        return refusal([&] { validate(cluster); });
    };
    CHECK(refusal_of({"n3", 1, 1}).empty());
    CHECK(refusal_of({"n1", 1, 8}) == "node 'n1': name is given twice, but must be a name of its own");
    CHECK(refusal_of({"", 1, 8}) == "node: name is empty, but must be a name of its own");
    CHECK(refusal_of({"n3", 2, 8}) ==
          "node 'n3': gpu_type is 2, but must be an index into the cluster's GPU types");
    CHECK(refusal_of({"n3", 1, 0}) == "node 'n3': gpus is 0, but must be between 1 and 1048576");
    CHECK(refusal_of({"n3", 1, -4}) == "node 'n3': gpus is -4, but must be between 1 and 1048576");
}

TEST_CASE("a job is refused by its name, the field and the value, whichever field is wrong") {
    REQUIRE(refusal_of_job([](Job&) {}) == "");
    struct Fault {
        void (*spoil)(Job&);
        const char* complaint;  ///< start of the message
    };
    const Fault faults[] = {
        {[](Job& job) { job.name.clear(); }, "job: name is empty,"},
        {[](Job& job) { job.submitted_seconds = not_a_number; }, "job 'bert-3': submitted_seconds is nan,"},
        {[](Job& job) { job.restarts = -1; }, "job 'bert-3': restarts is -1,"},
        {[](Job& job) { job.restart_cost_seconds = infinity; }, "job 'bert-3': restart_cost_seconds is inf,"},
        {[](Job& job) { job.attained_gpu_seconds = -0.5; }, "job 'bert-3': attained_gpu_seconds is -0.5,"},
        {[](Job& job) { job.min_gpus = 0; }, "job 'bert-3': min_gpus is 0,"},
        {[](Job& job) { job.min_gpus = 17; }, "job 'bert-3': max_gpus is 16, but must be between 17 and"},
        {[](Job& job) { job.initial_batch = 0; }, "job 'bert-3': initial_batch is 0,"},
        {[](Job& job) { job.max_batch = 127; },
         "job 'bert-3': max_batch is 127, but must be between 128 and"},
        {[](Job& job) { job.adaptivity = Adaptivity::gpus; }, "job 'bert-3': target_batch is 0,"},
        {[](Job& job) { job.adaptivity = Adaptivity::none; }, "job 'bert-3': target_batch is 0,"},
        {[](Job& job) { job.types.pop_back(); }, "job 'bert-3': size of types is 1, but must be 2,"},
        {[](Job& job) { job.types[1].min_atomic_batch = 0; }, "job 'bert-3' on a100: min_atomic_batch is 0,"},
        {[](Job& job) { job.types[1].max_atomic_batch = 1; },
         "job 'bert-3' on a100: max_atomic_batch is 1, but must be between 2 and"},
        {[](Job& job) { job.types[0].max_atomic_batch = -1; }, "job 'bert-3' on t4: max_atomic_batch is -1,"},
        {[](Job& job) { job.types[0].gpus_per_replica = 0; }, "job 'bert-3' on t4: gpus_per_replica is 0,"},
        {[](Job& job) { job.types[0].max_nodes = 0; }, "job 'bert-3' on t4: max_nodes is 0,"},
        {[](Job& job) { job.types[0].reference_rate = not_a_number; },
         "job 'bert-3' on t4: reference_rate is nan,"},
        {[](Job& job) { job.gradient->squared_norm = -1; }, "job 'bert-3': gradient.squared_norm is -1,"},
        {[](Job& job) { job.gradient->variance = not_a_number; }, "job 'bert-3': gradient.variance is nan,"},
        {[](Job& job) { job.checkpoints = {{.name = "full", .pause_seconds = -1}}; },
         "job 'bert-3', checkpoint mechanism 'full': pause_seconds is -1,"},
        {[](Job& job) { job.remaining_examples = -1; }, "job 'bert-3': remaining_examples is -1,"},
        {[](Job& job) {
             job.placement = {{3, 1}};
         },
         "job 'bert-3': placement.node is 3,"},
        {[](Job& job) {
             job.placement = {{1, 1}, {0, 1}};
         },
         "job 'bert-3': placement.node is 0,"},
        {[](Job& job) {
             job.placement = {{1, 1}, {1, 1}};
         },
         "job 'bert-3': placement.node is 1,"},
        {[](Job& job) {
             job.placement = {{2, 9}};
         },
         "job 'bert-3': placement.gpus is 9,"},
        {[](Job& job) {
             job.placement = {{2, 0}};
         },
         "job 'bert-3': placement.gpus is 0,"},
    };
    for (const Fault& fault : faults) {
        const std::string message = refusal_of_job(fault.spoil);
        CAPTURE(fault.complaint);
        CAPTURE(message);
        CHECK(message.starts_with(fault.complaint));
    }
}

TEST_CASE("a job is not judged by what does not apply to it") {
    // The largest batch applies to batch-adaptive jobs, the target to the other two classes.
    const auto fixed_batch = [](Job& job) {
        job.adaptivity = Adaptivity::none;
        job.max_batch = 0;
        job.target_batch = 256;
    };
    CHECK(refusal_of_job(fixed_batch) == "");
    // A GPU type that the job cannot run on has no limits.
    CHECK(refusal_of_job([](Job& job) { job.types[0] = {.min_atomic_batch = -1, .max_atomic_batch = 0}; }) ==
          "");
    const auto unknown = [](Job& job) {
        job.gradient.reset();
        job.remaining_examples.reset();
        job.placement.clear();
    };
    CHECK(refusal_of_job(unknown) == "");
}

TEST_CASE("a measurement is refused unless its GPUs, examples and times can be") {
    const ThroughputSample good{{2, 8}, {32, 1}, 0.25, 0.1};
    const auto refusal_of = [&](auto&& spoil) {
        ThroughputSample sample = good;
        spoil(sample);
        return refusal([&] { validate(sample, "job 'bert-3'"); });
    };
    CHECK(refusal_of([](ThroughputSample&) {}) == "");
    CHECK(refusal_of([](ThroughputSample& s) { s.sync_seconds = 0; }) == "");
    CHECK(refusal_of([](ThroughputSample& s) {
              s.shape = {3, 2};
          }).starts_with("job 'bert-3': sample.shape.gpus is 2,"));
    CHECK(refusal_of([](ThroughputSample& s) {
              s.shape.nodes = 0;
          }).starts_with("job 'bert-3': sample.shape.nodes is 0,"));
    CHECK(refusal_of([](ThroughputSample& s) {
              s.plan.atomic_batch = 0;
          }).starts_with("job 'bert-3': sample.plan.atomic_batch is 0,"));
    CHECK(refusal_of([](ThroughputSample& s) {
              s.plan.accumulation_steps = -1;
          }).starts_with("job 'bert-3': sample.plan.accumulation_steps is -1,"));
    CHECK(refusal_of([](ThroughputSample& s) {
              s.step_seconds = 0;
          }).starts_with("job 'bert-3': sample.step_seconds is 0,"));
    CHECK(refusal_of([](ThroughputSample& s) {
              s.step_seconds = not_a_number;
          }).starts_with("job 'bert-3': sample.step_seconds is nan,"));
    CHECK(refusal_of([](ThroughputSample& s) {
              s.sync_seconds = -1;
          }).starts_with("job 'bert-3': sample.sync_seconds is -1,"));
    CHECK(refusal_of([](ThroughputSample& s) { s.sync_seconds = s.step_seconds; }) ==
          "job 'bert-3': sample.sync_seconds is 0.25, but must be below the time of the step, 0.25");
}

TEST_CASE("a refusal has its parts, and says itself in the names of JSON and C where these are others") {
    const auto refused = [](auto&& spoil) {
        ThroughputSample sample{{2, 8}, {32, 1}, 0.25, 0.1};
        GradientStatistics gradient{1, 1};
        spoil(sample, gradient);
        try {
            validate(sample, "job 'bert-3'");
            validate(gradient, "job 'bert-3'");
        } catch (const BadInput& bad) {
            return bad;
        }
        return BadInput("nothing", "", "", "");
    };
    const BadInput step = refused([](ThroughputSample& s, GradientStatistics&) { s.step_seconds = -1; });
    CHECK(step.subject == "job 'bert-3'");
    CHECK(step.field == "sample.step_seconds");
    CHECK(step.value == "-1");
    CHECK(std::string(step.what()) ==
          "job 'bert-3': sample.step_seconds is -1, but must be " + step.expected);
    CHECK(text_in_short_names(step) == "job 'bert-3': samples.step_s is -1, but must be " + step.expected);
    const BadInput norm = refused([](ThroughputSample&, GradientStatistics& g) { g.squared_norm = -2; });
    CHECK(norm.field == "gradient.squared_norm");
    CHECK(text_in_short_names(norm).starts_with("job 'bert-3': gradient.sqr is -2, "));
    // Everything else stays as it is, whatever it says.
    CHECK(text_in_short_names(BadInput("job 'step_seconds'", "weight", "step_seconds", "more")) ==
          "job 'step_seconds': weight is step_seconds, but must be more");
    CHECK(text_in_short_names(std::runtime_error("start_seconds is 1")) == "start_seconds is 1");
}
