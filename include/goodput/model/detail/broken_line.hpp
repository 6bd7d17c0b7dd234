#ifndef GOODPUT_MODEL_DETAIL_BROKEN_LINE_HPP
#define GOODPUT_MODEL_DETAIL_BROKEN_LINE_HPP

// The computing time of a BrokenLineModel over the atomic batches that a job may use, without the factor of
// a shape: straight pieces between integers, and straight lines (supports) below all of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1::detail {

// A list whose first fifty values need no heap. That suffices for the pieces of two dozen measured batches,
// all of which may lie between integers.
template <class Value>
class ShortList {
public:
    void push_back(const Value& value) {
        if (size_ == few_.size()) more_.assign(few_.begin(), few_.end());
        if (size_ < few_.size())
            few_[size_] = value;
        else
            more_.push_back(value);
        ++size_;
    }
    void pop_back() {
        if (--size_ >= few_.size()) more_.pop_back();
    }
    [[nodiscard]] std::span<const Value> all() const {
        return {size_ > few_.size() ? more_.data() : few_.data(), size_};
    }

private:
    std::array<Value, 50> few_;
    std::vector<Value> more_{};
    std::size_t size_ = 0;
};

class BrokenLine {
public:
    // A straight piece from the integer `low` to the integer `high`, where the next piece starts.
    struct Piece {
        double low, high;
        double seconds, seconds_at_high;  // computing time at low and at high
        double constant, per_example;     // the line's parameters; either may be negative

        // Computed as a weighted mean of both ends, so that no digits cancel.
        [[nodiscard]] double compute_seconds(double atomic) const {
            const double part = high > low ? (atomic - low) / (high - low) : 0;
            return seconds * (1 - part) + seconds_at_high * part;
        }
    };
    // A line that is at most the computing time at every batch that may be used. Neither number is
    // negative.
    struct Support {
        double constant, per_example;
    };

    template <class Throughput>
    BrokenLine(const Throughput& model, const BatchLimits& limits) {
        const double least = std::max(limits.min_atomic_batch, 1);
        const double most = std::min(limits.max_atomic_batch, limits.max_batch);
        if (!(least <= most)) return;
        Point last{least, model.compute_seconds(least)};
        const auto add = [&](double batch) {
            const Point next{batch, model.compute_seconds(batch)};
            add_piece(last, next);
            last = next;
        };
        const auto go_to = [&](double batch) {
            if constexpr (requires { model.launch_seconds; }) {
                // The line is straight up to `batch`. It bends where it meets the time of the launches.
                const double from = model.line_seconds(last.batch) - model.launch_seconds;
                const double to = model.line_seconds(batch) - model.launch_seconds;
                if ((from < 0) != (to < 0)) {
                    const double bend = last.batch + (batch - last.batch) * (from / (from - to));
                    for (const double near : {std::floor(bend), std::floor(bend) + 1})
                        if (near > last.batch && near < batch) add(near);
                }
            }
            add(batch);
        };
        if constexpr (requires { model.batches; })
            for (const auto& broken : model.batches)
                for (const double batch : {std::floor(broken.batch), std::ceil(broken.batch)})
                    if (batch > last.batch && batch < most) go_to(batch);
        if (most > last.batch || pieces().empty()) go_to(most);
        find_supports();
    }

    // The pieces in ascending order. Empty if no batch may be used.
    [[nodiscard]] std::span<const Piece> pieces() const { return pieces_.all(); }
    [[nodiscard]] std::span<const Support> supports() const { return supports_.all(); }
    // The batch with the fewest seconds per example, the largest among equals.
    [[nodiscard]] double most_efficient() const { return most_efficient_; }
    [[nodiscard]] double seconds_there() const { return seconds_there_; }

private:
    struct Point {
        double batch, seconds;
    };

    void add_piece(const Point& from, const Point& to) {
        const double wide = to.batch - from.batch;
        const double slope = wide > 0 ? (to.seconds - from.seconds) / wide : 0;
        pieces_.push_back(
            {from.batch, to.batch, from.seconds, to.seconds, from.seconds - slope * from.batch, slope});
    }

    // Finds the supports. They are the sides of the lower convex hull that rise and start above zero, the
    // horizontal line at the least time to the left of these sides, and the ray from the origin to the
    // right of them.
    void find_supports() {
        ShortList<Point> corners;
        const auto add = [&](const Point& next) {
            for (std::span<const Point> now = corners.all();
                 now.size() > 1 && !below(now[now.size() - 2], now.back(), next); now = corners.all())
                corners.pop_back();
            corners.push_back(next);
        };
        for (const Piece& piece : pieces()) add({piece.low, piece.seconds});
        const Piece& last = pieces().back();
        if (last.high > last.low) add({last.high, last.seconds_at_high});
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

    ShortList<Piece> pieces_{};
    ShortList<Support> supports_{};
    double most_efficient_ = 0, seconds_there_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
