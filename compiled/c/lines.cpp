// The lines of the C interface.

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "goodput/core/detail/names.hpp"
#include "goodput/goodput.h"
#include "goodput/line_service.hpp"
#include "goodput/version.hpp"
#include "json/agent_lines.hpp"

struct goodput_lines {
    std::unique_ptr<goodput::LineService> service{};  ///< null if the options cannot be used
    std::string error{};                              ///< the reason for that
    std::string answer{};                             ///< the last answer
};

namespace {

constexpr const char* no_memory = R"({"error": "no memory"})";

}  // namespace

extern "C" {

uint32_t goodput_abi(void) { return GOODPUT_ABI; }

const char* goodput_version(void) { return goodput::version.data(); }

const char* goodput_status_text(goodput_status status) {
    switch (status) {
        case GOODPUT_OK:
            return "ok";
        case GOODPUT_BAD_INPUT:
            return "bad input";
        case GOODPUT_TOO_SMALL:
            return "an array of the answer is too small";
        case GOODPUT_BAD_SIZE:
            return "the size of a struct is none that this version can read";
        case GOODPUT_NOT_YET:
            return "nothing to be asked about yet";
        case GOODPUT_NO_MEMORY:
            return "no memory";
        case GOODPUT_INTERNAL:
            return "a fault of the library";
        default:
            return "unknown status";
    }
}

goodput_lines* goodput_open(const char* options) {
    try {
        auto lines = std::make_unique<goodput_lines>();
        try {
            lines->service = std::make_unique<goodput::LineService>(options ? options : "");
        } catch (const std::bad_alloc&) {
            return nullptr;
        } catch (const std::exception& refusal) {
            lines->error = goodput::text_in_short_names(refusal);
        }
        return lines.release();
    } catch (...) {
        return nullptr;
    }
}

void goodput_close(goodput_lines* lines) { delete lines; }

const char* goodput_open_error(const goodput_lines* lines) {
    return lines ? lines->error.c_str() : "no memory";
}

const char* goodput_answer(goodput_lines* lines, const char* line) {
    if (!lines) return no_memory;
    try {
        lines->answer = lines->service ? lines->service->answer(line ? line : "")
                                       : R"({"error": )" + cli::json_text(lines->error) + "}";
        return lines->answer.c_str();
    } catch (const std::bad_alloc&) {
        return no_memory;
    } catch (...) {
        return R"({"error": "a fault of the library: please report it with the line"})";
    }
}

}  // extern "C"
