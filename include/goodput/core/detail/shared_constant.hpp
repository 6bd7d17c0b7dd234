#ifndef GOODPUT_CORE_DETAIL_SHARED_CONSTANT_HPP
#define GOODPUT_CORE_DETAIL_SHARED_CONSTANT_HPP

// A value that copies share and nobody changes, or none: std::shared_ptr<const T> without <memory>, which
// would be a quarter of what every header of core/ takes to compile.

#include <atomic>
#include <cstddef>
#include <utility>

namespace goodput::detail {

template <class T>
class SharedConstant {
public:
    /// None.
    SharedConstant() = default;
    /// Shared with the copies of this.
    explicit SharedConstant(T value) : held_(new Held{std::move(value)}) {}
    SharedConstant(const SharedConstant& other) noexcept : held_(other.held_) {
        if (held_) held_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    SharedConstant(SharedConstant&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    SharedConstant& operator=(SharedConstant other) noexcept {
        std::swap(held_, other.held_);
        return *this;
    }
    ~SharedConstant() {
        // The last one sees what all others did before they let go.
        if (held_ && held_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held_;
    }

    [[nodiscard]] explicit operator bool() const { return held_ != nullptr; }
    [[nodiscard]] const T* operator->() const { return &held_->value; }
    /// Whether both share one value, or have none.
    [[nodiscard]] bool same_as(const SharedConstant& other) const { return held_ == other.held_; }

private:
    struct Held {
        const T value;
        std::atomic<std::size_t> owners{1};
    };
    Held* held_ = nullptr;
};

}  // namespace goodput::detail

#endif
