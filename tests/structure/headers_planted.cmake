# cmake -DSCRATCH=<folder to write to> -P headers_planted.cmake
#
# headers.cmake must accept a clean tree, and refuse each fault that is planted in it.
cmake_minimum_required(VERSION 3.23)

function(write_header path)
  string(TOUPPER "${path}" guard)
  string(REGEX REPLACE "[/.]" "_" guard "${guard}")
  string(JOIN "\n" text "#ifndef ${guard}" "#define ${guard}" ${ARGN} "#endif" "")
  file(WRITE "${SCRATCH}/${path}" "${text}")
endfunction()

function(write_clean_tree)
  file(REMOVE_RECURSE "${SCRATCH}")
  write_header(goodput/version.hpp "namespace goodput::inline v2_1 {" "constexpr std::string_view version = \"2.1.0\"\\;")
  write_header(goodput/core/shape.hpp "#include <vector>" "namespace goodput::inline v2_1::detail {"
    "}  // namespace goodput::inline v2_1::detail")
  write_header(goodput/model/pollux.hpp "#include \"goodput/core/shape.hpp\"")
  write_header(goodput/fit/fit.hpp "#include <Eigen/Cholesky>" "#include <ceres/tiny_solver.h>" "#include <ceres/jet.h>"
    "#include \"goodput/model/pollux.hpp\"")
  write_header(goodput/fit/ceres_backend.hpp "#include <ceres/ceres.h>" "#include \"goodput/fit/fit.hpp\"")
  write_header(goodput/allot/allot.hpp "#include \"goodput/allot/detail/bound.hpp\"")
  write_header(goodput/allot/detail/bound.hpp "#include \"goodput/core/shape.hpp\"")
  write_header(goodput/place/request.hpp "#include \"goodput/core/shape.hpp\"")
  write_header(goodput/place/place.hpp "#include \"goodput/place/request.hpp\"")
  write_header(goodput/place/home_flow.hpp "#include <boost/graph/adjacency_list.hpp>" "#include \"goodput/place/place.hpp\"")
  write_header(goodput/share/share.hpp "#include <Eigen/Core>" "#include <boost/graph/graph_traits.hpp>"
    "#include \"goodput/allot/allot.hpp\"")
  write_header(goodput/policy/sia.hpp "#include \"goodput/model/pollux.hpp\"")
  write_header(goodput/schedule/schedule.hpp "#include \"goodput/fit/fit.hpp\"" "#include \"goodput/allot/allot.hpp\""
    "#include \"goodput/place/place.hpp\"" "#include \"goodput/policy/sia.hpp\"")
  write_header(goodput/hosts/hosts.hpp "#include \"goodput/schedule/schedule.hpp\"")
  write_header(goodput/sim/replay.hpp "#include \"goodput/hosts/hosts.hpp\"" "#include \"goodput/share/share.hpp\"")
  write_header(goodput/goodput.hpp "#include \"goodput/schedule/schedule.hpp\"")
  write_header(goodput/hosts.hpp "#include \"goodput/hosts/hosts.hpp\"")
  foreach(path IN ITEMS tests/support/random.hpp program/peers/sia/fit.hpp)
    string(TOUPPER "GOODPUT_${path}" guard)
    string(REGEX REPLACE "[/.]" "_" guard "${guard}")
    file(WRITE "${SCRATCH}/${path}" "#ifndef ${guard}\n#define ${guard}\n#endif\n")
  endforeach()
  file(WRITE "${SCRATCH}/compiled/c/include/goodput/goodput.h" "#ifndef GOODPUT_GOODPUT_H\n#define GOODPUT_GOODPUT_H\n#endif\n")
endfunction()

set(core goodput/core/shape.hpp,goodput/model/pollux.hpp,goodput/allot/allot.hpp,goodput/allot/detail/bound.hpp)
string(APPEND core ",goodput/place/request.hpp,goodput/policy/sia.hpp")

