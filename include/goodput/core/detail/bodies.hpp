#ifndef GOODPUT_CORE_DETAIL_BODIES_HPP
#define GOODPUT_CORE_DETAIL_BODIES_HPP

// A public header only declares. The bodies are in a header of detail/, which the public header includes at
// its end, and they are inline there. If GOODPUT_COMPILED is defined, headers leave the bodies out, and
// exactly one source of the program contains them: either a source that also defines GOODPUT_IMPLEMENTATION
// before it includes the headers, or the library goodput::compiled.

#include <memory>
#include <utility>

/// Stands before the body of a function that is declared elsewhere. It is `inline`, unless one source has
/// the bodies.
#ifdef GOODPUT_COMPILED
#define GOODPUT_BODY
#else
#define GOODPUT_BODY inline
#endif

namespace goodput::detail {

/// State that a class keeps between calls and hides from its header: a T that only the bodies know. The
/// first use creates it. A copy takes what was set(). It does not take what get() created, which is buffers
/// and answers to the last call.
template <class T>
class Kept {
public:
    Kept() = default;
    Kept(const Kept& other)
        : own_(other.own_ && other.copy_ ? other.copy_(*other.own_) : none()), copy_(other.copy_) {}
    Kept(Kept&&) noexcept = default;
    Kept& operator=(const Kept& other) { return *this = Kept(other); }
    Kept& operator=(Kept&&) noexcept = default;
    ~Kept() = default;

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

}  // namespace goodput::detail

#endif
