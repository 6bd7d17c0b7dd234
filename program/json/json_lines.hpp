#ifndef GOODPUT_PROGRAM_JSON_JSON_LINES_HPP
#define GOODPUT_PROGRAM_JSON_JSON_LINES_HPP

// One JSON document a line in, one a line out, in order, each written before the next is read. A line that
// cannot be used gets {"line": N, "error": "..."}, and the next is still served. Empty lines are such lines:
// whoever waits for an answer to each of his lines gets one. The exception is a document that is laid out
// over several lines: it gets one such answer, with its first line. Lines that are indented, or begin with a
// closing bracket, belong to it, as long as its brackets are open.

#include <functional>
#include <iosfwd>
#include <string>

#include "json/json_fields.hpp"

namespace cli {

/// Answers every line of `in` by serve(document, warnings), which throws what std::exception it likes to
/// refuse the line. Warnings go to standard error, or refuse the line if `strict`. Returns the exit status:
/// 0, or 1 if a line was refused or could not be answered.
int serve_lines(std::istream& in, std::ostream& out, bool strict,
                const std::function<Json(const Json&, Warnings&)>& serve);

/// Writes a document and ends the line; text that is not UTF-8 is mended.
void write_line(std::ostream& out, const Json& document);

}  // namespace cli

#endif
