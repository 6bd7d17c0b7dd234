# goodput_find_parts(<component> <missing>)
#
# Looks for the third-party parts of one component and sets <missing> to a list of those that it did not find. The build
# and the installed package both ask here, so that they cannot disagree.
function(goodput_find_parts component missing)
  set(absent "")
  if(component STREQUAL "ceres")
    find_package(Ceres 2.1 CONFIG QUIET)
    if(NOT TARGET Ceres::ceres)
      list(APPEND absent "Ceres Solver >= 2.1")
    endif()
  endif()
  set(${missing} "${absent}" PARENT_SCOPE)
endfunction()
