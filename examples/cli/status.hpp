#ifndef GOODPUT_EXAMPLES_CLI_STATUS_HPP
#define GOODPUT_EXAMPLES_CLI_STATUS_HPP

#include "goodput/allot/result.hpp"

namespace cli {

[[nodiscard]] inline const char* name_of(goodput::AllotStatus status) {
    switch (status) {
        case goodput::AllotStatus::optimal:
            return "optimal";
        case goodput::AllotStatus::feasible:
            return "feasible";
        case goodput::AllotStatus::infeasible:
            break;
    }
    return "infeasible";
}

}  // namespace cli

#endif
