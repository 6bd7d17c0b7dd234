#ifndef GOODPUT_SCHEDULE_DETAIL_SAVED_TEXT_HPP
#define GOODPUT_SCHEDULE_DETAIL_SAVED_TEXT_HPP

// Writes values as text and reads them back. A class names its fields once, for both directions: it
// declares SavedFields a friend and has
//
//      template <class Self, class Visit>
//      static void fields(Self& self, Visit& visit) { visit(self.one, self.another); }
//
// If some values of the fields are invalid, the class also has `void check_saved() const`, which throws
// std::invalid_argument for them. If a class has members that are not saved, it may have `void
// complete_saved()`, which computes them from the saved ones.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput::inline v0_1::detail {

/// Gives access to the fields of classes that befriend it, and of plain values.
struct SavedFields {
    template <class T, class Visit>
    static void visit(T& value, Visit& visit) {
        using Plain = std::remove_const_t<T>;
        if constexpr (std::is_same_v<Plain, Shape>)
            visit(value.nodes, value.gpus);
        else if constexpr (std::is_same_v<Plain, BatchPlan>)
            visit(value.atomic_batch, value.accumulation_steps);
        else if constexpr (std::is_same_v<Plain, HostShare>)
            visit(value.cores_per_gpu, value.memory_gib_per_gpu);
        else if constexpr (std::is_same_v<Plain, GradientStatistics>)
            visit(value.squared_norm, value.variance);
        else if constexpr (std::is_same_v<Plain, ThroughputSample>)
            visit(value.shape, value.plan, value.step_seconds, value.sync_seconds, value.host,
                  value.sync_known, value.whole_iteration);
        else if constexpr (std::is_same_v<Plain, TypeLimits>)
            visit(value.min_atomic_batch, value.max_atomic_batch, value.gpus_per_replica,
                  value.reference_rate);
        else if constexpr (std::is_same_v<Plain, PolluxThroughput>)
            visit(value.alpha_c, value.beta_c, value.alpha_n, value.beta_n, value.alpha_r, value.beta_r,
                  value.gamma);
        else if constexpr (std::is_same_v<Plain, BatchFactor>)
            visit(value.batch, value.factor);
        else if constexpr (std::is_same_v<Plain, ShapeFactor>)
            visit(value.shape, value.compute, value.sync);
        else if constexpr (std::is_same_v<Plain, RefinedThroughput>) {
            visit(value.alpha_c, value.beta_c, value.batches, value.alone, value.straggling,
                  value.node_seconds, value.node_gpus, value.network_seconds, value.network_gpus,
                  value.network_nodes, value.network_ring, value.gamma, value.shapes);
            if (visit.knows_launches()) visit(value.launch_seconds);
        } else if constexpr (std::is_same_v<Plain, TypeModel>)
            visit(value.throughput, value.most_replicas, value.fitted, value.last_plan);
        else if constexpr (std::is_same_v<Plain, ParameterEvidence>)
            visit(value.value, value.variance);
        else if constexpr (std::is_same_v<Plain, RefinedPrior>)
            visit(value.mean, value.deviation, value.break_deviation, value.sync_deviation,
                  value.compute_deviation);
        else if constexpr (std::is_same_v<Plain, RefinedFit>) {
            visit(value.model, value.identified, value.compute_rmsle, value.step_rmsle, value.samples,
                  value.stragglers, value.iterations, value.status, value.step_deviation,
                  value.degrees_of_freedom, value.prior, value.reference_batch, value.reference_seconds,
                  value.coordinates, value.covariance, value.shape_variances);
            if (visit.knows_launches())
                visit(value.launch_deviation, value.launch_freedom, value.launch_batch);
        } else if constexpr (std::is_same_v<Plain, TypeFit>)
            visit(value.evidence, value.fit);
        else
            Plain::fields(value, visit);
    }
    template <class T>
    static void finish(T& value) {
        if constexpr (std::is_same_v<T, TypeModel>) validate(value, "saved memory");
        if constexpr (requires { value.check_saved(); }) value.check_saved();
        if constexpr (requires { value.complete_saved(); }) value.complete_saved();
    }
};

/// Writes numbers and strings one after the other. A string is written as its length, a colon and its
/// characters. A list is written as its length and its elements, one per line unless they are plain
/// numbers.
class TextWriter {
public:
    explicit TextWriter(std::string_view title) : text_(title) { text_ += '\n'; }

