#ifndef GOODPUT_ALLOT_DETAIL_CORE_HPP
#define GOODPUT_ALLOT_DETAIL_CORE_HPP

// The core: what regret leaves undecided. Jobs with one option left are fixed; the others are the levels of
// the search, in the order of the branching rule, their options with usage as full vectors, and for every
// level the Lagrangian bounds on what the levels from there on can still bring.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/rules.hpp"

namespace goodput::detail {

/// What is not worth looking at, and the largest bound of what was not looked at.
struct Cut {
    double value = 0;  ///< allotments worth no more than this are of no interest
    double set_aside_bound = -std::numeric_limits<double>::infinity();

    /// Whether nothing below `bound` is of interest.
    bool operator()(const CompactProblem& problem, double bound) {
        const double possible = problem.round_down(bound);
        if (possible > value) return false;
        set_aside_bound = std::max(set_aside_bound, possible);
        return true;
    }
};

class Core {
public:
    /// Sorts out by regret at `prices`, whose Lagrangian bound is `bound`.
    template <BranchingRule Branching, BoundingRule Bounding>
    void build(const CompactProblem& problem, std::span<const double> prices, double bound, Cut& cut,
               const Branching& branching, const Bounding& bounding) {
        resources_ = problem.resources();
        fixed_.assign(problem.jobs(), none);
        left_ = problem.capacity;
        value_ = 0;
        jobs_.clear();
        candidates_.clear();
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            const std::size_t first = candidates_.size();
            add_candidates(problem, prices, bound, cut, job);
            if (candidates_.size() - first == 1) {
                fix(problem, job, candidates_[first].option);
                candidates_.resize(first);
                continue;
            }
            regrets_.clear();
            for (std::size_t i = first; i < candidates_.size(); ++i)
                regrets_.push_back(candidates_[i].regret);
            jobs_.push_back({job, first, candidates_.size(), branching(std::span<const double>(regrets_))});
        }
        std::stable_sort(jobs_.begin(), jobs_.end(),
                         [](const CoreJob& a, const CoreJob& b) { return a.key < b.key; });
        lay_out(problem);
        vectors_.assign(prices.begin(), prices.end());
        bounding(prices, vectors_);
        bound_what_remains();
    }

    [[nodiscard]] std::size_t levels() const { return jobs_.size(); }
    [[nodiscard]] std::size_t job(std::size_t level) const { return jobs_[level].job; }
    [[nodiscard]] std::size_t first_option(std::size_t level) const { return first_option_[level]; }

    /// Of the compact problem, or none: the option that one of the core's options stands for.
    [[nodiscard]] std::uint32_t original(std::size_t option) const { return option_id_[option]; }
    [[nodiscard]] double value(std::size_t option) const { return option_value_[option]; }
    [[nodiscard]] const double* use(std::size_t option) const {
        return option_use_.data() + option * resources_;
    }

    /// What the fixed jobs are worth, leave, and take (by job, none for those that take nothing or are
    /// levels).
    [[nodiscard]] double fixed_value() const { return value_; }
    [[nodiscard]] const std::vector<double>& left_by_fixed() const { return left_; }
    [[nodiscard]] const std::vector<std::uint32_t>& fixed() const { return fixed_; }

    /// The most that a state can become worth, whose jobs before `level` are decided.
    [[nodiscard]] double bound(double value, const double* left, std::size_t level) const {
        double least = std::numeric_limits<double>::infinity();
        const double* remaining = remaining_.data() + level * vector_count_;
        for (std::size_t q = 0; q < vector_count_; ++q) {
            double bound = remaining[q];
            for (std::size_t r = 0; r < resources_; ++r) bound += vectors_[q * resources_ + r] * left[r];
            least = std::min(least, bound);
        }
        return value + least;
    }

private:
    struct Candidate {
        double regret;
        std::uint32_t option;
    };
    struct CoreJob {
        std::size_t job, first, last;  // candidates_[first, last)
        double key;
    };

    /// Appends a job's options that are of interest, by regret.
    void add_candidates(const CompactProblem& problem, std::span<const double> prices, double bound, Cut& cut,
                        std::size_t job) {
        const std::size_t first = candidates_.size();
        if (!problem.must[job]) candidates_.push_back({0, none});
        for (std::uint32_t k = problem.first[job]; k < problem.first[job + 1]; ++k)
            candidates_.push_back({problem.reduced_value(k, prices), k});
        double best = -std::numeric_limits<double>::infinity();
        for (std::size_t i = first; i < candidates_.size(); ++i) best = std::max(best, candidates_[i].regret);
        std::size_t kept = first;
        for (std::size_t i = first; i < candidates_.size(); ++i) {
            const double regret = best - candidates_[i].regret;
            if (regret > 0 && cut(problem, bound - regret)) continue;
            candidates_[kept++] = {regret, candidates_[i].option};
        }
        candidates_.resize(kept);
        std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end(),
                  [](const Candidate& a, const Candidate& b) {
                      return a.regret != b.regret ? a.regret < b.regret : a.option < b.option;
                  });
    }

    void fix(const CompactProblem& problem, std::size_t job, std::uint32_t option) {
        fixed_[job] = option;
        if (option == none) return;
        value_ += problem.value[option];
        for (const Use& use : problem.uses_of(option)) left_[use.resource] -= use.units;
    }

    void lay_out(const CompactProblem& problem) {
        first_option_.assign(1, 0);
        option_id_.clear();
        option_value_.clear();
        option_use_.clear();
        for (const CoreJob& job : jobs_) {
            for (std::size_t i = job.first; i < job.last; ++i) {
                const std::uint32_t option = candidates_[i].option;
                option_id_.push_back(option);
                option_value_.push_back(option == none ? 0 : problem.value[option]);
                option_use_.resize(option_use_.size() + resources_, 0);
                if (option == none) continue;
                double* row = option_use_.data() + (option_id_.size() - 1) * resources_;
                for (const Use& use : problem.uses_of(option)) row[use.resource] = use.units;
            }
            first_option_.push_back(option_id_.size());
        }
    }

    void bound_what_remains() {
        vector_count_ = resources_ > 0 ? vectors_.size() / resources_ : 1;
        remaining_.assign((levels() + 1) * vector_count_, 0);
        for (std::size_t level = levels(); level-- > 0;)
            for (std::size_t q = 0; q < vector_count_; ++q) {
                double best = -std::numeric_limits<double>::infinity();
                for (std::size_t k = first_option_[level]; k < first_option_[level + 1]; ++k) {
                    double reduced = option_value_[k];
                    for (std::size_t r = 0; r < resources_; ++r)
                        reduced -= vectors_[q * resources_ + r] * use(k)[r];
                    best = std::max(best, reduced);
                }
                remaining_[level * vector_count_ + q] = remaining_[(level + 1) * vector_count_ + q] + best;
            }
    }

    std::size_t resources_ = 0, vector_count_ = 0;
    double value_ = 0;
    std::vector<std::uint32_t> fixed_, option_id_;
    std::vector<double> left_, regrets_, option_value_, option_use_;
    std::vector<double> vectors_;    // price vectors at which states are bounded
    std::vector<double> remaining_;  // by level and price vector
    std::vector<std::size_t> first_option_;
    std::vector<CoreJob> jobs_;
    std::vector<Candidate> candidates_;
};

}  // namespace goodput::detail

#endif
