#ifndef GOODPUT_SHARE_DETAIL_GROUP_PROGRAM_HPP
#define GOODPUT_SHARE_DETAIL_GROUP_PROGRAM_HPP

// The program behind every objective of this folder. Let j be a group of equal jobs (copies_j of them), t a
// GPU type, x a share of time, l a level that should be high for all jobs, and u_j a concave utility of the
// rate:
//
//     max  sum_j copies_j (sum_t value_jt x_jt + u_j(e_j)) + reward l        e_j = sum_t rate_jt x_jt
//     s.t. sum_t x_jt <= 1                          (price of the job's time)
//          e_j >= slope_j l + floor_j               (price of its rate; jobs that have a floor, a slope or u)
//          sum_j copies_j use_jt x_jt <= 1          (price of the type)
//
// A pair of jobs takes time of both of their groups and has a rate for each. Two groups may have several such
// columns.

#include <array>
#include <cstddef>
#include <vector>

namespace goodput::inline v0_1::detail {

/// Time that pairs of jobs of two groups, or of one group, spend together on a GPU type.
struct PairColumn {
    std::array<std::size_t, 2> group{};  ///< the same index twice if both jobs are of one group
    std::size_t type = 0;
    std::array<double, 2> rate{};  ///< rate of each group's job
    double use = 0;                ///< fraction of the type's capacity that one pair uses
    double value = 0;
    double copies = 1;  ///< number of equal pairs
};

/// The program above. Lists are by group of jobs, or by group and type.
struct GroupProgram {
    std::size_t types = 0;
    std::vector<double> copies{};  ///< number of equal jobs
    std::vector<double> use{};     ///< fraction of a type's capacity; 0 if the group cannot run there
    std::vector<double> rate{};    ///< 0 if the group cannot run there
    std::vector<double> value{};   ///< value of a share of 1
    std::vector<double> slope{};   ///< rate asked for per unit of the level
    std::vector<double> floor{};   ///< rate asked for at level 0
    bool utility = false;          ///< true: every group has a utility
    double reward = 0;             ///< value of a unit of the level
    std::vector<PairColumn> pairs{};

    [[nodiscard]] std::size_t groups() const { return copies.size(); }
};

/// The utility of groups without a utility.
struct NoUtility {
    [[nodiscard]] double slope(std::size_t, double) const { return 0; }
    [[nodiscard]] double elasticity(std::size_t, double) const { return 1; }
};

}  // namespace goodput::inline v0_1::detail

#endif
