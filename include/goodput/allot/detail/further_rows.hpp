#ifndef GOODPUT_ALLOT_DETAIL_FURTHER_ROWS_HPP
#define GOODPUT_ALLOT_DETAIL_FURTHER_ROWS_HPP

// Rows of a problem in addition to those of its resources. A row says which options take how much of a
// capacity.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput::inline v0_1::detail {

/// One row. Its terms are valid as long as the container that they come from does not change.
struct FurtherRow {
    struct Term {
        std::uint32_t option;
        double units;
    };
    std::span<const Term> terms{};  ///< in order of their options
    double capacity = 0;
    bool whole = false;  ///< whether all numbers of the row are whole
};

/// A list of rows. Keeps its memory, so that later rows need no more.
class FurtherRows {
public:
    [[nodiscard]] std::size_t size() const { return capacity_.size(); }
    [[nodiscard]] FurtherRow operator[](std::size_t row) const {
        return {{terms_.data() + (row == 0 ? 0 : end_[row - 1]), terms_.data() + end_[row]},
                capacity_[row],
                whole_[row] != 0};
    }

    void clear() {
        terms_.clear();
        end_.clear();
        capacity_.clear();
        whole_.clear();
    }
    void add(const FurtherRow& row) {
        terms_.insert(terms_.end(), row.terms.begin(), row.terms.end());
        close(row.capacity, row.whole);
    }
    /// Adds a term to the row that the next close() completes.
    void add_term(std::uint32_t option, double units) { terms_.push_back({option, units}); }
    void close(double capacity, bool whole) {
        end_.push_back(terms_.size());
        capacity_.push_back(capacity);
        whole_.push_back(whole ? 1 : 0);
    }

private:
    std::vector<FurtherRow::Term> terms_;
    std::vector<std::size_t> end_;  // end of each row in terms_
    std::vector<double> capacity_;
    std::vector<std::uint8_t> whole_;
};

}  // namespace goodput::inline v0_1::detail

#endif
