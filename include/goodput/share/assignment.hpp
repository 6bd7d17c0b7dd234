#ifndef GOODPUT_SHARE_ASSIGNMENT_HPP
#define GOODPUT_SHARE_ASSIGNMENT_HPP

// Least-cost assignment: every row takes one column, and a column serves at most as many rows as it has
// places,
//
//     min sum over rows i of c(i, column of i)       at most places_j rows in column j
//
// It is solved as a min-cost flow  source -> rows -> columns -> sink  by Boost.Graph's successive shortest
// paths. The potentials of the flow are duals u, v that prove the optimum:
//
//     u_i + v_j <= c(i, j),   v_j <= 0         so no assignment costs less than   sum u_i + sum places_j v_j
//
// Rounding would make Boost's algorithm see negative costs, so we pass it 128-bit integers. They hold all
// that the doubles hold, even if the largest cost is 10^20 times the least, as in AlloX.

#include <algorithm>
#include <bit>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/transform_iterator.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// Which row takes which column, and the proof that no assignment costs less.
struct Assignment {
    std::vector<std::size_t> column{};  ///< by row: the column that it takes
    double cost = 0;                    ///< sum of the costs of these pairs of row and column
    double bound = 0;                   ///< no assignment costs less; equals the cost up to rounding
    std::vector<double> row_dual{};     ///< u, by row: least c(i, j) - v_j over the columns with places
    std::vector<double> column_dual{};  ///< v, by column: at most 0, and 0 if places are left
};

/// Returns the least-cost assignment of `rows` rows to columns. Column j has `places[j]` places, at least
/// 0, and `cost(row, column)` is the cost of a row in a column. Costs may be negative, and are at most
/// 1e150 in absolute value. Takes time rows^2 columns and memory 60 bytes times rows times columns. Refuses
/// fewer places than rows, and costs out of range or not finite (std::invalid_argument naming row, column
/// and value). Among several optima it always returns the same one.
template <class Cost>
[[nodiscard]] Assignment least_cost_assignment(std::size_t rows, std::span<const std::size_t> places,
                                               const Cost& cost);

namespace detail {

// With -O3, g++ 12 warns wrongly that Boost's graph writes beyond the vector that it has just resized.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"

__extension__ using WholeCost = __int128;

// No cost exceeds `most` in absolute value. In the network, rows and the sink are on the left, columns and
// the source on the right, so that every pair of a left and a right vertex has one arc in each direction.
template <class Cost>
Assignment assign_by_flow(std::size_t rows, std::span<const std::size_t> places, const Cost& cost,
                          double most) {
    using Graph = boost::compressed_sparse_row_graph<boost::directedS>;
    using Edge = boost::graph_traits<Graph>::edge_descriptor;
    const std::size_t columns = places.size(), lefts = rows + 1, rights = columns + 1;
    const std::size_t sink = rows, first = lefts, source = first + columns, pairs = lefts * rights;
    const auto ends_of = [=](std::size_t arc) {
        return arc < pairs ? std::pair{arc / rights, first + arc % rights}
                           : std::pair{first + (arc - pairs) / lefts, (arc - pairs) % lefts};
    };
    const auto arc = [&](std::size_t number) {
        return boost::make_transform_iterator(boost::counting_iterator(number), ends_of);
    };
    const Graph graph(boost::edges_are_sorted, arc(0), arc(2 * pairs), source + 1);

    // A path has fewer than two arcs per row, so no sum of costs is as large as 2^125.
    const int scale = 120 - static_cast<int>(std::bit_width(rows)) -
                      std::ilogb(std::max(most, std::numeric_limits<double>::min()));
    const auto whole = [&](double value) { return static_cast<WholeCost>(std::ldexp(value, scale)); };
    std::vector<WholeCost> costs(2 * pairs), potentials(source + 1);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
            costs[i * rights + j] = whole(static_cast<double>(cost(i, j))) + whole(most);
            costs[pairs + j * lefts + i] = -costs[i * rights + j];
        }
    const auto capacity = [&](const Edge& edge) -> std::size_t {
        const std::size_t from = boost::source(edge, graph), to = boost::target(edge, graph);
        if (from < rows) return to != source;
        if (from == sink || (from == source) == (to == sink)) return 0;
        return from == source ? 1 : std::min(places[from - first], rows);
    };
    const auto back = [&](const Edge& edge) {
        return boost::edge(boost::target(edge, graph), boost::source(edge, graph), graph).first;
    };
    std::vector<std::size_t> left(2 * pairs);
    const auto index = get(boost::edge_index, graph);
    boost::successive_shortest_path_nonnegative_weights(
        graph, source, sink,
        boost::capacity_map(boost::make_function_property_map<Edge>(capacity))
            .residual_capacity_map(boost::make_iterator_property_map(left.begin(), index))
            .weight_map(boost::make_iterator_property_map(costs.begin(), index))
            .reverse_edge_map(boost::make_function_property_map<Edge>(back))
            .distance_map2(
                boost::make_iterator_property_map(potentials.begin(), get(boost::vertex_index, graph))));

    Assignment found;
    for (std::size_t j = 0; j < columns; ++j) {
        const auto above = static_cast<double>(potentials[first + j] - potentials[sink]);
        found.column_dual.push_back(std::min(0.0, std::ldexp(above, -scale)));
        found.bound += static_cast<double>(places[j]) * found.column_dual[j];
    }
    for (std::size_t i = 0; i < rows; ++i) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < columns; ++j) {
            if (left[i * rights + j] == 0) found.column.push_back(j);
            if (places[j] > 0)
                least = std::min(least, static_cast<double>(cost(i, j)) - found.column_dual[j]);
        }
        found.row_dual.push_back(least);
        found.bound += least;
        found.cost += static_cast<double>(cost(i, found.column[i]));
    }
    return found;
}

#pragma GCC diagnostic pop

}  // namespace detail

template <class Cost>
Assignment least_cost_assignment(std::size_t rows, std::span<const std::size_t> places, const Cost& cost) {
    std::size_t room = 0;
    for (const std::size_t of_column : places) room += std::min(of_column, rows);
    if (room < rows)
        bad_input("assignment", "places of all columns", room, "at least the rows, " + text_of(rows));
    constexpr double largest = 1e150;
    double most = 0;
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < places.size(); ++j) {
            const auto value = static_cast<double>(cost(i, j));
            if (!(value >= -largest && value <= largest))
                bad_input("assignment", "cost of row " + text_of(i) + " in column " + text_of(j), value,
                          "a number of at most 1e150 either way");
            most = std::max(most, std::abs(value));
        }
    return detail::assign_by_flow(rows, places, cost, most);
}

}  // namespace goodput::inline v0_1

#endif
