#include "json/json_parse.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "json/names.hpp"

namespace cli {

namespace {

/// Builds a document from a parser's events, and knows where the parser is. The library's own parser with a
/// callback is slower: it looks at all earlier elements of an array whenever one of them ends.
class DocumentBuilder {
public:
    using Keep = std::function<bool(int depth, std::string_view name)>;

    DocumentBuilder(std::vector<std::string>& twice, const Keep& keep) : twice_(twice), keep_(keep) {}

    bool null() { return value(nullptr); }
    bool boolean(bool given) { return value(given); }
    bool number_integer(Json::number_integer_t number) { return value(number); }
    bool number_unsigned(Json::number_unsigned_t number) { return value(number); }
    bool number_float(Json::number_float_t number, const std::string&) { return value(number); }
    bool string(std::string& text) { return value(std::move(text)); }
    bool binary(Json::binary_t& bytes) { return value(std::move(bytes)); }
    bool start_object(std::size_t) { return start(false, Json::object()); }
    bool start_array(std::size_t) { return start(true, Json::array()); }
    bool end_object() { return end(); }
    bool end_array() { return end(); }
    bool key(std::string& name) {
        Level& level = levels_.back();
        const bool kept = level.json && (!keep_ || keep_(static_cast<int>(levels_.size()), name));
        const std::size_t before = kept ? level.json->size() : 0;
        level.field = kept ? &(*level.json)[name] : nullptr;
        const bool known = kept ? level.json->size() == before : !level.left_out.insert(name).second;
        level.key = std::move(name);
        if (known) twice_.push_back(place());
        return true;
    }
    template <class Error>
    bool parse_error(std::size_t, const std::string&, const Error& error) {
        throw error;
    }

    /// "jobs[3].restarts"
    [[nodiscard]] std::string place() const {
        std::string place;
        for (const Level& level : levels_) {
            if (level.array) {
                place += "[" + goodput::text_of(level.index) + "]";
            } else if (!level.key.empty()) {
                if (!place.empty()) place += ".";
                place += level.key;
            }
            if (place.size() > 200) break;
        }
        return cut_off(place, 200);
    }
    [[nodiscard]] Json take() { return std::move(document_); }

private:
    struct Level {
        bool array = false;
        Json* json = nullptr;   // where it is built; null if it is not kept
        Json* field = nullptr;  // in an object: where the next value goes
        std::size_t index = 0;
        std::string key{};
        std::set<std::string> left_out{};  // names of fields that are not kept
    };

    Json* next() {
        if (levels_.empty()) return &document_;
        Level& level = levels_.back();
        if (!level.array) return level.field;
        return level.json ? &level.json->emplace_back(nullptr) : nullptr;
    }
    template <class Value>
    bool value(Value&& given) {
        if (Json* const at = next()) *at = std::forward<Value>(given);
        return ended();
    }
    bool start(bool array, Json empty) {
        Json* const at = next();
        if (at) *at = std::move(empty);
        levels_.push_back({array, at, nullptr, 0, {}, {}});
        return true;
    }
    bool end() {
        levels_.pop_back();
        return ended();
    }
    bool ended() {
        if (!levels_.empty() && levels_.back().array) ++levels_.back().index;
        return true;
    }

    std::vector<std::string>& twice_;
    const Keep& keep_;
    Json document_;
    std::vector<Level> levels_;
};

/// Returns the text with NaN, Infinity and -Infinity in quotes. They are not JSON, but common writers write
/// them. As texts, each is refused at its own place, and the rest of the document is not.
std::string with_quoted_numbers(std::string_view text) {
    std::string quoted;
    bool in_string = false;
    for (std::size_t at = 0; at < text.size();) {
        std::string_view word;
        if (!in_string)
            for (const std::string_view each : {"NaN", "Infinity", "-Infinity"})
                if (text.substr(at, each.size()) == each) word = each;
        if (!word.empty()) {
            quoted.append("\"").append(word).append("\"");
            at += word.size();
            continue;
        }
        if (text[at] == '"') in_string = !in_string;
        if (in_string && text[at] == '\\' && at + 1 < text.size()) quoted += text[at++];
        quoted += text[at++];
    }
    return quoted;
}

void parse(std::string_view text, DocumentBuilder& builder) {
    if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos)
        Json::sax_parse(text, &builder);
    else
        Json::sax_parse(with_quoted_numbers(text), &builder);
}

}  // namespace

Json parse_json(std::string_view text, std::vector<std::string>& twice,
                const std::function<bool(int depth, std::string_view name)>& keep) {
    twice.clear();
    DocumentBuilder builder(twice, keep);
    parse(text, builder);
    return builder.take();
}

std::string given_twice(const std::string& place) {
    return place + " is given twice, but must be given once: only the last one counts";
}

std::string place_of_error(std::string_view text) {
    std::vector<std::string> twice;
    const DocumentBuilder::Keep none = [](int, std::string_view) { return false; };
    DocumentBuilder builder(twice, none);
    try {
        parse(text, builder);
    } catch (const std::exception&) {
        // The text is known not to parse.
    }
    return builder.place();
}

}  // namespace cli
