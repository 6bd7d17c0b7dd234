#include "json/json_files.hpp"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include <zlib.h>
#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "json/json_parse.hpp"
#include "json/names.hpp"
#include "json/text_parts.hpp"

namespace cli {

namespace {

/// Returns the text of a file. A file that is not compressed is read as it is.
std::string read_text(const std::string& path) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
    std::string text;
    char buffer[1 << 16];
    int bytes = file ? 1 : -1;
    while (bytes > 0 && (bytes = gzread(file.get(), buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(bytes));
    if (bytes < 0) throw std::runtime_error(path + ": cannot be read");
    return text;
}

/// Parses a document. Warns of a field that occurs twice, or refuses it if `strict`.
Json parse(std::string_view text, const std::string& subject, bool strict,
           const std::function<bool(int depth, std::string_view name)>& keep = {}) {
    std::vector<std::string> twice;
    Json document;
    try {
        document = parse_json(text, twice, keep);
    } catch (const Json::exception&) {
        throw std::runtime_error(subject + ": is not JSON");
    }
    if (twice.empty()) return document;
    const std::string sentence = subject + ": " + given_twice(twice.front());
    if (strict) throw std::runtime_error(sentence);
    std::cerr << "goodput: " << shortened(sentence) << std::endl;
    return document;
}

}  // namespace

Json read_json_file(const std::string& path, bool strict,
                    const std::function<bool(int depth, std::string_view name)>& keep) {
    return parse(read_text(path), path, strict, keep);
}

void read_json_lines_of(const std::string& path, const std::function<void(const Field&)>& visit) {
    const std::string text = read_text(path);
    std::size_t line = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string subject = path + ", line " + goodput::text_of(++line);
        const Json document = parse(std::string_view(text).substr(begin, end - begin), subject, false);
        read_checked([&] { visit(Field(document, subject)); });
        begin = end + 1;
    }
}

int integer_of_name(std::string_view name, const Field& field, int least) {
    const auto number = number_in<int>(name);
    if (!number || *number < least)
        field.refuse("named by an integer of at least " + goodput::text_of(least));
    return *number;
}

}  // namespace cli
