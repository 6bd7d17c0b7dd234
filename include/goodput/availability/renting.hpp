#ifndef GOODPUT_AVAILABILITY_RENTING_HPP
#define GOODPUT_AVAILABILITY_RENTING_HPP

// Which nodes are worth their price now.
//
// Let an hour in which a job is not complete be worth c dollars. With n GPUs at p dollars an hour each, and R
// examples to go at goodput g, a job costs
//
//     cost = (n p + c) * (R / g + restart, if it would have to) + p * (GPUs that it has not yet) * start-up
//
// dollars until it ends, and it wants the option that costs least. Of a long job that is the option with the
// largest g / (n p + c), whatever is left of it. What all jobs want, in whole nodes, is what is worth
// renting: nodes beyond that cost more than the time that they save.
//
// Where an offer's limit, or what is there anyway, does not reach for all wishes, the allotment solver finds
// who gets what: with w the cost of the job's best option, an hour with an option is worth
//
//     value = w / (R / g + restart) - n p            dollars an hour: c for the best option, less for others
//
// and the prices of the solution say what a GPU beyond the limit would be worth. The policy's own values do
// not count: they say who comes first, and no dollars. Jobs that keep what they hold keep it here, too, and
// no team wants more than its quotas allow.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/availability/lost_time.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/schedule/snapshot_check.hpp"

namespace goodput {

/// Nodes of one kind that can be rented.
struct RentOffer {
    std::string name{};                 ///< unique among the offers
    std::size_t gpu_type = 0;           ///< index into Cluster::gpu_types
    int gpus = 1;                       ///< of a node, at least 1
    double dollars_per_hour = 0;        ///< what the whole node costs
    int most_nodes = 0;                 ///< that may be rented at one time
    double start_seconds = 180;         ///< from the order, which is paid for, to the first job
    bool spot = false;                  ///< the provider may take it back
    double interruptions_per_hour = 0;  ///< how often each node is expected to be lost
};

/// What is said of one offer.
struct OfferAdvice {
    int nodes = 0;        ///< that are worth their price, those that are rented already included
    int gpus_wanted = 0;  ///< by all jobs together, in these nodes
    /// Dollars an hour that one more GPU beyond the limit would be worth, its price included; the price where
    /// the limit does not stand in the way.
    double gpu_worth = 0;
    std::string why{};  ///< one sentence
};

/// By offer.
struct RentAdvice {
    std::vector<OfferAdvice> offers{};  ///< in the order of the offers
    double dollars_per_hour = 0;        ///< of all nodes together
};

/// Refuses names given twice, unknown GPU types, two offers of nodes of one pool, and numbers out of range
/// (std::invalid_argument naming the offer).
inline void validate(std::span<const RentOffer> offers, const Cluster& cluster) {
    std::vector<const std::string*> names;
    for (const RentOffer& offer : offers) {
        const auto subject = [&] { return "offer '" + offer.name + "'"; };
        names.push_back(&offer.name);
        if (offer.gpu_type >= cluster.gpu_types.size())
            bad_input(subject(), "gpu_type", offer.gpu_type, "an index into the cluster's GPU types");
        require_between(subject, "gpus", offer.gpus, 1, 1 << 20);
        require_between(subject, "most_nodes", offer.most_nodes, 0, 1 << 20);
        require_at_least(subject, "dollars_per_hour", offer.dollars_per_hour, 0);
        require_at_least(subject, "start_seconds", offer.start_seconds, 0);
        detail::require_up_to(subject, "interruptions_per_hour", offer.interruptions_per_hour,
                              most_interruptions_per_hour);
        for (const RentOffer& other : offers)
            if (&other < &offer && other.gpu_type == offer.gpu_type && other.gpus == offer.gpus &&
                other.spot == offer.spot)
                bad_input(subject(), "nodes", "'" + other.name + "'",
                          "of a GPU type, size or spot of their own");
    }
    detail::require_own_names("offer", names);
}

/// A node of an offer.
[[nodiscard]] inline Node node_of(const RentOffer& offer, std::string name) {
    return {.name = std::move(name),
            .gpu_type = offer.gpu_type,
            .gpus = offer.gpus,
            .dollars_per_hour = offer.dollars_per_hour,
            .interruptions_per_hour = offer.interruptions_per_hour,
            .spot = offer.spot};
}

/// Says what is worth renting, call after call. A policy says which gradient noise it expects and how far a
/// job may grow; its values are not asked for. Limits (limits.hpp) hold as in a Scheduler; what is kept
/// beyond them is kept.
template <OptionPredictor Predictor = GoodputPredictor, Policy P = GoodputPolicy, class Pack = Limits<>>
class RentAdvisor {
public:
    /// `hour_worth`: dollars that an hour is worth in which a job is not complete, above 0
    /// (std::invalid_argument).
    /// `shares_nodes`: whether what all want is brought together on fewer or other whole nodes where that is
    /// worth more; else it is rounded up.
    explicit RentAdvisor(double hour_worth, Predictor predictor = {}, P policy = {}, bool shares_nodes = true,
                         Pack limits = {})
        : hour_worth_(hour_worth),
          predict_(std::move(predictor)),
          policy_(std::move(policy)),
          shares_nodes_(shares_nodes),
          limits_(std::move(limits)) {
        require_positive("renting", "hour_worth", hour_worth);
    }

