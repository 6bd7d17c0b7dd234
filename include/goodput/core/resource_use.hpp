#ifndef GOODPUT_CORE_RESOURCE_USE_HPP
#define GOODPUT_CORE_RESOURCE_USE_HPP

// What an option takes of what is limited.

#include <cstddef>
#include <cstdint>
#include <span>

namespace goodput {

/// So many units of one resource.
struct ResourceUse {
    std::uint32_t resource = 0;  ///< index into the problem's capacities
    double units = 0;            ///< at least 0, in the unit of the capacity
};

/// What each of a job's options takes: a view.
class OptionUses {
public:
    /// Of no options.
    OptionUses() = default;
    /// `uses` of all options, one after the other; `offsets` says where those of each begin, and where those
    /// of the last one end.
    OptionUses(std::span<const ResourceUse> uses, std::span<const std::size_t> offsets)
        : uses_(uses), offsets_(offsets) {}
    /// What the option of that index takes.
    [[nodiscard]] std::span<const ResourceUse> operator()(std::size_t option) const {
        return uses_.subspan(offsets_[option], offsets_[option + 1] - offsets_[option]);
    }

private:
    std::span<const ResourceUse> uses_{};
    std::span<const std::size_t> offsets_{};
};

}  // namespace goodput

#endif
