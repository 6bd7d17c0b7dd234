#ifndef GOODPUT_PROGRAM_JSON_JSON_FIELDS_HPP
#define GOODPUT_PROGRAM_JSON_JSON_FIELDS_HPP

// Typed access to a JSON document. If anything is missing or has the wrong type, throws
// std::invalid_argument in the library's form: "job 'cifar10-3': restarts is "two", but must be an
// integer".

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cli {

using Json = nlohmann::ordered_json;  // answers keep the order in which their fields are set

/// Warnings about parts of documents that have no effect or are probably mistakes: misspelt fields, GPU
/// types that no node has. Each warning is written once to a stream, and listed once per document for the
/// answer. Strict warnings refuse the document instead.
class Warnings {
public:
    /// Writes to `out`. If `strict`, refuses instead.
    explicit Warnings(std::ostream& out, bool strict = false) : out_(&out), strict_(strict) {}

    /// Later warnings are about that line of input.
    void at_line(std::size_t number);
    /// Writes the sentence, unless one with this key was written before. If strict, throws
    /// std::invalid_argument.
    void say(const std::string& key, const std::string& sentence);
    /// The same for a sentence that the answer contains in its own words.
    void say_beside(const std::string& key, const std::string& sentence);
    /// The same for a sentence "SUBJECT: TEXT" that is no reason to refuse anything, once per subject.
    void mention(const std::string& sentence);
    /// The sentences passed to say() for this line, one per key, including those written before.
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

/// A place in a document, and the path to it. Cheap to copy. It must not outlive the document, the keys of
/// the path, or the subject.
class Field {
public:
    /// `subject` is what messages name, for example "allotment problem". Without `warnings`, unknown fields
    /// are silently ignored.
    Field(const Json& document, std::string_view subject, Warnings* warnings = nullptr)
        : value_(&document), subject_(subject), warnings_(warnings) {}

    /// Returns the same place, as the root for messages that name `subject`.
    [[nodiscard]] Field about(std::string_view subject) const;

    /// Returns the field of that name, which may be missing. Refuses anything but an object.
    [[nodiscard]] Field operator[](std::string_view name) const;
    /// Warns of fields that are not among these. Refuses anything but an object.
    void knows(std::initializer_list<std::string_view> names) const;
    /// Warns of this name of a field, or of its text, with `sentence`.
    void warn(std::string_view name, const std::string& sentence) const;

    /// Warns of a GPU type that does not exist, once per type, wherever else it is named.
    void warn_of_type(std::string_view type, const std::string& sentence) const;

    /// Warns of a job or node, once for each `whom`, if the answer contains the warning in its own words.
    void warn_of(const std::string& whom, const std::string& sentence) const;

    /// Returns an element of an array. Refuses anything but an array with more than `index` elements.
    [[nodiscard]] Field operator[](std::size_t index) const;

    /// Whether the value is there and not null.
    [[nodiscard]] bool given() const;
    /// Whether there is no value, not even null.
    [[nodiscard]] bool missing() const { return value_ == nullptr; }
    [[nodiscard]] bool is(std::string_view text) const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool is_array() const;
    [[nodiscard]] bool is_text() const;
    /// Returns the subject that messages name.
    [[nodiscard]] std::string subject() const { return std::string(subject_); }

    /// Returns the number of elements of an array. require_size() refuses any other number than `exactly`.
    [[nodiscard]] std::size_t size() const;
    void require_size(std::size_t exactly, std::string_view expected) const;

    [[nodiscard]] double number() const;
    [[nodiscard]] double number_at_least(double least) const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::string text() const;
    /// Returns an integer of that range. 4.0 is an integer, 4.5 is not.
    [[nodiscard]] long long integer(long long least, long long most) const;
    [[nodiscard]] int count(int least = 0, int most = std::numeric_limits<int>::max()) const {
        return static_cast<int>(integer(least, most));
    }

    /// Returns an integer that is at least `least`, which messages call `least_name`.
    [[nodiscard]] int count_from(int least, std::string_view least_name, int most) const;

    /// Writes the value to `to` if it is given. Limits are those of number_at_least() and count().
    void into(bool& to) const {
        if (given()) to = boolean();
    }
    void into(std::string& to) const {
        if (given()) to = text();
    }
    void into(int& to, int least = 0, int most = std::numeric_limits<int>::max()) const {
        if (given()) to = count(least, most);
    }
    void into(double& to) const {
        if (given()) to = number();
    }
    void into(double& to, double least) const {
        if (given()) to = number_at_least(least);
    }
    template <class Value, class... Limits>
    void into(std::optional<Value>& to, Limits... limits) const {
        if (given()) into(to.emplace(), limits...);
    }

    /// Calls visit(element) for the elements of an array.
    template <class Visit>
    void for_each(Visit visit) const {
        const std::size_t elements = size();
        for (std::size_t i = 0; i < elements; ++i) visit((*this)[i]);
    }
    /// Returns the fields of an object with their names, in the order of the document.
    [[nodiscard]] std::vector<std::pair<std::string, Field>> fields() const;

    /// Throws std::invalid_argument: subject, place and value, "but must be" `expected`.
    [[noreturn]] void refuse(std::string_view expected) const;

private:
    struct Step {
        std::string_view name{};  ///< of a field; an index if empty
        std::size_t index = 0;
    };

    [[nodiscard]] Field at(const Json* value, Step step) const;
    [[nodiscard]] std::string path() const;

    const Json* value_;  ///< nullptr if missing
    std::string_view subject_;
    Warnings* warnings_ = nullptr;
    std::array<Step, 8> steps_{};  // enough for the documents of this program
    std::size_t depth_ = 0;
};

/// Calls read(), and turns its errors about a document into errors about the file, not about an option.
void read_checked(const std::function<void()>& read);

}  // namespace cli

#endif
