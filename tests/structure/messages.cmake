# cmake -DCOMPILER=<g++ or clang++> -DINCLUDE_DIRS=<folder,folder ...> -DPROGRAMS=<folder of .cpp files> -P messages.cmake
#
# Each program uses the library as somebody does who forgot a function, misspelled it, forgot its const or gave it
# another type. In front of each such place stand lines `// says: `: the compiler must report one error for each group of
# them and no other, whose first line holds all that the group says, and which has few lines, those that say where it was
# required included. What else is in a program is right, and must compile.
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
      if(length_${errors} EQUAL 0)
        set(first_line_${errors} "${line}")
      endif()
      string(APPEND error_${errors} "${line}")
      math(EXPR length_${errors} "${length_${errors}} + 1")
    endif()
  endwhile()

  if(NOT errors EQUAL groups OR (groups EQUAL 0 AND NOT result EQUAL 0))
    string(APPEND complaints "${name}: ${errors} errors, but ${groups} are wanted:\n${output}\n")
    continue()
  endif()
  # In whatever order: compilers look at classes at once, at functions in the end.
  foreach(i RANGE ${groups})
    if(i EQUAL 0)
      continue()
    endif()
    set(said FALSE)
    foreach(j RANGE 1 ${errors})
      set(says_all TRUE)
      foreach(text IN LISTS wanted_${i})
        string(FIND "${first_line_${j}}" "${text}" found)
        if(found EQUAL -1)
          set(says_all FALSE)
        endif()
      endforeach()
      if(says_all AND NOT taken_${j})
        set(taken_${j} TRUE)
        set(said TRUE)
        break()
      endif()
    endforeach()
    if(NOT said)
      string(APPEND complaints "${name}: no first line of an error says: ${wanted_${i}}\n${output}\n")
    endif()
    if(length_${i} GREATER most_lines)
      string(APPEND complaints "${name}: error ${i} is longer than ${most_lines} lines:\n${error_${i}}\n")
    endif()
  endforeach()
  foreach(j RANGE 0 ${errors})
    unset(taken_${j})
  endforeach()
endforeach()

if(complaints)
  message(NOTICE "${complaints}") # as it is: FATAL_ERROR would break the lines anew
  message(FATAL_ERROR "not what ${COMPILER} should say")
endif()
