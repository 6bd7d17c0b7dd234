# cmake -DSOURCE=<the repository> -DBUILD=<folder to write to> -DGENERATOR=<of CMake> -DCXX=<compiler>
#   [-DPKG_CONFIG=<program>] -P elsewhere.cmake
#
# Puts Eigen, Ceres and Boost where no compiler looks by default. goodput::goodput must say where they are: as part of
# another project, installed, and by pkg-config. They are stand-ins, so the real headers on this machine do not help.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE "${BUILD}")
set(there "${BUILD}/elsewhere")
foreach(header IN ITEMS Eigen/Core ceres/tiny_solver.h boost/graph/graph_traits.hpp)
  string(MAKE_C_IDENTIFIER "${header}" name)
  file(WRITE "${there}/${name}/include/${header}" "inline constexpr int stand_in_${name} = 1;\n")
endforeach()
file(WRITE "${there}/ceres_tiny_solver_h/include/ceres/version.h" "#define CERES_VERSION_MAJOR 2\n"
  "#define CERES_VERSION_MINOR 2\n#define CERES_VERSION_REVISION 0\n")
foreach(library IN ITEMS "Eigen3 Eigen3::Eigen Eigen_Core 5.0.1" "Boost Boost::headers boost_graph_graph_traits_hpp 1.91")
  string(REPLACE " " ";" library "${library}")
  list(POP_FRONT library name target folder version)
  file(WRITE "${there}/${folder}/lib/cmake/${name}/${name}Config.cmake" "if(NOT TARGET ${target})
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} INTERFACE \"${there}/${folder}/include\")
endif()\n")
  file(WRITE "${there}/${folder}/lib/cmake/${name}/${name}ConfigVersion.cmake"
    "set(PACKAGE_VERSION ${version})\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
endforeach()
file(WRITE "${there}/pkgconfig/eigen3.pc"
  "Name: eigen3\nDescription: stand-in\nVersion: 5.0.1\nCflags: -I${there}/Eigen_Core/include\n")
file(GLOB places "${there}/*")
list(JOIN places ":" places)

file(WRITE "${BUILD}/consumer/main.cpp" "#include <Eigen/Core>
#include <boost/graph/graph_traits.hpp>
#include <ceres/tiny_solver.h>
#include <goodput/version.hpp>
static_assert(stand_in_Eigen_Core + stand_in_ceres_tiny_solver_h + stand_in_boost_graph_graph_traits_hpp == 3);
int main() {}\n")
file(WRITE "${BUILD}/consumer/CMakeLists.txt" "cmake_minimum_required(VERSION 3.23)
project(consumer LANGUAGES CXX)
if(PART)
  add_subdirectory(\"${SOURCE}\" goodput)
else()
  find_package(goodput CONFIG REQUIRED)
endif()
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE goodput::goodput)\n")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
set(ENV{CMAKE_PREFIX_PATH} "${places}:${BUILD}/prefix")
set(configure "${CMAKE_COMMAND}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}" -DGOODPUT_WITH_CERES=OFF)

run(${configure} -S "${BUILD}/consumer" -B "${BUILD}/part" -DPART=ON)
run("${CMAKE_COMMAND}" --build "${BUILD}/part")

run(${configure} -S "${SOURCE}" -B "${BUILD}/goodput" -DGOODPUT_BUILD_TESTS=OFF -DGOODPUT_BUILD_EXAMPLES=OFF
  -DGOODPUT_BUILD_BENCHMARKS=OFF)
run("${CMAKE_COMMAND}" --install "${BUILD}/goodput" --prefix "${BUILD}/prefix")
run(${configure} -S "${BUILD}/consumer" -B "${BUILD}/installed")
run("${CMAKE_COMMAND}" --build "${BUILD}/installed")

if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_LIBDIR} "${there}/pkgconfig:${BUILD}/prefix/share/pkgconfig")
  run("${PKG_CONFIG}" --cflags goodput)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("${CXX}" -std=c++20 -fsyntax-only ${flags} "${BUILD}/consumer/main.cpp")
  run("${PKG_CONFIG}" --cflags goodput-core)
  string(FIND "${output}" "${there}" named)
  if(NOT named EQUAL -1)
    message(FATAL_ERROR "goodput-core names libraries that it does not need: ${output}")
  endif()
endif()