    template <class... T>
    void operator()(const T&... values) {
        (write(values), ...);
    }
    [[nodiscard]] std::string text() && { return std::move(text_); }
    /// Whether models have a least computing time.
    [[nodiscard]] static bool knows_launches() { return true; }

private:
    void append(std::string_view word) {
        if (text_.back() != '\n') text_ += ' ';
        text_ += word;
    }
    template <class T>
    void write(const T& value) {
        if constexpr (std::is_same_v<T, bool>)
            append(value ? "1" : "0");
        else if constexpr (std::is_enum_v<T>)
            write(static_cast<int>(value));
        else if constexpr (std::is_arithmetic_v<T>)
            append(text_of(value));
        else
            SavedFields::visit(value, *this);
    }
    void write(const std::string& value) { append(text_of(value.size()) + ":" + value); }
    template <class T>
    void write(const std::optional<T>& value) {
        write(value.has_value());
        if (value) write(*value);
    }
    template <class T>
    void write(const std::vector<T>& values) {
        write(values.size());
        for (const T& value : values) {
            if constexpr (!std::is_arithmetic_v<T>) text_ += '\n';
            write(value);
        }
    }
    template <class T, std::size_t n>
    void write(const std::array<T, n>& values) {
        for (const T& value : values) write(value);
    }
    template <class... T>
    void write(const std::variant<T...>& value) {
        write(value.index());
        std::visit([&](const auto& form) { write(form); }, value);
    }
    template <class T>
    void write(const std::set<T>& values) {
        write(std::vector<T>(values.begin(), values.end()));
    }
    template <class K, class V>
    void write(const std::map<K, V>& values) {
        write(values.size());
        for (const auto& [key, value] : values) {
            text_ += '\n';
            write(key);
            write(value);
        }
    }

    std::string text_;
};

/// Reads what a TextWriter has written, or the text of an earlier version with another title, whose models
/// had no least computing time. Throws std::invalid_argument at the first place where the text differs from
/// that form.
class TextReader {
public:
    TextReader(std::string_view title, std::string_view earlier_title, std::string_view text) : text_(text) {
        const std::string_view first = text_.substr(0, text_.find('\n'));
        if (first != title && first != earlier_title)
            bad_input("saved memory", "title", first.substr(0, title.size()), title);
        knows_launches_ = first == title;
        at_ = first.size();
    }
    /// Whether models in the text have a least computing time.
    [[nodiscard]] bool knows_launches() const { return knows_launches_; }

    template <class... T>
    void operator()(T&... values) {
        (read(values), ...);
    }
    /// Throws if there is text left.
    void end() {
        skip_space();
        if (at_ != text_.size()) refuse("the end");
    }

private:
    static constexpr std::string_view space = " \n";

    [[noreturn]] void refuse(std::string_view expected) const {
        bad_input("saved memory", "what stands at character " + text_of(at_),
                  at_ < text_.size() ? "'" + std::string(text_.substr(at_, 24)) + "'" : "the end", expected);
    }
    void skip_space() { at_ = std::min(text_.find_first_not_of(space, at_), text_.size()); }
    template <class Number>
    Number number() {
        skip_space();
        Number value{};
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc{}) refuse("a number of its field's range");
        if constexpr (std::is_floating_point_v<Number>)
            if (std::isnan(value)) refuse("a number");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }
    /// Reads the length of a list. Every element takes at least one character.
    std::size_t length() {
        const std::size_t before = at_;
        const auto count = number<std::size_t>();
        if (count <= text_.size() - at_) return count;
        at_ = before;
        refuse("a length that the text has room for");
    }
    template <class T>
    void read(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            value = whole(1) == 1;
        } else if constexpr (std::is_same_v<T, Adaptivity>) {
            value = static_cast<Adaptivity>(whole(static_cast<int>(Adaptivity::none)));
        } else if constexpr (std::is_same_v<T, FitStatus>) {
            value = static_cast<FitStatus>(whole(static_cast<int>(FitStatus::prior_kept)));
        } else if constexpr (std::is_arithmetic_v<T>) {
            value = number<T>();
        } else {
            SavedFields::visit(value, *this);
            SavedFields::finish(value);
        }
    }
    int whole(int most) {
        const int value = number<int>();
        if (value < 0 || value > most) refuse("between 0 and " + text_of(most));
        return value;
    }
    void read(std::string& value) {
        const auto count = number<std::size_t>();
        if (at_ == text_.size() || text_[at_] != ':') refuse("a colon");
        if (count > text_.size() - ++at_) refuse("a string of " + text_of(count) + " characters");
        value = text_.substr(at_, count);
        at_ += count;
    }
    template <class T>
    void read(std::optional<T>& value) {
        bool there = false;
        read(there);
        value.reset();
        if (there) read(value.emplace());
    }
    template <class T>
    void read(std::vector<T>& values) {
        values.clear();
        for (std::size_t left = length(); left > 0; --left) read(values.emplace_back());
    }
    template <class T, std::size_t n>
    void read(std::array<T, n>& values) {
        for (T& value : values) read(value);
    }
    void read(std::variant<PolluxThroughput, RefinedThroughput>& value) {
        if (whole(1) == 0)
            read(value.emplace<PolluxThroughput>());
        else
            read(value.emplace<RefinedThroughput>());
    }
    template <class T>
    void read(std::set<T>& values) {
        std::vector<T> listed;
        read(listed);
        values = std::set<T>(listed.begin(), listed.end());
    }
    template <class K, class V>
    void read(std::map<K, V>& values) {
        values.clear();
        for (std::size_t left = length(); left > 0; --left) {
            K key{};
            read(key);
            read(values[std::move(key)]);
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool knows_launches_ = true;
};

}  // namespace goodput::inline v0_1::detail

#endif
