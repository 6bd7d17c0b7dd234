#include "json/json_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "json/json_parse.hpp"
#include "json/names.hpp"

namespace cli {

namespace {

/// Returns the parser's message without its own name, its error number, and its line number, which is
/// always 1.
std::string plain(const std::string& message) {
    const std::size_t end = message.find("] ");
    std::string text = message.front() == '[' && end != std::string::npos ? message.substr(end + 2) : message;
    if (const std::string prefix = "parse error at line 1, "; text.starts_with(prefix))
        text = "at " + text.substr(prefix.size());
    return cut_off(text, 300);
}

constexpr const char* blanks = " \t\r\v\f";

bool is_blank(const std::string& line) { return line.find_first_not_of(blanks) == std::string::npos; }

Json parse(const std::string& line, OpenDocument& document, Warnings& warnings) {
    if (is_blank(line)) throw std::invalid_argument("the line is empty");
    try {
        std::vector<std::string> twice;
        Json parsed = parse_json(line, twice);
        for (const std::string& place : twice)
            warnings.say("twice " + place.substr(place.find_last_of('.') + 1), given_twice(place));
        return parsed;
    } catch (const Json::exception& error) {
        const std::string place = place_of_error(line);
        const std::string where = place.empty() ? "" : " (in " + place + ")";
        const bool at_its_end =
            std::string_view(error.what()).find("unexpected end of input") != std::string_view::npos;
        if (at_its_end && document.take(line) && document.is_open())
            throw std::invalid_argument("not JSON" + where +
                                        ": the document does not end in this line. One document a line; "
                                        "`jq -c .` makes one of several lines");
        document.close();
        throw std::invalid_argument("not JSON" + where + ": " + plain(error.what()));
    }
}

}  // namespace

bool OpenDocument::goes_on(const std::string& line) {
    return !is_blank(line) && std::string_view(" \t]}").find(line.front()) != std::string_view::npos &&
           take(line);
}

bool OpenDocument::take(const std::string& line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '{' || c == '[') {
            open_.push_back(c);
        } else if (c == '}' || c == ']') {
            if (open_.empty() || open_.back() != (c == '}' ? '{' : '[')) return give_up();
            open_.pop_back();
        } else if (c == '"') {
            for (++i; i < line.size() && line[i] != '"'; ++i)
                if (line[i] == '\\') ++i;
            if (i >= line.size()) return give_up();  // no text spans several lines
        } else if ((c >= 'a' && c <= 'z') || c == '-' || (c >= '0' && c <= '9')) {
            const std::size_t end = std::min(line.find_first_of(",:]} \t\r", i), line.size());
            const std::string word = line.substr(i, end - i);
            const bool number = word.find_first_not_of("+-.0123456789eE") == std::string::npos;
            if (!number && word != "true" && word != "false" && word != "null") return give_up();
            i = end - 1;
        } else if (c != ',' && c != ':' && std::string_view(blanks).find(c) == std::string_view::npos) {
            return give_up();
        }
    }
    return true;
}

bool OpenDocument::give_up() {
    close();
    return false;
}

Json LineServer::answer(const std::string& line) {
    document_.close();
    warnings_.at_line(++number_);
    std::string why;
    try {
        Json answer = serve_(parse(line, document_, warnings_), warnings_);
        if (in_answers_ && !answer.contains("warnings"))
            for (const std::string& warning : warnings_.of_line())
                answer["warnings"].push_back(shortened(warning));
        return answer;
    } catch (const std::bad_alloc&) {
        why = "too large for the memory";
    } catch (const std::exception& error) {
        why = goodput::text_in_short_names(error);
    }
    refused_ = true;
    Json answer;
    answer["line"] = number_;
    answer["error"] = shortened(why);
    return answer;
}

bool LineServer::belongs_to_refused(const std::string& line) {
    if (!document_.is_open() || !document_.goes_on(line)) return false;
    ++number_;
    return true;
}

std::string text_of_document(const Json& document) {
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_line(std::ostream& out, const Json& document) {
    const std::string text = text_of_document(document);
    out.write(text.data(), static_cast<std::streamsize>(text.size())).put('\n').flush();
}

int serve_lines(std::istream& in, std::ostream& out, bool strict, ServeDocument serve) {
    if (&in == &std::cin && ::isatty(STDIN_FILENO) == 1)
        std::cerr << "goodput: reads one JSON document a line from standard input" << std::endl;
    LineServer server(std::move(serve), std::cerr, strict);
    for (std::string line; std::getline(in, line);) {
        if (server.belongs_to_refused(line)) continue;
        write_line(out, server.answer(line));
        if (!out) return 1;
    }
    return server.refused() ? 1 : 0;
}

}  // namespace cli
