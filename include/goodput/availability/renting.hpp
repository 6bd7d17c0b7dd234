#ifndef GOODPUT_AVAILABILITY_RENTING_HPP
#define GOODPUT_AVAILABILITY_RENTING_HPP

// Decides which nodes are worth their price now.
//
// Suppose that it costs c dollars for every hour that a job is not complete. With n GPUs at p dollars per
// hour each, and R examples left at goodput g, a job costs
//
//     cost = (n p + c) * (R / g + restart, if it would have to) + p * (GPUs that it has not yet) * start-up
//
// dollars until it ends, and it wants the option that costs least. For a long job that is the option with
// the largest g / (n p + c), however much work is left. It is worthwhile to rent the whole nodes that all
// jobs together want. More nodes would cost more than the time that they save.
//
// If the limit of an offer, or the nodes that exist anyway, cannot satisfy all wishes (options that jobs
// want), the allotment solver decides which job gets what. With w the cost of the job's best option, an
// hour with an option is worth
//
//     value = (w - start-up) / (R / g + restart) - n p        dollars per hour: c for the best option,
//                                                             less for others
//
// where `start-up` is the last term of the cost. The dual prices of the solution say what a GPU beyond the
// limit would be worth. The policy's own values are not used, because they express priority and not
// dollars. Jobs that keep what they hold keep it here as well, and limits such as team quotas hold.

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
#include "goodput/availability/rent_offer.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

/// The advice on one offer.
struct OfferAdvice {
    int nodes = 0;        ///< number of nodes worth their price, including nodes already rented
    int gpus_wanted = 0;  ///< GPUs in these nodes that all jobs together want
    /// Value in dollars per hour of one more GPU beyond the limit, not reduced by its price. If the limit
    /// has no effect, this equals the price.
    double gpu_worth = 0;
    std::string why{};  ///< the reason in one sentence
};

/// The advice on all offers.
struct RentAdvice {
    std::vector<OfferAdvice> offers{};  ///< in the order of the offers
    double dollars_per_hour = 0;        ///< price of all advised nodes together
};

/// Advises which nodes to rent, call after call. The policy determines the expected gradient noise and how
/// far a job may grow; its values are not used. Limits (limits.hpp) hold as in a Scheduler. Jobs that keep
/// GPUs beyond a limit keep them.
template <OptionPredictor Predictor = GoodputPredictor, Policy P = GoodputPolicy, class LimitPack = Limits<>>
class RentAdvisor {
public:
    /// `hour_worth` is c of the opening comment: what it costs, in dollars, if a job completes an hour
    /// later. It must be above 0; throws std::invalid_argument otherwise.
    explicit RentAdvisor(double hour_worth, Predictor predictor = {}, P policy = {}, LimitPack limits = {})
        : hour_worth_(hour_worth),
          predict_(std::move(predictor)),
          policy_(std::move(policy)),
          limits_(std::move(limits)) {
        require_positive("renting", "hour_worth", hour_worth);
    }

    /// Returns c of the opening comment, in dollars.
    [[nodiscard]] double hour_worth() const { return hour_worth_; }

    /// Advises what to rent for the jobs of a snapshot. Nodes of its cluster that match an offer (GPU type,
    /// size, spot) are treated as rented; all others exist anyway and cost nothing. The advice is valid
    /// until the next call. Jobs and nodes are set aside, and snapshots rejected, as in Scheduler::plan().
    /// Throws std::invalid_argument for everything that validate() rejects in offers.
    const RentAdvice& advise(const Snapshot& given, std::span<const RentOffer> offers) {
        validate(offers, given.cluster);
        const Snapshot& snapshot = check_(given, true, warnings_);
        gather(snapshot, offers);
        pose(snapshot);
        choose_of_all();
        bring_together();
        answer(snapshot, offers);
        return advice_;
    }

private:
    struct PoolTerms {
        double gpu_price = 0;  ///< dollars per hour
        double start_hours = 0;
        std::optional<std::size_t> offer{};
        int nodes = 0;   ///< nodes that exist or are to be rented
        int wanted = 0;  ///< GPUs of these nodes that jobs want
        double worth = 0;
    };
    struct Wish {
        std::size_t pool = 0;
        int gpus = 0;                     ///< occupied GPUs
        double hours = 0;                 ///< hours until the job ends
        double start = 0;                 ///< dollars for the start-up of nodes
        double value = 0;                 ///< dollars per hour
        std::vector<ResourceUse> uses{};  ///< uses of the limits' rows, which follow the pools
    };

