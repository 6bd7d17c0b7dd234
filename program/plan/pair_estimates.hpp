#ifndef GOODPUT_PROGRAM_PLAN_PAIR_ESTIMATES_HPP
#define GOODPUT_PROGRAM_PLAN_PAIR_ESTIMATES_HPP

// Speeds of pairs that are on offer and that nobody measured, and what the answer says of them.

#include <cstddef>
#include <vector>

#include "goodput/pairs/job_pair.hpp"
#include "goodput/pairs/pair_model.hpp"
#include "json/json_fields.hpp"
#include "plan/round.hpp"

namespace cli {

/// The estimates for one line.
class PairEstimates {
public:
    /// Sets the parts of pairs of a line that are on offer without any speeds, from the utilisation of both
    /// jobs and from pairs whose speeds the line says: on types where a gain is likely, and of two that share
    /// GPUs already. `pairs` are those of the line, in order.
    void estimate(const Round& round, std::vector<goodput::JobPair>& pairs);
    /// Adds them to the answer to that line, if there are any.
    void add_to(Json& answer, const Round& round) const;

private:
    struct OnType {
        std::size_t pair = 0, gpu_type = 0;  ///< indices into the pairs and GPU types of the line
        goodput::PairEstimate together{};
        double assumed = 0;  ///< as what jobs of unknown utilisation count
        bool offered = false;
    };
    [[nodiscard]] static std::string reason(const OnType& estimate, const Round& round);

    std::vector<OnType> estimates_{};  ///< by pair, then by type
};

}  // namespace cli

#endif
