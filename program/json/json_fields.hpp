#ifndef GOODPUT_PROGRAM_JSON_JSON_FIELDS_HPP
#define GOODPUT_PROGRAM_JSON_JSON_FIELDS_HPP

// Typed access to a JSON document. Whatever is missing or of the wrong type is a std::invalid_argument in the
// library's sentence form: "job 'cifar10-3': restarts is "two", but must be an integer".

#include <array>
#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cli {

using Json = nlohmann::ordered_json;  // answers keep the order in which their fields are set

/// What documents say that has no effect, or is probably a slip: misspelt fields, GPU types that nobody has.
/// Each is said once, in a line to a stream, and once a document to whoever answers; or it refuses the
/// document.
class Warnings {
public:
    /// Writes to `out`; with `strict`, refuses instead.
    explicit Warnings(std::ostream& out, bool strict = false) : out_(&out), strict_(strict) {}

    /// Warnings from here on are about that line of input.
    void at_line(std::size_t number);
    /// Says the sentence, unless one with this key was said before. Strict: throws std::invalid_argument.
    void say(const std::string& key, const std::string& sentence);
    /// The same of what the answer says by itself.
    void say_beside(const std::string& key, const std::string& sentence);
    /// The same of a sentence "WHOM: WHAT" that is no reason to refuse anything, once for each of whom.
    void mention(const std::string& sentence);
    /// What say() was told of this line, also sentences that were said before, one for each key.
    [[nodiscard]] const std::vector<std::string>& of_line() const { return of_line_; }

private:
    void write(const std::string& key, const std::string& sentence);

    std::ostream* out_;
    bool strict_;
    std::size_t line_ = 0;
    std::set<std::string> said_{};
    std::set<std::string> keys_of_line_{};
    std::vector<std::string> of_line_{};
};

/// A place in a document, and how it was reached. Cheap to copy; lives as long as the document, the keys that
/// it was reached by, and the subject.
class Field {
public:
    /// `subject`: whom messages name, for example "allotment problem". Without warnings unknown fields pass
    /// in silence.
    Field(const Json& document, std::string_view subject, Warnings* warnings = nullptr)
        : value_(&document), subject_(subject), warnings_(warnings) {}

    /// The same place, as the root of what messages name `subject` from here on.
    [[nodiscard]] Field about(std::string_view subject) const;

    /// The field of that name; it may be missing. Refuses what is no object.
    [[nodiscard]] Field operator[](std::string_view name) const;
    /// Warns of fields that are not among these. Refuses what is no object.
    void knows(std::initializer_list<std::string_view> names) const;
    /// Warns of this name of a field, or of its text, in the words of `sentence`.
    void warn(std::string_view name, const std::string& sentence) const;

    /// The same of a GPU type that there is none of: said once a type, wherever else it is named.
    void warn_of_type(std::string_view type, const std::string& sentence) const;

    /// The same of somebody of whom the answer says it by itself: said once of each, whatever it is.
    void warn_of(const std::string& whom, const std::string& sentence) const;

    /// The element of an array; refuses what is no array of more than `index` elements.
    [[nodiscard]] Field operator[](std::size_t index) const;

    /// Whether there is anything but null.
    [[nodiscard]] bool given() const;
    /// Whether there is not even null.
    [[nodiscard]] bool missing() const { return value_ == nullptr; }
    [[nodiscard]] bool is(std::string_view text) const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool is_array() const;
    [[nodiscard]] bool is_text() const;
    /// Whom messages name.
    [[nodiscard]] std::string subject() const { return std::string(subject_); }

    /// Number of elements of an array; with `exactly`, refuses any other number of them.
    [[nodiscard]] std::size_t size() const;
    void require_size(std::size_t exactly, std::string_view expected) const;

    [[nodiscard]] double number() const;
    [[nodiscard]] double number_at_least(double least) const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::string text() const;
    /// An integer of that range; 4.0 is one, 4.5 is none.
    [[nodiscard]] long long integer(long long least, long long most) const;
    [[nodiscard]] int count(int least = 0, int most = std::numeric_limits<int>::max()) const {
        return static_cast<int>(integer(least, most));
    }

    /// An integer that is at least another one, which messages name.
    [[nodiscard]] int count_from(int least, std::string_view least_name, int most) const;

    /// Calls visit(element) for the elements of an array.
    template <class Visit>
    void for_each(Visit visit) const {
        const std::size_t elements = size();
        for (std::size_t i = 0; i < elements; ++i) visit((*this)[i]);
    }
    /// The fields of an object with their names, in the order of the document.
    [[nodiscard]] std::vector<std::pair<std::string, Field>> fields() const;

    /// Throws std::invalid_argument: subject, place and value, but must be `expected`.
    [[noreturn]] void refuse(std::string_view expected) const;

private:
    struct Step {
        std::string_view name{};  ///< of a field; empty: an index
        std::size_t index = 0;
    };

    [[nodiscard]] Field at(const Json* value, Step step) const;
    [[nodiscard]] std::string path() const;

    const Json* value_;  ///< nullptr: missing
    std::string_view subject_;
    Warnings* warnings_ = nullptr;
    std::array<Step, 8> steps_{};  // documents of this program are less deep
    std::size_t depth_ = 0;
};

}  // namespace cli

#endif
