#ifndef GOODPUT_EXAMPLES_CLI_PROGRESS_HPP
#define GOODPUT_EXAMPLES_CLI_PROGRESS_HPP

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "stopwatch.hpp"

namespace cli {

/// A bar on standard error, drawn at most ten times a second, and only where that is a terminal.
class ProgressBar {
public:
    explicit ProgressBar(std::string title) : title_(std::move(title)) {}
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;
    ~ProgressBar() {
        if (drawn_) std::fputs("\r\033[K", stderr);
    }

    void show(std::size_t done, std::size_t all) {
        if (!terminal_ || all == 0 || (drawn_ && since_.milliseconds() < 100)) return;
        constexpr std::size_t width = 40;
        const std::size_t filled = width * done / all;
        const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
        std::fprintf(stderr, "\r%-12s [%s] %zu of %zu jobs", title_.c_str(), bar.c_str(), done, all);
        std::fflush(stderr);
        drawn_ = true;
        since_ = {};
    }

private:
    std::string title_;
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool drawn_ = false;
    Stopwatch since_;
};

}  // namespace cli

#endif
