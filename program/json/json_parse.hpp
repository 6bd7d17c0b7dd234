#ifndef GOODPUT_PROGRAM_JSON_JSON_PARSE_HPP
#define GOODPUT_PROGRAM_JSON_JSON_PARSE_HPP

// Parses JSON, and finds what a parser passes over in silence: names that stand twice in one object, of which
// only the last one counts.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_fields.hpp"

namespace cli {

/// The document that `text` is; Json::exception where it is none. NaN, Infinity and -Infinity become texts of
/// that name. `twice` becomes the places of fields that are given twice: "jobs[3].restarts".
/// `keep(depth, name)`, if given, says which fields are kept.
Json parse_json(std::string_view text, std::vector<std::string>& twice,
                const std::function<bool(int depth, std::string_view name)>& keep = {});

/// The sentence about such a place.
std::string given_twice(const std::string& place);

/// Where in a text that is no JSON the parser stood: "jobs[3].restarts", as far as it got.
std::string place_of_error(std::string_view text);

}  // namespace cli

#endif
