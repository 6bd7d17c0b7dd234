#ifndef GOODPUT_PROGRAM_PLAN_STATUS_HPP
#define GOODPUT_PROGRAM_PLAN_STATUS_HPP

#include "goodput/allot/result.hpp"

namespace cli {

[[nodiscard]] inline const char* name_of(goodput::AllotStatus status) {
    switch (status) {
        case goodput::AllotStatus::optimal:
            return "optimal";
        case goodput::AllotStatus::feasible:
            return "feasible";
        case goodput::AllotStatus::infeasible:
            return "infeasible";
        case goodput::AllotStatus::unknown:
            break;
    }
    return "unknown";
}

[[nodiscard]] inline const char* name_of(goodput::StopReason reason) {
    switch (reason) {
        case goodput::StopReason::proven:
            return "proven";
        case goodput::StopReason::deadline:
            return "deadline";
        case goodput::StopReason::memory:
            return "memory";
        case goodput::StopReason::states:
            break;
    }
    return "states";
}

}  // namespace cli

#endif