function(expect outcome pattern)
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DINCLUDE_DIR=${SCRATCH}" "-DROOT=${SCRATCH}" "-DCORE=${core}"
    -P "${CMAKE_CURRENT_LIST_DIR}/headers.cmake"
    RESULT_VARIABLE result ERROR_VARIABLE error)
  if(outcome STREQUAL "accepted" AND NOT result EQUAL 0)
    message(SEND_ERROR "a clean tree was refused:\n${error}")
  elseif(outcome STREQUAL "refused" AND (result EQUAL 0 OR NOT error MATCHES "${pattern}"))
    message(SEND_ERROR "expected a complaint '${pattern}', but got:\n${error}")
  endif()
endfunction()

write_clean_tree()
expect(accepted "")

# Each line has the header that gets the fault, and the include that it may not have.
foreach(fault IN ITEMS
    "core/shape.hpp|\"goodput/model/pollux.hpp\""
    "core/shape.hpp|<Eigen/Core>"
    "model/pollux.hpp|\"goodput/allot/allot.hpp\""
    "model/pollux.hpp|<ceres/jet.h>"
    "model/pollux.hpp|<Eigen/Cholesky>"
    "fit/fit.hpp|\"goodput/policy/sia.hpp\""
    "fit/fit.hpp|<Eigen/Dense>"
    "fit/fit.hpp|<ceres/ceres.h>"
    "fit/fit.hpp|<ceres/tiny_solver_cost_function_adapter.h>"
    "fit/fit.hpp|<boost/graph/adjacency_list.hpp>"
    "fit/ceres_backend.hpp|<boost/graph/adjacency_list.hpp>"
    "allot/allot.hpp|\"goodput/model/pollux.hpp\""
    "allot/allot.hpp|<Eigen/Core>"
    "allot/detail/bound.hpp|<boost/config.hpp>"
    "allot/detail/bound.hpp|\"goodput/place/place.hpp\""
    "place/place.hpp|\"goodput/model/goodput.hpp\""
    "place/place.hpp|<Eigen/Core>"
    "place/place.hpp|<ceres/jet.h>"
    "place/place.hpp|<boost/graph/adjacency_list.hpp>"
    "place/home_flow.hpp|<Eigen/Core>"
    "policy/sia.hpp|\"goodput/share/share.hpp\""
    "schedule/schedule.hpp|\"goodput/hosts/hosts.hpp\""
    "hosts/hosts.hpp|\"goodput/share/share.hpp\""
    "hosts/hosts.hpp|\"goodput/sim/replay.hpp\""
    "share/share.hpp|<ceres/tiny_solver.h>"
    "policy/sia.hpp|\"goodput/schedule/schedule.hpp\""
    "policy/sia.hpp|\"pollux.hpp\""
    "policy/sia.hpp|<boost/graph/adjacency_list.hpp>"
    "schedule/schedule.hpp|\"goodput/sim/replay.hpp\""
    "schedule/schedule.hpp|<boost/graph/adjacency_list.hpp>"
    "sim/replay.hpp|<Eigen/Core>"
    "sim/replay.hpp|<nlohmann/json.hpp>"
    "sim/replay.hpp|\"goodput/goodput.hpp\"")
  string(REGEX MATCH "^([^|]+)\\|(.(.+).)$" fault "${fault}")
  set(header ${CMAKE_MATCH_1})
  set(bracketed "${CMAKE_MATCH_2}")
  set(included "${CMAKE_MATCH_3}")
  write_clean_tree()
  file(APPEND "${SCRATCH}/goodput/${header}" "#  include ${bracketed}\n")
  expect(refused "goodput/${header}: [a-z]+/ may not include ${included}")
endforeach()

foreach(line IN ITEMS "namespace goodput {" "namespace goodput::detail {" "namespace goodput::inline v2 {"
    "}  // namespace goodput::inline v2_0::detail")
  write_clean_tree()
  file(APPEND "${SCRATCH}/goodput/core/shape.hpp" "${line}\n")
  expect(refused "goodput/core/shape.hpp: must be in goodput::inline v2_1: ${line}")
