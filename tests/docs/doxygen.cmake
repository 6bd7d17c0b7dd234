# cmake -DDOXYGEN=<program> -DROOT=<repository> -DOUTPUT=<folder to write to> [-DVERSION=<text>] -P doxygen.cmake
#
# Fails on every warning of Doxygen, such as an undocumented public symbol or a broken reference.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE "${OUTPUT}")
file(MAKE_DIRECTORY "${OUTPUT}")
file(WRITE "${OUTPUT}/Doxyfile" "@INCLUDE = docs/Doxyfile\nOUTPUT_DIRECTORY = \"${OUTPUT}\"\n"
  "PROJECT_NUMBER = ${VERSION}\nWARN_LOGFILE = \"${OUTPUT}/warnings.txt\"\n")
execute_process(COMMAND "${DOXYGEN}" "${OUTPUT}/Doxyfile" WORKING_DIRECTORY "${ROOT}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "doxygen ended with ${result}:\n${output}")
endif()
file(READ "${OUTPUT}/warnings.txt" warnings)
string(REPLACE "${ROOT}/" "" warnings "${warnings}")
if(warnings)
  message(FATAL_ERROR "doxygen warns:\n${warnings}")
endif()
if(NOT EXISTS "${OUTPUT}/html/index.html")
  message(FATAL_ERROR "doxygen wrote no ${OUTPUT}/html/index.html")
endif()
