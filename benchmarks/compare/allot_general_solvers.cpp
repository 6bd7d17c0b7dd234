// Reads allotment problems in the form of `goodput allot`, with their "gap", one per line, and solves each
// with this library and with the general solvers that it was built with, on one thread. compare_allot.py
// drives it and adds HiGHS. Writes a line of JSON per problem: for each solver the CPU time of the solver
// call alone (cold; least of three calls, or one call if it takes 50 ms), the value of the allotment,
// whether it keeps the constraints, and whether the solver finished within the time limit.
//
// usage: allot_general_solvers [--time-limit SECONDS] [SOLVER ...]      SOLVER: glpk, cbc
//
// GLPK and CBC are the Debian packages libglpk-dev and coinor-libcbc-dev; CMake leaves out what is missing.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/allot/allot.hpp"
#include "support/allot_rounds.hpp"

#if GOODPUT_HAS_GLPK
#include <glpk.h>
#endif
#if GOODPUT_HAS_CBC
#include <Cbc_C_Interface.h>
#endif

namespace {

using goodput::AllotmentProblem;

/// The limits given to every solver.
struct Limits {
    double gap;
    double seconds;
};

struct Answer {
    double milliseconds = 0;
    bool finished = false;
    std::vector<std::size_t> choice{};  ///< by job; empty if none was found
};

/// The integer program by columns: rows are the resources, then the jobs; columns are the options.
struct Matrix {
    explicit Matrix(const AllotmentProblem& problem) : rows(problem.capacity.size() + problem.jobs()) {
        row_high = problem.capacity;
        constexpr double no_limit = -std::numeric_limits<double>::infinity();
        row_low.assign(problem.capacity.size(), no_limit);
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            row_low.push_back(problem.must(job) ? 1 : no_limit);
            row_high.push_back(1);
            for (std::size_t option = 0; option < problem.options_of(job); ++option) {
                value.push_back(problem.value(job, option));
                for (const goodput::ResourceUse& use : problem.uses(job, option))
                    if (use.units != 0) add(use.resource, use.units);
                add(problem.capacity.size() + job, 1);
                first.push_back(static_cast<int>(row.size()));
            }
        }
    }

    [[nodiscard]] std::size_t columns() const { return value.size(); }

    std::size_t rows;
    std::vector<double> row_low, row_high;
    std::vector<double> value;  ///< by column
    std::vector<int> first{0};  ///< by column: index of its first entry
    std::vector<int> row;       ///< by entry
    std::vector<double> units;  ///< by entry

private:
    void add(std::size_t to_row, double amount) {
        row.push_back(static_cast<int>(to_row));
        units.push_back(amount);
    }
};

/// Returns for each job the option whose variable is 1. `variable(column)` is its value in the solver's
/// answer.
template <class Variable>
std::vector<std::size_t> choice_of(const AllotmentProblem& problem, Variable variable) {
    std::vector<std::size_t> choice(problem.jobs(), goodput::no_option);
    std::size_t column = 0;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        for (std::size_t option = 0; option < problem.options_of(job); ++option)
            if (variable(column++) > 0.5) choice[job] = option;
    return choice;
}

/// Keeps the solver between problems as its users do, but forgets the last problem's prices.
class Goodput {
public:
    Answer operator()(const AllotmentProblem& problem, const Limits& limits) {
        const std::chrono::nanoseconds deadline(static_cast<std::int64_t>(1e9 * limits.seconds));
        const goodput::AllotResult* result = nullptr;
        const double milliseconds = benchmarks::least_milliseconds(
            [] {},
            [&] {
                result = &allotter_(problem, {.gap = limits.gap, .deadline = deadline, .warm_start = false});
            });
        if (result->status == goodput::AllotStatus::infeasible) return {milliseconds, true, {}};
        return {milliseconds, result->status == goodput::AllotStatus::optimal, result->choice};
    }

private:
    goodput::Allotter<> allotter_;
};

#if GOODPUT_HAS_GLPK
Answer solve_by_glpk(const AllotmentProblem& problem, const Limits& limits) {
    const Matrix matrix(problem);
    std::vector<int> rows{0}, columns{0};
    std::vector<double> units{0};
    for (std::size_t column = 0; column < matrix.columns(); ++column)
        for (auto entry = static_cast<std::size_t>(matrix.first[column]);
             entry < static_cast<std::size_t>(matrix.first[column + 1]); ++entry) {
            rows.push_back(matrix.row[entry] + 1);
            columns.push_back(static_cast<int>(column) + 1);
            units.push_back(matrix.units[entry]);
        }
    std::unique_ptr<glp_prob, void (*)(glp_prob*)> model(nullptr, glp_delete_prob);
    const auto load = [&] {
        model.reset(glp_create_prob());
        glp_set_obj_dir(model.get(), GLP_MAX);
        glp_add_rows(model.get(), static_cast<int>(matrix.rows));
        for (std::size_t row = 0; row < matrix.rows; ++row) {
            const bool equal = matrix.row_low[row] == matrix.row_high[row];
            glp_set_row_bnds(model.get(), static_cast<int>(row) + 1, equal ? GLP_FX : GLP_UP,
                             matrix.row_low[row], matrix.row_high[row]);
        }
        glp_add_cols(model.get(), static_cast<int>(matrix.columns()));
        for (std::size_t column = 0; column < matrix.columns(); ++column) {
            glp_set_col_kind(model.get(), static_cast<int>(column) + 1, GLP_BV);
            glp_set_obj_coef(model.get(), static_cast<int>(column) + 1, matrix.value[column]);
        }
        glp_load_matrix(model.get(), static_cast<int>(rows.size()) - 1, rows.data(), columns.data(),
                        units.data());
    };
    glp_iocp parameters;
    glp_init_iocp(&parameters);
    parameters.msg_lev = GLP_MSG_OFF;
    parameters.presolve = GLP_ON;
    parameters.mip_gap = limits.gap;
    parameters.tm_lim = static_cast<int>(1e3 * limits.seconds);
    glp_term_out(GLP_OFF);
    int status = 0;
    Answer answer;
    answer.milliseconds =
        benchmarks::least_milliseconds(load, [&] { status = glp_intopt(model.get(), &parameters); });
    answer.finished = status == 0 || status == GLP_EMIPGAP || status == GLP_ENOPFS;
    const int quality = glp_mip_status(model.get());
    if (quality == GLP_OPT || quality == GLP_FEAS)
        answer.choice = choice_of(problem, [&](std::size_t column) {
            return glp_mip_col_val(model.get(), static_cast<int>(column) + 1);
        });
    return answer;
}
#endif

