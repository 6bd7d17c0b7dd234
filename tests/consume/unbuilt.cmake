# cmake -DSOURCE=<the repository> -DBUILD=<folder to write to> -DGENERATOR=<of CMake> -DCXX=<compiler> -P unbuilt.cmake
#
# cmake --install must name what is not built and install nothing. Headers alone need no build.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE "${BUILD}")
function(install_of name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SAYS" "OPTIONS")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}/${name}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    -DCMAKE_BUILD_TYPE=Release -DGOODPUT_BUILD_TESTS=OFF -DGOODPUT_BUILD_BENCHMARKS=OFF ${arg_OPTIONS}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}/${name}" --prefix "${BUILD}/${name}_prefix"
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  file(GLOB_RECURSE installed "${BUILD}/${name}_prefix/*")
  set(installed "${installed}" PARENT_SCOPE)
  if(arg_SAYS AND (result EQUAL 0 OR installed OR NOT said MATCHES "${arg_SAYS}"))
    message(SEND_ERROR "${name}: must be refused with ${arg_SAYS}, but ended with ${result}: ${said}")
  elseif(NOT arg_SAYS AND NOT result EQUAL 0)
    message(SEND_ERROR "${name}: ${said}")
  endif()
endfunction()

install_of(program SAYS "goodput is not built. Build it: cmake --build .*/program --target goodput_program")
install_of(library OPTIONS -DGOODPUT_BUILD_EXAMPLES=OFF -DGOODPUT_BUILD_COMPILED=ON SAYS "goodput_compiled[.a-z]* is not built")
install_of(headers OPTIONS -DGOODPUT_BUILD_EXAMPLES=OFF)
list(FILTER installed EXCLUDE REGEX "[.](hpp|cmake|pc)$")
if(installed)
  message(SEND_ERROR "headers alone install ${installed}")
endif()
