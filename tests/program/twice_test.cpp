// A name that occurs twice in one object is found at any depth, and nothing else is reported.

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "json/json_files.hpp"
#include "json/json_parse.hpp"
#include "support/folder.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace cli_twice {

using cli::Json;
using support::Random;

/// Returns a random document. Appends the places of fields that occur twice to `twice`, in order.
std::string document(Random& random, const std::string& place, int depth, std::vector<std::string>& twice) {
    const int kind = depth == 0 ? 0 : random.integer(0, 3);
    if (kind == 0) return random.chance(0.5) ? "7" : R"("a \"text\": {")";
    std::string text;
    const int fields = random.integer(0, 3);
    if (kind == 1) {
        for (int i = 0; i < fields; ++i)
            text += (i > 0 ? ", " : "") +
                    document(random, place + "[" + std::to_string(i) + "]", depth - 1, twice);
        return "[" + text + "]";
    }
    std::vector<std::string> names;
    for (int i = 0; i < fields; ++i) {
        const std::string name(1, static_cast<char>('a' + random.integer(0, 3)));
        const std::string here = (place.empty() ? "" : place + ".") + name;
        if (std::find(names.begin(), names.end(), name) != names.end()) twice.push_back(here);
        names.push_back(name);
        text += (i > 0 ? ", \"" : "\"") + name + "\": " + document(random, here, depth - 1, twice);
    }
    return "{" + text + "}";
}

TEST_CASE("fields that occur twice are found with their places, and the last one counts as before") {
    Random random(92);
    int found = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<std::string> expected, twice;
        const std::string text = document(random, "", 4, expected);
        CAPTURE(text);
        CHECK(cli::parse_json(text, twice) == Json::parse(text));
        CHECK(twice == expected);
        found += static_cast<int>(twice.size());
    }
    CHECK(found > 200);
}

TEST_CASE("a long name in a place is cut off between two letters") {
    for (const std::string before : {"", "x"}) {
        std::string name = before;
        for (int letter = 0; letter < 150; ++letter) name += "\u00e9";
        const std::string place = cli::place_of_error("{\"" + name + "\": [}");
        CAPTURE(place);
        CHECK(place.ends_with("\u00e9..."));
        CHECK(place.size() < 210);
        CHECK_NOTHROW(Json(place).dump());  // which refuses half a letter
    }
}

TEST_CASE("a file with a field that occurs twice is read with a warning, and refused if strict") {
    const support::Folder folder;
    const std::string path = folder.write("twice.json", R"({"a": {"b": 1, "b": 2}})");
    CHECK(cli::read_json_file(path)["a"]["b"] == 2);
    CHECK_THROWS_WITH(
        cli::read_json_file(path, true),
        (path + ": a.b is given twice, but must be given once: only the last one counts").c_str());
}

}  // namespace cli_twice
