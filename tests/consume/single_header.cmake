# cmake -DPYTHON=<program> -DCXX=<compiler> -DSOURCE=<repository> -DBUILD=<folder to write to>
#   -DLIBRARY_FOLDERS=<folder,folder ...> -P single_header.cmake
#
# Tests the header that packaging/single_header.py makes: it compiles without any other file of ours, and works,
# even if two sources include it. Headers that need libraries need them here as well.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE "${BUILD}")
file(MAKE_DIRECTORY "${BUILD}")
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${BUILD}" RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
endfunction()
run("${PYTHON}" "${SOURCE}/packaging/single_header.py" --output "${BUILD}/goodput_allot.hpp")
file(COPY "${SOURCE}/tests/consume/uses_single_header.cpp" DESTINATION "${BUILD}")
file(WRITE "${BUILD}/another.cpp" "#include \"goodput_allot.hpp\"\n#include \"goodput_allot.hpp\"\n")
run("${CXX}" -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Werror uses_single_header.cpp another.cpp -o single)
run("${BUILD}/single")

run("${PYTHON}" "${SOURCE}/packaging/single_header.py" --output "${BUILD}/goodput_more.hpp"
  --header goodput/agent/training_agent.hpp --header goodput/place/least_moves.hpp --header goodput/share/share_time.hpp)
file(WRITE "${BUILD}/more.cpp" "#include \"goodput_more.hpp\"\n")
string(REPLACE "," ";" folders "${LIBRARY_FOLDERS}")
list(TRANSFORM folders PREPEND "-isystem")
run("${CXX}" -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Werror ${folders} -fsyntax-only more.cpp)
