#ifndef GOODPUT_SHARE_DETAIL_BLOCK_PROGRAM_HPP
#define GOODPUT_SHARE_DETAIL_BLOCK_PROGRAM_HPP

// The program behind every objective of this folder. With j a group of equal jobs (copies_j of them), t a GPU
// type, x a share of time, l a level that all want to be high, and u_j a concave utility of the rate,
//
//     max  sum_j copies_j (sum_t value_jt x_jt + u_j(e_j)) + reward l        e_j = sum_t rate_jt x_jt
//     s.t. sum_t x_jt <= 1                          (price of the job's time)
//          e_j >= slope_j l + floor_j               (price of its rate; jobs that have a floor, a slope or u)
//          sum_j copies_j use_jt x_jt <= 1          (price of the type)

#include <cstddef>
#include <vector>

namespace goodput::detail {

/// The program above; lists by group of jobs, or by group and type.
struct BlockProgram {
    std::size_t types = 0;
    std::vector<double> copies{};  ///< how many jobs are alike
    std::vector<double> use{};     ///< of a type's capacity; 0: the group cannot run there
    std::vector<double> rate{};    ///< 0 where it cannot run
    std::vector<double> value{};   ///< of the shares; empty: none
    std::vector<double> slope{};   ///< of the level
    std::vector<double> floor{};   ///< of the rate
    bool utility = false;          ///< every group has one
    double reward = 0;             ///< for the level

    [[nodiscard]] std::size_t groups() const { return copies.size(); }
    [[nodiscard]] double value_of(std::size_t at) const { return value.empty() ? 0 : value[at]; }
};

/// Groups without a utility.
struct NoUtility {
    [[nodiscard]] double slope(std::size_t, double) const { return 0; }
    [[nodiscard]] double elasticity(std::size_t, double) const { return 1; }
};

}  // namespace goodput::detail

#endif
