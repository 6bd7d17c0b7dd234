#ifndef GOODPUT_TESTS_SUPPORT_FOLDER_HPP
#define GOODPUT_TESTS_SUPPORT_FOLDER_HPP

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace support {

/// A temporary folder for one process, deleted at the end.
class Folder {
public:
    Folder()
        : path_(std::filesystem::temp_directory_path() / ("goodput-test-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }

    /// Writes a file and returns its path.
    std::string write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << text;
        return (path_ / name).string();
    }
    std::string path(const std::string& name = "") const { return (path_ / name).string(); }
    std::string read(const std::string& name) const {
        std::ifstream file(path_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::filesystem::path path_;
};

}  // namespace support

#endif
