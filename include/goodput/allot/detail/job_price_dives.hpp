#ifndef GOODPUT_ALLOT_DETAIL_JOB_PRICE_DIVES_HPP
#define GOODPUT_ALLOT_DETAIL_JOB_PRICE_DIVES_HPP

// Strong allotments by prices on jobs, before or beside the search that proves (job_price_search.hpp). A dive
// decides, of the jobs that are served once, those of which anything else costs most, until few are left,
// which are searched. Then parts of the allotment are searched again, with the others as they are
// (neighbourhood.hpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/job_price_tree.hpp"
#include "goodput/allot/detail/job_prices.hpp"
#include "goodput/allot/detail/neighbourhood.hpp"
#include "goodput/allot/detail/relaxation.hpp"

namespace goodput::detail {

class JobPriceDives {
public:
    /// Begins anew, with another problem.
    void reset() {
        searched_again_ = first_searched_again;
        neighbourhood_.reset();
    }

    /// Whether a look at all options takes so long that a search needs a strong allotment first.
    [[nodiscard]] static bool large(const JobPriceTree& tree) {
        return tree.relaxation().most_work() > work_of_large;
    }

    /// Looks for an allotment better than the incumbent, from what is allowed now; none is worth more than
    /// `bound`.
    void dive(JobPriceTree& tree, const Relaxation& linear, double bound) {
        const std::size_t root = tree.relaxation().mark();
        if (tree.has_incumbent()) {
            tree.set_threshold(bound - (bound - tree.incumbent().value) / 4);
            tree.leave_out_by_prices(linear);
        } else {
            tree.set_threshold(-infinity);
        }
        here_ = tree.root_prices();
        tree.descent().bound(here_);
        tree.complete();
        const std::size_t few = 16 + tree.relaxation().copies() / 50;
        while (!tree.stopped() && open_copies(tree) > few) {
            if (!tree.descent().follow(here_, large(tree) ? 6 : 12) || !decide_surest(tree)) break;
        }
        if (!tree.stopped()) tree.complete();
        if (!tree.stopped()) tree.search(here_, most_entered_in_dive);
        tree.relaxation().undo(root);
    }
    /// Searches parts of the incumbent again, one after the other, for as much work as `most` or until a
    /// round of them is in vain. Lowers `bound` where that shows that nothing is better.
    void improve(JobPriceTree& tree, std::size_t most, double& bound) {
        const std::size_t end = tree.descent().nodes() + most;
        for (bool better = true;
             better && !tree.stopped() && tree.descent().nodes() < end && bound > tree.incumbent().value;) {
            tree.set_threshold(-infinity);
            if (tree.descent().lower(tree.root_prices(), steps_at_top) <= tree.descent().threshold() &&
                !tree.stopped())
                bound = std::min(bound, tree.reached());
            if (tree.stopped() || bound <= tree.incumbent().value) return;
            const double here = tree.descent().bound(tree.root_prices(), infinity);
            if (tree.stopped()) return;
            neighbourhood_.assign(tree.relaxation(), tree.incumbent().choice,
                                  here - tree.descent().threshold());
            better = false;
            std::size_t complete = 0, rounds = tree.relaxation().resources();
            for (std::size_t i = 0; i < rounds && !tree.stopped() && tree.descent().nodes() < end; ++i) {
                const double value = tree.incumbent().value;
                complete += search_again(tree) ? 1 : 0;
                better = better || tree.incumbent().value > value;
            }
            if (better || 2 * complete < rounds) continue;
            // What was searched was too little of the problem to find anything.
            searched_again_ += searched_again_ / 2;
            better = searched_again_ < tree.relaxation().copies();
        }
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Sure {
        double loss;
        std::uint32_t option;
        bool operator<(const Sure& other) const {
            return loss != other.loss ? loss < other.loss : option < other.option;
        }
    };

    /// Whether all of a neighbourhood was searched.
    bool search_again(JobPriceTree& tree) {
        JobPrices& prices = tree.relaxation();
        const std::size_t root = prices.mark();
        neighbourhood_.next(searched_again_);
        tree.set_threshold(-infinity);
        for (std::size_t copy = 0; copy < prices.copies(); ++copy) {
            if (neighbourhood_.free(copy) || prices.allowed_of(copy) < 2) continue;
            for (std::uint32_t k = prices.first(copy); k < prices.end(copy); ++k)
                if (prices.allowed(k) && prices.original(k) == tree.incumbent().choice[copy]) {
                    prices.decide(k);
                    break;
                }
        }
        const bool complete = tree.search(tree.root_prices(), most_entered_again);
        prices.undo(root);
        return complete;
    }
    [[nodiscard]] static std::size_t open_copies(const JobPriceTree& tree) {
        const JobPrices& prices = tree.relaxation();
        std::size_t sum = 0;
        for (std::size_t copy = 0; copy < prices.copies(); ++copy) sum += prices.allowed_of(copy) > 1 ? 1 : 0;
        return sum;
    }
    /// Decides a sixth of the copies that are served once, of large problems a third. False: there are none.
    bool decide_surest(JobPriceTree& tree) {
        JobPrices& prices = tree.relaxation();
        sure_.clear();
        for (std::size_t copy = 0; copy < prices.copies(); ++copy) {
            if (prices.allowed_of(copy) < 2 || prices.served(copy) != 1) continue;
            double second = infinity;
            std::uint32_t chosen = none;
            for (std::uint32_t k = prices.first(copy); k < prices.end(copy); ++k) {
                if (prices.taken(k))
                    chosen = k;
                else if (prices.allowed(k))
                    second = std::min(second, prices.loss(k));
            }
            sure_.push_back({-second, chosen});
        }
        std::sort(sure_.begin(), sure_.end());
        const std::size_t part = large(tree) ? 3 : 6;
        sure_.resize((sure_.size() + part - 1) / part);
        for (const Sure& sure : sure_) prices.decide(sure.option);
        return !sure_.empty();
    }

    static constexpr std::size_t most_entered_in_dive = 400, most_entered_again = 60;
    static constexpr std::size_t first_searched_again = 40;  ///< copies of a neighbourhood
    static constexpr std::size_t work_of_large = std::size_t{1} << 24;

    Neighbourhood neighbourhood_;
    std::vector<double> here_;
    std::vector<Sure> sure_;
    std::size_t searched_again_ = 0;  ///< copies of a neighbourhood
};

}  // namespace goodput::detail

#endif
