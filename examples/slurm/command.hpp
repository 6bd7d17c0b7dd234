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

/// Runs a program from the PATH to its end, without a shell, so that no name of a job can be taken for a
/// command. Throws std::system_error if it cannot be started.
CommandResult run_command(const std::vector<std::string>& arguments);

}  // namespace slurm

#endif
