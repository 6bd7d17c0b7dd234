# cmake -DCOMPILER=<g++ or clang++> -DINCLUDE_DIRS=<folder,folder ...> -DPROGRAMS=<folder of .cpp files> -P messages.cmake
#
# Each program uses the library as somebody does who forgot a function, misspelled it, forgot its const or gave it
# another type. In front of each such place stand lines `// says: `: the compiler must report one error for each group of
# them and no other, in their order, each in a few lines that hold all that the group says. What else is in a program is
# right, and must compile.
cmake_minimum_required(VERSION 3.23)

set(most_lines 30) # of one error

# Takes the first line off `text`. Not a list: lines of a message hold brackets and semicolons.
macro(take_line text line)
  string(FIND "${${text}}" "\n" end)
  if(end EQUAL -1)
    string(LENGTH "${${text}}" end)
  else()
    math(EXPR end "${end} + 1")
  endif()
  string(SUBSTRING "${${text}}" 0 ${end} ${line})
  string(SUBSTRING "${${text}}" ${end} -1 ${text})
endmacro()

file(GLOB programs "${PROGRAMS}/*.cpp")
if(NOT programs)
  message(FATAL_ERROR "no programs in ${PROGRAMS}")
endif()
string(REPLACE "," ";" include_flags "${INCLUDE_DIRS}")
list(REMOVE_ITEM include_flags "")
list(TRANSFORM include_flags PREPEND "-I")

set(complaints "")
foreach(program IN LISTS programs)
  cmake_path(GET program STEM name)

  # wanted_1 ... wanted_<groups>: lists of texts
  set(groups 0)
  set(within FALSE)
  file(STRINGS "${program}" lines)
  foreach(line IN LISTS lines)
    if(line MATCHES "^ *// says: (.+)$")
      set(text "${CMAKE_MATCH_1}")
      if(NOT within)
        math(EXPR groups "${groups} + 1")
        set(wanted_${groups} "")
      endif()
      list(APPEND wanted_${groups} "${text}")
      set(within TRUE)
    else()
      set(within FALSE)
    endif()
  endforeach()

  execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${include_flags} "${program}"
    RESULT_VARIABLE result ERROR_VARIABLE output OUTPUT_QUIET)

  # error_1 ... error_<errors>: from each error to the next one
  set(errors 0)
  set(rest "${output}")
  while(NOT rest STREQUAL "")
    take_line(rest line)
    if(line MATCHES "^[^ ].*: (fatal )?error: ")
      math(EXPR errors "${errors} + 1")
      set(error_${errors} "")
      set(length_${errors} 0)
    endif()
    if(errors GREATER 0)
      string(APPEND error_${errors} "${line}")
      math(EXPR length_${errors} "${length_${errors}} + 1")
    endif()
  endwhile()

  if(NOT errors EQUAL groups OR (groups EQUAL 0 AND NOT result EQUAL 0))
    string(APPEND complaints "${name}: ${errors} errors, but ${groups} are wanted:\n${output}\n")
    continue()
  endif()
  foreach(i RANGE ${groups})
    if(i EQUAL 0)
      continue()
    endif()
    foreach(text IN LISTS wanted_${i})
      string(FIND "${error_${i}}" "${text}" found)
      if(found EQUAL -1)
        string(APPEND complaints "${name}: error ${i} does not say: ${text}\n${error_${i}}\n")
      endif()
    endforeach()
    if(length_${i} GREATER most_lines)
      string(APPEND complaints "${name}: error ${i} is longer than ${most_lines} lines:\n${error_${i}}\n")
    endif()
  endforeach()
endforeach()

if(complaints)
  message(NOTICE "${complaints}") # as it is: FATAL_ERROR would break the lines anew
  message(FATAL_ERROR "not what ${COMPILER} should say")
endif()
