#ifndef GOODPUT_PROGRAM_REPORT_RESULT_FILE_HPP
#define GOODPUT_PROGRAM_REPORT_RESULT_FILE_HPP

// A file that is replaced only once its new text is complete.

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cli {

/// The file FILE that a command writes. Until it is complete, the text is in FILE.part, and FILE stays
/// unchanged. Anything but a regular file, such as a pipe, is written at the end. Throws std::runtime_error
/// if it cannot be written.
class ResultFile {
public:
    /// Checks that the file can be written, without changing it. Without a path there is no file, and
    /// nothing is written.
    explicit ResultFile(const std::string& path) : path_(path) {
        if (path.empty()) return;
        std::error_code unknown;
        const std::filesystem::file_status there = std::filesystem::status(path, unknown);
        if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
            direct_.open(path);
            require(direct_);
            return;
        }
        // A link stays, and the file behind it is replaced.
        target_ = std::filesystem::exists(there) ? std::filesystem::canonical(path).string() : path;
        if (std::filesystem::exists(there)) require(std::ofstream(target_, std::ios::app));
        const bool left_over = std::filesystem::exists(part(), unknown);
        require(std::ofstream(part(), std::ios::app));
        if (!left_over) std::filesystem::remove(part(), unknown);
    }

    /// Saves everything so far, `write(stream)`, in FILE.part.
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

    std::string path_;        // as given by the user
    std::string target_{};    // the file that is replaced; empty if none
    std::ofstream direct_{};  // open for anything but a regular file
};

}  // namespace cli

#endif
