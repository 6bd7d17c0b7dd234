# Makes a C++ source of files: cmake -D "files=NAME=PATH|NAME=PATH" -D output=FILE -P embed.cmake
string(REPLACE "|" ";" files "${files}")
set(arrays "")
set(cases "")
set(number 0)
foreach(file IN LISTS files)
  string(REGEX MATCH "^([^=]+)=(.+)$" matched "${file}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "const unsigned char file${number}[]{${bytes}};\n")
  string(APPEND cases "    if (name == \"${name}\") return {reinterpret_cast<const char*>(file${number}), sizeof file${number}};\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${output}" "#include <stdexcept>
#include <string>

#include \"report/page.hpp\"

namespace {
${arrays}}  // namespace

std::string_view cli::page_file(std::string_view name) {
${cases}    throw std::out_of_range(\"the program has no page file \" + std::string(name));
}
")
