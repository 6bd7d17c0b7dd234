#ifndef GOODPUT_HADAR_JOB_COPIES_HPP
#define GOODPUT_HADAR_JOB_COPIES_HPP

// Runs copies of one job side by side on nodes of several types (HadarE, arXiv 2503.10918). Each copy does
// its share of the steps, and the parameters of all copies are averaged now and then. So the rates of the
// copies add up:
//
//     rate = averaging_factor * sum over the copies of each copy's rate
//
//     Scheduler(policy).offering(JobCopies<>())
//
// Whatever runs the copies must divide the steps in proportion to their rates.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/hadar/detail/parts_tried.hpp"
#include "goodput/schedule/detail/part_options.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput::inline v0_1 {

/// Also offers a job with a fixed number of GPUs several copies of itself. In each of the job's
/// `most_pools` fastest pools there are none or one copy, or 2, 4, 8, ... if a copy takes whole nodes; in
/// total 2 to `most_copies`. It lists at most `most_options` such configurations, those with the fewest
/// copies. Two copies never share a node. Other jobs get the options of the inner maker (the OptionMaker
/// that lists options of single copies). The goodput of several copies is the sum of theirs, times
/// averaging_factor. The batch plan is that of the first part, and the knowledge the least certain of all
/// parts.
template <OptionMaker Inner = ListedShapes>
class JobCopies : public MakerAround<Inner> {
public:
    /// Limits on the number of options, and a factor on their goodput.
    struct Settings {
        int most_copies = 8;            ///< copies of one job at a time
        std::size_t most_pools = 4;     ///< pools that are tried, the fastest by TypeLimits::reference_rate
        std::size_t most_options = 64;  ///< options with several copies
        /// Factor on the rates of several copies, because parameters have to be averaged and separate
        /// progress is worth less; above 0 and at most 1.
        double averaging_factor = 1;
    };

    JobCopies() = default;
    /// Takes other settings (std::invalid_argument if the factor is out of range), and another maker for
    /// single copies.
    explicit JobCopies(Settings settings, Inner inner = Inner())
        : MakerAround<Inner>(std::move(inner)), settings_(settings) {
        require_factor("JobCopies", "averaging_factor", settings_.averaging_factor);
    }

    /// Appends the options of the inner maker and the copies, in the order of configurations.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const std::size_t first = options.size();
        this->inner_.list(round, job, most_gpus, options);
        if (!detail::has_fixed_gpus(job)) return;
        // By pool: number of copies, and where they are.
        std::vector<std::vector<std::pair<int, PoolShare>>> choices;
        for (const std::size_t p : detail::fastest_pools(round, job, settings_.most_pools)) {
            const Pool& pool = round.pools[p];
            if (job.max_gpus > most_gpus[pool.gpu_type]) continue;
            auto& pool_choices = choices.emplace_back();
            detail::for_each_shape(job, pool, [&](Shape one) {
                const auto nodes = static_cast<int>(std::min<std::size_t>(pool.nodes.size(), 1 << 20));
                const bool whole = one.gpus == one.nodes * pool.gpus_per_node;
                for (int copies = 1; copies <= settings_.most_copies && copies * one.nodes <= nodes;
                     copies *= 2) {
                    pool_choices.push_back({copies, pool.share({copies * one.nodes, copies * one.gpus})});
                    if (!whole) break;
                }
            });
        }
        std::vector<std::pair<int, Configuration>> found;
        std::vector<PoolShare> parts;
        combine(choices, 0, 0, parts, found);
        std::stable_sort(found.begin(), found.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        if (found.size() > settings_.most_options) found.resize(settings_.most_options);
        for (auto& [copies, configuration] : found)
            options.push_back({std::move(configuration), {}, 0, Knowledge::unknown});
        detail::sort_options(options, first);
    }

    /// Predicts all options of a job.
    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask) {
        const bool fixed = detail::has_fixed_gpus(job);
        const auto inner = [&](std::span<Option> asked) {
            predict_options(this->inner_, job, gradient, asked, ask);
        };
        const auto single = [&](const Option& option) {
            return !fixed || option.configuration.gpus() <= job.max_gpus;
        };
        const auto fill = [&](Option& option) {
            option.goodput = 0;
            option.knowledge = Knowledge::measured;
            for (PoolShare part : option.configuration.parts()) {
                const int copies = std::max(1, part.shape.gpus / job.max_gpus);
                part.shape = {std::max(1, part.shape.nodes / copies), part.shape.gpus / copies};
                const Option alone = detail::predict_part(part, inner);
                if (option.goodput == 0) option.plan = alone.plan;
                option.goodput += copies * alone.goodput * settings_.averaging_factor;
                option.knowledge = std::max(option.knowledge, alone.knowledge);
            }
        };
        detail::predict_parts(options, inner, single, fill);
    }

private:
    void combine(const std::vector<std::vector<std::pair<int, PoolShare>>>& choices, std::size_t next,
                 int copies, std::vector<PoolShare>& parts,
                 std::vector<std::pair<int, Configuration>>& found) const {
        if (next == choices.size()) {
            if (copies >= 2) found.emplace_back(copies, Configuration(parts));
            return;
        }
        combine(choices, next + 1, copies, parts, found);
        for (const auto& [more, part] : choices[next]) {
            if (copies + more > settings_.most_copies) continue;
            parts.push_back(part);
            combine(choices, next + 1, copies + more, parts, found);
            parts.pop_back();
        }
    }

    Settings settings_{};
};

static_assert(PredictingMaker<JobCopies<>>);

}  // namespace goodput::inline v0_1

#endif
