#ifndef GOODPUT_SCHEDULE_MAKERS_HPP
#define GOODPUT_SCHEDULE_MAKERS_HPP

// Makers list the options of a job, that is, the configurations that it could be given. A maker is a struct
// with
//
//     void list(const Round& round, const Job& job, std::span<const int> most_gpus,
//               std::vector<Option>& options)
//
// which appends configurations on the open nodes of Round::pools, smallest first within a pool. The
// predictor fills in the rest of each option, and the policy values it. `most_gpus` is the limit to which
// the policy lets the job grow this round, by GPU type.
//
// If a full list would be too long, a maker lists some options and finds others at given prices:
//
//     double ask(const Round& round, const Job& job, std::span<const int> most_gpus, const AtPrices& at,
//                double least, std::vector<Option>& options)
//
// Prices are those of the rows of the allotment problem. ask() computes for an option its value minus the
// price of all that it takes, by at.evaluate(option). It appends options for which this difference is above
// `least`: all of them, or only the best. It returns an upper bound on the difference (a number or minus
// infinity) for all options that it has neither listed nor appended in this round. The Scheduler computes
// prices, asks, adds the answers and computes prices again, until no maker appends more. The bound of the
// allotment then also covers the options that were never listed (detail/asked_options.hpp).
//
// If a maker lists configurations that the predictor does not know, for example over several pools, the
// maker itself predicts how good they are:
//
//     void predict(const Job& job, const std::optional<GradientStatistics>& gradient,
//                  std::span<Option> options, const AskPredictor& ask)
//
// which fills in all options of a job. It may ask the predictor about any options, for example about single
// parts. A maker that wraps another one should derive from MakerAround, which forwards all calls to the
// inner maker.
//
// The default maker is ListedShapes. On one node it lists 1, 2, 4, 8, ... GPUs and the whole node (1, 2, 4,
// 7 on a node with 7 GPUs), and over several nodes only whole nodes (Sia, section 3.4). Below a whole node
// each of these sizes divides the next, so every allotment that respects the rows of the nodes can be
// placed (detail/node_blocks.hpp). A job whose limits allow none of these sizes gets two options, its
// smallest and its largest number of GPUs, on as few nodes as possible. A job with Adaptivity::none always
// gets max_gpus, as does any job with min_gpus == max_gpus, also on as few nodes as possible. An allotment
// with such sizes may respect all rows and still find no nodes. What a job holds is always among its
// options if it may have that many GPUs, whatever the maker lists.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/detail/part_options.hpp"

