#ifndef GOODPUT_AGENT_DETAIL_SAVED_TEXT_HPP
#define GOODPUT_AGENT_DETAIL_SAVED_TEXT_HPP

// The text format of a saved agent: one line with name and version, then one name and value per line.
// Numbers are written so that they read back exactly. One function lists all fields, both for writing and
// for reading.

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1::detail {

inline constexpr std::string_view saved_text_heading = "goodput-agent ";
inline constexpr int saved_text_version = 3;

class SavedTextWriter {
public:
    void operator()(std::string_view name, const std::string& value) {
        add(name, text_of(value.size()) + ":" + value);
    }
    void operator()(std::string_view name, bool value) { add(name, value ? "1" : "0"); }
    template <class Number>
    void operator()(std::string_view name, Number value) {
        add(name, text_of(value));
    }
    template <class Values, class Each>
    void list(std::string_view name, const Values& values, std::size_t, const Each& each) {
        add(name, text_of(values.size()));
        for (const auto& value : values) each(value);
    }
    [[nodiscard]] std::string text() && { return std::move(text_); }

private:
    void add(std::string_view name, const std::string& value) {
        text_.append(name).append(1, ' ').append(value).append(1, '\n');
    }
    std::string text_ = std::string(saved_text_heading) + text_of(saved_text_version) + "\n";
};

class SavedTextReader {
public:
    explicit SavedTextReader(std::string_view text) : text_(text) {
        if (!text_.starts_with(saved_text_heading)) fail(saved_text_heading);
        at_ = saved_text_heading.size();
        int version = 0;
        number(version);
        require_between("saved agent", "version", version, saved_text_version, saved_text_version);
        end_line();
    }
    void operator()(std::string_view name, std::string& value) {
        expect(name);
        std::size_t size = 0;
        number(size);
        if (size > text_.size() - at_ || size == text_.size() - at_ || text_[at_] != ':') fail("a text");
        value = text_.substr(at_ + 1, size);
        at_ += 1 + value.size();
        end_line();
    }
    void operator()(std::string_view name, bool& value) {
        int read = 0;
        (*this)(name, read);
        if (read != 0 && read != 1) bad_input("saved agent", name, read, "0 or 1");
        value = read == 1;
    }
    template <class Number>
    void operator()(std::string_view name, Number& value) {
        expect(name);
        number(value);
        end_line();
    }
    template <class Value, class Each>
    void list(std::string_view name, std::vector<Value>& values, std::size_t most, const Each& each) {
        std::size_t size = 0;
        (*this)(name, size);
        // A list that the text cannot hold is rejected before memory is allocated for it.
        if (size > most || size > text_.size() - at_)
            bad_input("saved agent", name, size, "a list that the text can hold");
        values.resize(size);
        for (Value& value : values) each(value);
    }
    void expect_end() const {
        if (at_ != text_.size()) fail("the end");
    }

private:
    void expect(std::string_view name) {
        if (!text_.substr(at_).starts_with(name) || at_ + name.size() >= text_.size() ||
            text_[at_ + name.size()] != ' ')
            fail(name);
        at_ += name.size() + 1;
    }
    template <class Number>
    void number(Number& value) {
        const char* const from = text_.data() + at_;
        const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), value);
        if (error != std::errc{}) fail("a number");
        if constexpr (std::floating_point<Number>)
            if (!std::isfinite(value)) fail("a finite number");
        at_ += static_cast<std::size_t>(end - from);
    }
    void end_line() {
        if (at_ >= text_.size() || text_[at_] != '\n') fail("the end of a line");
        ++at_;
    }
    [[noreturn]] void fail(std::string_view expected) const {
        bad_input("saved agent", "text at character " + text_of(at_ + 1),
                  at_ < text_.size() ? text_.substr(at_, 20) : std::string_view("the end"), expected);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
