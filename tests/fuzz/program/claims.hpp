#ifndef GOODPUT_TESTS_FUZZ_PROGRAM_CLAIMS_HPP
#define GOODPUT_TESTS_FUZZ_PROGRAM_CLAIMS_HPP

// Claims about every command that answers lines: one line of JSON for each, in order. A line that cannot be
// used gets {"line": N, "error": "..."} in the program's own words, never a standard library's.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace fuzz {

using Json = nlohmann::ordered_json;

[[noreturn]] inline void fail(std::string_view claim, const Json& line, const Json& answer) {
    const auto text = [](const Json& json) {
        return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    std::fprintf(stderr, "not so: %.*s\nline: %s\nanswer: %s\n", static_cast<int>(claim.size()), claim.data(),
                 text(line).c_str(), text(answer).c_str());
    std::abort();
}

/// A line with its answer or its refusal.
struct Exchange {
    Json line{};
    Json answer{};
    std::string text{};
    bool refused = false;

    void check(bool holds, std::string_view claim) const {
        if (!holds) fail(claim, line, answer);
    }
};

inline std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// Splits an input at lines "%%" into at least `least` parts; the missing ones are empty.
inline std::vector<std::string> parts_of(const std::string& text, std::size_t least) {
    std::vector<std::string> parts(1);
    for (const std::string& line : lines_of(text))
        if (line == "%%")
            parts.emplace_back();
        else
            parts.back() += line + '\n';
    parts.resize(std::max(least, parts.size()));
    return parts;
}

/// Whether an error shows what a container or a parser found instead of what is wrong with the line.
inline bool is_internal(std::string_view error) {
    for (const std::string_view word : {"vector::", "basic_string", "map::at", "std::", "bad_", "array::at",
                                        "deque::", "[json.exception", "Ceres", "boost", "stoi", "memory"})
        if (error.find(word) != std::string_view::npos) return true;
    return false;
}

/// Removes lines that could continue the document of the line before, since those get no answer of their own.
inline std::string without_continuations(const std::string& text) {
    std::string lines;
    bool at_begin = true;
    for (const char c : text) {
        if (at_begin && std::string_view(" \t]}").find(c) != std::string_view::npos) continue;
        at_begin = c == '\n';
        lines += c;
    }
    return lines;
}

/// Runs `run(in, out)` on the text and returns its lines with their answers.
template <class Run>
std::vector<Exchange> exchanges(const std::string& given, Run run) {
    const std::string text = without_continuations(given);
    std::istringstream in(text);
    std::ostringstream out;
    const int status = run(in, out);
    const std::vector<std::string> lines = lines_of(text), answers = lines_of(out.str());
    if (lines.size() != answers.size()) fail("one answer a line", text, out.str());
    std::vector<Exchange> exchanges;
    int wanted = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        Exchange& exchange = exchanges.emplace_back();
        exchange.text = lines[i];
        exchange.line = Json::parse(lines[i], nullptr, false);
        exchange.answer = Json::parse(answers[i], nullptr, false);
        exchange.check(exchange.answer.is_object(), "an answer is an object of JSON");
        exchange.refused = exchange.answer.contains("error");
        if (!exchange.refused) {
            exchange.check(!exchange.line.is_discarded(), "what is no JSON is refused");
            continue;
        }
        wanted = 1;
        const Json& error = exchange.answer["error"];
        exchange.check(exchange.answer.size() == 2 && exchange.answer.value("line", Json()) == i + 1,
                       "a refusal has the line's number and an error");
        exchange.check(error.is_string() && !error.get_ref<const std::string&>().empty(),
                       "an error is a sentence");
        // A quotation of the line itself is allowed.
        exchange.check(!is_internal(error.get_ref<const std::string&>()) || is_internal(lines[i]),
                       "an error is in the program's own words");
    }
    if (status != wanted) fail("the status is 1 where a line was refused, else 0", text, status);
    return exchanges;
}

/// Returned by a fuzz target: inputs without any answer are not worth keeping (-1).
inline int verdict(const std::vector<Exchange>& exchanges) {
    for (const Exchange& exchange : exchanges)
        if (!exchange.refused) return 0;
    return -1;
}

/// Fails on a number that is null, which is how JSON writes NaN and infinity. `nullable`: fields that may be
/// null.
inline void check_no_null(const Exchange& exchange, const Json& value, std::string_view name,
                          std::initializer_list<std::string_view> nullable) {
    if (value.is_null()) {
        bool allowed = false;
        for (const std::string_view known : nullable) allowed = allowed || known == name;
        exchange.check(allowed, "every number of an answer is finite");
    } else if (value.is_object()) {
        for (const auto& [key, field] : value.get_ref<const Json::object_t&>())
            check_no_null(exchange, field, key, nullable);
    } else if (value.is_array()) {
        for (const Json& element : value) check_no_null(exchange, element, name, nullable);
    }
}

/// Removes what differs from run to run from an answer.
inline Json untimed(Json answer) {
    answer.erase("milliseconds");
    return answer;
}

/// Returns the answered lines as a new input.
inline std::string answered(const std::vector<Exchange>& exchanges) {
    std::string text;
    for (const Exchange& exchange : exchanges)
        if (!exchange.refused) text += exchange.text + '\n';
    return text;
}

}  // namespace fuzz

#endif
