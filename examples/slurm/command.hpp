#ifndef GOODPUT_EXAMPLES_SLURM_COMMAND_HPP
#define GOODPUT_EXAMPLES_SLURM_COMMAND_HPP

#include <string>
#include <vector>

namespace slurm {

/// The output of a program, and how it ended.
struct CommandResult {
    int status = 0;  ///< 0 for success
    std::string output{};
    std::string error{};
};

/// The default limit on Slurm's answers, in seconds. Slurm's own programs give up earlier, unless the
/// connection hangs.
constexpr double usual_answer_seconds = 60;

/// Runs a program from the PATH to its end, without a shell, so that the name of a job cannot act as a
/// command. A program that has not finished its answer in that many seconds is killed, which counts as an
/// error. Throws std::system_error if it cannot be started.
CommandResult run_command(const std::vector<std::string>& arguments, double seconds = usual_answer_seconds);

}  // namespace slurm

#endif
