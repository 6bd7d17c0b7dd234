#ifndef GOODPUT_CORE_USER_DATA_HPP
#define GOODPUT_CORE_USER_DATA_HPP

// What a user's own policy, limit or maker has to know of a job and the library does not: a deadline, an
// owner, a row of a database.

#include <memory>
#include <typeinfo>
#include <utility>

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
        data.held_ = std::make_shared<const T>(std::move(value));
        data.type_ = &typeid(T);
        return data;
    }

    /// The value, or null if there is none or it is of another type.
    template <class T>
    [[nodiscard]] const T* get() const {
        return held_ && *type_ == typeid(T) ? static_cast<const T*>(held_.get()) : nullptr;
    }

private:
    std::shared_ptr<const void> held_{};
    const std::type_info* type_ = nullptr;
};

}  // namespace goodput

#endif