namespace goodput::inline v0_1 {

/// The functions with which a maker judges options at the prices of a round.
struct AtPrices {
    /// Lets the predictor fill in the option. Returns its value minus the price of all that it takes, or
    /// minus infinity if the predictor, the policy or a limit fails for it.
    std::function<double(Option&)> evaluate{};
    /// Returns the same difference for an option whose plan and goodput the maker has assumed, as it does
    /// to compute bounds. The predictor is not called.
    std::function<double(const Option&)> suppose{};
};

/// A maker: lists options.
template <class M>
concept OptionMaker = requires(M& maker, const Round& round, const Job& job, std::span<const int> most_gpus,
                               std::vector<Option>& options) {
    maker.list(round, job, most_gpus, options);
};

/// A maker that lists options, and finds more of them at given prices.
template <class M>
concept PricedOptionMaker = OptionMaker<M> &&
    requires(M& maker, const Round& round, const Job& job, std::span<const int> most_gpus, const AtPrices& at,
             double least, std::vector<Option>& options) {
    { maker.ask(round, job, most_gpus, at, least, options) } -> std::convertible_to<double>;
};

/// Lets the round's predictor fill in options, with the job's gradient statistics or those that the policy
/// expects.
using AskPredictor = std::function<void(std::span<Option>)>;

/// A maker that itself predicts how good its options are.
template <class M>
concept PredictingMaker = OptionMaker<M> &&
    requires(M& maker, const Job& job, const std::optional<GradientStatistics>& gradient,
             std::span<Option> options, const AskPredictor& ask) {
    maker.predict(job, gradient, options, ask);
};

/// Fills in options of a job through `ask(options)`, which is called only with options of one part. An
/// option of several parts is assumed to be as good as the same number of GPUs of its slowest type.
inline void predict_options(std::span<Option> options, const AskPredictor& ask) {
    const auto single = [](const Option& option) { return option.configuration.is_single(); };
    if (std::all_of(options.begin(), options.end(), single))
        ask(options);
    else
        detail::predict_parts(options, ask, single,
                              [&](Option& option) { detail::predict_at_slowest(option, ask); });
}
/// Fills in options of a job through the maker if the maker predicts, or else as the function above does.
template <OptionMaker M>
void predict_options(M& maker, const Job& job, const std::optional<GradientStatistics>& gradient,
                     std::span<Option> options, const AskPredictor& ask) {
    if constexpr (PredictingMaker<M>)
        maker.predict(job, gradient, options, ask);
    else
        predict_options(options, ask);
}

/// A maker that lists all its options, so that it need not be asked at prices.
template <class M>
concept ListsAllOptions = OptionMaker<M> && !PricedOptionMaker<M>;

/// A maker that explains in one sentence why it lists nothing for a job. It returns an empty text if it
/// knows no more than the scheduler says anyway.
template <class M>
concept ReasonMaker = requires(M& maker, const Round& round, const Job& job) {
    { maker.why_none(round, job) } -> std::convertible_to<std::string>;
};

/// A maker with a list of its own for jobs that keep what they hold.
template <class M>
concept KeptMaker = requires(M& maker, const Round& round, const Job& job, std::vector<Option>& options) {
    maker.list_kept(round, job, options);
};

/// Checks a maker. If list() or one of the optional functions has the wrong form, compilation fails with
/// one line that says which one, and how. Without this check, an optional function with a wrong parameter
/// would silently be ignored.
template <class M>
consteval bool maker_fits() {
    static_assert(OptionMaker<M>,
                  "OptionMaker: list is missing, or is not: void list(const Round&, const Job&, "
                  "std::span<const int> most_gpus, std::vector<Option>& options)");
    if constexpr (requires(M & maker, const Round& round, const Job& job, std::span<const int> most_gpus,
                           const std::vector<Option>& options) {
                      maker.list(round, job, most_gpus, options);
                  })
        static_assert(
            !requires { &M::list; },
            "OptionMaker: list takes a copy of the options, or const ones, and adds nothing: void list(const "
            "Round&, const Job&, std::span<const int> most_gpus, std::vector<Option>& options)");
    static_assert(
        !OptionMaker<M> || PricedOptionMaker<M> || !requires { &M::ask; },
        "PricedOptionMaker: ask is not: double ask(const Round&, const Job&, std::span<const int> "
        "most_gpus, const AtPrices&, double least, std::vector<Option>& options)");
    static_assert(
        !OptionMaker<M> || PredictingMaker<M> || !requires { &M::predict; },
        "PredictingMaker: predict does not take these arguments: void predict(const Job&, const "
        "std::optional<GradientStatistics>&, std::span<Option>, const AskPredictor&)");
    static_assert(
        ReasonMaker<M> || !requires { &M::why_none; },
        "ReasonMaker: why_none is not: std::string why_none(const Round&, const Job&)");
    static_assert(
        KeptMaker<M> || !requires { &M::list_kept; },
        "KeptMaker: list_kept does not take these arguments: void list_kept(const Round&, const Job&, "
        "std::vector<Option>& options)");
    return true;
}

/// Base of makers that wrap another one. Functions that are not overridden call the inner maker.
template <OptionMaker Inner>
class MakerAround {
public:
    /// Wraps this maker.
    explicit MakerAround(Inner inner = Inner()) : inner_(std::move(inner)) {}

