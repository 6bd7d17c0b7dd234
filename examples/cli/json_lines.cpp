#include "json_lines.hpp"

#include <algorithm>
#include <exception>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"

namespace cli {

namespace {

/// Where in a document that cannot be parsed the parser stood: "jobs[3].restarts", as far as it got.
std::string place_of_error(const std::string& line) {
    struct Level {
        bool array;
        std::size_t index;
        std::string key;
    };
    std::vector<Level> levels;
    const auto value_ended = [&] {
        if (!levels.empty() && levels.back().array) ++levels.back().index;
    };
    const auto follow = [&](int, Json::parse_event_t event, Json& parsed) {
        switch (event) {
            case Json::parse_event_t::object_start:
                levels.push_back({false, 0, {}});
                break;
            case Json::parse_event_t::array_start:
                levels.push_back({true, 0, {}});
                break;
            case Json::parse_event_t::key:
                levels.back().key = parsed.get<std::string>();
                break;
            case Json::parse_event_t::value:
                value_ended();
                break;
            case Json::parse_event_t::object_end:
            case Json::parse_event_t::array_end:
                levels.pop_back();
                value_ended();
                break;
        }
        return true;
    };
    try {
        const Json ignored = Json::parse(line, follow);
    } catch (const std::exception&) {
        // That it cannot be parsed is known.
    }
    std::string place;
    for (const Level& level : levels) {
        if (level.array) {
            place += "[" + goodput::text_of(level.index) + "]";
        } else if (!level.key.empty()) {
            if (!place.empty()) place += ".";
            place += level.key;
        }
        if (place.size() > 200) return place.substr(0, 200) + "...";
    }
    return place;
}

/// The parser's words without its own name, its error number, and the line, which to it is always the first.
std::string plain(const std::string& message) {
    const std::size_t end = message.find("] ");
    std::string text = message.front() == '[' && end != std::string::npos ? message.substr(end + 2) : message;
    if (const std::string prefix = "parse error at line 1, "; text.starts_with(prefix))
        text = "at " + text.substr(prefix.size());
    if (text.size() > 300) {
        text.resize(300);
        text += "...";
    }
    return text;
}

Json parse(const std::string& line) {
    if (line.find_first_not_of(" \t\r\v\f") == std::string::npos)
        throw std::invalid_argument("the line is empty");
    try {
        return Json::parse(line);
    } catch (const Json::exception& error) {
        const std::string place = place_of_error(line);
        const std::string where = place.empty() ? "" : " (in " + place + ")";
        throw std::invalid_argument("not JSON" + where + ": " + plain(error.what()));
    }
}

Json answer_to(const std::string& line, std::size_t number, const std::function<Json(const Json&)>& serve,
               bool& refused) {
    std::string why;
    try {
        return serve(parse(line));
    } catch (const std::bad_alloc&) {
        why = "too large for the memory";
    } catch (const std::exception& error) {
        why = error.what();
    }
    refused = true;
    Json answer;
    answer["line"] = number;
    answer["error"] = why;
    return answer;
}

}  // namespace

void write_line(std::ostream& out, const Json& document) {
    const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
    out.write(text.data(), static_cast<std::streamsize>(text.size())).put('\n').flush();
}

int serve_lines(std::istream& in, std::ostream& out, const std::function<Json(const Json&)>& serve) {
    bool refused = false;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        write_line(out, answer_to(line, number, serve, refused));
        if (!out) return 1;
    }
    return refused ? 1 : 0;
}

}  // namespace cli
