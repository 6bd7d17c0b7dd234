#include "json_mutation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace fuzz {

namespace {

using Json = nlohmann::ordered_json;

class Chance {
public:
    explicit Chance(unsigned seed) : engine_(seed) {}
    std::size_t below(std::size_t end) { return engine_() % end; }
    bool one_in(std::size_t n) { return below(n) == 0; }
    template <class Range>
    auto& one_of(Range& range) {
        return *std::next(std::begin(range), static_cast<std::ptrdiff_t>(below(std::size(range))));
    }

private:
    std::minstd_rand engine_;
};

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
}

/// Numbers at limits: of the ranges of types, of precision, and of what formats allow.
Json odd_number(Chance& chance) {
    static const Json numbers = Json::parse(
        "[0, -0.0, 1, -1, 2, 3, 4, 5, 7, 8, 16, 64, 0.5, 0.3333333333333333, 1.5, 4.0, 1e-4, 1e-9, 1e-15,"
        "1e-300, 2.3e-308, 5e-324, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18, 1e100, 1e154, 1e300, 1e308,"
        "1.7976931348623157e308, -1e308, 1048576, 1048577, 1073741824, 1073741825, 2147483647, 2147483648,"
        "-2147483648, -2147483649, 4294967295, 4294967296, 9007199254740993, 9223372036854775807,"
        "-9223372036854775808, 18446744073709551615]");
    return chance.one_of(numbers);
}

Json near_number(const Json& number, Chance& chance) {
    const double value = number.get<double>();
    const auto whole_or_not = [&](double changed) -> Json {
        if (number.is_number_integer() && changed == std::floor(changed) && std::abs(changed) < 1e15)
            return static_cast<long long>(changed);
        return std::isfinite(changed) ? Json(changed) : Json(1e308);
    };
    switch (chance.below(8)) {
        case 0:
            return whole_or_not(value + 1);
        case 1:
            return whole_or_not(value - 1);
        case 2:
            return whole_or_not(value * 2);
        case 3:
            return whole_or_not(std::floor(value / 2));
        case 4:
            return whole_or_not(-value);
        case 5:
            return whole_or_not(std::nextafter(value, chance.one_in(2) ? 1e308 : -1e308));
        case 6:
            return whole_or_not(value * 1e3);
        default:
            return whole_or_not(value * (0.5 + static_cast<double>(chance.below(1000)) / 1000));
    }
}

/// A value of the document, and its name if it is a field.
struct Place {
    Json* value;
    std::string name{};
};

void collect(Json& value, const std::string& name, std::vector<Place>& places) {
    places.push_back({&value, name});
    if (value.is_object())
        for (auto& [key, field] : value.get_ref<Json::object_t&>()) collect(field, key, places);
    else if (value.is_array())
        for (Json& element : value) collect(element, "", places);
}

std::vector<Place> places_of(Json& document) {
    std::vector<Place> places;
    collect(document, "", places);
    return places;
}

template <class Fits>
Json* some_value(Json& document, Chance& chance, Fits fits) {
    std::vector<Place> places = places_of(document);
    std::erase_if(places, [&](const Place& place) { return !fits(*place.value); });
    return places.empty() ? nullptr : chance.one_of(places).value;
}

Json other_type(const Json& value, const Format& format, Chance& chance) {
    switch (chance.below(9)) {
        case 0:
            return nullptr;
        case 1:
            return true;
        case 2:
            return false;
        case 3:
            return "";
        case 4:
            return Json::array();
        case 5:
            return Json::object();
        case 6:
            return Json::array({value, value});
        case 7:
            return odd_number(chance);
        default:
            return format.texts.empty() ? Json("a") : Json(chance.one_of(format.texts));
    }
}

void mutate_number(Json& document, Chance& chance) {
    Json* number = some_value(document, chance, [](const Json& value) { return value.is_number(); });
    if (!number) return;
    switch (chance.below(4)) {
        case 0:
            *number = odd_number(chance);
            break;
        case 1:
            *number = near_number(*number, chance);
            break;
        default:
            *number =
                Json(*some_value(document, chance, [](const Json& value) { return value.is_number(); }));
    }
}

/// Replaces a text by another one of the document, one that the format knows, or a slightly changed one.
void mutate_text(Json& document, const Format& format, Chance& chance) {
    const auto is_text = [](const Json& value) { return value.is_string(); };
    Json* text = some_value(document, chance, is_text);
    if (!text) return;
    switch (chance.below(4)) {
        case 0:
            if (!format.texts.empty()) *text = chance.one_of(format.texts);
            break;
        case 1:
            *text = text->get<std::string>() + static_cast<char>('a' + chance.below(26));
            break;
        default:
            *text = Json(*some_value(document, chance, is_text));
    }
}

