#ifndef GOODPUT_PROGRAM_JSON_JSON_LINES_HPP
#define GOODPUT_PROGRAM_JSON_JSON_LINES_HPP

// Reads one JSON document per line, and writes one per line. Every line gets an answer, in order, before the
// next is read. A line that cannot be used gets {"line": N, "error": "..."}, and the next is still served. An
// empty line is such a line, because a caller waits for an answer to every line. The exception is a document
// that is laid out over several lines: it gets one such answer, with its first line. Lines that are indented,
// or begin with a closing bracket, belong to it while its brackets are open.

#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include "json/json_fields.hpp"

namespace cli {

/// Answers one document. It refuses the document by any std::exception.
using ServeDocument = std::function<Json(const Json& document, Warnings& warnings)>;

/// Follows a document over several lines by its open brackets.
class OpenDocument {
public:
    /// Returns whether brackets are open after the lines so far, all of which are pieces of JSON.
    [[nodiscard]] bool is_open() const { return !open_.empty(); }
    /// Forgets the document.
    void close() { open_.clear(); }

    /// Returns whether `line` continues the document: it is indented, or closes a bracket, and is a piece of
    /// JSON. Takes in its brackets.
    [[nodiscard]] bool goes_on(const std::string& line);

    /// Takes in the brackets of a line. Closes the document and returns false if the line is no piece of
    /// JSON.
    bool take(const std::string& line);

private:
    bool give_up();

    std::string open_;
};

/// Answers lines one after the other.
class LineServer {
public:
    /// Warnings go to the stream `warnings`, or refuse the line if `strict`.
    LineServer(ServeDocument serve, std::ostream& warnings, bool strict)
        : serve_(std::move(serve)), warnings_(warnings, strict) {}
    /// Warnings go into every answer's "warnings", or refuse the line if `strict`.
    LineServer(ServeDocument serve, bool strict)
        : serve_(std::move(serve)), warnings_(nowhere_, strict), in_answers_(true) {}

    /// Returns the answer to the next line.
    [[nodiscard]] Json answer(const std::string& line);
    /// Returns whether `line` belongs to the document that the last answer refused: it gets no answer.
    [[nodiscard]] bool belongs_to_refused(const std::string& line);
    /// Returns whether any line was refused so far.
    [[nodiscard]] bool refused() const { return refused_; }

private:
    ServeDocument serve_;
    std::ostream nowhere_{nullptr};
    Warnings warnings_;
    bool in_answers_ = false;
    OpenDocument document_{};  // a refused document that spans several lines
    std::size_t number_ = 0;   // number of the last line
    bool refused_ = false;
};

/// Answers every line of `in`. Warnings go to standard error, or refuse the line if `strict`. Returns the
/// exit status: 0, or 1 if a line was refused or an answer could not be written.
int serve_lines(std::istream& in, std::ostream& out, bool strict, ServeDocument serve);

/// Returns the text of a document. Replaces bytes that are not UTF-8.
[[nodiscard]] std::string text_of_document(const Json& document);
/// Writes a document and ends the line.
void write_line(std::ostream& out, const Json& document);

}  // namespace cli

#endif