endforeach()

# Includes that the folder may have, but that bring goodput::core a header outside of it.
foreach(fault IN ITEMS "place/request.hpp|goodput/place/place.hpp")
  string(REPLACE "|" ";" fault "${fault}")
  list(GET fault 0 header)
  list(GET fault 1 included)
  write_clean_tree()
  file(APPEND "${SCRATCH}/goodput/${header}" "#include \"${included}\"\n")
  expect(refused "goodput/${header}: goodput::core may not include ${included}")
endforeach()
write_clean_tree()
file(APPEND "${SCRATCH}/goodput/place/request.hpp" "#include <boost/config.hpp>\n")
expect(refused "goodput/place/request.hpp: goodput::core may not include boost/config.hpp")

# A system may not look into another room's detail.
write_clean_tree()
file(APPEND "${SCRATCH}/goodput/hosts/hosts.hpp" "#include \"goodput/allot/detail/bound.hpp\"\n")
expect(refused "goodput/hosts/hosts.hpp: hosts/ may not look into goodput/allot/detail/bound.hpp")
# Exceptions are core's detail, and what is listed, for the listed system alone.
write_clean_tree()
write_header(goodput/core/detail/clock.hpp)
file(APPEND "${SCRATCH}/goodput/place/place.hpp" "#include \"goodput/core/detail/clock.hpp\"\n")
file(APPEND "${SCRATCH}/goodput/hosts/hosts.hpp" "#include \"goodput/core/detail/clock.hpp\"\n")
expect(accepted "")
write_clean_tree()
write_header(goodput/place/detail/holders.hpp)
file(APPEND "${SCRATCH}/goodput/place/place.hpp" "#include \"goodput/place/detail/holders.hpp\"\n")
write_header(goodput/moves/moves.hpp "#include \"goodput/place/detail/holders.hpp\"")
expect(accepted "")
file(APPEND "${SCRATCH}/goodput/hosts/hosts.hpp" "#include \"goodput/place/detail/holders.hpp\"\n")
expect(refused "goodput/hosts/hosts.hpp: hosts/ may not look into goodput/place/detail/holders.hpp")

write_clean_tree()
write_header(goodput/fit/forgotten.hpp)
expect(refused "goodput/fit/forgotten.hpp: goodput/goodput.hpp does not reach it")
write_clean_tree()
write_header(goodput/hosts/forgotten.hpp)
expect(refused "goodput/hosts/forgotten.hpp: goodput/hosts.hpp does not reach it")
write_clean_tree()
file(APPEND "${SCRATCH}/goodput/goodput.hpp" "#include \"goodput/sim/replay.hpp\"\n")
expect(refused "goodput/sim/replay.hpp: goodput/goodput.hpp reaches it")

write_clean_tree()
file(WRITE "${SCRATCH}/goodput/core/shape.hpp" "#ifndef SHAPE_HPP\n#define SHAPE_HPP\n#endif\n")
expect(refused "GOODPUT_CORE_SHAPE_HPP")

foreach(path IN ITEMS benchmarks/speed/time.hpp examples/slurm/plugin/rounds.h program/plan/round.hpp
    tests/share/share_oracle.hpp)
  write_clean_tree()
  file(WRITE "${SCRATCH}/${path}" "#ifndef GOODPUT_ELSEWHERE_HPP\n#define GOODPUT_ELSEWHERE_HPP\n#endif\n")
  string(TOUPPER "GOODPUT_${path}" guard)
  string(REGEX REPLACE "[/.]" "_" guard "${guard}")
  expect(refused "${path}: the include guard must be ${guard}")
endforeach()

write_clean_tree()
write_header(goodput/utility/text.hpp)
expect(refused "utility/ is no folder")
