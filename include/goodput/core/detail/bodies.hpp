#ifndef GOODPUT_CORE_DETAIL_BODIES_HPP
#define GOODPUT_CORE_DETAIL_BODIES_HPP

// A public header only declares. The bodies are in a header of detail/, which the public header includes at
// its end, and they are inline there. If GOODPUT_COMPILED is defined, headers leave the bodies out, and
// exactly one source of the program contains them: either a source that also defines GOODPUT_IMPLEMENTATION
// before it includes the headers, or the library goodput::compiled.

#include <memory>
#include <utility>

/// Precedes the body of a function that is declared elsewhere. It is `inline`, unless GOODPUT_COMPILED is
/// defined.
#ifdef GOODPUT_COMPILED
#define GOODPUT_BODY
#else
#define GOODPUT_BODY inline
#endif

namespace goodput::inline v0_1::detail {

/// State that a class keeps between calls and hides from its header: a T that only the bodies know. The
/// first call of get() creates it. A copy of a HiddenState contains a T that was passed to set(), but not a T
/// that get() created: such a T holds only buffers and answers to the last call.
template <class T>
class HiddenState {
public:
    HiddenState() = default;
    HiddenState(const HiddenState& other)
        : own_(other.own_ && other.copy_ ? other.copy_(*other.own_) : none()), copy_(other.copy_) {}
    HiddenState(HiddenState&&) noexcept = default;
    HiddenState& operator=(const HiddenState& other) { return *this = HiddenState(other); }
    HiddenState& operator=(HiddenState&&) noexcept = default;
    ~HiddenState() = default;

    /// Returns the T. T must be complete here and nowhere else.
    T& get() {
        if (!own_) own_ = own(new T());
        return *own_;
    }
    /// Whether a T exists.
    explicit operator bool() const { return own_ != nullptr; }
    /// The T, which must exist.
    const T& operator*() const { return *own_; }
    /// Keeps `kept` from now on.
    void set(T kept) {
        own_ = own(new T(std::move(kept)));
        copy_ = [](const T& other) { return own(new T(other)); };
    }

private:
    using Own = std::unique_ptr<T, void (*)(T*)>;
    static Own none() {
        return {nullptr, [](T*) {}};
    }
    static Own own(T* made) {
        return {made, [](T* kept) { delete kept; }};
    }

    Own own_ = none();
    Own (*copy_)(const T&) = nullptr;
};

}  // namespace goodput::inline v0_1::detail

#endif
