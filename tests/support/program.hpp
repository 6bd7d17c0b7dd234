#ifndef GOODPUT_TESTS_SUPPORT_PROGRAM_HPP
#define GOODPUT_TESTS_SUPPORT_PROGRAM_HPP

// Runs a program and exchanges lines with it through pipes. Throws a std::runtime_error if the program does
// not answer within half a minute.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

class Program {
public:
    /// `arguments` begins with the program's path.
    explicit Program(std::vector<std::string> arguments) {
        ::signal(SIGPIPE, SIG_IGN);  // a program that has ended shows by its silence
        int in[2], out[2], err[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe");
        child_ = ::fork();
        if (child_ < 0) throw std::runtime_error("no process");
        if (child_ == 0) {
            ::dup2(in[0], STDIN_FILENO);
            ::dup2(out[1], STDOUT_FILENO);
            ::dup2(err[1], STDERR_FILENO);
            std::vector<char*> texts;
            for (std::string& argument : arguments) texts.push_back(argument.data());
            texts.push_back(nullptr);
            ::execv(texts.front(), texts.data());
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        ::close(err[1]);
        in_ = in[1];
        out_ = out[0];
        err_ = err[0];
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
        for (const int file : {in_, out_, err_})
            if (file >= 0) ::close(file);
    }

    /// Sends a line, waits for the answer and returns that line.
    std::string ask(const std::string& line) {
        write(line + "\n");
        std::size_t end = buffer_.find('\n');
        while (end == std::string::npos) {
            if (!read(out_, buffer_))
                throw std::runtime_error("the program ended instead of answering: " + line);
            end = buffer_.find('\n');
        }
        std::string answer = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return answer;
    }

    struct End {
        int status = 0;
        std::string output{};  ///< output that was not read before
        std::string errors{};
    };

    /// Sends the rest of the input (small enough for a pipe), closes it and waits until the program ends.
    End finish(std::string_view rest = {}) {
        if (!rest.empty()) write(rest);
        ::close(in_);
        in_ = -1;
        End end;
        end.output = std::move(buffer_);
        while (read(out_, end.output)) {
        }
        while (read(err_, end.errors)) {
        }
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = -1;
        end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return end;
    }

private:
    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(in_, text.data(), text.size());
            if (written <= 0) throw std::runtime_error("the program does not take input");
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    /// Appends the available output; returns false at the end of it.
    static bool read(int file, std::string& text) {
        pollfd ready{file, POLLIN, 0};
        if (::poll(&ready, 1, 30'000) == 0) throw std::runtime_error("the program does not answer");
        std::array<char, 65536> chunk;
        const ssize_t size = ::read(file, chunk.data(), chunk.size());
        if (size > 0) text.append(chunk.data(), static_cast<std::size_t>(size));
        return size > 0;
    }

    pid_t child_ = -1;
    int in_ = -1, out_ = -1, err_ = -1;
    std::string buffer_;
};

}  // namespace support

#endif
