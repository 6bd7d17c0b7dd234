#ifndef GOODPUT_CORE_DETAIL_BODIES_HPP
#define GOODPUT_CORE_DETAIL_BODIES_HPP

// A public header declares. The bodies lie in a header of detail/ behind it, which it includes at its end.
// They are inline there. Where GOODPUT_COMPILED is defined, headers leave the bodies out, and one source of
// the program has them: one that defines GOODPUT_IMPLEMENTATION as well before it includes the headers, or
// the library goodput::compiled.

#include <memory>
#include <utility>

/// Before the body of a function that lies behind its declaration: `inline`, unless one source has it.
#ifdef GOODPUT_COMPILED
#define GOODPUT_BODY
#else
#define GOODPUT_BODY inline
#endif

namespace goodput::detail {

/// What a class keeps from call to call and its header does not show: a T that only its bodies know. Made at
/// the first use. A copy has what was set(), but not what get() has made: buffers, and answers to the last
/// call.
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

    /// T, which has to be complete here and nowhere else.
    T& get() {
        if (!own_) own_ = own(new T());
        return *own_;
    }
    /// Whether anything is kept.
    explicit operator bool() const { return own_ != nullptr; }
    /// What is kept, if anything.
    const T& operator*() const { return *own_; }
    /// Keeps this from now on.
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
