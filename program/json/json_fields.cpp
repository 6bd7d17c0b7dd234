#include "json/json_fields.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "json/names.hpp"

namespace cli {

namespace {

/// Returns the value as written, cut off if it is long.
std::string shown(const Json* value) {
    if (!value) return "missing";
    if (value->is_object()) return "an object";
    if (value->is_array()) return "an array of " + goodput::text_of(value->size());
    return cut_off(value->dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

}  // namespace

void Warnings::at_line(std::size_t number) {
    line_ = number;
    keys_of_line_.clear();
    of_line_.clear();
}

void Warnings::say(const std::string& key, const std::string& sentence) {
    say_beside(key, sentence);
    if (keys_of_line_.insert(key).second) of_line_.push_back(sentence);
}

void Warnings::say_beside(const std::string& key, const std::string& sentence) {
    if (strict_) throw std::invalid_argument(sentence);
    write(key, sentence);
}

void Warnings::mention(const std::string& sentence) {
    write(sentence.substr(0, sentence.find(": ")), sentence);
}

void Warnings::write(const std::string& key, const std::string& sentence) {
    constexpr std::size_t most = 100;  // more would not be read anyway
    if (said_.size() > most || !said_.insert(key).second) return;
    std::string text = "goodput: line " + goodput::text_of(line_) + ": " + shortened(sentence);
    if (said_.size() > most) text = "goodput: warnings of other kinds are not shown any more";
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    *out_ << text << std::endl;
}

void Field::knows(std::initializer_list<std::string_view> names) const {
    if (!value_ || !value_->is_object()) refuse("an object");
    if (!warnings_) return;
    for (const auto& [name, value] : value_->get_ref<const Json::object_t&>())
        if (std::find(names.begin(), names.end(), name) == names.end())
            warn(name, "there is no field \"" + name + "\"" + (depth_ > 0 ? " in " + path() : std::string()) +
                           did_you_mean(name, names));
}

void Field::warn(std::string_view name, const std::string& sentence) const {
    if (!warnings_) return;
    std::string key(subject_.substr(0, subject_.find('\'')));  // without the name, because the same warning
                                                               // of another job is not new
    for (std::size_t i = 0; i < depth_; ++i)
        if (steps_[i].name.data() != nullptr) key.append(steps_[i].name).append(".");
    warnings_->say(key.append(name), std::string(subject_) + ": " + sentence);
}

void Field::warn_of_type(std::string_view type, const std::string& sentence) const {
    if (!warnings_) return;
    warnings_->say("GPU type " + std::string(type), std::string(subject_) + ": " + sentence);
}

void Field::warn_of(const std::string& whom, const std::string& sentence) const {
    if (warnings_) warnings_->say_beside(whom, sentence);
}

Field Field::at(const Json* value, Step step) const {
    Field field = *this;
    field.value_ = value;
    if (field.depth_ < field.steps_.size()) field.steps_[field.depth_++] = step;
    return field;
}

Field Field::about(std::string_view subject) const {
    Field field = *this;
    field.subject_ = subject;
    field.depth_ = 0;
    return field;
}

Field Field::operator[](std::string_view name) const {
    if (!value_ || !value_->is_object()) refuse("an object");
    const auto found = value_->find(std::string(name));
    return at(found == value_->end() ? nullptr : &*found, {name, 0});
}

Field Field::operator[](std::size_t index) const {
    if (index >= size()) refuse("an array of more than " + goodput::text_of(index));
    return at(&(*value_)[index], {{}, index});
}

bool Field::given() const { return value_ && !value_->is_null(); }

bool Field::is(std::string_view text) const {
    return value_ && value_->is_string() && value_->get_ref<const std::string&>() == text;
}

bool Field::is_object() const { return value_ && value_->is_object(); }

bool Field::is_array() const { return value_ && value_->is_array(); }

bool Field::is_text() const { return value_ && value_->is_string(); }

std::size_t Field::size() const {
    if (!value_ || !value_->is_array()) refuse("an array");
    return value_->size();
}

void Field::require_size(std::size_t exactly, std::string_view expected) const {
    if (!value_ || !value_->is_array() || value_->size() != exactly) refuse(expected);
}

std::vector<std::pair<std::string, Field>> Field::fields() const {
    if (!value_ || !value_->is_object()) refuse("an object");
    std::vector<std::pair<std::string, Field>> fields;
    for (const auto& [name, value] : value_->get_ref<const Json::object_t&>())
        fields.emplace_back(name, at(&value, {name, 0}));
    return fields;
}

double Field::number() const {
    if (!value_ || !value_->is_number()) refuse("a number");
    return value_->get<double>();
}

double Field::number_at_least(double least) const {
    const double value = number();
    if (!(value >= least)) refuse("a number of at least " + goodput::text_of(least));
    return value;
}

bool Field::boolean() const {
    if (!value_ || !value_->is_boolean()) refuse("true or false");
    return value_->get<bool>();
}

std::string Field::text() const {
    if (!value_ || !value_->is_string()) refuse("a string");
    return value_->get<std::string>();
}

long long Field::integer(long long least, long long most) const {
    if (!value_ || !value_->is_number()) refuse("an integer");
    const auto range = [&] {
        return "an integer from " + goodput::text_of(least) + " to " + goodput::text_of(most);
    };
    long long value = 0;
    if (value_->is_number_float()) {
        const double real = value_->get<double>();
        if (real != std::floor(real)) refuse("an integer");
        if (std::abs(real) > 9e15) refuse(range());  // beyond this, not every integer is a double
        value = static_cast<long long>(real);
    } else if (value_->is_number_unsigned()) {
        const auto natural = value_->get<unsigned long long>();
        if (natural > static_cast<unsigned long long>(std::numeric_limits<long long>::max())) refuse(range());
        value = static_cast<long long>(natural);
    } else {
        value = value_->get<long long>();
    }
    if (value < least || value > most) refuse(range());
    return value;
}

int Field::count_from(int least, std::string_view least_name, int most) const {
    if (value_ && value_->is_number() && value_->get<double>() < least)
        refuse("an integer of at least " + std::string(least_name) + ", " + goodput::text_of(least));
    return count(least, most);
}

std::string Field::path() const {
    std::string path;
    for (std::size_t i = 0; i < depth_; ++i) {
        const Step& step = steps_[i];
        if (step.name.data() == nullptr) {
            path += "[" + goodput::text_of(step.index) + "]";
        } else {
            if (!path.empty()) path += ".";
            path += step.name;
        }
    }
    return path.empty() ? "the document" : path;
}

void Field::refuse(std::string_view expected) const {
    goodput::bad_input(subject_, path(), std::string_view(shown(value_)), expected);
}

void read_checked(const std::function<void()>& read) {
    try {
        read();
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(error.what());
    }
}

}  // namespace cli