void mutate_object(Json& document, const Format& format, Chance& chance) {
    Json* object = some_value(document, chance, [](const Json& value) { return value.is_object(); });
    if (!object) return;
    auto& fields = object->get_ref<Json::object_t&>();
    switch (chance.below(4)) {
        case 0:
            if (!fields.empty())
                fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(chance.below(fields.size())));
            break;
        case 1:
            if (!fields.empty()) {
                const Json value = chance.one_of(fields).second;
                (*object)[chance.one_of(format.names)] = value;
            }
            break;
        case 2: {
            const std::string& name = chance.one_of(format.names);
            // A value that this name has elsewhere fits best.
            std::vector<Place> places = places_of(document);
            std::erase_if(places, [&](const Place& place) { return place.name != name; });
            const Json value = places.empty() ? odd_number(chance) : Json(*chance.one_of(places).value);
            (*object)[name] = value;
            break;
        }
        default:
            if (!fields.empty()) {
                // Uses the name of another field of the document, because GPU types are names of fields, too.
                std::vector<Place> places = places_of(document);
                std::erase_if(places, [](const Place& place) { return place.name.empty(); });
                const std::string name = chance.one_of(places).name;
                const Json value = chance.one_of(fields).second;
                (*object)[name] = value;
            }
    }
}

void mutate_array(Json& document, Chance& chance) {
    Json* array =
        some_value(document, chance, [](const Json& value) { return value.is_array() && !value.empty(); });
    if (!array) return;
    const std::size_t index = chance.below(array->size()), other = chance.below(array->size());
    switch (chance.below(4)) {
        case 0:
            array->erase(index);
            break;
        case 1:
            std::swap((*array)[index], (*array)[other]);
            break;
        case 2: {  // repeats the element unchanged
            const Json element = (*array)[index];
            array->insert(array->begin() + static_cast<std::ptrdiff_t>(other), element);
            break;
        }
        default: {  // repeats the element with a new name
            Json element = (*array)[index];
            if (element.is_object() && element.contains("name") && element["name"].is_string())
                element["name"] =
                    element["name"].get<std::string>() + static_cast<char>('a' + chance.below(26));
            array->push_back(std::move(element));
        }
    }
}

/// Copies a value over another one, of the same name if there is one.
void copy_value(Json& document, Json& from, Chance& chance) {
    const std::vector<Place> to = places_of(document), sources = places_of(from);
    const Place& place = chance.one_of(to);
    std::vector<Place> alike = sources;
    if (!chance.one_in(4))
        std::erase_if(alike, [&](const Place& source) { return source.name != place.name; });
    if (alike.empty()) return;
    const Json value = *chance.one_of(alike).value;
    *place.value = value;
}

void mutate_document(Json& document, const Format& format, Chance& chance) {
    // Most changes leave a document that is read to its end.
    switch (chance.below(24)) {
        case 0:
        case 1:
            return mutate_object(document, format, chance);
        case 2:
        case 3:
        case 4:
            return mutate_text(document, format, chance);
        case 5:
        case 6:
        case 7:
        case 8:
            return mutate_array(document, chance);
        case 9:
        case 10:
            return copy_value(document, document, chance);
        case 11: {
            Json* value = some_value(document, chance, [](const Json&) { return true; });
            *value = other_type(Json(*value), format, chance);
            return;
        }
        case 12:
            if (Json* flag =
                    some_value(document, chance, [](const Json& value) { return value.is_boolean(); }))
                *flag = !flag->get<bool>();
            return;
        default:
            return mutate_number(document, chance);
    }
}

std::string text_of(const Json& document) {
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Adds, removes or swaps lines; returns whether it did.
bool mutate_lines(std::vector<std::string>& lines, Chance& chance) {
    if (lines.empty() || !chance.one_in(8)) return false;
    const auto index = static_cast<std::ptrdiff_t>(chance.below(lines.size()));
    switch (chance.below(3)) {
        case 0:
            lines.insert(lines.begin() + index, std::string(lines[static_cast<std::size_t>(index)]));
            break;
        case 1:
            lines.erase(lines.begin() + index);
            break;
        default:
            std::swap(lines[static_cast<std::size_t>(index)], chance.one_of(lines));
    }
    return true;
}

/// Writes the text behind the first byte, if there is room.
bool put(std::uint8_t* data, std::size_t most, const std::string& text, std::size_t& size) {
    if (text.size() + 1 > most) return false;
    std::memcpy(data + 1, text.data(), text.size());
    size = text.size() + 1;
    return true;
}

std::string_view text_behind(const std::uint8_t* data, std::size_t size) {
    return size < 2 ? std::string_view()
                    : std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1);
}

