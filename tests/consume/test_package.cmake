# cmake -DSOURCE=<the repository> -DBUILD=<folder to write to> -DPREFIX=<where goodput is installed> -DWITH_COMPILED=<0 or 1>
#   -DGENERATOR=<of CMake> -DCXX=<compiler> [-DLAUNCHER=<ccache>] [-DNM=<program>] -P test_package.cmake
#
# Runs what `conan create` runs, but with the CMake package, which has the same targets. A fit and a placement use
# Eigen, Ceres and Boost.Graph, and need neither the library of Ceres nor glog.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE "${BUILD}")
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run("${CMAKE_COMMAND}" -S "${SOURCE}/test_package" -B "${BUILD}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_PREFIX_PATH=${PREFIX}" -DCORE_ONLY=0 -DWITH_COMPILED=${WITH_COMPILED})
run("${CMAKE_COMMAND}" --build "${BUILD}")
run("${BUILD}/test_core")
run("${BUILD}/test_package")
if(WITH_COMPILED)
  run("${BUILD}/test_c")
endif()

if(NM)
  execute_process(COMMAND "${NM}" -C "${BUILD}/test_package" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  foreach(library IN ITEMS Eigen ceres boost)
    string(FIND "${symbols}" " ${library}::" found)
    if(found EQUAL -1)
      message(SEND_ERROR "a fit and a placement use nothing of ${library}::")
    endif()
  endforeach()
  if(symbols MATCHES " U (ceres|google)::[^\n]*")
    message(SEND_ERROR "a fit and a placement need more of Ceres than its headers: ${CMAKE_MATCH_0}")
  endif()
endif()