    /// Appends the options that the inner maker lists.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        inner_.list(round, job, most_gpus, options);
    }
    /// Tells the inner maker that a round begins.
    void begin_round(const Round& round) {
        if constexpr (requires { inner_.begin_round(round); }) inner_.begin_round(round);
    }
    /// Appends the options of a job that keeps what it holds, as the inner maker does.
    void list_kept(const Round& round, const Job& job,
                   std::vector<Option>& options) requires KeptMaker<Inner> {
        inner_.list_kept(round, job, options);
    }
    /// Finds options at prices, as the inner maker does.
    double ask(const Round& round, const Job& job, std::span<const int> most_gpus, const AtPrices& at,
               double least, std::vector<Option>& options) requires PricedOptionMaker<Inner> {
        return inner_.ask(round, job, most_gpus, at, least, options);
    }
    /// Predicts options, as the inner maker does.
    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask) requires PredictingMaker<Inner> {
        inner_.predict(job, gradient, options, ask);
    }
    /// Explains an empty list, as the inner maker does.
    [[nodiscard]] std::string why_none(const Round& round, const Job& job) requires ReasonMaker<Inner> {
        return inner_.why_none(round, job);
    }

protected:
    Inner inner_;  ///< the maker inside
};

/// Appends every configuration that the job may hold on the pools, smallest first within a pool.
/// Configurations with more than `most_gpus(gpu_type)` GPUs are left out, but each pool keeps its smallest
/// one if no other is left.
template <class MostGpus>
void append_options(const Job& job, std::span<const Pool> pools, MostGpus most_gpus,
                    std::vector<Option>& options);

/// Inserts what the job holds into its options, which begin at `first` and are in order, unless it is there
/// already. Does nothing if the job may not hold it: the GPUs are in none of these pools, or the job may
/// not have that number of GPUs or nodes.
inline void insert_held(const Job& job, const Configuration& held, std::span<const Pool> pools,
                        std::size_t first, std::vector<Option>& options);

/// Explains in one sentence why append_options() finds nothing for a job on these pools: the job can use no
/// GPU type of the cluster, none of its types has an open node, or its limits exclude all sizes that the
/// pools offer.
[[nodiscard]] inline std::string why_no_option(const Job& job, const Cluster& cluster,
                                               std::span<const Pool> pools);

namespace detail {

/// Whether the job can hold one number of GPUs only, which is max_gpus.
inline bool has_fixed_gpus(const Job& job) { return job.fewest_gpus() == job.max_gpus; }

/// Whether a job may have a shape on a GPU type.
inline bool may_hold(const Job& job, const TypeLimits& limits, Shape shape) {
    return limits.max_atomic_batch > 0 && shape.nodes <= limits.most_nodes() &&
           shape.gpus >= job.fewest_gpus() && shape.gpus <= job.max_gpus &&
           shape.gpus % limits.gpus_per_replica == 0;
}

/// Calls visit(shape) for the shapes of a job on a pool, smallest first.
template <class Visit>
void for_each_shape(const Job& job, const Pool& pool, Visit visit) {
    const TypeLimits& limits = job.types[pool.gpu_type];
    if (limits.max_atomic_batch == 0 || pool.nodes.empty()) return;
    const int nodes =
        std::min(static_cast<int>(std::min<std::size_t>(pool.nodes.size(), 1 << 20)), limits.most_nodes());
    const int size = pool.gpus_per_node;
    const auto offer = [&](int gpus) {
        const Shape shape{(gpus + size - 1) / size, gpus};
        if (gpus > 0 && shape.nodes <= nodes && may_hold(job, limits, shape)) visit(shape);
    };
    if (has_fixed_gpus(job)) {
        offer(job.max_gpus);
        return;
    }
    bool any = false;
    const auto offer_listed = [&](Shape shape) {
        if (shape.gpus < job.min_gpus || shape.gpus > job.max_gpus ||
            shape.gpus % limits.gpus_per_replica != 0)
            return;
        any = true;
        visit(shape);
    };
    for (int gpus = 1; gpus < size; gpus *= 2) offer_listed({1, gpus});
    offer_listed({1, size});
    for (int n = 2; n <= nodes && n * size <= job.max_gpus; ++n) offer_listed({n, n * size});
    if (any) return;
    const int replica = limits.gpus_per_replica, fewest = (job.min_gpus + replica - 1) / replica * replica,
              most = std::min(job.max_gpus, nodes * size) / replica * replica;
    offer(fewest);
    if (most != fewest) offer(most);
}

/// Whether append_options() lists the configuration that the job holds, which it never does if this has
/// several parts.
inline bool is_listed(const Job& job, const Configuration& held, std::span<const Pool> pools,
                      std::span<const int> most_gpus) {
    const PoolShare& part = held.first();
    const std::size_t pool = find_pool(pools, part);
    bool listed = false;
    if (held.is_single() && pool < pools.size() && part.shape.gpus <= most_gpus[part.gpu_type])
        for_each_shape(job, pools[pool], [&](Shape shape) { listed |= shape == part.shape; });
    return listed;
}

/// Sorts options by configuration, the order that the scheduler and predictors expect.
inline void sort_options(std::vector<Option>& options, std::size_t first) {
    std::sort(options.begin() + static_cast<std::ptrdiff_t>(first), options.end(),
              [](const Option& a, const Option& b) { return a.configuration < b.configuration; });
}

}  // namespace detail

