# cmake -DSOURCE=<the repository> -DBUILD=<folder to write to> -DCONAN=<program> -P conan.cmake
#
# Creates the Conan package from scratch with its own Conan home and without the network, so without the three
# libraries: this leaves goodput::core. The package must refuse C++17 with a reason, and with_compiled without the
# libraries.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE "${BUILD}")
file(COPY "${SOURCE}/conanfile.py" "${SOURCE}/LICENSE" "${SOURCE}/include" "${SOURCE}/test_package"
  "${SOURCE}/CMakeLists.txt" "${SOURCE}/cmake" "${SOURCE}/compiled"
  DESTINATION "${BUILD}/goodput" PATTERN "build" EXCLUDE)
set(ENV{CONAN_HOME} "${BUILD}/home")

execute_process(COMMAND "${CONAN}" profile detect COMMAND_ERROR_IS_FATAL ANY)
set(create "${CONAN}" create "${BUILD}/goodput" --no-remote -o "goodput/*:core_only=True")
execute_process(COMMAND ${create} -s compiler.cppstd=20 COMMAND_ERROR_IS_FATAL ANY)

function(refused words)
  execute_process(COMMAND ${create} ${ARGN} RESULT_VARIABLE result ERROR_VARIABLE said)
  if(result EQUAL 0 OR NOT said MATCHES "${words}")
    message(FATAL_ERROR "${ARGN} should have been refused: ${result}\n${said}")
  endif()
endfunction()
refused("goodput is C\\+\\+20, try -s compiler.cppstd=20" -s compiler.cppstd=17)
refused("with_compiled needs all of goodput" -s compiler.cppstd=20 -o "goodput/*:with_compiled=True")
