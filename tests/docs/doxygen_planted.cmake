# cmake -DDOXYGEN=<program> -DROOT=<repository> -DSCRATCH=<folder to write to> -P doxygen_planted.cmake
#
# doxygen.cmake must accept a documented header, and refuse each undocumented symbol that is planted in it.
cmake_minimum_required(VERSION 3.23)

function(expect pattern planted)
  file(REMOVE_RECURSE "${SCRATCH}")
  file(WRITE "${SCRATCH}/README.md" "# Title\n\nSee [the pages](docs/README.md).\n")
  foreach(name IN ITEMS CHANGELOG CONTRIBUTING SECURITY benchmarks/experiments)
    file(WRITE "${SCRATCH}/${name}.md" "# Changes of ${name}\n")
  endforeach()
  file(WRITE "${SCRATCH}/docs/README.md" "# Pages\n\nNone.\n")
  foreach(name IN ITEMS Doxyfile chapter.awk)
    file(COPY "${ROOT}/docs/${name}" DESTINATION "${SCRATCH}/docs")
  endforeach()
  string(CONCAT header "#ifndef GOODPUT_CORE_SHAPE_HPP\n#define GOODPUT_CORE_SHAPE_HPP\n\n"
    "// How many GPUs, <n> of them.\n//\n//     a * b, 50 % @ \\ all\n\n#include <vector>\n\n"
    "/// Everything.\nnamespace goodput {\n\n/// A shape.\nstruct Shape {\n    int nodes = 0;  ///< nodes\n@MEMBER@};\n\n"
    "namespace detail {\n\nstruct Secret {};\nint secret();\n\n}  // namespace detail\n\n@SYMBOL@}\n\n#endif\n")
  if(planted MATCHES "^    ")
    string(REPLACE "@MEMBER@" "${planted}\n" header "${header}")
  endif()
  string(REPLACE "@MEMBER@" "" header "${header}")
  string(REPLACE "@SYMBOL@" "${planted}\n" header "${header}")
  file(WRITE "${SCRATCH}/include/goodput/core/shape.hpp" "${header}")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DDOXYGEN=${DOXYGEN}" "-DROOT=${SCRATCH}" "-DOUTPUT=${SCRATCH}/out" -DVERSION=1
    -P "${CMAKE_CURRENT_LIST_DIR}/doxygen.cmake" RESULT_VARIABLE result ERROR_VARIABLE error)
  if(pattern STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "a documented header was refused:\n${error}")
  elseif(NOT pattern STREQUAL "" AND (result EQUAL 0 OR NOT error MATCHES "${pattern}"))
    message(SEND_ERROR "expected a complaint '${pattern}', but got:\n${error}")
  endif()
endfunction()

expect("" "")
expect("" "/// A number.\nint number();")
expect("Member[ \n]+number" "int number();")
expect("Compound[ \n]+goodput::Job" "struct Job { int gpus = 0; };")
expect("Member[ \n]+Kind" "enum class Kind { one };")
expect("Member[ \n]+Numbers" "using Numbers = int;")
expect("Member[ \n]+most" "inline constexpr int most = 1;")
expect("Member[ \n]+gpus" "    int gpus = 0;")
expect("Member[ \n]+empty" "    bool empty() const;")
