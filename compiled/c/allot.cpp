// The C interface's version, statuses and allotments.

#include "goodput/allot/allot.hpp"

#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/version.hpp"
#include "support.hpp"

struct goodput_allotter {
    goodput::c::LastError error{};
    goodput::Allotter<> solve{};
    goodput::AllotmentProblem problem{};
    std::vector<goodput::ResourceUse> uses{};
};

namespace goodput::c {

namespace {

static_assert(GOODPUT_NO_OPTION == no_option);
static_assert(GOODPUT_OPTIMAL == static_cast<int>(AllotStatus::optimal) &&
              GOODPUT_FEASIBLE == static_cast<int>(AllotStatus::feasible) &&
              GOODPUT_INFEASIBLE == static_cast<int>(AllotStatus::infeasible) &&
              GOODPUT_UNKNOWN == static_cast<int>(AllotStatus::unknown));
static_assert(GOODPUT_STOPPED_PROVEN == static_cast<int>(StopReason::proven) &&
              GOODPUT_STOPPED_DEADLINE == static_cast<int>(StopReason::deadline) &&
              GOODPUT_STOPPED_MEMORY == static_cast<int>(StopReason::memory) &&
              GOODPUT_STOPPED_STATES == static_cast<int>(StopReason::states));

constexpr const char* subject = "allotment problem";

/// Where the elements of each of `count` begin; refuses what is not ascending from 0.
std::span<const std::size_t> offsets(const std::size_t* begin, std::size_t count, const char* field) {
    require_given(begin, subject, field);
    const auto at = [&](std::size_t i) { return std::string(field) + "[" + text_of(i) + "]"; };
    if (begin[0] != 0) bad_input(subject, at(0), begin[0], "0");
    for (std::size_t i = 0; i < count; ++i)
        if (begin[i + 1] < begin[i])
            bad_input(subject, at(i + 1), begin[i + 1], "at least the one before it, " + text_of(begin[i]));
    return {begin, count + 1};
}

void read(const goodput_allot_problem& from, goodput_allotter& handle) {
    AllotmentProblem& problem = handle.problem;
    problem.clear();
    problem.capacity.clear();
    if (from.resource_count > std::numeric_limits<std::uint32_t>::max())
        bad_input(subject, "resource_count", from.resource_count, "below 2^32");
    if (from.resource_count > 0) {
        require_given(from.capacity, subject, "capacity");
        problem.capacity.assign(from.capacity, from.capacity + from.resource_count);
    }
    if (from.job_count == 0) return;
    if (from.job_count >= std::numeric_limits<std::size_t>::max() / sizeof(std::size_t))
        bad_input(subject, "job_count", from.job_count, "within the address space");
    const auto options = offsets(from.option_begin, from.job_count, "option_begin");
    const std::size_t option_count = options.back();
    std::span<const std::size_t> uses;
    if (option_count > 0) {
        if (option_count >= std::numeric_limits<std::size_t>::max() / sizeof(std::size_t))
            bad_input(subject, "option_begin", option_count, "within the address space");
        require_given(from.value, subject, "value");
        uses = offsets(from.use_begin, option_count, "use_begin");
        if (uses.back() > 0) {
            require_given(from.use_resource, subject, "use_resource");
            require_given(from.use_units, subject, "use_units");
        }
    }
    for (std::size_t job = 0; job < from.job_count; ++job) {
        problem.add_job(from.must && from.must[job] != 0);
        for (std::size_t option = options[job]; option < options[job + 1]; ++option) {
            handle.uses.clear();
            for (std::size_t use = uses[option]; use < uses[option + 1]; ++use)
                handle.uses.push_back({from.use_resource[use], from.use_units[use]});
            problem.add_option(from.value[option], handle.uses);
        }
    }
}

/// Refuses an array of the answer with less room than `needed`.
void require_room(const void* array, std::size_t capacity, std::size_t needed, const char* field) {
    if (array && capacity < needed)
        throw Failure(GOODPUT_TOO_SMALL, std::string("allotment answer: ") + field + " is " +
                                             text_of(capacity) + ", but must be at least " + text_of(needed));
}

}  // namespace

}  // namespace goodput::c

using namespace goodput::c;

extern "C" {

uint32_t goodput_abi(void) { return GOODPUT_ABI; }

const char* goodput_version(void) { return goodput::version.data(); }

const char* goodput_status_text(goodput_status status) {
    switch (status) {
        case GOODPUT_OK:
            return "ok";
        case GOODPUT_BAD_INPUT:
            return "bad input";
        case GOODPUT_TOO_SMALL:
            return "an array of the answer is too small";
        case GOODPUT_BAD_SIZE:
            return "the size of a struct is none that this version can read";
        case GOODPUT_NOT_YET:
            return "nothing to be asked about yet";
        case GOODPUT_NO_MEMORY:
            return "no memory";
        case GOODPUT_INTERNAL:
            return "a fault of the library";
        default:
            return "unknown status";
    }
}

goodput_allotter* goodput_allotter_create(void) {
    try {
        return new goodput_allotter;
    } catch (...) {
        return nullptr;
    }
}

void goodput_allotter_destroy(goodput_allotter* allotter) { delete allotter; }

const char* goodput_allotter_error(const goodput_allotter* allotter) {
    return allotter ? allotter->error.text() : "the handle is null";
}

goodput_status goodput_allot(goodput_allotter* allotter, const goodput_allot_problem* problem,
                             goodput_allot_answer* answer) {
    return guarded(allotter, [&] {
        const goodput_allot_problem asked = read_sized(problem, "goodput_allot_problem");
        goodput_allot_answer filled = read_sized(answer, "goodput_allot_answer");
        goodput::AllotOptions options =
            allot_options(subject, asked.gap, asked.deadline_ms, asked.most_states, asked.memory_states);
        if (asked.warm_start != 0 && asked.warm_start != 1)
            goodput::bad_input(subject, "warm_start", asked.warm_start, "0 or 1");
        options.warm_start = asked.warm_start == 1;
        require_room(filled.choice, filled.choice_capacity, asked.job_count, "choice_capacity");
        require_room(filled.price, filled.price_capacity, asked.resource_count, "price_capacity");
        read(asked, *allotter);
        const goodput::AllotResult& result = allotter->solve(allotter->problem, options);
        const bool infeasible = result.status == goodput::AllotStatus::infeasible;
        if (filled.choice) std::copy(result.choice.begin(), result.choice.end(), filled.choice);
        if (filled.price)
            for (std::size_t r = 0; r < result.prices.size(); ++r)
                filled.price[r] = infeasible ? 0 : result.prices[r];
        filled.objective = infeasible ? 0 : result.objective;
        filled.bound = infeasible ? 0 : result.bound;
        filled.gap = filled.bound - filled.objective;
        filled.proof = static_cast<std::int32_t>(result.status);
        filled.stopped = static_cast<std::int32_t>(result.stopped);
        filled.states = result.nodes;
        write_struct(answer, answer->struct_size, filled);
    });
}

}  // extern "C"
