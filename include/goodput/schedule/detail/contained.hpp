#ifndef GOODPUT_SCHEDULE_DETAIL_CONTAINED_HPP
#define GOODPUT_SCHEDULE_DETAIL_CONTAINED_HPP

// Contains exceptions of the user's parts: a part that fails costs one job some of its options, but does
// not cost all jobs the plan.

#include <exception>
#include <string>

namespace goodput::inline v0_1::detail {

/// Calls `call`. If it throws, calls `failed(what)` with the reason, and returns false.
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

/// Calls `call`. Returns false if it throws.
template <class Call>
bool contained(Call call) {
    return contained(call, [](const std::string&) {});
}

}  // namespace goodput::inline v0_1::detail

#endif