template <class MutateLine>
std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                   MutateLine mutate_line) {
    Chance chance(seed);
    if (size < 2 || chance.one_in(64)) return LLVMFuzzerMutate(data, size, most);
    if (chance.one_in(16)) {
        data[0] = static_cast<std::uint8_t>(chance.below(256));
        return size;
    }
    for (int attempt = 0; attempt < 4; ++attempt) {
        std::vector<std::string> lines = lines_of(text_behind(data, size));
        if (!mutate_lines(lines, chance) && !lines.empty())
            mutate_line(lines, chance.below(lines.size()), chance);
        if (std::size_t changed = 0; put(data, most, joined(lines), changed)) return changed;
    }
    return size;
}

}  // namespace

std::size_t mutate_json_lines(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                              const Format& format) {
    return mutate(data, size, most, seed,
                  [&](std::vector<std::string>& lines, std::size_t index, Chance& chance) {
                      std::string& line = lines[index];
                      Json document = Json::parse(line, nullptr, false);
                      if (document.is_discarded()) {
                          if (!line.empty()) line.erase(chance.below(line.size()), 1);
                          return;
                      }
                      const std::size_t times = 1 + chance.below(3);
                      for (std::size_t i = 0; i < times; ++i) mutate_document(document, format, chance);
                      line = text_of(document);
                  });
}

std::size_t mutate_table(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                         const Format& format) {
    return mutate(
        data, size, most, seed, [&](std::vector<std::string>& lines, std::size_t index, Chance& chance) {
            std::string& line = lines[index];
            std::vector<std::string> cells;
            std::string_view rest = line;
            for (bool more = true; more;) {
                const std::size_t comma = rest.find(',');
                cells.emplace_back(rest.substr(0, comma));
                more = comma != std::string_view::npos;
                if (more) rest.remove_prefix(comma + 1);
            }
            std::string& cell = chance.one_of(cells);
            switch (chance.below(8)) {
                case 0:
                    cell = cells.front();
                    break;
                case 1:
                    cell.clear();
                    break;
                case 2:
                    if (!format.texts.empty()) cell = chance.one_of(format.texts);
                    break;
                case 3:
                    if (!format.names.empty()) cell = chance.one_of(format.names);
                    break;
                case 4:
                    cell += static_cast<char>(' ' + chance.below(95));
                    break;
                case 5:
                    std::swap(cell, chance.one_of(cells));
                    break;
                case 6: {  // takes a cell of another row
                    const std::string& row = chance.one_of(lines);
                    const std::size_t begin = row.empty() ? 0 : row.rfind(',', chance.below(row.size())) + 1;
                    cell = row.substr(begin, row.find(',', begin) - begin);
                    break;
                }
                default: {
                    const Json number = Json::parse(cell, nullptr, false);
                    cell = text_of(number.is_number() && chance.one_in(2) ? near_number(number, chance)
                                                                          : odd_number(chance));
                }
            }
            line.clear();
            for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + cells[i];
        });
}

std::size_t cross_json_lines(const std::uint8_t* first, std::size_t first_size, const std::uint8_t* second,
                             std::size_t second_size, std::uint8_t* out, std::size_t most, unsigned seed) {
    Chance chance(seed);
    std::vector<std::string> lines = lines_of(text_behind(first, first_size));
    std::vector<std::string> others = lines_of(text_behind(second, second_size));
    if (lines.empty() || others.empty() || most < 1) return 0;
    std::string& line = chance.one_of(lines);
    const std::string& other = chance.one_of(others);
    Json document = Json::parse(line, nullptr, false), source = Json::parse(other, nullptr, false);
    if (document.is_discarded() || source.is_discarded() || chance.one_in(4)) {
        line = other;
    } else {
        copy_value(document, source, chance);
        line = text_of(document);
    }
    out[0] = chance.one_in(2) ? first[0] : second[0];
    std::size_t size = 0;
    return put(out, most, joined(lines), size) ? size : 0;
}

}  // namespace fuzz
