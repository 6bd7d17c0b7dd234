# cmake -DSOURCE=<the repository> -DBUILD=<folder to write to> -DCONAN=<program> -P conan.cmake
#
# Creates the Conan package from nothing, with a Conan home of its own and without the network: so without Ceres. A compiler that is asked for C++17 is refused, and told why.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE "${BUILD}")
file(COPY "${SOURCE}/conanfile.py" "${SOURCE}/LICENSE" "${SOURCE}/include" "${SOURCE}/test_package"
  "${SOURCE}/CMakeLists.txt" "${SOURCE}/cmake" "${SOURCE}/compiled"
  DESTINATION "${BUILD}/goodput" PATTERN "build" EXCLUDE)
set(ENV{CONAN_HOME} "${BUILD}/home")

execute_process(COMMAND "${CONAN}" profile detect COMMAND_ERROR_IS_FATAL ANY)
set(create "${CONAN}" create "${BUILD}/goodput" --no-remote)
execute_process(COMMAND ${create} -s compiler.cppstd=20 COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${create} -s compiler.cppstd=20 -o "goodput/*:with_compiled=True" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${create} -s compiler.cppstd=17 RESULT_VARIABLE result ERROR_VARIABLE words)
if(result EQUAL 0 OR NOT words MATCHES "goodput is C\\+\\+20, try -s compiler.cppstd=20")
  message(FATAL_ERROR "C++17 should have been refused: ${result}\n${words}")
endif()
