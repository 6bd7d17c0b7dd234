#ifndef GOODPUT_COMPILED_C_AGENT_LINES_HPP
#define GOODPUT_COMPILED_C_AGENT_LINES_HPP

// The two lines of JSON by which a training run and a scheduler communicate: what the training run reports,
// and the batch plan that it gets.
//
//     {"gpu_type": "t4", "nodes": 1, "gpus": 4, "local_batch": 64, "accumulation": 0, "step_s": 0.21,
//      "sync_s": 0.05, "gradient": {"sqr": 1.2, "var": 40.1}, "start_s": 21.5, "gpu_utilisation": 0.74}
//     {"local_batch": 128, "accumulation": 1}

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "goodput/agent/training_agent.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "json_text.hpp"

namespace goodput::c {

/// A JSON reader that is sufficient for plan files.
class PlanReader {
public:
    explicit PlanReader(std::string_view text) : text_(text) { skip_spaces(); }

    [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
    bool take(char wanted) {
        if (at_end() || text_[at_] != wanted) return false;
        ++at_;
        skip_spaces();
        return true;
    }
    void expect(char wanted) {
        if (!take(wanted)) fail(std::string(1, wanted));
    }
    /// Reads a string, and leaves its escapes as they are: no known name has any.
    std::string_view string() {
        const std::size_t begin = at_ + 1;
        if (at_end() || text_[at_] != '"') fail("a string");
        for (std::size_t end = begin; end < text_.size(); ++end) {
            if (text_[end] == '\\') {
                ++end;
            } else if (text_[end] == '"') {
                at_ = end + 1;
                skip_spaces();
                return text_.substr(begin, end - begin);
            }
        }
        fail("a string that ends");
    }
    double number() {
        double value = 0;
        const char* const from = text_.data() + at_;
        const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), value);
        if (error != std::errc{} || !std::isfinite(value)) fail("a number");
        at_ += static_cast<std::size_t>(end - from);
        skip_spaces();
        return value;
    }
    /// Skips a value of any kind.
    void skip(int depth = 0) {
        if (depth > 64) fail("less deeply nested");
        if (take('{')) {
            if (take('}')) return;
            do {
                string();
                expect(':');
                skip(depth + 1);
            } while (take(','));
            expect('}');
        } else if (take('[')) {
            if (take(']')) return;
            do skip(depth + 1);
            while (take(','));
            expect(']');
        } else if (!at_end() && text_[at_] == '"') {
            string();
        } else if (!word("true") && !word("false") && !word("null")) {
            number();
        }
    }
    [[noreturn]] void fail(std::string_view expected) const {
        bad_input("plan file", "text at character " + text_of(at_ + 1),
                  at_end() ? std::string_view("the end") : text_.substr(at_, 20), expected);
    }

private:
    bool word(std::string_view wanted) {
        if (!text_.substr(at_).starts_with(wanted)) return false;
        at_ += wanted.size();
        skip_spaces();
        return true;
    }
    void skip_spaces() {
        while (!at_end() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
            ++at_;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// Returns a report without the end of its line. It has sync_s, start_s and gpu_utilisation only if they are
/// known, and the gradient only if there is one.
inline std::string line_of(const TrainingReport& report) {
    const ThroughputSample& sample = report.sample;
    const GradientStatistics& gradient = report.gradient;
    std::string line = "{\"gpu_type\": " + json_text(report.gpu_type);
    const auto add = [&line](std::string_view field, const std::string& value) {
        line.append(", \"").append(field).append("\": ").append(value);
    };
    add("nodes", text_of(sample.shape.nodes));
    add("gpus", text_of(sample.shape.gpus));
    add("local_batch", text_of(sample.plan.atomic_batch));
    add("accumulation", text_of(sample.plan.accumulation_steps));
    add(sample.whole_iteration ? "iteration_s" : "step_s", text_of(sample.step_seconds));
    if (sample.sync_known) add("sync_s", text_of(sample.sync_seconds));
    if (goodput::measured_gradient(gradient))
        add("gradient",
            "{\"sqr\": " + text_of(gradient.squared_norm) + ", \"var\": " + text_of(gradient.variance) + "}");
    if (report.start_seconds) add("start_s", text_of(*report.start_seconds));
    if (report.gpu_utilisation) add("gpu_utilisation", text_of(*report.gpu_utilisation));
    return line + "}";
}

/// Reads a plan file, and skips unknown fields. Returns nothing for a blank text, because no plan has been
/// made yet. Throws std::invalid_argument for anything but a JSON object, for one without local_batch, and
/// for numbers out of range. Without "accumulation", it is 0.
inline std::optional<BatchPlan> read_plan(std::string_view text) {
    PlanReader reader(text);
    if (reader.at_end()) return std::nullopt;
    BatchPlan plan;
    const auto integer = [&reader](std::string_view field, int least, int most) {
        const double value = reader.number();
        if (!(value >= least && value <= most) || value != std::floor(value))
            bad_input("plan file", field, value,
                      "an integer between " + text_of(least) + " and " + text_of(most));
        return static_cast<int>(value);
    };
    reader.expect('{');
    if (!reader.take('}')) {
        do {
            const std::string_view field = reader.string();
            reader.expect(':');
            if (field == "local_batch")
                plan.atomic_batch = integer(field, 1, 1 << 30);
            else if (field == "accumulation")
                plan.accumulation_steps = integer(field, 0, 1 << 20);
            else
                reader.skip();
        } while (reader.take(','));
        reader.expect('}');
    }
    if (!reader.at_end()) reader.fail("nothing more");
    if (plan.atomic_batch == 0) bad_input("plan file", "local_batch", "missing", "given");
    return plan;
}

}  // namespace goodput::c

#endif