    /// Dollars that an hour of a job's life is worth.
    [[nodiscard]] double hour_worth() const { return hour_worth_; }

    /// What is worth renting for the jobs of a snapshot. Nodes of its cluster that could be of an offer (GPU
    /// type, size, spot) are taken for rented ones; all others are there anyway and cost nothing. Valid until
    /// the next call. Sets aside and refuses what Scheduler::plan() does, and refuses what validate() refuses
    /// of offers (std::invalid_argument).
    const RentAdvice& advise(const Snapshot& given, std::span<const RentOffer> offers) {
        validate(offers, given.cluster);
        const Snapshot& snapshot = check_(given, true, warnings_);
        gather(snapshot, offers);
        pose(snapshot);
        if (!choose_freely()) choose_within_limits();
        for (std::size_t p = 0; p < pools_.size(); ++p) terms_[p].nodes = nodes_for(p);
        if (shares_nodes_) share_nodes();
        answer(snapshot, offers);
        return advice_;
    }

private:
    struct PoolTerms {
        double gpu_price = 0;  ///< dollars an hour
        double start_hours = 0;
        std::optional<std::size_t> offer{};
        int whole = 0;    ///< nodes that jobs have to themselves
        int partial = 0;  ///< GPUs of others
        double worth = 0;
        int nodes = 0;
    };
    struct Wish {
        std::size_t pool = 0;
        int gpus = 0, nodes = 0;          ///< occupied
        double value = 0;                 ///< dollars an hour
        std::vector<ResourceUse> uses{};  ///< of the rows of the limits, which follow the pools
    };

    /// A cluster with all that could be there.
    void gather(const Snapshot& snapshot, std::span<const RentOffer> offers) {
        all_ = {.gpu_types = snapshot.cluster.gpu_types};
        const auto is_of = [](const Node& node) {
            return [&](const RentOffer& offer) {
                return offer.gpu_type == node.gpu_type && offer.gpus == node.gpus && offer.spot == node.spot;
            };
        };
        for (const Node& node : snapshot.cluster.nodes)
            if (!node.drained && std::none_of(offers.begin(), offers.end(), is_of(node)))
                all_.nodes.push_back(node);
        double most_gpus = 0;
        for (const Job& job : snapshot.jobs) most_gpus += job.max_gpus;
        for (const RentOffer& offer : offers) {
            const double useful = std::min<double>(
                offer.most_nodes, std::ceil(most_gpus / offer.gpus) + double(snapshot.jobs.size()));
            for (int node = 0; node < useful; ++node) all_.nodes.push_back(node_of(offer, offer.name));
        }
        pools_ = pools_of(all_);
        on_demand_.clear();
        for (const Pool& pool : pools_)
            on_demand_.push_back(pool.spot ? Pool{pool.gpu_type, pool.gpus_per_node, {}, true, pool.group}
                                           : pool);
        terms_.assign(pools_.size(), {});
        for (std::size_t o = 0; o < offers.size(); ++o) {
            const RentOffer& offer = offers[o];
            const std::size_t pool = find_pool(pools_, {offer.gpu_type, offer.gpus, offer.spot});
            if (pool < pools_.size())
                terms_[pool] = {offer.dollars_per_hour / offer.gpus, offer.start_seconds / 3600, o, 0, 0, 0};
        }
        lost_.begin_round(round_of(snapshot));
        limits_.rows(round_of(snapshot), pools_.size(), rows_);
    }
    /// What could be there, as limits see it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const {
        return {snapshot.time_seconds, all_, pools_};
    }

