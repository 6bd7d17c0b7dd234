#ifndef GOODPUT_CORE_USER_DATA_HPP
#define GOODPUT_CORE_USER_DATA_HPP

// What a user's own policy, limit or maker has to know of a job and the library does not: a deadline, an
// owner, a row of a database.

#include <typeinfo>
#include <utility>

#include "goodput/core/detail/shared_constant.hpp"

namespace goodput {

/// One value of any type, or none. Copies share the value, which nobody can change any more.
class UserData {
public:
    /// No value.
    UserData() = default;
    /// Holds `value`.
    template <class T>
    [[nodiscard]] static UserData of(T value) {
        UserData data;
        data.held_ = detail::SharedConstant(Held(std::move(value)));
        return data;
    }

    /// The value, or null if there is none or it is of another type.
    template <class T>
    [[nodiscard]] const T* get() const {
        return held_ && *held_->type == typeid(T) ? static_cast<const T*>(held_->value) : nullptr;
    }

private:
    /// A value whose type only who asks for it knows.
    struct Held {
        template <class T>
        explicit Held(T of)
            : value(new T(std::move(of))),
              destroy([](void* it) { delete static_cast<T*>(it); }),
              type(&typeid(T)) {}
        Held(Held&& other) noexcept
            : value(std::exchange(other.value, nullptr)), destroy(other.destroy), type(other.type) {}
        Held& operator=(Held&&) = delete;
        ~Held() { destroy(value); }

        void* value;
        void (*destroy)(void*);
        const std::type_info* type;
    };
    detail::SharedConstant<Held> held_{};
};

}  // namespace goodput

#endif
