#ifndef GOODPUT_LINE_SERVICE_HPP
#define GOODPUT_LINE_SERVICE_HPP

// The program goodput as a class: a line of JSON in, a line of JSON out. goodput.h has the same for C.

#include <memory>
#include <string>
#include <string_view>

namespace goodput {

/// Answers the lines of one command of the program, and remembers what a running program remembers of the
/// lines before. docs/program.md says what lines and answers look like, and goodput.schema.json lists all
/// fields. One object is for one thread at a time. Different objects are independent.
class [[gnu::visibility("default")]] LineService {
public:
    /// `options`: a JSON document with the options of the program's command line, for example
    /// {"command": "plan", "policy": "goodput", "policy_options": {"p": 0.5}, "explain": true}. The commands
    /// are plan, allot, fit and share; "parallel" and "replay" are the program's alone. Refuses options that
    /// the command does not have (std::invalid_argument with the field and its value).
    explicit LineService(std::string_view options);
    LineService(LineService &&) noexcept;
    LineService& operator=(LineService&&) noexcept;
    ~LineService();

    /// Returns the answer to a JSON document, without the end of the line. A document that cannot be used
    /// gets
    /// {"line": N, "error": "..."}, where N counts the calls. Unknown fields are among the answer's
    /// "warnings".
    [[nodiscard]] std::string answer(std::string_view line);

private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace goodput

#endif
