# Headers, the CMake package (one export set for each component, so that whoever asks for goodput::core needs
# neither Eigen nor Ceres nor Boost), and one pkg-config file a component for the same reason.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/goodput")
set(pkg_config_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")

get_property(components GLOBAL PROPERTY GOODPUT_COMPONENTS)
foreach(name IN LISTS components)
  get_property(target GLOBAL PROPERTY GOODPUT_TARGET_OF_${name})
  install(TARGETS ${target} EXPORT goodput-${name} FILE_SET HEADERS)
  install(EXPORT goodput-${name} NAMESPACE goodput:: DESTINATION "${package_dir}")
endforeach()

write_basic_package_version_file("${PROJECT_BINARY_DIR}/goodput-config-version.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/goodput-config-version.cmake" cmake/goodput-config.cmake
  cmake/goodput_parts.cmake cmake/FindCeresHeaders.cmake DESTINATION "${package_dir}")

# goodput_pkg_config(<component> [NAME <name>] [REQUIRES ...] [HEADERS_OF <target>])
#
# HEADERS_OF: a third-party part without a pkg-config file of its own; its directories are named here, but for those
# that every compiler searches. goodput::ceres has no file: libceres has none to require.
function(goodput_pkg_config name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;HEADERS_OF" "REQUIRES")
  if(NOT name IN_LIST components)
    return()
  endif()
  set(pc_name goodput-${name})
  if(arg_NAME)
    set(pc_name ${arg_NAME})
  endif()
  list(JOIN arg_REQUIRES ", " pc_requires)
  set(pc_cflags "-I\${includedir}")
  if(arg_HEADERS_OF)
    get_target_property(directories ${arg_HEADERS_OF} INTERFACE_INCLUDE_DIRECTORIES)
    list(REMOVE_ITEM directories ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
    foreach(directory IN LISTS directories)
      string(APPEND pc_cflags " -I${directory}")
    endforeach()
  endif()
  file(RELATIVE_PATH up "/${pkg_config_dir}" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  cmake_path(APPEND pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}") # which may be absolute
  configure_file(cmake/goodput.pc.in "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${pkg_config_dir}")
endfunction()

set(core "goodput-core = ${PROJECT_VERSION}")
goodput_pkg_config(core)
goodput_pkg_config(fit REQUIRES ${core} "eigen3 >= 3.4" HEADERS_OF Ceres::headers)
goodput_pkg_config(place REQUIRES ${core} HEADERS_OF Boost::headers)
goodput_pkg_config(goodput NAME goodput
  REQUIRES "goodput-fit = ${PROJECT_VERSION}" "goodput-place = ${PROJECT_VERSION}")
