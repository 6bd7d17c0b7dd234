# Defines the target Ceres::headers: the headers of Ceres Solver without its library.
#
# goodput fits with ceres/tiny_solver.h, which needs Eigen and nothing else. find_package(Ceres) would bring
# libceres with glog, SuiteSparse and LAPACK into every program, and require the development files of all of these.
# If Ceres has already been found, or is part of the same build, all of its include directories are used, because a
# build of Ceres writes one of its headers (ceres/internal/config.h) to a separate folder.
include(FindPackageHandleStandardArgs)
include("${CMAKE_CURRENT_LIST_DIR}/goodput_parts.cmake")

goodput_include_folders(Ceres::ceres CeresHeaders_of_target)
set(CeresHeaders_hints ${CeresHeaders_of_target})
if(Ceres_DIR)
  # .../lib/cmake/Ceres or .../lib/<architecture>/cmake/Ceres
  list(APPEND CeresHeaders_hints "${Ceres_DIR}/../../../include" "${Ceres_DIR}/../../../../include")
endif()
find_path(CeresHeaders_INCLUDE_DIR ceres/tiny_solver.h
  HINTS ${CeresHeaders_hints} ${Ceres_ROOT} $ENV{Ceres_ROOT} PATH_SUFFIXES include)
mark_as_advanced(CeresHeaders_INCLUDE_DIR)

if(EXISTS "${CeresHeaders_INCLUDE_DIR}/ceres/version.h")
  foreach(part MAJOR MINOR REVISION)
    file(STRINGS "${CeresHeaders_INCLUDE_DIR}/ceres/version.h" line
      REGEX "^#define CERES_VERSION_${part} [0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND CeresHeaders_VERSION "${number}")
  endforeach()
  list(JOIN CeresHeaders_VERSION "." CeresHeaders_VERSION)
endif()

find_package_handle_standard_args(CeresHeaders
  REQUIRED_VARS CeresHeaders_INCLUDE_DIR VERSION_VAR CeresHeaders_VERSION)

if(CeresHeaders_FOUND AND NOT TARGET Ceres::headers)
  # CMake omits directories that the compiler searches anyway (/usr/include) from the command line.
  set(CeresHeaders_directories "${CeresHeaders_INCLUDE_DIR}")
  if(CeresHeaders_INCLUDE_DIR IN_LIST CeresHeaders_of_target)
    set(CeresHeaders_directories "${CeresHeaders_of_target}")
  endif()
  add_library(Ceres::headers INTERFACE IMPORTED)
  set_target_properties(Ceres::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CeresHeaders_directories}")
  unset(CeresHeaders_directories)
endif()
unset(CeresHeaders_hints)
unset(CeresHeaders_of_target)
