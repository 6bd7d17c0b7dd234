#ifndef GOODPUT_SHARE_DETAIL_STEPS_WITH_PAIRS_HPP
#define GOODPUT_SHARE_DETAIL_STEPS_WITH_PAIRS_HPP

// The part of an InteriorPoint (interior_point.hpp) that handles pairs: which of them take part, and the
// steps of groups that pairs tie to each other.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/share/detail/group_program.hpp"
#include "goodput/share/detail/interior_point.hpp"
#include "goodput/share/detail/pair_factor.hpp"

namespace goodput::inline v0_1::detail {

template <class Utility>
void InteriorPoint<Utility>::choose_pairs(bool all) {
    place_.assign(all_pairs_.size(), absent);
    std::vector<std::size_t> best(static_cast<std::size_t>(copies_.size()), absent);
    std::vector<double> most(best.size(), 0);
    for (std::size_t k = 0; k < all_pairs_.size(); ++k) {
        if (all) add_pair(k);
        const PairColumn& pair = all_pairs_[k];
        const double done = pair.value + pair.rate[0] + pair.rate[1];
        for (std::size_t i = 0; i < 2; ++i)
            if (pair.rate[i] > 0 && done > most[pair.group[i]]) {
                best[pair.group[i]] = k;
                most[pair.group[i]] = done;
            }
    }
    for (const std::size_t k : best)
        if (k != absent) add_pair(k);
    pose_pairs();
}

template <class Utility>
void InteriorPoint<Utility>::pose_pairs() {
    const Index groups = copies_.size(), types = uses_.cols();
    std::vector<std::pair<Index, Index>> meets;
    for (const PairColumn& pair : pairs_) {
        const Index a = index(pair.group[0]), b = index(pair.group[1]);
        if (a == b) continue;
        meets.emplace_back(2 * a, 2 * b);
        if (has_row_(b) > 0) meets.emplace_back(2 * a, 2 * b + 1);
        if (has_row_(a) > 0) meets.emplace_back(2 * a + 1, 2 * b);
        if (has_row_(a) * has_row_(b) > 0) meets.emplace_back(2 * a + 1, 2 * b + 1);
    }
    for (Index g = 0; g < groups; ++g) {
        if (has_row_(g) > 0) meets.emplace_back(2 * g, 2 * g + 1);
        for (Index t = 0; t < types; ++t)
            for (Index row = 2 * g; row <= 2 * g + (has_row_(g) > 0); ++row)
                meets.emplace_back(row, 2 * groups + t);
    }
    std::vector<Index> block_of;
    for (Index g = 0; g < groups; ++g) block_of.insert(block_of.end(), 2, g);
    for (Index t = 0; t < types; ++t) block_of.push_back(groups + t);
    factor_of_pairs_.pose(block_of, meets);
}

template <class Utility>
void InteriorPoint<Utility>::let_pairs_join(double centre) {
    if (!lacks_pairs()) return;
    const Array no_shift = Array::Zero(copies_.size());
    const Array change =
        costs_of(all_pairs_, time_.dprice, has_row_ * rate_.dprice.col(0), left_.dprice, no_shift);
    const Array kept = 1 + step_dual_ * change / absent_costs_.max(1e-300);
    const double too_cheap = std::max(1 - reach, 0.3 * std::min(centre_after_step() / centre, 1.0));
    std::vector<std::size_t> cheapest(static_cast<std::size_t>(no_shift.size()), absent);  // by group
    double least = 1;
    for (std::size_t k = 0; k < all_pairs_.size(); ++k) {
        if (place_[k] != absent || kept(index(k)) >= too_cheap) continue;
        least = std::min(least, kept(index(k)));
        for (const std::size_t g : all_pairs_[k].group)
            if (cheapest[g] == absent || kept(index(k)) < kept(index(cheapest[g]))) cheapest[g] = k;
    }
    const double part = (1 - least_kept) / (1 - std::min(least, least_kept));
    step_dual_ *= part;
    if (has_utility_) step_primal_ = step_dual_;
    const Index before = index(pairs_.size());
    for (std::size_t k = 0; k < all_pairs_.size() && iterations_ >= patience; ++k) add_pair(k);
    for (const std::size_t k : cheapest)
        if (k != absent) add_pair(k);
    if (index(pairs_.size()) == before) return;
    place_new_pairs(before, centre, change);
    pose_pairs();
}

template <class Utility>
void InteriorPoint<Utility>::place_new_pairs(Index before, double centre, const Array& change) {
    const Index pairs = index(pairs_.size());
    for (Array2* list : {&pair_.slack, &pair_.price, &pair_.dslack, &pair_.dprice}) {
        list->conservativeResize(pairs, 1);
        list->bottomRows(pairs - before).setZero();
    }
    pair_.weights.conservativeResize(pairs);
    pair_values_.conservativeResize(pairs);
    Array joining = Array::Zero(copies_.size());
    for (Index i = before; i < pairs; ++i)
        for (const std::size_t g : pairs_[static_cast<std::size_t>(i)].group) joining(index(g)) += 1;
    for (std::size_t k = 0; k < place_.size(); ++k) {
        const Index i = index(place_[k]);
        if (place_[k] == absent || i < before) continue;
        const PairColumn& pair = all_pairs_[k];
        pair_.weights(i) = pair.copies;
        pair_values_(i) = pair.value;
        pair_.price(i) = std::max(absent_costs_(index(k)), centre);
        pair_.dprice(i) = change(index(k));
        pair_.slack(i) = centre / pair_.price(i);
        for (const Index g : {index(pair.group[0]), index(pair.group[1])})
            pair_.slack(i) =
                std::min(pair_.slack(i), 0.3 * time_.slack(g) * copies_(g) / (joining(g) * pair.copies));
        products_ += pair.copies;
    }
}

template <class Utility>
void InteriorPoint<Utility>::add_pairs(const Array2& times, Array& time, Array& rate, Array& used,
                                       const Array& shift) const {
    if (times.rows() == 0) return;
    Array2 more = Array2::Zero(2, copies_.size());
    for (Index k = 0; k < times.rows(); ++k) {
        const PairColumn& pair = pairs_[static_cast<std::size_t>(k)];
        const double amount = pair.copies * times(k);
        for (std::size_t i = 0; i < 2; ++i) {
            const Index g = index(pair.group[i]);
            more(0, g) += amount;
            more(1, g) += amount * (pair.rate[i] - shift(g));
        }
        used(index(pair.type)) += amount * pair.use;
    }
    time += more.row(0).transpose() / copies_;
    rate += more.row(1).transpose() / copies_;
}

template <class Utility>
bool InteriorPoint<Utility>::factor_pairs() {
    const Index groups = copies_.size();
    const Array2 ratios = share_.ratio();
    const Array alpha = time_.ratio(), of_pair = pair_.ratio();
    // A job with enough time left gets shift 0: its rows do not cancel.
    Array most = alpha;
    const auto shift_to = [&](Index g, double weight, double rate) {
        if (weight <= most(g)) return;
        most(g) = weight;
        shift_(g) = rate;
    };
    for (Index t = 0; t < uses_.cols(); ++t)
        for (Index g = 0; g < groups; ++g) shift_to(g, ratios(g, t), rates_(g, t));
    for (Index k = 0; k < of_pair.size(); ++k) {
        const PairColumn& pair = pairs_[static_cast<std::size_t>(k)];
        const double amount = pair.copies * of_pair(k);
        const bool within = pair.group[0] == pair.group[1];
        for (std::size_t i = 0; i < 2; ++i)
            shift_to(index(pair.group[i]), (within ? 4 : 1) * amount / copies_(index(pair.group[i])),
                     within ? 0.5 * (pair.rate[0] + pair.rate[1]) : pair.rate[i]);
    }
    shifted_ = rates_.colwise() - shift_;
    PairFactor& system = factor_of_pairs_;
    system.clear();
    const Array2 weights = ratios.colwise() * copies_;
    // By group, the entries of its two rows; by type, those of the type's row and each group's rows.
    Eigen::Array<double, 3, Eigen::Dynamic> own(3, groups);
    Array2 with_types = Array2::Zero(2 * groups, uses_.cols());
    for (Index g = 0; g < groups; ++g) {
        const double time = copies_(g) * alpha(g), both = shift_(g) * time;
        own.col(g) << time, both, shift_(g) * both + (has_row_(g) > 0 ? copies_(g) * spread_(g) : 1);
    }
    for (Index t = 0; t < uses_.cols(); ++t)
        for (Index g = 0; g < groups; ++g) {
            const double weight = weights(g, t), rate = shifted_(g, t);
            own.col(g) += weight * Eigen::Array3d(1, -rate, rate * rate);
            with_types(2 * g, t) = weight * uses_(g, t);
            with_types(2 * g + 1, t) = -weight * uses_(g, t) * rate;
        }
    std::size_t entry = 0;
    Array of_types = (weights * uses_.square()).colwise().sum().transpose() + left_.ratio().col(0);
    for (Index k = 0; k < of_pair.size(); ++k) {
        const PairColumn& pair = pairs_[static_cast<std::size_t>(k)];
        const Index a = index(pair.group[0]), b = index(pair.group[1]), t = index(pair.type);
        const double weight = pair.copies * of_pair(k), used = weight * pair.use;
        const auto add = [&](Index g, double times, double rate) {
            own.col(g) += weight * Eigen::Array3d(times * times, times * rate, rate * rate);
            with_types(2 * g, t) += used * times;
            with_types(2 * g + 1, t) += used * rate;
        };
        const double of_a = shift_(a) - pair.rate[0], of_b = shift_(b) - pair.rate[1];
        of_types(t) += used * pair.use;
        if (a == b) {
            add(a, 2, of_a + of_b);
            continue;
        }
        add(a, 1, of_a);
        add(b, 1, of_b);
        system.add(entry++, weight);
        if (has_row_(b) > 0) system.add(entry++, weight * of_b);
        if (has_row_(a) > 0) system.add(entry++, weight * of_a);
        if (has_row_(a) * has_row_(b) > 0) system.add(entry++, weight * of_a * of_b);
    }
    for (Index g = 0; g < groups; ++g) {
        system.add_to_diagonal(2 * g, own(0, g));
        system.add_to_diagonal(2 * g + 1, own(2, g));
        if (has_row_(g) > 0) system.add(entry++, own(1, g));
        for (Index t = 0; t < uses_.cols(); ++t)
            for (Index row = 2 * g; row <= 2 * g + (has_row_(g) > 0); ++row)
                system.add(entry++, with_types(row, t));
    }
    for (Index t = 0; t < uses_.cols(); ++t) system.add_to_diagonal(2 * groups + t, of_types(t));
    // If the other prices determine one price, rounding must not make its diagonal entry negative.
    for (double more = 1e-15; more < 1e-8; more *= 100)
        if (system.compute(1 + more)) {
            if (reward_ > 0) of_level_ = solved(Array::Zero(groups), slopes_, Array::Zero(uses_.cols()));
            return true;
        }
    return false;
}

template <class Utility>
void InteriorPoint<Utility>::find_with_pairs(const Array2& gained, const Array& pair_gained, const Array& h1,
                                             const Array& h2, const Array& of_types, const Array& rate_gain) {
    const Index groups = copies_.size(), types = uses_.cols();
    Eigen::VectorXd change = solved(h1, h2, of_types);
    const auto rates_in = [&](const Eigen::VectorXd& changes) -> Array {
        return Eigen::Map<const Array, 0, Eigen::InnerStride<2>>(changes.data() + 1, groups);
    };
    dlevel_ = 0;
    if (reward_ > 0) {
        dlevel_ = (level_error_ - (copies_ * slopes_ * rates_in(change)).sum()) /
                  (copies_ * slopes_ * rates_in(of_level_)).sum();
        change += dlevel_ * of_level_;
    }
    const Array of_shifted = Eigen::Map<const Array, 0, Eigen::InnerStride<2>>(change.data(), groups);
    rate_.dprice = has_row_ * rates_in(change);
    left_.dprice = change.tail(types).array();
    time_.dprice = of_shifted + shift_ * rate_.dprice.col(0);
    share_.dprice =
        uses_.rowwise() * left_.dprice.col(0).transpose() - shifted_.colwise() * rate_.dprice.col(0);
    share_.dprice.colwise() += of_shifted;
    share_.dslack = gained - share_.ratio() * share_.dprice;
    share_.dprice = can_run_ * (share_.dprice + residual_);
    const Array costs = costs_of(pairs_, of_shifted, rate_.dprice, left_.dprice, shift_);
    pair_.dslack = pair_gained - pair_.ratio().col(0) * costs;
    pair_.dprice = costs + pair_residual_;
    // Make the rows hold to the last digit if that changes the slack only a little. Otherwise the next
    // pass corrects them.
    Array time = share_.dslack.rowwise().sum(), rates = (rates_ * share_.dslack).rowwise().sum();
    Array used = by_type(uses_ * share_.dslack);
    add_pairs(pair_.dslack, time, rates, used, Array::Zero(groups));
    const auto exact = [](SlacksAndPrices& kind, const Array& by_row, const Array& by_price) {
        kind.dslack = ((by_row - by_price).abs() <= 0.1 * kind.slack.col(0)).select(by_row, by_price);
    };
    exact(time_, -time_over_ - time_.slack.col(0) - time,
          time_.gain().col(0) - time_.ratio().col(0) * time_.dprice.col(0));
    exact(rate_, has_row_ * (rates - missing_ - slopes_ * dlevel_),
          rate_gain - has_row_ * spread_ * rate_.dprice.col(0));
    exact(left_, over_ - used, left_.gain().col(0) - left_.ratio().col(0) * left_.dprice.col(0));
}

}  // namespace goodput::inline v0_1::detail

#endif
