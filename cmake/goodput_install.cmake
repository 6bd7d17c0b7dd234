# Headers, the CMake package (one export set for each component, so that only who asks for goodput::ceres needs Ceres), and
# pkg-config files.
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
  cmake/goodput_parts.cmake DESTINATION "${package_dir}")

# goodput.pc, and goodput-core.pc, which is the same: who asks for one of the two need not know that. goodput::ceres has no
# file: libceres has none to require.
file(RELATIVE_PATH up "/${pkg_config_dir}" "/")
string(REGEX REPLACE "/$" "" up "${up}")
cmake_path(APPEND pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}") # which may be absolute
set(pc_cflags "-I\${includedir}")
set(pc_requires "")
foreach(pc_name IN ITEMS goodput-core goodput)
  configure_file(cmake/goodput.pc.in "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${pkg_config_dir}")
endforeach()
