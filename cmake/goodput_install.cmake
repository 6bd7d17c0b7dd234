# Headers, the CMake package (one export set for each component, so that whoever asks for goodput::core needs
# neither Eigen nor Ceres nor Boost), and a pkg-config file.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/goodput")

get_property(components GLOBAL PROPERTY GOODPUT_COMPONENTS)
foreach(name IN LISTS components)
  get_property(target GLOBAL PROPERTY GOODPUT_TARGET_OF_${name})
  install(TARGETS ${target} EXPORT goodput-${name} FILE_SET HEADERS)
  install(EXPORT goodput-${name} NAMESPACE goodput:: DESTINATION "${package_dir}")
endforeach()

configure_package_config_file(cmake/goodput-config.cmake.in "${PROJECT_BINARY_DIR}/goodput-config.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/goodput-config-version.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(cmake/goodput.pc.in "${PROJECT_BINARY_DIR}/goodput.pc" @ONLY)

install(FILES "${PROJECT_BINARY_DIR}/goodput-config.cmake" "${PROJECT_BINARY_DIR}/goodput-config-version.cmake"
  cmake/FindCeresHeaders.cmake DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/goodput.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
