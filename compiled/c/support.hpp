#ifndef GOODPUT_COMPILED_C_SUPPORT_HPP
#define GOODPUT_COMPILED_C_SUPPORT_HPP

// The common parts of all functions of the C interface. Exceptions become statuses. Structs of other
// versions are read and written as far as both sides know them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "goodput/goodput.h"

namespace goodput::c {

/// A failure with a status other than GOODPUT_BAD_INPUT.
class Failure : public std::runtime_error {
public:
    Failure(goodput_status status, const std::string& sentence)
        : std::runtime_error(sentence), status_(status) {}
    [[nodiscard]] goodput_status status() const { return status_; }

private:
    goodput_status status_;
};

/// The sentence about a handle's last failure.
class LastError {
public:
    [[nodiscard]] const char* text() const noexcept { return fixed_ ? fixed_ : text_.c_str(); }
    void clear() noexcept {
        text_.clear();
        fixed_ = nullptr;
    }
    void say(const char* sentence) noexcept {
        try {
            text_ = sentence;
        } catch (...) {
            fixed_ = "no memory for the sentence about what went wrong";
        }
    }
    void say_fixed(const char* sentence) noexcept { fixed_ = sentence; }

private:
    std::string text_;
    const char* fixed_ = nullptr;
};

/// Calls call(), and returns a status for what it throws.
template <class Handle, class Call>
goodput_status guarded(Handle* handle, Call call) noexcept {
    if (!handle) return GOODPUT_BAD_INPUT;
    handle->error.clear();
    try {
        call();
        return GOODPUT_OK;
    } catch (const Failure& failure) {
        handle->error.say(failure.what());
        return failure.status();
    } catch (const std::invalid_argument& refusal) {
        handle->error.say(text_in_short_names(refusal).c_str());
        return GOODPUT_BAD_INPUT;
    } catch (const std::bad_alloc&) {
        handle->error.say_fixed("no memory");
        return GOODPUT_NO_MEMORY;
    } catch (const std::length_error&) {
        handle->error.say_fixed("no memory");
        return GOODPUT_NO_MEMORY;
    } catch (const std::exception& fault) {
        handle->error.say(fault.what());
        return GOODPUT_INTERNAL;
    } catch (...) {
        handle->error.say_fixed("an exception of an unknown type");
        return GOODPUT_INTERNAL;
    }
}

/// Refuses a null pointer.
inline void require_given(const void* pointer, std::string_view subject, std::string_view field) {
    if (!pointer) bad_input(subject, field, "null", "given");
}

/// Refuses bits that are not flags of this version.
template <class Subject>
void require_flags(const Subject& subject, std::uint32_t flags, std::uint32_t known) {
    if ((flags & ~known) != 0)
        bad_input(detail::text_of_subject(subject), "flags", flags, "a sum of known flags");
}

/// No struct is larger: a larger size is a mistake.
inline constexpr std::size_t most_size = 1 << 16;

/// Refuses sizes that no readable version of the struct has.
template <class Struct>
void require_size(std::size_t size, std::string_view field) {
    if (size >= sizeof(Struct) && size <= most_size) return;
    throw Failure(GOODPUT_BAD_SIZE, std::string(field) + " is " + text_of(size) + ", but must be sizeof: " +
                                        text_of(sizeof(Struct)) + " in this version");
}

/// Reads a struct: zeros where it has an older version. A newer version must be zero beyond the known
/// fields.
template <class Struct>
[[nodiscard]] Struct read_struct(const void* from, std::size_t size, std::string_view field) {
    const auto* bytes = static_cast<const unsigned char*>(from);
    Struct value{};
    std::memcpy(&value, bytes, std::min(size, sizeof(Struct)));
    for (std::size_t i = sizeof(Struct); i < size; ++i)
        if (bytes[i] != 0)
            throw Failure(GOODPUT_BAD_SIZE, std::string(field) + " is " + text_of(size) +
                                                ", and a field beyond the " + text_of(sizeof(Struct)) +
                                                " bytes that this version knows is not zero");
    return value;
}

/// Reads a struct passed by itself, which starts with its size.
template <class Struct>
[[nodiscard]] Struct read_sized(const Struct* from, std::string_view name) {
    require_given(from, name, "pointer");
    const std::string field = std::string(name) + ": struct_size";
    require_size<Struct>(from->struct_size, field);
    return read_struct<Struct>(from, from->struct_size, field);
}

/// Reads the caller's array, whose elements may have any version.
template <class Struct>
class Elements {
public:
    Elements(const Struct* array, std::size_t count, std::size_t size, std::string_view name)
        : bytes_(reinterpret_cast<const unsigned char*>(array)), count_(count), size_(size), name_(name) {
        if (count == 0) return;
        require_given(array, name, "array");
        require_size<Struct>(size, std::string(name) + "_size");
        if (count > std::numeric_limits<std::size_t>::max() / size)
            bad_input(name, "count", count, "within the address space");
    }

    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] Struct operator[](std::size_t index) const {
        return read_struct<Struct>(bytes_ + index * size_, size_, name_);
    }

private:
    const unsigned char* bytes_;
    std::size_t count_, size_;
    std::string_view name_;
};

/// Writes the fields of a struct that both sides know.
template <class Struct>
void write_struct(void* to, std::size_t size, const Struct& value) {
    std::memcpy(to, &value, std::min(size, sizeof(Struct)));
}

}  // namespace goodput::c

#endif
