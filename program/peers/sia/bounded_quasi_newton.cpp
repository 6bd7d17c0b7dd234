#include "peers/sia/bounded_quasi_newton.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <tuple>

extern "C" {
/// L-BFGS-B's reverse communication, in Fortran, which takes the lengths of strings last. Its only state is
/// in its arguments.
void setulb_(const int* variables, const int* pairs, double* point, const double* lower, const double* upper,
             const int* kinds_of_bounds, double* value, double* gradient, const double* decrease,
             const double* flat, double* work, int* integer_work, char* task, const int* print,
             char* saved_text, int* saved_flags, int* saved_integers, double* saved_numbers,
             std::size_t task_length, std::size_t saved_text_length);

// The Fortran code writes two remarks, that a step is cut short and that a line search is impossible, to
// standard output even if nothing is to be printed. There they would mix with the program's JSON. It also
// reads the clock several times per iteration, for a report that is not printed. So the Fortran library's
// functions for these do nothing here.
void _gfortran_st_write(void*) {}
void _gfortran_st_write_done(void*) {}
void _gfortran_transfer_array_write(void*, void*, int, std::size_t) {}
void _gfortran_transfer_character_write(void*, void*, std::size_t) {}
void _gfortran_transfer_integer_write(void*, void*, int) {}
void _gfortran_transfer_real_write(void*, void*, int) {}
void _gfortran_cpu_time_4(float* seconds) { *seconds = 0; }
}

namespace goodput::peers {

QuasiNewtonResult minimise_within(
    const QuasiNewtonVector& lower, const QuasiNewtonVector& upper, const QuasiNewtonVector& start,
    const std::function<double(const QuasiNewtonVector& point, QuasiNewtonVector& gradient)>& evaluate,
    const QuasiNewtonOptions& options) {
    constexpr std::size_t n = std::tuple_size_v<QuasiNewtonVector>, m = 10;
    constexpr int variables = n, pairs = m, silent = -1;
    const double decrease = options.decrease / std::numeric_limits<double>::epsilon();
    std::array<int, n> bounds{};
    for (std::size_t i = 0; i < n; ++i)
        bounds[i] =
            std::isfinite(lower[i]) ? (std::isfinite(upper[i]) ? 2 : 1) : (std::isfinite(upper[i]) ? 3 : 0);
    std::array<double, 2 * m * n + 5 * n + 11 * m * m + 8 * m> work{};
    std::array<int, 3 * n> integer_work{};
    std::array<char, 60> task{}, saved_text{};
    std::array<int, 4> saved_flags{};
    std::array<int, 44> saved_integers{};
    std::array<double, 29> saved_numbers{};
    task.fill(' ');
    std::string_view("START").copy(task.data(), task.size());
    const auto says = [&](std::string_view what) {
        return std::string_view(task.data(), task.size()).starts_with(what);
    };

    QuasiNewtonResult result{.point = start};
    QuasiNewtonVector gradient{};
    do {
        setulb_(&variables, &pairs, result.point.data(), lower.data(), upper.data(), bounds.data(),
                &result.value, gradient.data(), &decrease, &options.gradient, work.data(),
                integer_work.data(), task.data(), &silent, saved_text.data(), saved_flags.data(),
                saved_integers.data(), saved_numbers.data(), task.size(), saved_text.size());
        if (!says("FG")) continue;
        if (result.evaluations == options.max_evaluations) break;
        result.value = evaluate(result.point, gradient);
        ++result.evaluations;
    } while (says("FG") || says("NEW_X"));
    result.iterations = saved_integers[29];
    result.converged = says("CONV");
    return result;
}

}  // namespace goodput::peers
