# cmake -DSCRATCH=<folder to write to> -P readme_planted.cmake
#
# readme_example.cmake must accept an equal block and refuse a different, a longer, a shorter and a missing one.
cmake_minimum_required(VERSION 3.23)

set(example "#include <vector>\n\nint main() {\n    std::vector<int> v[2]; // a;b \\n\n}\n")
file(WRITE "${SCRATCH}/example.cpp" "${example}")

function(expect pattern readme)
  file(WRITE "${SCRATCH}/README.md" "${readme}")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DREADME=${SCRATCH}/README.md" "-DEXAMPLE=${SCRATCH}/example.cpp"
    -P "${CMAKE_CURRENT_LIST_DIR}/readme_example.cmake" RESULT_VARIABLE result ERROR_VARIABLE error)
  if(pattern STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "an equal block was refused:\n${error}")
  elseif(NOT pattern STREQUAL "" AND (result EQUAL 0 OR NOT error MATCHES "${pattern}"))
    message(SEND_ERROR "expected '${pattern}', but got:\n${error}")
  endif()
endfunction()

string(REPLACE "main" "Main" different "${example}")
expect("" "# Title\n\n```sh\nls\n```\n\n```cpp\n${example}```\n\n```cpp\nint other;\n```\n")
expect("line[ \n]+3" "```cpp\n${different}```\n")
expect("line[ \n]+6" "```cpp\n${example}\n```\n")
expect("line[ \n]+1" "```cpp\n```\n")
expect("no[ \n]+```cpp" "# Title\n")
