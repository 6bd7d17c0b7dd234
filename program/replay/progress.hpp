#ifndef GOODPUT_PROGRAM_REPLAY_PROGRESS_HPP
#define GOODPUT_PROGRAM_REPLAY_PROGRESS_HPP

#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include "plan/stopwatch.hpp"

namespace cli {

/// Shows on standard error how far a replay is, and how long it will still take. On a terminal this is a
/// bar, drawn at most ten times per second; otherwise a line every ten seconds.
class ProgressBar {
public:
    explicit ProgressBar(std::string title) : title_(std::move(title)) {}
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;
    ~ProgressBar() {
        if (drawn_ && terminal_) std::fputs("\r\033[K", stderr);
    }

    void show(std::size_t done, std::size_t all) {
        const double pause = terminal_ ? (drawn_ ? 100 : 0) : 10'000;
        if (all == 0 || since_.milliseconds() < pause) return;
        if (terminal_) {
            constexpr std::size_t width = 40;
            const std::size_t filled = width * done / all;
            const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
            std::fprintf(stderr, "\r%-12s [%s] %zu of %zu jobs%s\033[K", title_.c_str(), bar.c_str(), done,
                         all, time_left(done, all).c_str());
        } else {
            std::fprintf(stderr, "%s: %zu of %zu jobs%s\n", title_.c_str(), done, all,
                         time_left(done, all).c_str());
        }
        std::fflush(stderr);
        drawn_ = true;
        since_ = {};
    }

private:
    /// Returns ", about 40 s left", or an empty text until there is enough to judge by.
    [[nodiscard]] std::string time_left(std::size_t done, std::size_t all) const {
        const double seconds = start_.milliseconds() / 1000;
        if (done == 0 || seconds < 1) return {};
        const double left = seconds * static_cast<double>(all - done) / static_cast<double>(done);
        return ", about " + std::to_string(std::lround(left)) + " s left";
    }

    std::string title_;
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool drawn_ = false;
    Stopwatch start_, since_;
};

}  // namespace cli

#endif
