# cmake -DSOURCE=<the repository> -DVERSION=<that of version.hpp> -P versions.cmake
#
# The version is stated in version.hpp. Files that cannot read it from there must agree with it.
cmake_minimum_required(VERSION 3.23)

file(READ "${SOURCE}/packaging/vcpkg/ports/goodput/vcpkg.json" manifest)
string(JSON version GET "${manifest}" version)
if(NOT version STREQUAL VERSION)
  message(SEND_ERROR "vcpkg.json says version ${version}, version.hpp ${VERSION}")
endif()

file(STRINGS "${SOURCE}/CITATION.cff" lines REGEX "^version: ")
if(NOT lines STREQUAL "version: ${VERSION}")
  message(SEND_ERROR "CITATION.cff says ${lines}, version.hpp ${VERSION}")
endif()

file(STRINGS "${SOURCE}/conanfile.py" lines REGEX "^ +version *=")
if(lines)
  message(SEND_ERROR "conanfile.py has a version of its own:${lines}")
endif()
