#ifndef GOODPUT_EXAMPLES_CLI_JSON_FIELDS_HPP
#define GOODPUT_EXAMPLES_CLI_JSON_FIELDS_HPP

// Typed access to a JSON document. Whatever is missing or of the wrong type is a std::invalid_argument in the
// library's sentence form: "job 'cifar10-3': restarts is "two", but must be an integer".

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cli {

using Json = nlohmann::ordered_json;  // answers keep the order in which their fields are set

/// A place in a document, and how it was reached. Cheap to copy; lives as long as the document, the keys that
/// it was reached by, and the subject.
class Field {
public:
    /// `subject`: whom messages name, for example "allotment problem".
    Field(const Json& document, std::string_view subject) : value_(&document), subject_(subject) {}

    /// The same place, as the root of what messages name `subject` from here on.
    [[nodiscard]] Field about(std::string_view subject) const;

    /// The field of that name; it may be missing. Refuses what is no object.
    [[nodiscard]] Field operator[](std::string_view name) const;
    /// The element of an array; refuses what is no array of more than `index` elements.
    [[nodiscard]] Field operator[](std::size_t index) const;

    /// Whether there is anything but null.
    [[nodiscard]] bool given() const;
    [[nodiscard]] bool is(std::string_view text) const;

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
    std::array<Step, 8> steps_{};  // documents of this program are less deep
    std::size_t depth_ = 0;
};

}  // namespace cli

#endif
