#ifndef GOODPUT_TESTS_PROPERTIES_RANDOM_PLANS_HPP
#define GOODPUT_TESTS_PROPERTIES_RANDOM_PLANS_HPP

// One Scheduler under any policy, and changes of a snapshot that should make no difference.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "goodput/policies/optimus.hpp"
#include "goodput/policies/pollux.hpp"
#include "goodput/policies/tiresias.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/snapshot.hpp"

#include "properties.hpp"

namespace properties {

/// The value of an option depends only on the job and the allotment, not on other jobs, and no two sums of
/// values are equal. A job is identified by its submission time, so its name makes no difference.
struct FixedValues {
    [[nodiscard]] double value(const goodput::Round& round, const goodput::Job& job,
                               const goodput::Option& option) const {
        const goodput::Configuration& configuration = option.configuration;
        std::uint64_t key = std::bit_cast<std::uint64_t>(job.submitted_seconds);
        for (const char letter : round.cluster.gpu_types[configuration.first().gpu_type])
            key = mixed(key + static_cast<unsigned char>(letter));
        key = mixed(key + static_cast<std::uint64_t>(configuration.first().gpus_per_node));
        key = mixed(key + static_cast<std::uint64_t>(configuration.first().shape.nodes));
        key = mixed(key + static_cast<std::uint64_t>(configuration.gpus()));
        const double unit = static_cast<double>(key >> 11) * 0x1.0p-53;
        return std::sqrt(configuration.gpus()) * (1.1 * unit - 0.1);  // some values are negative
    }

private:
    /// splitmix64.
    static std::uint64_t mixed(std::uint64_t x) {
        x += 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }
};

/// One of these policies with its values in a chosen unit, so that one Scheduler is compiled for all.
template <class... Ps>
struct OneOf {
    using Rule = std::variant<Ps...>;
    static constexpr int rules = static_cast<int>(sizeof...(Ps));
    static constexpr bool weights_count = false;  // the chosen policy's values contain them

    Rule rule{};
    double factor = 1;

    [[nodiscard]] int most_gpus(const goodput::Job& job, const goodput::JobModel& model,
                                std::size_t gpu_type) const {
        return std::visit(
            [&](const auto& policy) {
                if constexpr (requires { policy.most_gpus(job, model, gpu_type); })
                    return policy.most_gpus(job, model, gpu_type);
                else
                    return std::numeric_limits<int>::max();
            },
            rule);
    }
    [[nodiscard]] std::optional<goodput::GradientStatistics> expected_gradient(
        const goodput::Job& job) const {
        return std::visit(
            [&](const auto& policy) {
                if constexpr (requires { policy.expected_gradient(job); })
                    return policy.expected_gradient(job);
                else
                    return job.gradient;
            },
            rule);
    }
    void value_round(const goodput::Round& round, std::span<const goodput::OptionRow> rows) const {
        std::visit([&](const auto& policy) { goodput::value_rows(policy, round, rows); }, rule);
        for (const goodput::OptionRow& row : rows)
            for (double& value : row.values) value *= factor;
    }
};

/// Any of the policies that most properties try. The first `unordered_rules` do not serve jobs in an order.
/// In an order, the GPU type listed first wins if it makes no difference to a job.
using AnyPolicy = OneOf<FixedValues, goodput::Sia, goodput::GoodputPolicy, goodput::Pollux,
                        goodput::DeclaredGoodputPolicy, goodput::Optimus, goodput::Fifo,
                        goodput::ShortestRemainingTime, goodput::LeastAttainedService, goodput::Tiresias>;

inline constexpr int unordered_rules = 5;

/// Returns one of the first `choices` policies with default settings.
template <class Policies = AnyPolicy>
Policies random_policy(support::Random& random, int choices = Policies::rules) {
    Policies policy;
    const int chosen = random.integer(0, choices - 1);
    const auto choose = [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((static_cast<int>(I) == chosen ? (void)policy.rule.template emplace<I>() : void()), ...);
    };
    choose(std::make_index_sequence<static_cast<std::size_t>(Policies::rules)>{});
    return policy;
}

/// A snapshot under other names and in another order, and the new index of everything.
struct Relabelled {
    goodput::Snapshot snapshot;
    std::vector<std::size_t> job_to, node_to, type_to;

    [[nodiscard]] goodput::Placement moved(goodput::Placement placement) const {
        for (goodput::NodeShare& share : placement) share.node = node_to[share.node];
        std::sort(placement.begin(), placement.end());
        return placement;
    }
    [[nodiscard]] goodput::Configuration moved(goodput::Configuration configuration) const {
        std::vector<goodput::PoolShare> parts(configuration.parts().begin(), configuration.parts().end());
        for (goodput::PoolShare& part : parts) part.gpu_type = type_to[part.gpu_type];
        return goodput::Configuration(std::move(parts), configuration.host());
    }
};

/// GPU types keep their names.
inline Relabelled relabelled(const goodput::Snapshot& snapshot, support::Random& random,
                             bool types_too = true) {
    using namespace goodput;
    const Cluster& cluster = snapshot.cluster;
    const std::size_t types = cluster.gpu_types.size();
    Relabelled other;
    Snapshot& result = other.snapshot;
    other.job_to = random_order(random, snapshot.jobs.size());
    other.node_to = random_order(random, cluster.nodes.size());
    other.type_to = random_order(random, types);
    if (!types_too) std::sort(other.type_to.begin(), other.type_to.end());
    result.time_seconds = snapshot.time_seconds;
    result.cluster.gpu_types.resize(types);
    for (std::size_t t = 0; t < types; ++t) result.cluster.gpu_types[other.type_to[t]] = cluster.gpu_types[t];
    result.cluster.nodes.resize(cluster.nodes.size());
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
        Node& node = result.cluster.nodes[other.node_to[n]] = cluster.nodes[n];
        node.name = "machine " + std::to_string(other.node_to[n]);
        node.gpu_type = other.type_to[node.gpu_type];
    }
    result.jobs.resize(snapshot.jobs.size());
    result.models.resize(snapshot.models.size());
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        Job& job = result.jobs[other.job_to[j]] = snapshot.jobs[j];
        job.name = "training " + std::to_string(other.job_to[j]);
        for (std::size_t t = 0; t < types; ++t) job.types[other.type_to[t]] = snapshot.jobs[j].types[t];
        job.placement = other.moved(job.placement);
        JobModel& model = result.models[other.job_to[j]] = snapshot.models[j];
        for (std::size_t t = 0; t < model.types.size(); ++t)
            model.types[other.type_to[t]] = snapshot.models[j].types[t];
    }
    return other;
}

}  // namespace properties

#endif
