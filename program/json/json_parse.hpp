#ifndef GOODPUT_PROGRAM_JSON_JSON_PARSE_HPP
#define GOODPUT_PROGRAM_JSON_JSON_PARSE_HPP

// Parses JSON, and finds names that occur twice in one object. Most parsers silently keep only the last
// one.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_fields.hpp"

namespace cli {

/// Returns the document in `text`. Throws Json::exception if it is not JSON. NaN, Infinity and -Infinity
/// become texts of that name. `twice` gets the places of fields that occur twice: "jobs[3].restarts".
/// `keep(depth, name)`, if given, says which fields to keep.
Json parse_json(std::string_view text, std::vector<std::string>& twice,
                const std::function<bool(int depth, std::string_view name)>& keep = {});

/// Returns the message about such a place.
std::string given_twice(const std::string& place);

/// Returns the place at which a text stops being JSON, as far as the parser got: "jobs[3].restarts".
std::string place_of_error(std::string_view text);

}  // namespace cli

#endif