template <class MostGpus>
void append_options(const Job& job, std::span<const Pool> pools, MostGpus most_gpus,
                    std::vector<Option>& options) {
    for (const Pool& pool : pools) {
        const int most = most_gpus(pool.gpu_type);
        const std::size_t first = options.size();
        std::optional<Shape> fewest;
        detail::for_each_shape(job, pool, [&](Shape shape) {
            if (!fewest) fewest = shape;
            if (shape.gpus <= most) options.push_back({pool.share(shape), {}, 0, Knowledge::unknown});
        });
        if (fewest && options.size() == first)
            options.push_back({pool.share(*fewest), {}, 0, Knowledge::unknown});
    }
}

inline void insert_held(const Job& job, const Configuration& held, std::span<const Pool> pools,
                        std::size_t first, std::vector<Option>& options) {
    const Shape all{held.nodes(), held.gpus()};
    const bool may_hold = std::ranges::all_of(held.parts(), [&](const PoolShare& part) {
        const TypeLimits& limits = job.types[part.gpu_type];
        return find_pool(pools, part) < pools.size() && detail::may_hold(job, limits, all) &&
               part.shape.gpus % limits.gpus_per_replica == 0;
    });
    if (held.empty() || !may_hold) return;
    const auto begin = options.begin() + static_cast<std::ptrdiff_t>(first);
    const auto same = [&](const Option& option) { return option.configuration.same_gpus(held); };
    if (std::any_of(begin, options.end(), same)) return;
    const auto place = std::lower_bound(begin, options.end(), held,
                                        [](const Option& option, const Configuration& configuration) {
                                            return option.configuration < configuration;
                                        });
    options.insert(place, {held, {}, 0, Knowledge::unknown});
}

/// The default maker. Its shapes can always be packed onto the nodes of a pool if their sum fits.
struct ListedShapes {
    /// If both the maker and the predictor declare their inputs, a Scheduler asks only once per round for
    /// all jobs that for_each_input() cannot tell apart. A class that derives from this one does not
    /// inherit the declaration.
    using DeclaresInputsOf = ListedShapes;
    /// Calls `input(number)` for everything that is read of a job.
    template <class Input>
    static void for_each_input(const Job& job, Input& input) {
        input(static_cast<int>(job.adaptivity));
        input(job.min_gpus);
        input(job.max_gpus);
        for (const TypeLimits& type : job.types) {
            input(type.max_atomic_batch);
            input(type.gpus_per_replica);
            input(type.most_nodes());
        }
    }

    /// Appends the job's shapes on all pools.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) const {
        append_options(
            job, round.pools, [&](std::size_t type) { return most_gpus[type]; }, options);
    }
};

static_assert(OptionMaker<ListedShapes>);

}  // namespace goodput::inline v0_1

#include "goodput/schedule/detail/why_no_option.hpp"

#endif
