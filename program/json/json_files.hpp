#ifndef GOODPUT_PROGRAM_JSON_JSON_FILES_HPP
#define GOODPUT_PROGRAM_JSON_JSON_FILES_HPP

// JSON documents in files, plain or compressed with gzip. Throws std::runtime_error that names the file if
// it cannot be read or is invalid.

#include <functional>
#include <string>
#include <string_view>

#include "json/json_fields.hpp"

namespace cli {

/// Returns the document of a file. A field that occurs twice is a warning on standard error, or refused if
/// `strict`. `keep(depth, name)`, if given, says which fields to keep, from depth 1 on. Other fields take
/// no memory and little time.
Json read_json_file(const std::string& path, bool strict = false,
                    const std::function<bool(int depth, std::string_view name)>& keep = {});

/// Calls visit(document) for each line of a file.
void read_json_lines_of(const std::string& path, const std::function<void(const Field&)>& visit);

/// Returns the name of a field as an integer. Refuses the field unless that is at least `least`.
int integer_of_name(std::string_view name, const Field& field, int least);

}  // namespace cli

#endif
