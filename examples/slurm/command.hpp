#ifndef GOODPUT_EXAMPLES_SLURM_COMMAND_HPP
#define GOODPUT_EXAMPLES_SLURM_COMMAND_HPP

#include <string>
#include <vector>

namespace slurm {

/// What a program said and how it ended.
struct CommandResult {
    int status = 0;  ///< 0: success
    std::string output{};
    std::string error{};
};

/// Seconds within which Slurm has to answer, where nobody says another number: its own programs give up
/// earlier, unless the connection hangs.
constexpr double usual_answer_seconds = 60;

/// Runs a program from the PATH to its end, without a shell, so that no name of a job can be taken for a
/// command. A program that has not ended its answer in so many seconds is killed: that is an error, too.
/// Throws std::system_error if it cannot be started.
CommandResult run_command(const std::vector<std::string>& arguments, double seconds = usual_answer_seconds);

}  // namespace slurm

#endif
