# cmake -DINCLUDE_DIR=<folder that holds goodput/> [-DCORE=<header,header ...>] -P headers.cmake
#
# Fails with a line for each header that includes what its folder may not use, that has another include guard than
# its path says, or that goodput.hpp does not reach. fit/ceres_backend.hpp is the one that it leaves out, for the macros
# that come with it. CORE are the headers of goodput::core, which include neither a library nor a header outside of it.
cmake_minimum_required(VERSION 3.23)

# The toolkit: no room of it includes a system's.
set(core_may_use core)
set(model_may_use core model)
set(fit_may_use core model fit)
set(allot_may_use core allot)
set(place_may_use core place)
set(policy_may_use core model policy)
set(schedule_may_use core model fit allot place policy schedule)
set(toolkit ${schedule_may_use})
# The systems stand on the toolkit's public headers, and on another system's only where it is named here.
set(availability_may_use ${toolkit} availability)
set(hosts_may_use ${toolkit} hosts)
set(share_may_use ${toolkit} share)
set(tasks_may_use ${toolkit} tasks)
set(parallel_may_use ${toolkit} parallel availability)
set(agent_may_use ${toolkit} agent)
set(sim_may_use ${toolkit} availability hosts share tasks parallel agent sim)
# What still breaks these rules: taken off as the joints are made.
set(still_used
  schedule/cluster_limits.hpp=goodput/hosts/detail/hosts_left.hpp
  schedule/detail/offers.hpp=goodput/availability/detail/lost_time.hpp
  schedule/plan_placement.hpp=goodput/parallel/parallel_plan.hpp
  schedule/scheduler.hpp=goodput/hosts/detail/hosting.hpp
  availability/renting.hpp=goodput/schedule/detail/offers.hpp
  availability/renting.hpp=goodput/schedule/detail/open_nodes.hpp
  availability/renting.hpp=goodput/schedule/detail/snapshot_check.hpp
  hosts/detail/host_nodes.hpp=goodput/allot/detail/units.hpp
  hosts/detail/hosting.hpp=goodput/allot/detail/units.hpp
  hosts/detail/hosting.hpp=goodput/schedule/detail/offers.hpp
  hosts/detail/hosting.hpp=goodput/schedule/detail/open_nodes.hpp
  hosts/detail/hosting.hpp=goodput/schedule/detail/placing.hpp
  hosts/detail/hosting.hpp=goodput/schedule/detail/rows.hpp
  hosts/host_shares.hpp=goodput/schedule/detail/shared_offers.hpp
  parallel/detail/large_job.hpp=goodput/schedule/detail/configuration_search.hpp
  parallel/detail/plan_values.hpp=goodput/schedule/detail/configuration_search.hpp
  parallel/parallel_plans.hpp=goodput/schedule/detail/part_options.hpp)
set(still_used_and_not_met ${still_used})
# Who may use which library. Small headers only: <Eigen/Dense> would bring in all of it, and <ceres/ceres.h> its macros.
set(eigen "Eigen/(Core|Cholesky|Eigenvalues|LU|QR|SVD)")
set(fit_third_party "^(${eigen}|ceres/(jet|tiny_solver|tiny_solver_autodiff_function)[.]h)$")
set(place_third_party "^boost/[a-z_/]+[.]hpp$")
set(share_third_party "^(${eigen}|boost/[a-z_/]+[.]hpp)$")
set(parallel_third_party "${fit_third_party}")
set(hosts_third_party "^${eigen}$")
set(tasks_third_party "^${eigen}$")
set(availability_third_party "^${eigen}$")
# The one header that needs the library of Ceres Solver.
set(with_ceres goodput/fit/ceres_backend.hpp)
set(with_ceres_third_party "^(${eigen}|ceres/[a-z_]+[.]h)$")

cmake_path(ABSOLUTE_PATH INCLUDE_DIR)
set(complaints "")
function(complain text)
  string(APPEND complaints "  ${text}\n")
  set(complaints "${complaints}" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE headers RELATIVE "${INCLUDE_DIR}" "${INCLUDE_DIR}/goodput/*")
list(SORT headers)
if(NOT headers)
  message(FATAL_ERROR "no headers in ${INCLUDE_DIR}/goodput")