    /// What every option is worth to its job.
    void pose(const Snapshot& snapshot) {
        wishes_.clear();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            wishes_.emplace_back();
            offer(snapshot, j);
            value(snapshot, j);
        }
        keeps_.clear();
        kept_.assign(pools_.size() + rows_.all().size(), 0);
        for (std::size_t j = 0; j < wishes_.size(); ++j) {
            keeps_.push_back(snapshot.jobs[j].keeps_what_it_holds() && !wishes_[j].empty());
            if (keeps_[j]) add_uses(wishes_[j].front(), kept_);
        }
    }
    static void add_uses(const Wish& wish, std::vector<double>& units) {
        units[wish.pool] += wish.gpus;
        for (const ResourceUse& use : wish.uses) units[use.resource] += use.units;
    }

    void offer(const Snapshot& snapshot, std::size_t j) {
        const Job& job = snapshot.jobs[j];
        options_.clear();
        find_most_gpus(policy_, snapshot, j, most_gpus_);
        if (job.keeps_what_it_holds())
            options_.push_back({configuration_of(job.placement, snapshot.cluster), {}, 0, {}});
        else
            append_options(
                job, std::span<const Pool>(job.spot_allowed ? pools_ : on_demand_),
                [&](std::size_t type) { return most_gpus_[type]; }, options_);
        ListedShapes maker;
        predict_as_valued(policy_, job, model_of(snapshot, j), predict_, maker, std::span<Option>(options_));
        for (Option& option : options_) lost_(job, option);
        std::erase_if(options_, [&](const Option& option) {
            return find_pool(pools_, option.configuration.first()) == pools_.size();
        });
    }

    void value(const Snapshot& snapshot, std::size_t j) {
        const Job& job = snapshot.jobs[j];
        limits_.start_job(round_of(snapshot), job);
        const Configuration held = configuration_of(job.placement, snapshot.cluster);
        const double hours_left = hours_on_best(snapshot, job);
        double best = 0;
        for (const Option& option : options_) best = std::max(best, option.goodput);
        rates_.clear();
        double least = -1;
        for (const Option& option : options_) {
            const bool stays = option.configuration.same_gpus(held);
            const PoolTerms& terms = terms_[pool_of(option)];
            // Of a job that nothing is known of, all GPUs are as good as one.
            const double speed = best > 0 ? option.goodput / best : 1;
            const double hours =
                speed > 0 ? hours_left / speed + (stays || held.empty() ? 0 : job.restart_cost_seconds / 3600)
                          : 0;
            const int gpus = option.configuration.occupied_gpus(),
                      more = gpus - (option.configuration.first().same_pool(held.first()) ? held.gpus() : 0);
            const double start = std::max(more, 0) * terms.gpu_price * terms.start_hours;
            rates_.push_back({hours, start});
            if (hours > 0) {
                const double cost = (gpus * terms.gpu_price + hour_worth_) * hours + start;
                if (least < 0 || cost < least) least = cost;
            }
        }
        for (std::size_t k = 0; k < options_.size(); ++k) {
            const auto [hours, start] = rates_[k];
            if (!(hours > 0)) continue;
            const PoolShare& part = options_[k].configuration.first();
            const std::size_t pool = pool_of(options_[k]);
            const int gpus = options_[k].configuration.occupied_gpus();
            Wish& wish = wishes_.back().emplace_back(
                Wish{pool, gpus, part.shape.nodes, (least - start) / hours - gpus * terms_[pool].gpu_price});
            limits_.uses(round_of(snapshot), job, options_[k], wish.uses);
        }
    }

    /// Until the job ends on its best option; of one that nothing is known of, as long as it has run, at
    /// least five minutes. Never less than a second.
    [[nodiscard]] double hours_on_best(const Snapshot& snapshot, const Job& job) const {
        double best = 0;
        for (const Option& option : options_) best = std::max(best, option.goodput);
        const std::optional<double>& left =
            job.remaining_examples ? job.remaining_examples : job.expected_examples;
        if (left && best > 0) return std::max(*left / best, 1.0) / 3600;
        return std::max(snapshot.time_seconds - job.submitted_seconds, 300.0) / 3600;
    }

    [[nodiscard]] std::size_t pool_of(const Option& option) const {
        return find_pool(pools_, option.configuration.first());
    }

    void take(const Wish& wish) {
        PoolTerms& terms = terms_[wish.pool];
        const int size = pools_[wish.pool].gpus_per_node;
        if (wish.nodes > 1 || wish.gpus == size)
            terms.whole += wish.nodes;
        else
            terms.partial += wish.gpus;
    }

    /// Everybody gets what it wants most; false if that is not there.
    bool choose_freely() {
        for (PoolTerms& terms : terms_) terms.worth = terms.gpu_price;
        std::vector<double> used(kept_.size(), 0);
        for (const std::vector<Wish>& wishes : wishes_) {
            const auto best = std::max_element(
                wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.value < b.value; });
            if (best == wishes.end()) continue;
            take(*best);
            add_uses(*best, used);
        }
        for (std::size_t r = pools_.size(); r < used.size(); ++r)
            if (used[r] > capacity_of(r) * (1 + 1e-9)) return false;
        for (std::size_t p = 0; p < pools_.size(); ++p)
            if (nodes_for(p) > static_cast<int>(pools_[p].nodes.size())) return false;
        return true;
    }

    /// What there is of a limit, or what is kept of it where that is more.
    [[nodiscard]] double capacity_of(std::size_t row) const {
        return std::max(rows_.all()[row - pools_.size()].capacity, kept_[row]);
    }
    /// Who gets what, with so many GPUs of each pool and the limits. `worth(wish)`: of a wish.
    template <class Gpus, class Worth>
    const AllotResult& choose(Gpus gpus, Worth worth) {
        problem_.clear();
        problem_.capacity.clear();
        for (std::size_t p = 0; p < pools_.size(); ++p) problem_.capacity.push_back(gpus(p));
        for (std::size_t r = pools_.size(); r < kept_.size(); ++r)
            problem_.capacity.push_back(capacity_of(r));
        for (std::size_t j = 0; j < wishes_.size(); ++j) {
            problem_.add_job(keeps_[j]);
            for (const Wish& wish : wishes_[j]) {
                uses_.assign(1, {static_cast<std::uint32_t>(wish.pool), double(wish.gpus)});
                uses_.insert(uses_.end(), wish.uses.begin(), wish.uses.end());
                problem_.add_option(worth(wish), uses_);
            }
        }
        solved_ = solve_(problem_, AllotOptions{});
        return solved_;
    }

    void choose_within_limits() {
        const AllotResult& result =
            choose([&](std::size_t p) { return std::max<double>(pools_[p].gpus(), kept_[p]); },
                   [](const Wish& wish) { return wish.value; });
        for (std::size_t p = 0; p < pools_.size(); ++p) {
            terms_[p].whole = terms_[p].partial = 0;
            terms_[p].worth = terms_[p].gpu_price + result.prices[p];
        }
        for (std::size_t j = 0; j < wishes_.size(); ++j)
            if (result.choice[j] != no_option) take(wishes_[j][result.choice[j]]);
    }

    /// What is left over of the last node of each offer costs as much as what is used: fewer nodes, one of
    /// another offer instead, or one more, as long as that is worth its price and nobody waits for it.
    void share_nodes() {
        std::size_t served = 0;
        double current = worth_of_nodes(served);
        for (int step = 0; step < most_steps; ++step) {
            constexpr int none = -1;
            const int pools = static_cast<int>(pools_.size());
            double best = current + 1e-9 * (1 + std::abs(current));
            std::pair<int, int> best_move{none, none};
            for (int from = none; from < pools; ++from)
                for (int to = none; to < pools; ++to) {
                    if (from == to || !move(from, -1)) continue;
                    if (move(to, 1)) {
                        std::size_t now = 0;
                        if (const double worth = worth_of_nodes(now); now >= served && worth > best)
                            best = worth, best_move = {from, to};
                        move(to, -1);
                    }
                    move(from, 1);
                }
            if (best_move == std::pair(none, none)) break;
            move(best_move.first, -1);
            move(best_move.second, 1);
            current = worth_of_nodes(served);
        }
        worth_of_nodes(served);
        for (PoolTerms& terms : terms_) terms.whole = terms.partial = 0;
        for (std::size_t j = 0; j < wishes_.size(); ++j)
            if (choice_[j] != no_option) take(wishes_[j][choice_[j]]);
    }
    /// One node more or fewer of a pool, if that can be; -1 is no pool.
    bool move(int pool, int nodes) {
        if (pool < 0) return true;
        PoolTerms& terms = terms_[static_cast<std::size_t>(pool)];
        const int limit = static_cast<int>(pools_[static_cast<std::size_t>(pool)].nodes.size());
        if (!terms.offer || terms.nodes + nodes < 0 || terms.nodes + nodes > limit) return false;
        terms.nodes += nodes;
        return true;
    }
    /// Dollars an hour that the progress of all jobs on these nodes is worth, less what the nodes cost.
    double worth_of_nodes(std::size_t& served) {
        const auto gpus = [&](std::size_t p) -> double {
            return terms_[p].offer ? terms_[p].nodes * pools_[p].gpus_per_node : pools_[p].gpus();
        };
        double price = 0;
        for (std::size_t p = 0; p < pools_.size(); ++p) {
            price += gpus(p) * terms_[p].gpu_price;
            // Too few nodes for what is kept are worth nothing.
            if (terms_[p].offer && gpus(p) < kept_[p]) return -std::numeric_limits<double>::infinity();
        }
        const AllotResult& result =
            choose([&](std::size_t p) { return std::max(gpus(p), kept_[p]); },
                   [&](const Wish& wish) { return wish.value + wish.gpus * terms_[wish.pool].gpu_price; });
        choice_ = result.choice;
        served = 0;
        for (const std::size_t choice : choice_) served += choice != no_option;
        return result.objective - price;
    }

    [[nodiscard]] int nodes_for(std::size_t pool) const {
        const int size = pools_[pool].gpus_per_node;
        return terms_[pool].whole + (terms_[pool].partial + size - 1) / size;
    }

    void answer(const Snapshot& snapshot, std::span<const RentOffer> offers) {
        advice_.offers.assign(offers.size(), {});
        advice_.dollars_per_hour = 0;
        for (std::size_t o = 0; o < offers.size(); ++o)
            advice_.offers[o].gpu_worth = offers[o].dollars_per_hour / offers[o].gpus;
        for (std::size_t p = 0; p < pools_.size(); ++p) {
            if (!terms_[p].offer) continue;
            OfferAdvice& of = advice_.offers[*terms_[p].offer];
            of.nodes = std::min(terms_[p].nodes, offers[*terms_[p].offer].most_nodes);
            of.gpus_wanted = terms_[p].whole * pools_[p].gpus_per_node + terms_[p].partial;
            of.gpu_worth = terms_[p].worth;
        }
        for (std::size_t o = 0; o < offers.size(); ++o) {
            advice_.dollars_per_hour += advice_.offers[o].nodes * offers[o].dollars_per_hour;
            advice_.offers[o].why = say_why(snapshot, offers[o], advice_.offers[o]);
        }
    }

    [[nodiscard]] std::string say_why(const Snapshot& snapshot, const RentOffer& offer,
                                      const OfferAdvice& advice) const {
        const double price = offer.dollars_per_hour / offer.gpus;
        const std::string each = "$" + rounded_text_of(price) + " a GPU hour";
        if (offer.most_nodes == 0) return "none may be rented";
        if (snapshot.jobs.empty()) return "there is no job";
        if (advice.gpus_wanted == 0)
            return "no job is worth " + each + " here: others cost less, or nothing more is gained";
        std::string text = "jobs want " + text_of(advice.gpus_wanted) + " GPUs at " + each + ": " +
                           text_of(advice.nodes) + (advice.nodes == 1 ? " node" : " nodes");
        if (advice.gpu_worth > price * (1 + 1e-9))
            text += "; one more GPU than the " + text_of(offer.most_nodes * offer.gpus) +
                    " that may be rented would be worth $" + rounded_text_of(advice.gpu_worth) + " an hour";
        return text;
    }

    static constexpr int most_steps = 32;
    double hour_worth_;
    Predictor predict_;
    P policy_;
    bool shares_nodes_;
    Pack limits_;
    LimitRows rows_;
    std::vector<std::size_t> choice_;  // by job
    SnapshotCheck check_;
    std::vector<std::string> warnings_;  // of a plan of the same snapshot, which says them
    LostTime lost_;
    Cluster all_;
    std::vector<Pool> pools_, on_demand_;
    std::vector<PoolTerms> terms_;           // by pool
    std::vector<std::vector<Wish>> wishes_;  // by job
    std::vector<char> keeps_;                // by job: what it holds, which is its only wish
    std::vector<double> kept_;               // by pool, then row of the limits: units that are kept
    std::vector<ResourceUse> uses_;          // of one wish
    AllotResult solved_;
    std::vector<Option> options_;  // of one job
    std::vector<std::pair<double, double>> rates_;
    std::vector<int> most_gpus_;
    AllotmentProblem problem_;
    Allotter<> solve_;
    RentAdvice advice_;
};

}  // namespace goodput

#endif
