# cmake -DSOURCE=<the repository> -DBUILD=<folder to write to> -DGENERATOR=<of CMake> -DCXX=<compiler> -P missing.cmake
#
# Eigen, Ceres' headers and Boost's are missing. As part of another project goodput has goodput::core and says what
# the rest needs. On its own it refuses and says why, unless only goodput::core is requested. Libraries that are too
# old count as missing.
cmake_minimum_required(VERSION 3.23)

set(all_three "Eigen3 >= 3.4 and the headers of Ceres Solver >= 2.1 and the headers of Boost >= 1.74")
set(disabled -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON -DCMAKE_DISABLE_FIND_PACKAGE_CeresHeaders=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
set(libraries_only -DGOODPUT_BUILD_TESTS=OFF -DGOODPUT_BUILD_EXAMPLES=OFF -DGOODPUT_BUILD_BENCHMARKS=OFF)

# configure(<project> <right or wrong> <words that are printed> <arguments ...>)
function(configure project expected words)
  file(REMOVE_RECURSE "${BUILD}/build")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${project}" -B "${BUILD}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}") # CMake wraps the lines of errors
  string(FIND "${output}" "${words}" found)
  if((result EQUAL 0 AND expected STREQUAL "wrong") OR (NOT result EQUAL 0 AND expected STREQUAL "right") OR found EQUAL -1)
    message(SEND_ERROR "${ARGN}\nshould have gone ${expected} and said\n  ${words}\nbut ended with ${result} and said\n  ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${BUILD}")
file(WRITE "${BUILD}/part/CMakeLists.txt" "cmake_minimum_required(VERSION 3.23)
project(part LANGUAGES CXX)
add_subdirectory(\"${SOURCE}\" goodput)
file(WRITE \"${BUILD}/part/main.cpp\" \"int main() {}\")
add_executable(main main.cpp)
target_link_libraries(main PRIVATE goodput::core)
foreach(component IN ITEMS goodput fit place ceres)
  if(TARGET goodput::\${component})
    message(FATAL_ERROR \"there is a target goodput::\${component}\")
  endif()
endforeach()
")
configure("${BUILD}/part" right "there is no target goodput::goodput, which needs ${all_three}: not found. goodput::core is there."
  ${disabled})
configure("${BUILD}/part" right "Configuring done" -DGOODPUT_CORE_ONLY=ON)
configure("${BUILD}/part" wrong "goodput::goodput needs the headers of Boost >= 1.74: not found." -DGOODPUT_BUILD_COMPILED=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
configure("${SOURCE}" wrong "goodput::goodput needs ${all_three}: not found." ${disabled} ${libraries_only})
configure("${SOURCE}" right "Configuring done" ${disabled} ${libraries_only} -DGOODPUT_CORE_ONLY=ON)
configure("${SOURCE}" wrong "GOODPUT_BUILD_TESTS needs all of goodput: switch it off where GOODPUT_CORE_ONLY is on."
  -DGOODPUT_CORE_ONLY=ON -DGOODPUT_BUILD_TESTS=ON -DGOODPUT_BUILD_EXAMPLES=OFF -DGOODPUT_BUILD_COMPILED=OFF)
# The program and the tests need one more library.
configure("${SOURCE}" wrong "need L-BFGS-B (Debian's liblbfgsb-dev): not found." -DLBFGSB_LIBRARY=OFF ${libraries_only}
  -DGOODPUT_BUILD_EXAMPLES=ON)

# One outdated version each, for the checks that we wrote ourselves.
file(WRITE "${BUILD}/old/ceres/tiny_solver.h" "")
file(WRITE "${BUILD}/old/ceres/version.h" "#define CERES_VERSION_MAJOR 2\n#define CERES_VERSION_MINOR 0\n#define CERES_VERSION_REVISION 0\n")
file(WRITE "${BUILD}/old/Eigen3Config.cmake" "set(Eigen3_VERSION 3.3.9)\nadd_library(Eigen3::Eigen INTERFACE IMPORTED)\n")
file(WRITE "${BUILD}/old/Eigen3ConfigVersion.cmake" "set(PACKAGE_VERSION 3.3.9)\n")
configure("${SOURCE}" wrong "goodput::goodput needs Eigen3 >= 3.4: not found." ${libraries_only} "-DEigen3_DIR=${BUILD}/old")
configure("${SOURCE}" wrong "goodput::goodput needs the headers of Ceres Solver >= 2.1: not found." ${libraries_only}
  "-DCeresHeaders_INCLUDE_DIR=${BUILD}/old")
