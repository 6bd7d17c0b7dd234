# cmake -DSOURCE=<the repository> -DBUILD=<folder to write to> -DPREFIX=<where goodput is installed> -DWITH_COMPILED=<0 or 1>
#   -DGENERATOR=<of CMake> -DCXX=<compiler> [-DLAUNCHER=<ccache>] -P test_package.cmake
#
# What `conan create` runs, with the CMake package: it has the same targets.
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
