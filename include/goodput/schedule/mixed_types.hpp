#ifndef GOODPUT_SCHEDULE_MIXED_TYPES_HPP
#define GOODPUT_SCHEDULE_MIXED_TYPES_HPP

// One job on GPUs of several types at once (Hadar, IPDPS'24): workers in step go at the pace of the slowest,
//
//     rate = spread_factor * min over its types of the rate that all its GPUs would have if they were of that
//            type, over as many nodes
//
// (published: workers x least rate a worker). MixedTypes offers such configurations, SlowestPart says how
// good they are; use them together:
//
//     Scheduler(policy, options, placer, solver, SlowestPart<>()).offering(MixedTypes<>())
//
// Workers in one pool lie as close together as its nodes allow: a part over several nodes takes whole ones.
// What a further node costs is in the models; spread_factor is for predictors that do not know it.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/model/goodput_predictor.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/part_options.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput {

/// Offers a job also configurations over several GPU types or node sizes: for every number of GPUs that the
/// inner maker offers it (at most `most_sizes` of them), every set of 2 to `most_types` of its `most_pools`
/// fastest pools, and at most `most_splits` ways, evenly chosen, to split the GPUs over the set into shapes
/// that always pack (a part of one node in the sizes of ListedShapes, or whole nodes). A pool takes at most
/// one part.
template <OptionMaker Inner = ListedShapes>
class MixedTypes {
public:
    /// How many options there may be.
    struct Settings {
        std::size_t most_types = 2;   ///< pools that one configuration may lie in
        std::size_t most_pools = 4;   ///< looked at, the fastest by TypeLimits::reference_rate
        std::size_t most_splits = 8;  ///< of one number of GPUs over one set of pools
        std::size_t most_sizes = 16;  ///< numbers of GPUs that are split, evenly chosen
    };

    MixedTypes() = default;
    /// Limits of one's own, and another maker for configurations of one part.
    explicit MixedTypes(Settings settings, Inner inner = {})
        : settings_(settings), inner_(std::move(inner)) {}

    /// Appends what the inner maker offers and the mixtures, in the order of configurations.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const std::size_t first = options.size();
        inner_.list(round, job, most_gpus, options);
        std::vector<int> sizes;
        for (std::size_t k = first; k < options.size(); ++k) sizes.push_back(options[k].configuration.gpus());
        // A job of a fixed size may need more than any one pool has.
        if (detail::has_fixed_gpus(job)) sizes.push_back(job.max_gpus);
        std::sort(sizes.begin(), sizes.end());
        sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        detail::thin_out(sizes, settings_.most_sizes);
        const std::vector<std::size_t> pools = detail::fastest_pools(round, job, settings_.most_pools);
        std::vector<std::vector<PoolShare>> shapes;
        for (const std::size_t pool : pools) shapes.push_back(shapes_on(job, round.pools[pool], most_gpus));
        std::vector<std::size_t> set;
        for (const int gpus : sizes) extend(job, gpus, shapes, 0, set, options);
        detail::sort_options(options, first);
    }

    /// What the inner maker answers at prices: everything else is listed.
    double ask(const Round& round, const Job& job, std::span<const int> most_gpus, const AtPrices& at,
               double least, std::vector<Option>& options) requires PricedOptionMaker<Inner> {
        return inner_.ask(round, job, most_gpus, at, least, options);
    }
    /// What the inner maker says.
    [[nodiscard]] std::string why_none(const Job& job) const requires ReasonMaker<Inner> {
        return inner_.why_none(job);
    }

