#include "json_parse.hpp"

#include <cstddef>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"

namespace cli {

namespace {

/// Where a parser stands, by the events that it tells of.
class ParserPlace {
public:
    /// False for a name that its object has already. `depth` is the parser's: objects and arrays around.
    bool follow(int depth, Json::parse_event_t event, const Json& parsed) {
        // The end of what is not kept is not told of.
        const bool ends = event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end;
        while (levels_.size() > static_cast<std::size_t>(depth) + (ends ? 1 : 0)) {
            levels_.pop_back();
            value_ended();
        }
        switch (event) {
            case Json::parse_event_t::object_start:
                levels_.push_back({false, 0, {}, {}});
                break;
            case Json::parse_event_t::array_start:
                levels_.push_back({true, 0, {}, {}});
                break;
            case Json::parse_event_t::key:
                levels_.back().key = parsed.get<std::string>();
                return levels_.back().keys.insert(levels_.back().key).second;
            case Json::parse_event_t::value:
                value_ended();
                break;
            case Json::parse_event_t::object_end:
            case Json::parse_event_t::array_end:
                levels_.pop_back();
                value_ended();
                break;
        }
        return true;
    }

    /// "jobs[3].restarts"
    [[nodiscard]] std::string text() const {
        std::string place;
        for (const Level& level : levels_) {
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

private:
    struct Level {
        bool array;
        std::size_t index;
        std::string key;
        std::set<std::string> keys;
    };

    void value_ended() {
        if (!levels_.empty() && levels_.back().array) ++levels_.back().index;
    }

    std::vector<Level> levels_;
};

}  // namespace

Json parse_json(std::string_view text, std::vector<std::string>& twice,
                const std::function<bool(int depth, std::string_view name)>& keep) {
    twice.clear();
    ParserPlace place;
    return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (!place.follow(depth, event, parsed)) twice.push_back(place.text());
        return event != Json::parse_event_t::key || !keep ||
               keep(depth, parsed.get_ref<const std::string&>());
    });
}

std::string given_twice(const std::string& place) {
    return place + " is given twice, but must be given once: only the last one counts";
}

std::string place_of_error(std::string_view text) {
    ParserPlace place;
    try {
        const Json ignored = Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
            place.follow(depth, event, parsed);
            return true;
        });
    } catch (const std::exception&) {
        // That it cannot be parsed is known.
    }
    return place.text();
}

}  // namespace cli
