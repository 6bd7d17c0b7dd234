#include "command.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

extern char** environ;

namespace slurm {

namespace {

class Pipe {
public:
    Pipe() {
        if (pipe(ends_.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    }
    ~Pipe() {
        close_writer();
        close(ends_[0]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] int reader() const { return ends_[0]; }
    [[nodiscard]] int writer() const { return ends_[1]; }
    void close_writer() {
        if (ends_[1] >= 0) close(ends_[1]);
        ends_[1] = -1;
    }

private:
    std::array<int, 2> ends_{};
};

/// Reads both pipes to their ends; one after the other could block the program on the second.
void read_both(const Pipe& first, std::string& first_text, const Pipe& second, std::string& second_text) {
    std::array<pollfd, 2> waiting{pollfd{first.reader(), POLLIN, 0}, pollfd{second.reader(), POLLIN, 0}};
    const std::array<std::string*, 2> texts{&first_text, &second_text};
    std::array<char, 1 << 16> buffer{};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
        if (poll(waiting.data(), waiting.size(), -1) < 0) {
            if (errno == EINTR) continue;
            throw std::system_error(errno, std::generic_category(), "poll");
        }
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
            const ssize_t got = read(waiting[i].fd, buffer.data(), buffer.size());
            if (got > 0)
                texts[i]->append(buffer.data(), static_cast<std::size_t>(got));
            else if (got == 0 || errno != EINTR)
                waiting[i].fd = -1;
        }
    }
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& arguments) {
    Pipe output, error;
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output.writer(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, error.writer(), STDERR_FILENO);
    for (const int end : {output.reader(), output.writer(), error.reader(), error.writer()})
        posix_spawn_file_actions_addclose(&actions, end);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), arguments.front());

    output.close_writer();
    error.close_writer();
    CommandResult result;
    read_both(output, result.output, error, result.error);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return result;
}

}  // namespace slurm
