# cmake -DPYTHON=<python3> -DSCRATCH=<folder to write to> -P includes_planted.cmake
#
# includes.py must accept a clean tree, and refuse it without any one of its includes.
cmake_minimum_required(VERSION 3.23)

set(shape "#include <compare>\n#include <vector>\nnamespace goodput {\nstruct Shape {\n    std::vector<int> gpus;
    friend auto operator<=>(const Shape&, const Shape&) = default;\n};\ninline int size_of(const Shape&) { return 1; }\n}\n")
set(flow "#include <boost/graph/push_relabel_max_flow.hpp>\n#include \"goodput/core/shape.hpp\"
namespace goodput::detail {\ninline int flow(int x) { return boost::push_relabel_max_flow(x) + size_of({}); }\n}\n")
set(place "#include \"goodput/core/shape.hpp\"\n#include \"goodput/place/flow.hpp\"\nnamespace goodput {
inline int place(const Shape& shape) { return detail::flow(size_of(shape)); }\n}\n")

function(expect outcome header without pattern)
  foreach(name IN ITEMS core/shape place/flow place/place)
    cmake_path(GET name FILENAME variable)
    set(text "${${variable}}")
    if(name STREQUAL header)
      string(REPLACE "${without}" "" text "${text}")
    endif()
    file(WRITE "${SCRATCH}/goodput/${name}.hpp" "${text}")
  endforeach()
  execute_process(COMMAND "${PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/includes.py" "${SCRATCH}"
    RESULT_VARIABLE result ERROR_VARIABLE error OUTPUT_QUIET)
  if(outcome STREQUAL "accepted" AND NOT result EQUAL 0)
    message(SEND_ERROR "a clean tree was refused:\n${error}")
  elseif(outcome STREQUAL "refused" AND (result EQUAL 0 OR NOT error MATCHES "goodput/${header}.hpp: [^\n]*${pattern}"))
    message(SEND_ERROR "expected a complaint of ${header}: '${pattern}', but got:\n${error}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
file(WRITE "${SCRATCH}/goodput/place/other.hpp" "#include <boost/graph/push_relabel_max_flow.hpp>\n")
expect(accepted core/shape "no such line" "")
expect(refused core/shape "#include <vector>" "std::vector without including <vector>")
expect(refused core/shape "#include <compare>" "without including <compare>")
expect(refused place/flow "#include <boost/graph/push_relabel_max_flow.hpp>" "boost::push_relabel_max_flow without including")
expect(refused place/flow "#include \"goodput/core/shape.hpp\"" "size_of without including goodput/core/shape.hpp")
expect(refused place/place "#include \"goodput/place/flow.hpp\"" "flow without including goodput/place/flow.hpp")