endif()

foreach(header IN LISTS headers)
  if(NOT header MATCHES "^goodput/[a-z_/]+\\.hpp$")
    complain("${header}: is no header named goodput/FOLDER/FILE.hpp")
    continue()
  endif()

  file(STRINGS "${INCLUDE_DIR}/${header}" lines REGEX "^[ \t]*#[ \t]*include")
  set(${header}_includes "")
  foreach(line IN LISTS lines)
    if(line MATCHES "include[ \t]*[<\"]([^>\"]+)[>\"]")
      list(APPEND ${header}_includes "${CMAKE_MATCH_1}")
    else()
      complain("${header}: an include that names no file: ${line}")
    endif()
  endforeach()

  string(TOUPPER "${header}" guard)
  string(REGEX REPLACE "[/.]" "_" guard "${guard}")
  file(STRINGS "${INCLUDE_DIR}/${header}" lines REGEX "^#(ifndef|define) ${guard}$")
  list(LENGTH lines count)
  if(NOT count EQUAL 2)
    complain("${header}: the include guard must be ${guard}")
  endif()

  if(NOT header MATCHES "^goodput/([a-z_]+)/")
    continue()
  endif()
  set(folder ${CMAKE_MATCH_1})
  if(NOT DEFINED ${folder}_may_use)
    complain("${header}: ${folder}/ is no folder of the library")
    continue()
  endif()
  set(third_party "^$")
  if(header STREQUAL with_ceres)
    set(third_party "${with_ceres_third_party}")
  elseif(DEFINED ${folder}_third_party)
    set(third_party "${${folder}_third_party}")
  endif()
  foreach(included IN LISTS ${header}_includes)
    if(included STREQUAL "goodput/version.hpp")
      continue()
    elseif(included MATCHES "^goodput/([a-z_]+)/")
      set(used ${CMAKE_MATCH_1})
      string(REGEX REPLACE "^goodput/" "" exception "${header}=${included}")
      if(exception IN_LIST still_used)
        list(REMOVE_ITEM still_used_and_not_met "${exception}")
        continue()
      elseif(NOT used IN_LIST ${folder}_may_use)
        complain("${header}: ${folder}/ may not include ${included}")
      elseif(NOT folder IN_LIST toolkit AND NOT folder STREQUAL used AND included MATCHES "/detail/")
        complain("${header}: ${folder}/ may not look into ${included}")
      endif()
    elseif(NOT included MATCHES "^[a-z_]+$" AND NOT included MATCHES "${third_party}")
      complain("${header}: ${folder}/ may not include ${included}")
    endif()
  endforeach()
endforeach()

foreach(exception IN LISTS still_used_and_not_met)
  string(REGEX REPLACE "=.*" "" header "${exception}")
  if(EXISTS "${INCLUDE_DIR}/goodput/${header}")
    complain("${exception}: nobody needs this exception any more")
  endif()
endforeach()

if(DEFINED CORE)
  string(REPLACE "," ";" core "${CORE}")
  foreach(header IN LISTS core)
    foreach(included IN LISTS ${header}_includes)
      if(NOT included MATCHES "^[a-z_]+$" AND NOT included IN_LIST core)
        complain("${header}: goodput::core may not include ${included}")
      endif()
    endforeach()
  endforeach()
endif()

# goodput.hpp is everything that is defined: follow its includes. The two headers that only declare stand beside it.
if("goodput/goodput.hpp" IN_LIST headers)
  set(reached "")
  set(next goodput/goodput.hpp)
  while(next)
    list(POP_FRONT next header)
    if(header IN_LIST headers AND NOT header IN_LIST reached)
      list(APPEND reached "${header}")
      list(APPEND next ${${header}_includes})
    endif()
  endwhile()
  foreach(header IN LISTS headers)
    if(NOT header IN_LIST reached AND NOT header STREQUAL with_ceres AND NOT header MATCHES "^goodput/compiled[a-z_]*\\.hpp$")
      complain("${header}: goodput/goodput.hpp does not reach it")
    endif()
  endforeach()
endif()

if(complaints)
  message(FATAL_ERROR "headers out of order:\n${complaints}")
endif()