#if GOODPUT_HAS_CBC
Answer solve_by_cbc(const AllotmentProblem& problem, const Limits& limits) {
    const Matrix matrix(problem);
    const std::vector<double> zeros(matrix.columns(), 0), ones(matrix.columns(), 1);
    std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(nullptr, Cbc_deleteModel);
    // A model cannot be solved twice.
    const auto load = [&] {
        model.reset(Cbc_newModel());
        Cbc_loadProblem(model.get(), static_cast<int>(matrix.columns()), static_cast<int>(matrix.rows),
                        matrix.first.data(), matrix.row.data(), matrix.units.data(), zeros.data(),
                        ones.data(), matrix.value.data(), matrix.row_low.data(), matrix.row_high.data());
        for (std::size_t column = 0; column < matrix.columns(); ++column)
            Cbc_setInteger(model.get(), static_cast<int>(column));
        Cbc_setObjSense(model.get(), -1);
        const auto set = [&](const char* name, const std::string& text) {
            Cbc_setParameter(model.get(), name, text.c_str());
        };
        set("log", "0");
        set("threads", "0");  // only this thread
        set("timeMode", "cpu");
        set("ratioGap", goodput::text_of(limits.gap));
        set("sec", goodput::text_of(limits.seconds));
    };
    Answer answer;
    answer.milliseconds = benchmarks::least_milliseconds(load, [&] { Cbc_solve(model.get()); });
    answer.finished = Cbc_status(model.get()) == 0;
    if (Cbc_numberSavedSolutions(model.get()) > 0) {
        const double* const variables = Cbc_bestSolution(model.get());
        answer.choice = choice_of(problem, [&](std::size_t column) { return variables[column]; });
    }
    return answer;
}
#endif

/// Returns the allotment's value and whether it keeps the constraints, computed from the choice alone.
nlohmann::json checked(const AllotmentProblem& problem, const Answer& answer) {
    nlohmann::json object{{"ms", answer.milliseconds}, {"finished", answer.finished}};
    if (answer.choice.empty() && problem.jobs() > 0) {
        object["objective"] = nullptr;
        return object;
    }
    double value = 0;
    bool feasible = true;
    std::vector<double> left = problem.capacity;
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        if (answer.choice[job] == goodput::no_option) {
            feasible = feasible && !problem.must(job);
            continue;
        }
        value += problem.value(job, answer.choice[job]);
        for (const goodput::ResourceUse& use : problem.uses(job, answer.choice[job]))
            left[use.resource] -= use.units;
    }
    for (std::size_t r = 0; r < left.size(); ++r)
        feasible = feasible && left[r] >= -1e-9 * std::max(1.0, problem.capacity[r]);
    object["objective"] = value;
    object["feasible"] = feasible;
    return object;
}

}  // namespace

int main(int argc, char** argv) try {
    double seconds = 10;
    std::vector<std::string> wanted;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--time-limit" && i + 1 < argc)
            seconds = std::stod(argv[++i]);
        else
            wanted.push_back(argument);
    }
    using Solver = std::function<Answer(const AllotmentProblem&, const Limits&)>;
    const std::vector<std::pair<std::string, Solver>> general {
#if GOODPUT_HAS_GLPK
        {"glpk", solve_by_glpk},
#endif
#if GOODPUT_HAS_CBC
            {"cbc", solve_by_cbc},
#endif
    };
    std::vector<std::pair<std::string, Solver>> solvers{{"goodput", Goodput{}}};
    for (const std::string& name : wanted) {
        const auto found = std::find_if(general.begin(), general.end(),
                                        [&](const auto& solver) { return solver.first == name; });
        if (found != general.end())
            solvers.push_back(*found);
        else
            std::cerr << "allot_general_solvers: built without " << name << "\n";
    }
    for (std::string text; std::getline(std::cin, text);) {
        const auto line = nlohmann::json::parse(text);
        const AllotmentProblem problem = support::problem_of(line);
        const Limits limits{line.at("gap").get<double>(), seconds};
        nlohmann::json answers;
        for (auto& [name, solver] : solvers) answers[name] = checked(problem, solver(problem, limits));
        std::cout << answers << std::endl;
    }
} catch (const std::exception& error) {
    std::cerr << "allot_general_solvers: " << error.what() << "\n";
    return 1;
}
