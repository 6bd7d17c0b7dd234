#ifndef GOODPUT_HADAR_MIXED_TYPES_HPP
#define GOODPUT_HADAR_MIXED_TYPES_HPP

// One job on GPUs of several types at once (Hadar, IPDPS'24): workers in step go at the pace of the slowest,
//
//     rate = spread_factor * min over its types of the rate that all its GPUs would have if they were of that
//            type, over as many nodes
//
// (published: workers x least rate a worker):
//
//     Scheduler(policy).offering(MixedTypes<>())
//
// Workers in one pool lie as close together as its nodes allow: a part over several nodes takes whole ones.
// What a further node costs is in the models; spread_factor is for predictors that do not know it.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/hadar/detail/parts_tried.hpp"
#include "goodput/schedule/detail/part_options.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput {

/// Offers a job also configurations over several GPU types or node sizes: for every number of GPUs that the
/// inner maker offers it (at most `most_sizes` of them), every set of 2 to `most_types` of its `most_pools`
/// fastest pools, and at most `most_splits` ways, evenly chosen, to split the GPUs over the set into shapes
/// that always pack (a part of one node in the sizes of ListedShapes, or whole nodes). A pool takes at most
/// one part. Configurations of several parts are worth the least of what all their GPUs would be worth if
/// they were of the type of one part, over as many nodes; the plan is that of this part, knowledge the least
/// sure of any.
template <OptionMaker Inner = ListedShapes>
class MixedTypes : public MakerAround<Inner> {
public:
    /// How many options there may be, and what they are worth.
    struct Settings {
        std::size_t most_types = 2;   ///< pools that one configuration may lie in
        std::size_t most_pools = 4;   ///< looked at, the fastest by TypeLimits::reference_rate
        std::size_t most_splits = 8;  ///< of one number of GPUs over one set of pools
        std::size_t most_sizes = 16;  ///< numbers of GPUs that are split, evenly chosen
        /// What is left of the rate of workers on several types, where the predictor does not know what
        /// communication between nodes costs; above 0 and at most 1.
        double spread_factor = 1;
    };

    MixedTypes() = default;
    /// Settings of one's own (std::invalid_argument for a factor out of range), and another maker for
    /// configurations of one part.
    explicit MixedTypes(Settings settings, Inner inner = Inner())
        : MakerAround<Inner>(std::move(inner)), settings_(settings) {
        if (!(settings_.spread_factor > 0 && settings_.spread_factor <= 1))
            bad_input("MixedTypes", "spread_factor", settings_.spread_factor, "above 0 and at most 1");
    }

    /// Appends what the inner maker offers and the mixtures, in the order of configurations.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const std::size_t first = options.size();
        this->inner_.list(round, job, most_gpus, options);
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

    /// Fills in all options of a job.
    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask) {
        const auto inner = [&](std::span<Option> of) {
            predict_options(this->inner_, job, gradient, of, ask);
        };
        const auto single = [](const Option& option) { return option.configuration.is_single(); };
        const auto fill = [&](Option& option) {
            detail::predict_at_slowest(option, inner, settings_.spread_factor);
        };
        detail::predict_parts(options, inner, single, fill);
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
                if (nodes > job.types[part.gpu_type].most_nodes()) return;
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
};

static_assert(PredictingMaker<MixedTypes<>>);

}  // namespace goodput

#endif
