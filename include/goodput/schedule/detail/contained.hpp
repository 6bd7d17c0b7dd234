#ifndef GOODPUT_SCHEDULE_DETAIL_CONTAINED_HPP
#define GOODPUT_SCHEDULE_DETAIL_CONTAINED_HPP

// What a part of a user's throws costs the job that it is about, and not the plan.

#include <exception>
#include <string>

namespace goodput::detail {

/// Calls `call`; if that throws, `failed(what)` is told why, and the answer is false.
template <class Call, class Failed>
bool contained(Call call, Failed failed) {
    try {
        call();
        return true;
    } catch (const std::exception& error) {
        failed(std::string("threw: ") + error.what());
    } catch (...) {
        failed(std::string("threw something that is no std::exception"));
    }
    return false;
}

/// Calls `call`; false if that throws.
template <class Call>
bool contained(Call call) {
    return contained(call, [](const std::string&) {});
}

}  // namespace goodput::detail

#endif
