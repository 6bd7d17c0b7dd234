#ifndef GOODPUT_PROGRAM_REPORT_RESULT_FILE_HPP
#define GOODPUT_PROGRAM_REPORT_RESULT_FILE_HPP

// A file that is replaced when its new text is whole, and not before.

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cli {

/// What a command writes to FILE. Until it is whole it stands in FILE.part, and FILE stays as it was. What is
/// no regular file, such as a pipe, is written at the end. Whatever cannot be written is a
/// std::runtime_error.
class ResultFile {
public:
    /// Finds out whether the file can be written, and leaves its text as it is. Without a path there is no
    /// file, and nothing is written.
    explicit ResultFile(const std::string& path) : path_(path) {
        if (path.empty()) return;
        std::error_code unknown;
        const std::filesystem::file_status there = std::filesystem::status(path, unknown);
        if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
            direct_.open(path);
            require(direct_);
            return;
        }
        // The file behind a link is replaced, not the link.
        target_ = std::filesystem::exists(there) ? std::filesystem::canonical(path).string() : path;
        if (std::filesystem::exists(there)) require(std::ofstream(target_, std::ios::app));
        const bool left_over = std::filesystem::exists(part(), unknown);
        require(std::ofstream(part(), std::ios::app));
        if (!left_over) std::filesystem::remove(part(), unknown);
    }

    /// Saves all that there is so far, `write(stream)`, in FILE.part.
    template <class Write>
    void save(Write write) const {
        if (target_.empty()) return;
        std::ofstream file(part());
        write(file);
        file.flush();
        require(file);
    }

    /// Writes the whole file.
    template <class Write>
    void finish(Write write) {
        if (direct_.is_open()) {
            write(direct_);
            direct_.flush();
            require(direct_);
        }
        if (target_.empty()) return;
        save(write);
        std::error_code error;
        const std::filesystem::perms old = std::filesystem::status(target_, error).permissions();
        if (!error && old != std::filesystem::perms::unknown)
            std::filesystem::permissions(part(), old, error);
        std::filesystem::rename(part(), target_, error);
        if (error) refuse();
    }

private:
    [[nodiscard]] std::string part() const { return target_ + ".part"; }
    void require(const std::ofstream& file) const {
        if (!file) refuse();
    }
    [[noreturn]] void refuse() const { throw std::runtime_error(path_ + ": cannot be written"); }

    std::string path_;        // as it is named
    std::string target_{};    // the file that is replaced; empty: none
    std::ofstream direct_{};  // open: what is no regular file
};

}  // namespace cli

#endif
