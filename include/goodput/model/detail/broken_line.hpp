#ifndef GOODPUT_MODEL_DETAIL_BROKEN_LINE_HPP
#define GOODPUT_MODEL_DETAIL_BROKEN_LINE_HPP

// The computing time of RefinedThroughput over the atomic batches that a job may use, but for the factor of
// a shape: straight pieces between integers, and straight lines below all of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/batch.hpp"
#include "goodput/model/refined.hpp"

namespace goodput::detail {

// Values one after the other, the first `Room` of them without the heap. As many as reserved, no more.
template <class Value, std::size_t Room>
class ShortList {
public:
    ShortList() = default;
    ShortList(const ShortList&) = delete;
    ShortList& operator=(const ShortList&) = delete;

    // To be called once, before the first value.
    void reserve(std::size_t count) {
        if (count <= Room) return;
        more_.resize(count);
        values_ = more_.data();
    }
    void push_back(const Value& value) { values_[size_++] = value; }
    void pop_back() { --size_; }
    [[nodiscard]] std::span<const Value> all() const { return {values_, size_}; }

private:
    std::array<Value, Room> few_;
    std::vector<Value> more_;
    Value* values_ = few_.data();
    std::size_t size_ = 0;
};

class BrokenLine {
public:
    // From the integer `low` to the integer `high`, where the next piece starts: one cache line.
    struct Piece {
        double low, high;
        double seconds, per_example;     // at `low`, and for each further example
        double constant;                 // seconds that the line starts with; may be negative
        double inverse_low;              // 1 / low
        double rising_low, rising_high;  // per_example low^2, per_example high^2

        [[nodiscard]] double compute_seconds(double atomic) const {
            return seconds + per_example * (atomic - low);
        }
    };
    struct Batches {
        double least, most;
    };
    // At most the computing time at every batch that may be used; neither number is negative.
    struct Support {
        double constant, per_example;
    };

    template <class Throughput>
    BrokenLine(const Throughput& model, const BatchLimits& limits) {
        const double least = std::max(limits.min_atomic_batch, 1);
        const double most = std::min(limits.max_atomic_batch, limits.max_batch);
        if (!(least <= most)) return;
        pieces_.reserve(2 * model.batches.size() + 1);
        Point last{least, model.compute_seconds(least)};
        const auto go_to = [&](double batch) {
            const Point next{batch, model.compute_seconds(batch)};
            add_piece(last, next);
            last = next;
        };
        for (const BatchFactor& broken : model.batches)
            for (const double batch : {std::floor(broken.batch), std::ceil(broken.batch)})
                if (batch > last.batch && batch < most) go_to(batch);
        if (most > last.batch || pieces().empty()) go_to(most);
        find_supports();
    }

    // Ascending. Empty: no batch may be used.
    [[nodiscard]] std::span<const Piece> pieces() const { return pieces_.all(); }
    [[nodiscard]] std::span<const Support> supports() const { return supports_.all(); }
    // The batch with the fewest seconds per example, the largest of equals.
    [[nodiscard]] double most_efficient() const { return most_efficient_; }
    [[nodiscard]] double seconds_there() const { return seconds_there_; }

    // The least and the largest batch that take at most so many seconds per example; none: {1, 0}.
    [[nodiscard]] Batches batches_within(double per_example) const {
        // Within a piece the ratio rises or falls, so an end tells whether a batch is there.
        const auto at_low = [&](const Piece& piece) { return piece.seconds <= per_example * piece.low; };
        const auto at_high = [&](const Piece& piece) {
            return piece.compute_seconds(piece.high) <= per_example * piece.high;
        };
        const auto some = [&](const Piece& piece) { return at_low(piece) || at_high(piece); };
        const auto crossing = [&](const Piece& piece) {
            return piece.constant / (per_example - piece.per_example);
        };
        const std::span<const Piece> all = pieces();
        const auto first = std::find_if(all.begin(), all.end(), some);
        if (first == all.end()) return {1, 0};
        const auto last = std::find_if(all.rbegin(), all.rend(), some);
        return {at_low(*first) ? first->low : std::min(std::ceil(crossing(*first)), first->high),
                at_high(*last) ? last->high : std::max(std::floor(crossing(*last)), last->low)};
    }

private:
    struct Point {
        double batch, seconds;
    };

    void add_piece(const Point& from, const Point& to) {
        const double wide = to.batch - from.batch;
        const double slope = wide > 0 ? (to.seconds - from.seconds) / wide : 0;
        pieces_.push_back({from.batch, to.batch, from.seconds, slope, from.seconds - slope * from.batch,
                           1 / from.batch, slope * from.batch * from.batch, slope * to.batch * to.batch});
    }

    // The sides of the convex hull from below, as far as they rise and start above zero; to the left of them
    // the level of the least time, to the right the ray from the origin.
    void find_supports() {
        ShortList<Point, room + 1> corners;
        corners.reserve(pieces().size() + 1);
        const auto add = [&](const Point& next) {
            for (std::span<const Point> now = corners.all();
                 now.size() > 1 && !below(now[now.size() - 2], now.back(), next); now = corners.all())
                corners.pop_back();
            corners.push_back(next);
        };
        for (const Piece& piece : pieces()) add({piece.low, piece.seconds});
        const Piece& last = pieces().back();
        if (last.high > last.low) add({last.high, last.compute_seconds(last.high)});
        const std::span<const Point> hull = corners.all();
        double least = hull.front().seconds, ratio = std::numeric_limits<double>::infinity();
        for (const Point& point : hull) {
            least = std::min(least, point.seconds);
            if (point.seconds <= ratio * point.batch) {
                ratio = point.seconds / point.batch;
                most_efficient_ = point.batch;
                seconds_there_ = point.seconds;
            }
        }
        supports_.reserve(hull.size() + 1);
        supports_.push_back({0, ratio});
        if (hull.size() < 2 || hull[1].seconds < hull[0].seconds) supports_.push_back({least, 0});
        for (std::size_t i = 1; i < hull.size(); ++i) {
            const double slope =
                (hull[i].seconds - hull[i - 1].seconds) / (hull[i].batch - hull[i - 1].batch);
            const double constant = hull[i].seconds - slope * hull[i].batch;
            if (slope >= 0 && constant >= 0) supports_.push_back({constant, slope});
        }
    }

    // Whether `b` lies below the straight line from `a` to `c`.
    static bool below(const Point& a, const Point& b, const Point& c) {
        return (b.seconds - a.seconds) * (c.batch - b.batch) < (c.seconds - b.seconds) * (b.batch - a.batch);
    }

    // Pieces of two dozen measured batches, which may all lie between integers.
    static constexpr std::size_t room = 49;
    ShortList<Piece, room> pieces_;
    ShortList<Support, room + 2> supports_;
    double most_efficient_ = 0, seconds_there_ = 0;
};

}  // namespace goodput::detail

#endif
