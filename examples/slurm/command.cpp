#include "command.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "goodput/core/error.hpp"

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

using Clock = std::chrono::steady_clock;

/// Reads both pipes to their ends. Reading one after the other could block the program on the second.
/// Returns false if time is up before.
bool read_both(const Pipe& first, std::string& first_text, const Pipe& second, std::string& second_text,
               Clock::time_point end) {
    std::array<pollfd, 2> waiting{pollfd{first.reader(), POLLIN, 0}, pollfd{second.reader(), POLLIN, 0}};
    const std::array<std::string*, 2> texts{&first_text, &second_text};
    std::array<char, 1 << 16> buffer{};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
        if (left <= 0) return false;
        if (poll(waiting.data(), waiting.size(), static_cast<int>(std::min<long long>(left, 1 << 30))) < 0) {
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
    return true;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& arguments, double seconds) {
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
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const bool answered = read_both(output, result.output, error, result.error, end);
    if (!answered) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result.status = answered && WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (!answered) result.error += "no answer within " + goodput::text_of(seconds) + " s";
    return result;
}

}  // namespace slurm
