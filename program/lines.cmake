# goodput_lines: the sources that answer lines of JSON, for the program and for goodput::c. goodput_json: the reader of JSON
# beneath them, which other readers use, too. Both are objects, so that they can become a part of any library.
find_package(nlohmann_json CONFIG QUIET)
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "goodput::compiled, goodput::c and the program goodput need nlohmann_json: not found. "
    "CMAKE_PREFIX_PATH says where to look; GOODPUT_BUILD_COMPILED and GOODPUT_BUILD_EXAMPLES=OFF do without.")
endif()
include_guard(GLOBAL)

function(goodput_line_objects target)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/program/")
  list(TRANSFORM ARGN APPEND ".cpp")
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/program")
  target_link_libraries(${target} PUBLIC goodput_all nlohmann_json::nlohmann_json)
  if(TARGET goodput_body_objects)
    target_compile_definitions(${target} PRIVATE GOODPUT_COMPILED)
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>
      $<BUILD_INTERFACE:$<TARGET_PROPERTY:goodput_strict,INTERFACE_COMPILE_OPTIONS>>)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

goodput_line_objects(goodput_json_objects json/agent_lines json/json_fields json/json_parse)
goodput_line_objects(goodput_lines json/json_lines plan/allot plan/fit plan/line_planner plan/pair_estimates plan/plan
  plan/proof_files plan/round
  plan/share)
if(PROJECT_IS_TOP_LEVEL) # the search for shares consists of templates, which no body has
  set_source_files_properties("${PROJECT_SOURCE_DIR}/program/plan/share.cpp" PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
endif()
