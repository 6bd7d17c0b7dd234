# cmake -DSOURCE=<project> -DBUILD=<folder to write to> -P consume.cmake -- <arguments for configuring>
#
# Configures a project that uses the library, from nothing, builds it and runs its program or its tests, if it has any.
cmake_minimum_required(VERSION 3.23)

set(arguments "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
  if(DEFINED after)
    list(APPEND arguments "${CMAKE_ARGV${index}}")
  elseif(CMAKE_ARGV${index} STREQUAL "--")
    set(after ${index})
  endif()
endforeach()

file(REMOVE_RECURSE "${BUILD}")
function(step)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " step)
    message(FATAL_ERROR "this failed: ${step}")
  endif()
endfunction()

step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}" ${arguments})
step("${CMAKE_COMMAND}" --build "${BUILD}")
if(arguments MATCHES "-DCONSUMER_SOURCE=")
  step("${BUILD}/consumer")
elseif(EXISTS "${BUILD}/CTestTestfile.cmake")
  step("${CMAKE_CTEST_COMMAND}" --test-dir "${BUILD}" --output-on-failure --no-tests=error)
endif()
