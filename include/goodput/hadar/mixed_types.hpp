#ifndef GOODPUT_HADAR_MIXED_TYPES_HPP
#define GOODPUT_HADAR_MIXED_TYPES_HPP

// Runs one job on GPUs of several types at once (Hadar, IPDPS'24). Workers that synchronise at every step
// go at the pace of the slowest:
//
//     rate = spread_factor * min over the job's types of the rate that all its GPUs would have if they were
//            of that type, over the same number of nodes
//
// (published: workers x least rate per worker). Use it as
//
//     Scheduler(policy).offering(MixedTypes<>())
//
// Workers in one pool are as close together as its nodes allow: a part over several nodes takes whole
// nodes. The models contain the cost of additional nodes. spread_factor is for predictors that do not know
// this cost.

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

namespace goodput::inline v0_1 {

/// Also offers a job configurations over several GPU types or node sizes. It combines every number of GPUs
/// that the inner maker (an OptionMaker) offers (at most `most_sizes` of them) with every set of 2 to
/// `most_types` of the job's `most_pools` fastest pools. For each combination it lists at most
/// `most_splits` ways, evenly chosen, to split the GPUs over the set into shapes that always pack (part of
/// one node in the sizes of ListedShapes, or whole nodes). Each pool takes at most one part. For each part,
/// the predictor is asked about all GPUs as if they were of that part's type, over the same number of
/// nodes. The goodput is the least of these predictions, times spread_factor. The batch plan is that of the
/// part with the least prediction, and the knowledge the least certain of all.
template <OptionMaker Inner = ListedShapes>
class MixedTypes : public MakerAround<Inner> {
public:
    /// Limits on the number of options, and a factor on their goodput.
    struct Settings {
        std::size_t most_types = 2;   ///< pools per configuration
        std::size_t most_pools = 4;   ///< pools that are tried, the fastest by TypeLimits::reference_rate
        std::size_t most_splits = 8;  ///< ways to split one number of GPUs over one set of pools
        std::size_t most_sizes = 16;  ///< numbers of GPUs that are split, evenly chosen
        /// Factor on the rate of workers on several types, if the predictor does not know the cost of
        /// communication between nodes; above 0 and at most 1.
        double spread_factor = 1;
    };

    MixedTypes() = default;
    /// Takes other settings (std::invalid_argument if the factor is out of range), and another maker for
    /// configurations of one part.
    explicit MixedTypes(Settings settings, Inner inner = Inner())
        : MakerAround<Inner>(std::move(inner)), settings_(settings) {
        require_factor("MixedTypes", "spread_factor", settings_.spread_factor);
    }

    /// Appends the options of the inner maker and the mixed configurations, in the order of configurations.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const std::size_t first = options.size();
        this->inner_.list(round, job, most_gpus, options);
        std::vector<int> sizes;
        for (std::size_t k = first; k < options.size(); ++k) sizes.push_back(options[k].configuration.gpus());
        // A job of a fixed size may need more GPUs than any single pool has.
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

    /// Predicts all options of a job.
    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask) {
        const auto inner = [&](std::span<Option> asked) {
            predict_options(this->inner_, job, gradient, asked, ask);
        };
        const auto single = [](const Option& option) { return option.configuration.is_single(); };
        const auto fill = [&](Option& option) {
            detail::predict_at_slowest(option, inner, settings_.spread_factor);
        };
        detail::predict_parts(options, inner, single, fill);
    }

private:
    /// Returns the possible shapes of one part, fewest GPUs first.
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

    /// Lists the splits for all sets of pools that begin with `set`.
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

    /// Finds all ways to split `gpus` over the pools of the set, after those of the present parts.
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
        const std::vector<PoolShare>& part_shapes = shapes[set[parts.size()]];
        const auto fewer = [](const PoolShare& part, int wanted) { return part.shape.gpus < wanted; };
        // The last part takes all GPUs that are left.
        const bool last = parts.size() + 1 == set.size();
        auto part = last ? std::lower_bound(part_shapes.begin(), part_shapes.end(), gpus, fewer)
                         : part_shapes.begin();
        for (; part != part_shapes.end() && part->shape.gpus <= gpus; ++part) {
            parts.push_back(*part);
            split(job, gpus - part->shape.gpus, shapes, set, parts, splits);
            parts.pop_back();
        }
    }

    Settings settings_{};
};

static_assert(PredictingMaker<MixedTypes<>>);

}  // namespace goodput::inline v0_1

#endif
