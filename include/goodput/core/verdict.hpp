#ifndef GOODPUT_CORE_VERDICT_HPP
#define GOODPUT_CORE_VERDICT_HPP

// Why a job got what it got. Three things that are easily mixed up stay apart: a job that waits would fit an
// emptier cluster; a job that is impossible would not fit the empty one; bad input is neither and never gets
// here (error.hpp).

#include <string>

namespace goodput {

/// What became of a job this round.
enum class Outcome {
    runs,       ///< has GPUs this round
    waits,      ///< could run on this cluster, but lost to others this round
    impossible  ///< no set of healthy nodes could hold it
};

/// An outcome with its reason.
struct Verdict {
    Outcome outcome = Outcome::runs;  ///< which of the three
    std::string reason{};             ///< one sentence; empty for a job that runs
};

}  // namespace goodput

#endif
