# cmake -DNM=<nm> -DLIBRARY=<shared library> -DHEADER=<goodput.h> -P exports.cmake
#
# Fails unless the library exports exactly the functions of the header.
cmake_minimum_required(VERSION 3.23)

execute_process(COMMAND "${NM}" -D --defined-only "${LIBRARY}" OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" shown "${lines}")
list(TRANSFORM shown STRIP)
list(SORT shown)

file(STRINGS "${HEADER}" lines REGEX "^GOODPUT_API ")
set(declared "")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "(goodput_[a-z_]+)\\(")
    message(FATAL_ERROR "no function in: ${line}")
  endif()
  list(APPEND declared "${CMAKE_MATCH_1}")
endforeach()
list(SORT declared)
if(NOT declared OR NOT shown STREQUAL declared)
  message(FATAL_ERROR "the library shows\n  ${shown}\nand the header declares\n  ${declared}")
endif()
