#ifndef GOODPUT_PROGRAM_JSON_JSON_FILES_HPP
#define GOODPUT_PROGRAM_JSON_JSON_FILES_HPP

// JSON documents of files, plain or compressed by gzip. What cannot be read or makes no sense is a
// std::runtime_error that names the file.

#include <functional>
#include <string>
#include <string_view>

#include "json/json_fields.hpp"

namespace cli {

/// The document of a file. A field that is given twice is a warning on standard error; `strict` refuses the
/// file. `keep(depth, name)`, if given, says which fields are kept, from depth 1 on: the others take no
/// memory and little time.
Json read_json_file(const std::string& path, bool strict = false,
                    const std::function<bool(int depth, std::string_view name)>& keep = {});

/// Calls visit(document) for each line of a file.
void read_json_lines_of(const std::string& path, const std::function<void(const Field&)>& visit);

/// Calls read(), and makes what it refuses of a document a matter of the file, not of an option.
void read_checked(const std::function<void()>& read);

}  // namespace cli

#endif
