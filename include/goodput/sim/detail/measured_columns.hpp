#ifndef GOODPUT_SIM_DETAIL_MEASURED_COLUMNS_HPP
#define GOODPUT_SIM_DETAIL_MEASURED_COLUMNS_HPP

// The columns of TabulatedThroughput: what was measured at one place, by batch size, and how it is read.

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace goodput::detail {

// A step's mean seconds at one atomic batch, and those of the synchronisation in it.
struct ColumnRow {
    double atomic_batch = 0, step = 0, sync = 0;
};

// Measurements at one place on their way to a column, by atomic batch.
class ColumnMeans {
public:
    void add(int atomic_batch, double step, double sync) {
        Sum& sum = sums_[atomic_batch];
        sum.step += step;
        sum.sync += sync;
        ++sum.count;
    }

private:
    friend class MeasuredColumns;
    struct Sum {
        double step = 0, sync = 0;
        int count = 0;
    };
    std::map<int, Sum> sums_;
};

class MeasuredColumns {
public:
    struct Column {  // rows_[first, last)
        std::size_t first = 0, last = 0;
    };
    // Up to four columns with weights that sum to 1.
    struct Mix {
        std::array<Column, 4> columns;
        std::array<double, 4> weights{};
        std::size_t count = 0;

        void add(Column column, double weight) {
            columns[count] = column;
            weights[count++] = weight;
        }
    };

    Column append(const ColumnMeans& means) {
        const Column column{rows_.size(), rows_.size() + means.sums_.size()};
        for (const auto& [atomic_batch, sum] : means.sums_)
            rows_.push_back({static_cast<double>(atomic_batch), sum.step / sum.count, sum.sync / sum.count});
        return column;
    }

    [[nodiscard]] int largest_batch(Column column) const {
        return static_cast<int>(rows_[column.last - 1].atomic_batch);
    }

    // Linear between measured batches, constant outside of them.
    [[nodiscard]] ColumnRow read(Column column, double atomic_batch) const {
        const ColumnRow* const first = rows_.data() + column.first;
        const ColumnRow* const last = rows_.data() + column.last - 1;
        if (!(atomic_batch > first->atomic_batch)) return *first;
        if (atomic_batch >= last->atomic_batch) return *last;
        const ColumnRow* const above =
            std::upper_bound(first, last, atomic_batch,
                             [](double wanted, const ColumnRow& row) { return wanted < row.atomic_batch; });
        const ColumnRow* const below = above - 1;
        const double part =
            (atomic_batch - below->atomic_batch) / (above->atomic_batch - below->atomic_batch);
        return {atomic_batch, below->step + part * (above->step - below->step),
                below->sync + part * (above->sync - below->sync)};
    }

    [[nodiscard]] ColumnRow read(const Mix& mix, double atomic_batch) const {
        ColumnRow sum{atomic_batch};
        for (std::size_t i = 0; i < mix.count; ++i) {
            const ColumnRow row = read(mix.columns[i], atomic_batch);
            sum.step += mix.weights[i] * row.step;
            sum.sync += mix.weights[i] * row.sync;
        }
        return sum;
    }

private:
    std::vector<ColumnRow> rows_;
};

}  // namespace goodput::detail

#endif
