#ifndef GOODPUT_CORE_ERROR_HPP
#define GOODPUT_CORE_ERROR_HPP

// Bad input is rejected where it enters, with one exception type and one form of sentence. The reader of a
// scheduler's log learns which job or node sent it, which field is wrong, what it holds and what it should
// hold.

#include <charconv>
#include <cmath>
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace goodput::inline v0_1 {

/// Returns the shortest text that reads back as `number`. Returns "nan" or "inf" for a number that is not
/// finite.
template <class Number>
requires std::is_arithmetic_v<Number> std::string text_of(Number number) {
    char buffer[64];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
    return error == std::errc{} ? std::string(buffer, end) : std::string("?");
}
/// Returns "true" or "false".
inline std::string text_of(bool flag) { return flag ? "true" : "false"; }

/// Returns a number with six significant digits, for messages that people read.
inline std::string rounded_text_of(double number) {
    char buffer[64];
    const auto [end, error] =
        std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, 6);
    return error == std::errc{} ? std::string(buffer, end) : std::string("?");
}

/// Reports bad input. what() is "SUBJECT: FIELD is VALUE, but must be EXPECTED". The members are the parts
/// of this sentence, for callers that use another name for the field.
struct BadInput : std::invalid_argument {
    /// Puts the sentence together from its parts.
    BadInput(std::string who, std::string_view name, std::string_view holds, std::string_view must_be)
        : std::invalid_argument(who + ": " + std::string(name) + " is " + std::string(holds) +
                                ", but must be " + std::string(must_be)),
          subject(std::move(who)),
          field(name),
          value(holds),
          expected(must_be) {}

    std::string subject;   ///< the job, node or problem with the bad input: "job 'bert-3'"
    std::string field;     ///< the path of the C++ member ("gradient.squared_norm"), or words
    std::string value;     ///< value of the field
    std::string expected;  ///< what the field should hold
};

/// Throws BadInput, a std::invalid_argument.
[[noreturn]] inline void bad_input(std::string_view subject, std::string_view field, std::string_view value,
                                   std::string_view expected) {
    throw BadInput(std::string(subject), field, value, expected);
}

/// The same for a number.
template <class Number>
requires std::is_arithmetic_v<Number>
[[noreturn]] void bad_input(std::string_view subject, std::string_view field, Number value,
                            std::string_view expected) {
    bad_input(subject, field, std::string_view(text_of(value)), expected);
}

/// The subject of a message: a text, or a function that returns one. The function is called only if there
/// is an error to report.
template <class Subject>
concept MessageSubject = std::convertible_to<const Subject&, std::string_view> ||
    std::is_invocable_r_v<std::string, const Subject&>;

namespace detail {

template <MessageSubject Subject>
std::string text_of_subject(const Subject& subject) {
    if constexpr (std::convertible_to<const Subject&, std::string_view>)
        return std::string(std::string_view(subject));
    else
        return subject();
}

}  // namespace detail

/// Throws BadInput if `value` is NaN, infinite or below `least`.
template <MessageSubject Subject>
void require_at_least(const Subject& subject, std::string_view field, double value, double least) {
    if (std::isfinite(value) && value >= least) return;
    bad_input(detail::text_of_subject(subject), field, value,
              "a finite number of at least " + text_of(least));
}

/// Throws BadInput if `value` is NaN, infinite, zero or negative.
template <MessageSubject Subject>
void require_positive(const Subject& subject, std::string_view field, double value) {
    if (std::isfinite(value) && value > 0) return;
    bad_input(detail::text_of_subject(subject), field, value, "a finite number above 0");
}

/// Throws BadInput if `value` is NaN or lies outside (0, 1).
template <MessageSubject Subject>
void require_fraction(const Subject& subject, std::string_view field, double value) {
    if (value > 0 && value < 1) return;
    bad_input(detail::text_of_subject(subject), field, value, "above 0 and below 1");
}

/// Throws BadInput if `value` is NaN or lies outside (0, 1].
template <MessageSubject Subject>
void require_factor(const Subject& subject, std::string_view field, double value) {
    if (value > 0 && value <= 1) return;
    bad_input(detail::text_of_subject(subject), field, value, "above 0 and at most 1");
}

/// Throws BadInput if an integer lies outside [least, most].
template <MessageSubject Subject>
void require_between(const Subject& subject, std::string_view field, long long value, long long least,
                     long long most) {
    if (value >= least && value <= most) return;
    bad_input(detail::text_of_subject(subject), field, value,
              "between " + text_of(least) + " and " + text_of(most));
}
/// The same for floating-point numbers. NaN is rejected.
template <MessageSubject Subject, std::floating_point Number>
void require_between(const Subject& subject, std::string_view field, Number value,
                     std::type_identity_t<Number> least, std::type_identity_t<Number> most) {
    if (value >= least && value <= most) return;
    bad_input(detail::text_of_subject(subject), field, value,
              "between " + text_of(least) + " and " + text_of(most));
}

}  // namespace goodput::inline v0_1

#endif