    /// Builds a cluster with all nodes that could exist.
    void gather(const Snapshot& snapshot, std::span<const RentOffer> offers) {
        all_ = {.gpu_types = snapshot.cluster.gpu_types};
        for (const Node& node : snapshot.cluster.nodes)
            if (!node.drained && std::ranges::none_of(offers, [&](const RentOffer& offer) {
                    return offer.gpu_type == node.gpu_type && offer.gpus == node.gpus &&
                           offer.spot == node.spot;
                }))
                all_.nodes.push_back(node);
        double most_gpus = 0;
        for (const Job& job : snapshot.jobs) most_gpus += job.max_gpus;
        for (const RentOffer& offer : offers) {
            const double useful = std::min<double>(
                offer.most_nodes, std::ceil(most_gpus / offer.gpus) + double(snapshot.jobs.size()));
            for (int node = 0; node < useful; ++node) all_.nodes.push_back(node_of(offer, node));
        }
        pools_ = pools_of(all_);
        terms_.assign(pools_.size(), {});
        for (std::size_t p = 0; p < pools_.size(); ++p)
            terms_[p].nodes = static_cast<int>(pools_[p].nodes.size());
        for (std::size_t o = 0; o < offers.size(); ++o) {
            const RentOffer& offer = offers[o];
            const std::size_t pool = find_pool(pools_, {offer.gpu_type, offer.gpus, offer.spot});
            if (pool == pools_.size()) continue;
            terms_[pool].gpu_price = offer.dollars_per_hour / offer.gpus;
            terms_[pool].start_hours = offer.start_seconds / 3600;
            terms_[pool].offer = o;
        }
        lost_.begin_round(round_of(snapshot));
        limits_.rows(round_of(snapshot), pools_.size(), rows_);
    }
    /// Returns the possible nodes as a round, for the limits.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const {
        return {snapshot.time_seconds, all_, pools_};
    }

    /// Finds the wishes of each job, and what each is worth to the job.
    void pose(const Snapshot& snapshot) {
        wishes_.clear();
        keeps_.clear();
        kept_.assign(pools_.size() + rows_.all().size(), 0);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            find_options(snapshot, j);
            find_wishes(snapshot, snapshot.jobs[j]);
            keeps_.push_back(snapshot.jobs[j].keeps_what_it_holds() && !wishes_.back().empty());
            if (!keeps_.back()) continue;
            const Wish& wish = wishes_.back().front();
            kept_[wish.pool] += wish.gpus;
            for (const ResourceUse& use : wish.uses) kept_[use.resource] += use.units;
        }
    }

    void find_options(const Snapshot& snapshot, std::size_t j) {
        const Job& job = snapshot.jobs[j];
        options_.clear();
        find_most_gpus(policy_joint(policy_), snapshot, j, most_gpus_);
        if (job.keeps_what_it_holds())
            options_.push_back({configuration_of(job.placement, snapshot.cluster), {}, 0, {}});
        else
            append_options(
                job, std::span<const Pool>(pools_), [&](std::size_t type) { return most_gpus_[type]; },
                options_);
        std::erase_if(options_, [&](const Option& option) {
            const PoolShare& part = option.configuration.first();
            return find_pool(pools_, part) == pools_.size() ||
                   (part.spot && !job.spot_allowed && !job.keeps_what_it_holds());
        });
        ListedShapes maker;
        predict_as_valued({.policy = policy_joint(policy_),
                           .predictor = predictor_joint(predict_),
                           .maker = maker_joint(maker)},
                          job, model_of(snapshot, j), options_);
        for (Option& option : options_) lost_(job, option);
    }

    void find_wishes(const Snapshot& snapshot, const Job& job) {
        const Configuration held = configuration_of(job.placement, snapshot.cluster);
        double fastest = 0;
        for (const Option& option : options_) fastest = std::max(fastest, option.goodput);
        const double hours_left = hours_on_best(snapshot, job, fastest);
        double least = std::numeric_limits<double>::infinity();
        std::vector<Wish>& wishes = wishes_.emplace_back();
        limits_.start_job(round_of(snapshot), job);
        for (const Option& option : options_) {
            // If nothing is known about a job, all its options are treated as equally fast.
            const double speed = fastest > 0 ? option.goodput / fastest : 1;
            if (!(speed > 0)) continue;
            const PoolShare& part = option.configuration.first();
            const std::size_t pool = find_pool(pools_, part);
            const PoolTerms& terms = terms_[pool];
            const bool restarts = !held.empty() && !option.configuration.same_gpus(held);
            const int gpus = option.configuration.occupied_gpus(),
                      more = gpus - (part.same_pool(held.first()) ? held.gpus() : 0);
            Wish& wish = wishes.emplace_back(
                Wish{pool, gpus, hours_left / speed + (restarts ? job.restart_cost_seconds / 3600 : 0),
                     std::max(more, 0) * terms.gpu_price * terms.start_hours});
            limits_.uses(round_of(snapshot), job, option, wish.uses);
            least = std::min(least, (gpus * terms.gpu_price + hour_worth_) * wish.hours + wish.start);
        }
        for (Wish& wish : wishes)
            wish.value = (least - wish.start) / wish.hours - wish.gpus * terms_[wish.pool].gpu_price;
    }

    /// Returns the hours until the job ends on its best option, at least a second. If the work left is not
    /// known, assumes that the job will run for as long as it has existed, at least five minutes.
    [[nodiscard]] static double hours_on_best(const Snapshot& snapshot, const Job& job, double fastest) {
        const std::optional<double>& left = job.examples_left();
        if (left && fastest > 0) return std::max(*left / fastest, 1.0) / 3600;
        return std::max(snapshot.time_seconds - job.submitted_seconds, 300.0) / 3600;
    }

    /// Chooses each job's wish on the nodes that exist or are to be rented, within the limits.
    /// `worth(wish)` returns the value of a wish.
    template <class Worth>
    void choose(Worth worth) {
        problem_.clear();
        problem_.capacity.clear();
        for (std::size_t p = 0; p < pools_.size(); ++p) problem_.capacity.push_back(gpus_of(p));
        for (const LimitRow& row : rows_.all()) problem_.capacity.push_back(row.capacity);
        // Kept GPUs may exceed the capacity, so it is raised.
        for (std::size_t r = 0; r < kept_.size(); ++r)
            problem_.capacity[r] = std::max(problem_.capacity[r], kept_[r]);
        for (std::size_t j = 0; j < wishes_.size(); ++j) {
            problem_.add_job(keeps_[j]);
            for (const Wish& wish : wishes_[j]) {
                uses_.assign(1, {static_cast<std::uint32_t>(wish.pool), double(wish.gpus)});
                uses_.insert(uses_.end(), wish.uses.begin(), wish.uses.end());
                problem_.add_option(worth(wish), uses_);
            }
        }
        solved_ = solve_(problem_, AllotOptions{});
    }
    [[nodiscard]] int gpus_of(std::size_t pool) const {
        return terms_[pool].nodes * pools_[pool].gpus_per_node;
    }
    void count_wanted() {
        for (PoolTerms& terms : terms_) terms.wanted = 0;
        for (std::size_t j = 0; j < wishes_.size(); ++j)
            if (solved_.choice[j] != no_option) {
                const Wish& wish = wishes_[j][solved_.choice[j]];
                terms_[wish.pool].wanted += wish.gpus;
            }
    }

    /// Finds what jobs want if all possible nodes exist, and the number of nodes that this takes.
    void choose_of_all() {
        choose([](const Wish& wish) { return wish.value; });
        count_wanted();
        for (std::size_t p = 0; p < pools_.size(); ++p) {
            const int size = pools_[p].gpus_per_node;
            terms_[p].worth = terms_[p].gpu_price + solved_.prices[p];
            if (terms_[p].offer) terms_[p].nodes = (terms_[p].wanted + size - 1) / size;
        }
    }

    /// Unused GPUs of each offer's last node cost as much as used ones. Tries fewer nodes, one node of
    /// another offer instead, or one node more. Keeps a change if it increases the worth minus the price,
    /// and if no job has to wait for it.
    void bring_together() {
        std::size_t served = 0;
        double current = worth_of_nodes(served);
        for (int step = 0; step < most_steps; ++step) {
            const std::size_t none = pools_.size();
            // There are no prices if what is kept does not fit, because the allotment was then not solved.
            const std::vector<double> prices =
                std::isfinite(current) ? solved_.prices : std::vector<double>();
            const double rest = worth_above(prices);
            double best = current + 1e-9 * (1 + std::abs(current));
            std::pair best_move{none, none};
            for (std::size_t from = 0; from <= none; ++from)
                for (std::size_t to = 0; to <= none; ++to) {
                    if (from == to || !move(from, -1)) continue;
                    if (move(to, 1)) {
                        std::size_t now = 0;
                        // The prices give an upper bound on the worth of any allotment, so a node that
                        // cannot improve it is skipped.
                        if (prices.empty() || rest + worth_at(prices) > best)
                            if (const double worth = worth_of_nodes(now); now >= served && worth > best)
                                best = worth, best_move = {from, to};
                        move(to, -1);
                    }
                    move(from, 1);
                }
            move(best_move.first, -1);
            move(best_move.second, 1);
            current = worth_of_nodes(served);
            if (best_move == std::pair{none, none}) break;
        }
        count_wanted();
    }
    /// Adds `nodes` nodes (1 or -1) to a pool. Returns whether that is possible; it always is if `pool`
    /// means no pool.
    bool move(std::size_t pool, int nodes) {
        if (pool == pools_.size()) return true;
        PoolTerms& terms = terms_[pool];
        const int limit = static_cast<int>(pools_[pool].nodes.size());
        if (!terms.offer || terms.nodes + nodes < 0 || terms.nodes + nodes > limit) return false;
        terms.nodes += nodes;
        return true;
    }
    /// Returns the dollars per hour that the progress of all jobs on these nodes is worth, minus the price
    /// of the nodes.
    double worth_of_nodes(std::size_t& served) {
        double price = 0;
        for (std::size_t p = 0; p < pools_.size(); ++p) {
            price += gpus_of(p) * terms_[p].gpu_price;
            // Nodes that cannot hold what is kept are not allowed.
            if (terms_[p].offer && gpus_of(p) < kept_[p]) return -std::numeric_limits<double>::infinity();
        }
        choose([&](const Wish& wish) { return wish.value + wish.gpus * terms_[wish.pool].gpu_price; });
        served =
            solved_.choice.size() - static_cast<std::size_t>(std::ranges::count(solved_.choice, no_option));
        return solved_.objective - price;
    }

    /// Returns the sum over jobs of the best wish's value minus its price, at these prices of the rows of
    /// problem_. Together with capacity times prices, this is an upper bound on any allotment of any
    /// capacity.
    [[nodiscard]] double worth_above(std::span<const double> prices) const {
        double sum = 0;
        for (std::size_t j = 0; j < problem_.jobs() && !prices.empty(); ++j) {
            double best = problem_.must(j) ? -std::numeric_limits<double>::infinity() : 0;
            for (std::size_t k = 0; k < problem_.options_of(j); ++k) {
                double above = problem_.value(j, k);
                for (const ResourceUse& use : problem_.uses(j, k)) above -= prices[use.resource] * use.units;
                best = std::max(best, above);
            }
            sum += best;
        }
        return sum;
    }
    /// Returns capacity times prices on the present nodes, minus what the nodes cost.
    [[nodiscard]] double worth_at(std::span<const double> prices) const {
        double sum = 0;
        for (std::size_t r = 0; r < prices.size(); ++r)
            sum += prices[r] *
                   (r < pools_.size() ? std::max<double>(gpus_of(r), kept_[r]) : problem_.capacity[r]);
        for (std::size_t p = 0; p < pools_.size(); ++p) sum -= gpus_of(p) * terms_[p].gpu_price;
        return sum;
    }

    void answer(const Snapshot& snapshot, std::span<const RentOffer> offers) {
        advice_.offers.assign(offers.size(), {});
        advice_.dollars_per_hour = 0;
        for (std::size_t o = 0; o < offers.size(); ++o)
            advice_.offers[o].gpu_worth = offers[o].dollars_per_hour / offers[o].gpus;
        for (const PoolTerms& terms : terms_)
            if (terms.offer)
                advice_.offers[*terms.offer] = {
                    std::min(terms.nodes, offers[*terms.offer].most_nodes), terms.wanted, terms.worth, {}};
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
    LimitPack limits_;
    LimitRows rows_;
    SnapshotCheck check_;
    std::vector<std::string> warnings_;  // warnings; a plan of the same snapshot repeats them
    LostTime lost_;
    Cluster all_;
    std::vector<Pool> pools_;
    std::vector<PoolTerms> terms_;           // by pool
    std::vector<std::vector<Wish>> wishes_;  // by job
    std::vector<char> keeps_;                // by job: whether its only wish is what it holds
    std::vector<double> kept_;               // by pool, then by row of the limits: units that jobs keep
    std::vector<ResourceUse> uses_;          // uses of one wish
    std::vector<Option> options_;            // options of one job
    std::vector<int> most_gpus_;             // GPU limits of one job
    AllotmentProblem problem_;
    AllotResult solved_;
    Allotter<> solve_;
    RentAdvice advice_;
};

}  // namespace goodput::inline v0_1

#endif