private:
    /// What one part may be, fewest GPUs first.
    static std::vector<PoolShare> shapes_on(const Job& job, const Pool& pool,
                                            std::span<const int> most_gpus) {
        Job any = job;  // a part may have any number of GPUs
        any.adaptivity = Adaptivity::gpus;
        any.min_gpus = 1;
        any.max_gpus = std::min(job.max_gpus, most_gpus[pool.gpu_type]);
        std::vector<PoolShare> shapes;
        if (any.max_gpus < 1) return shapes;
        detail::for_each_shape(any, pool, [&](Shape shape) { shapes.push_back(pool.share(shape)); });
        return shapes;
    }

    /// Goes through the sets of pools that begin with `set`.
    void extend(const Job& job, int gpus, const std::vector<std::vector<PoolShare>>& shapes, std::size_t next,
                std::vector<std::size_t>& set, std::vector<Option>& options) const {
        if (set.size() >= 2) {
            std::vector<Configuration> splits;
            std::vector<PoolShare> parts;
            split(job, gpus, shapes, set, parts, splits);
            detail::thin_out(splits, settings_.most_splits);
            for (Configuration& configuration : splits)
                options.push_back({std::move(configuration), {}, 0, Knowledge::unknown});
        }
        if (set.size() == settings_.most_types) return;
        for (std::size_t p = next; p < shapes.size(); ++p) {
            set.push_back(p);
            extend(job, gpus, shapes, p + 1, set, options);
            set.pop_back();
        }
    }

    /// All ways to split `gpus` over the pools of the set behind the parts that there are.
    static void split(const Job& job, int gpus, const std::vector<std::vector<PoolShare>>& shapes,
                      const std::vector<std::size_t>& set, std::vector<PoolShare>& parts,
                      std::vector<Configuration>& splits) {
        if (parts.size() == set.size()) {
            if (gpus != 0) return;
            int nodes = 0;
            for (const PoolShare& part : parts) nodes += part.shape.nodes;
            for (const PoolShare& part : parts)
                if (nodes > job.types[part.gpu_type].max_nodes) return;
            splits.emplace_back(parts);
            return;
        }
        const std::vector<PoolShare>& its = shapes[set[parts.size()]];
        const auto fewer = [](const PoolShare& part, int wanted) { return part.shape.gpus < wanted; };
        // The last part takes all that is left.
        const bool last = parts.size() + 1 == set.size();
        auto part = last ? std::lower_bound(its.begin(), its.end(), gpus, fewer) : its.begin();
        for (; part != its.end() && part->shape.gpus <= gpus; ++part) {
            parts.push_back(*part);
            split(job, gpus - part->shape.gpus, shapes, set, parts, splits);
            parts.pop_back();
        }
    }

    Settings settings_{};
    Inner inner_{};
};

/// Predicts configurations of several parts whose workers go in step: of all that its GPUs would be worth if
/// they were all of the type of one part, over as many nodes, the least. Plan and knowledge are those of that
/// part, knowledge the least sure of any.
template <OptionPredictor Inner = GoodputPredictor>
class SlowestPart {
public:
    /// `spread_factor` in (0, 1]: what is left of the rate of workers on several types, where the inner
    /// predictor does not know what communication between nodes costs (std::invalid_argument otherwise).
    explicit SlowestPart(double spread_factor = 1, Inner inner = {})
        : parts_(std::move(inner)), factor_(spread_factor) {
        if (!(factor_ > 0 && factor_ <= 1))
            bad_input("SlowestPart", "spread_factor", factor_, "above 0 and at most 1");
    }

    /// Fills in all options of a job.
    template <class... Gradient>
    requires std::invocable < Inner&, const Job&, const JobModel&, std::span<Option>,
    const Gradient&... > void operator()(const Job& job, const JobModel& model, std::span<Option> options,
                                         const Gradient&... gradient) {
        const auto single = [](const Option& option) { return option.configuration.is_single(); };
        const auto fill = [&](Option& option) {
            const Configuration& mixed = option.configuration;
            const Shape all{mixed.nodes(), mixed.gpus()};
            bool first = true;
            for (const PoolShare& part : mixed.parts()) {
                const Option alone = parts_.ask(
                    job, model, {part.gpu_type, part.gpus_per_node, all, part.spot, part.group}, gradient...);
                const Knowledge knowledge =
                    first ? alone.knowledge : std::max(option.knowledge, alone.knowledge);
                if (std::exchange(first, false) || alone.goodput * factor_ < option.goodput) {
                    option.plan = alone.plan;
                    option.goodput = alone.goodput * factor_;
                }
                option.knowledge = knowledge;
            }
        };
        parts_.each(job, model, options, single, fill, gradient...);
    }

private:
    detail::PartPredictor<Inner> parts_;
    double factor_;
};

static_assert(OptionMaker<MixedTypes<>> && ForecastPredictor<SlowestPart<>>);

}  // namespace goodput

#endif
