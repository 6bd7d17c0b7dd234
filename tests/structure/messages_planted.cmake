# cmake -DCOMPILER=<g++ or clang++> -DSCRATCH=<folder to write to> -P messages_planted.cmake
#
# messages.cmake must accept correct messages, and refuse each fault that is planted.
cmake_minimum_required(VERSION 3.23)

function(expect pattern program)
  file(REMOVE_RECURSE "${SCRATCH}")
  file(WRITE "${SCRATCH}/program.cpp" "${program}")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${COMPILER}" "-DPROGRAMS=${SCRATCH}"
    -P "${CMAKE_CURRENT_LIST_DIR}/messages.cmake" RESULT_VARIABLE result ERROR_VARIABLE error)
  if(pattern STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "good messages were refused:\n${error}")
  elseif(NOT pattern STREQUAL "" AND (result EQUAL 0 OR NOT error MATCHES "${pattern}"))
    message(SEND_ERROR "expected '${pattern}', but got:\n${error}")
  endif()
endfunction()

set(no "static_assert(sizeof(int) > 9, \"no [at all]\");\n")
set(never "static_assert(sizeof(int) > 9, \"never\");\n")
set(yes "static_assert(sizeof(int) > 0, \"yes\");\n")
expect("" "int main() {}\n")
expect("" "// says: no [at all]\n${no}${yes}// says: never\n${never}")
expect("" "// says: never\n${no}${yes}// says: no [at all]\n${never}")
expect("1 errors, but 0 are wanted" "int main() { return \"\"; }\n")
expect("1 errors, but 0 are wanted" "#include <no_such_header>\n")
expect("0 errors, but 1 are wanted" "// says: yes\n${yes}")
expect("2 errors, but 1 are wanted" "// says: no\n${no}${never}")
expect("no first line of an error says: no .at all" "// says: no [at all]\n${never}${yes}// says: no [at all]\n${no}")
expect("no first line of an error says: no;never" "// says: no\n// says: never\n${no}")
expect("no first line of an error says: int main" "// says: int main\nint main() { return \"\"; }\n")

set(many "")
foreach(i RANGE 20)
  string(APPEND many "void call(int (&)[${i} + 1]);\n")
endforeach()
expect("error 1 is longer than" "${many}// says: call\nvoid f() { call(nullptr); }\n")
