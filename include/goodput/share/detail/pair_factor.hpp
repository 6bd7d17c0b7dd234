#ifndef GOODPUT_SHARE_DETAIL_PAIR_FACTOR_HPP
#define GOODPUT_SHARE_DETAIL_PAIR_FACTOR_HPP

// Factors the linear systems of interior_point.hpp with pairs. They are symmetric and positive definite,
// and have the same entries until another pair takes part. If every group runs with every other one, the
// matrix is full. If each group has few partners, nearly all entries are 0. They stay 0 in the factor if
// the rows are in a suitable order. The faster of a full and a sparse factor is used; per multiplication, a
// sparse one takes about four times as long.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>

namespace goodput::inline v0_1::detail {

/// A symmetric matrix that is summed up and factored again and again.
class PairFactor {
public:
    using Index = Eigen::Index;

    /// Sets the rows of the matrix and the entries that may differ from 0: the diagonal and `entries`, which
    /// may be in any order and repeated. (row, column) and (column, row) are the same entry. `block_of` says
    /// for each row which block it belongs to; the rows of a block meet the same rows, and follow each other.
    void pose(const std::vector<Index>& block_of, const std::vector<std::pair<Index, Index>>& entries) {
        rows_ = static_cast<Index>(block_of.size());
        order_rows(block_of, entries);
        std::vector<Eigen::Triplet<double, int>> triplets;
        if (sparse_) {
            triplets.reserve(entries.size() + block_of.size());
            for (int row = 0; row < rows_; ++row) triplets.emplace_back(row, row, 0);
            for (const auto& [row, column] : entries) {
                const auto [above, below] = std::minmax({place_of(row), place_of(column)});
                triplets.emplace_back(above, below, 0);
            }
            matrix_.resize(rows_, rows_);
            matrix_.setFromTriplets(triplets.begin(), triplets.end());
            ordered_.analyzePattern(matrix_);
            const auto size = static_cast<double>(rows_);
            sparse_ = sparse_cost * ordered_.operations() < size * size * size / 3;
        }
        full_.resize(sparse_ ? 0 : rows_, sparse_ ? 0 : rows_);
        entries_.clear();
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (sparse_) {
                const auto& entry = triplets[i + block_of.size()];
                entries_.push_back(&matrix_.coeffRef(entry.row(), entry.col()) - matrix_.valuePtr());
            } else {
                const auto [column, row] = std::minmax(entries[i].first, entries[i].second);
                entries_.push_back(&full_(row, column) - full_.data());
            }
        }
    }
    /// Sets all entries to 0.
    void clear() {
        if (sparse_)
            std::fill_n(matrix_.valuePtr(), matrix_.nonZeros(), 0.0);
        else
            full_.setZero();
    }
    /// Adds to the diagonal of a row.
    void add_to_diagonal(Index row, double amount) { diagonal(row) += amount; }
    /// Adds to the entry with this index in the list that was given to pose().
    void add(std::size_t entry, double amount) {
        (sparse_ ? matrix_.valuePtr() : full_.data())[entries_[entry]] += amount;
    }
    /// Multiplies the diagonal by `factor` and factors the matrix. Returns whether it is positive
    /// definite.
    bool compute(double factor) {
        for (Index row = 0; row < rows_; ++row) diagonal(row) *= factor;
        if (sparse_) {
            ordered_.factorize(matrix_);
            return ordered_.info() == Eigen::Success;
        }
        factor_.compute(full_);
        return factor_.info() == Eigen::Success;
    }
    /// Solves a system with the last factor.
    [[nodiscard]] Eigen::VectorXd solve(const Eigen::VectorXd& right) const {
        if (!sparse_) return factor_.solve(right);
        Eigen::VectorXd placed(rows_), solution(rows_);
        for (Index row = 0; row < rows_; ++row) placed(place_of(row)) = right(row);
        placed = ordered_.solve(placed);
        for (Index row = 0; row < rows_; ++row) solution(row) = placed(place_of(row));
        return solution;
    }

private:
    static constexpr double sparse_cost = 4;

    /// A sparse factor that knows its number of multiplications before it is computed.
    struct Ordered
        : Eigen::SimplicialLLT<Eigen::SparseMatrix<double>, Eigen::Upper, Eigen::NaturalOrdering<int>> {
        [[nodiscard]] double operations() const { return m_nonZerosPerCol.cast<double>().squaredNorm(); }
    };

    /// Finds whether few blocks meet and, if so, an order of the rows in which the factor stays sparse.
    void order_rows(const std::vector<Index>& block_of, const std::vector<std::pair<Index, Index>>& entries) {
        const Index blocks = block_of.empty() ? 0 : block_of.back() + 1;
        std::vector<Eigen::Triplet<double, int>> meetings;
        meetings.reserve(entries.size());
        for (const auto& [row, column] : entries) {
            const auto [low, high] = std::minmax(block_of[static_cast<std::size_t>(row)],
                                                 block_of[static_cast<std::size_t>(column)]);
            if (low != high) meetings.emplace_back(int(high), int(low), 0);
        }
        Eigen::SparseMatrix<double> graph(blocks, blocks);
        graph.setFromTriplets(meetings.begin(), meetings.end());
        sparse_ = static_cast<double>(graph.nonZeros()) < 0.5 * static_cast<double>(blocks * blocks);
        if (!sparse_) return;
        Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
        Eigen::AMDOrdering<int>()(graph, order);
        std::vector<int> first_row(static_cast<std::size_t>(blocks) + 1, 0);
        for (const Index block : block_of) ++first_row[static_cast<std::size_t>(block) + 1];
        std::partial_sum(first_row.begin(), first_row.end(), first_row.begin());
        places_.resize(block_of.size());
        int place = 0;
        for (Index k = 0; k < blocks; ++k) {
            const auto block = static_cast<std::size_t>(order.indices()(k));
            for (int row = first_row[block]; row < first_row[block + 1]; ++row)
                places_[static_cast<std::size_t>(row)] = place++;
        }
    }
    /// The place of a row in the sparse matrix.
    [[nodiscard]] int place_of(Index row) const { return places_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] double& diagonal(Index row) {
        if (!sparse_) return full_(row, row);
        return matrix_.valuePtr()[matrix_.outerIndexPtr()[place_of(row) + 1] - 1];  // the last of its column
    }

    Index rows_ = 0;
    std::vector<int> places_;              // by row: its place in the sparse matrix
    std::vector<std::ptrdiff_t> entries_;  // by entry: its index among the numbers of the matrix
    bool sparse_ = false;
    Eigen::SparseMatrix<double> matrix_;  // upper half
    Ordered ordered_;
    Eigen::MatrixXd full_;  // lower half
    Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace goodput::inline v0_1::detail

#endif
