#ifndef GOODPUT_CORE_MISFIT_HPP
#define GOODPUT_CORE_MISFIT_HPP

// What is wrong with a function of somebody's type, where a concept asks for it and is not satisfied: for
// messages of compilers in one line (policy_fits() and the like).

#include <type_traits>

namespace goodput::detail {

/// In which way a function misses what it should be.
enum class Misfit {
    missing,    ///< there is none of that name that is public, or several, or templates, that do not fit
    arguments,  ///< it does not take what it is called with
    not_const,  ///< it would fit if it were const
    result      ///< it can be called, but answers something else
};

/// Which way it is. `call` calls the function on a Part; `named`: the type has one public function (or other
/// member) of that name. Only for functions that do not fit.
template <class Part, class... Arguments, class Call>
consteval Misfit misfit_of(Call, bool named) {
    if constexpr (std::is_invocable_v<Call, const Part&, Arguments...>)
        return Misfit::result;
    else if constexpr (std::is_invocable_v<Call, Part&, Arguments...>)
        return Misfit::not_const;
    else
        return named ? Misfit::arguments : Misfit::missing;
}

/// The same for a function that need not be const.
template <class Part, class... Arguments, class Call>
consteval Misfit misfit_of_changing(Call, bool named) {
    if constexpr (std::is_invocable_v<Call, Part&, Arguments...>)
        return Misfit::result;
    else
        return named ? Misfit::arguments : Misfit::missing;
}

}  // namespace goodput::detail

#endif
