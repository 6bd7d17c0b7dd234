# Installs headers, the CMake package and pkg-config files. The package has one export set for each component, so that
# goodput::core alone needs no other package.
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

# Writes goodput.pc and goodput-core.pc, and goodput-compiled.pc and goodput-c.pc if these libraries are built. Ceres
# and Boost have no pkg-config files, so goodput.pc names their directories, except those that every compiler searches.
# goodput::ceres has no file, because libceres has none that it could require.
function(goodput_pkg_config pc_name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIBRARY;DEFINES" "REQUIRES;HEADERS_OF")
  list(JOIN arg_REQUIRES ", " pc_requires)
  set(pc_cflags "-I\${includedir}")
  if(arg_DEFINES)
    string(APPEND pc_cflags " -D${arg_DEFINES}")
  endif()
  set(pc_libs "")
  if(arg_LIBRARY)
    set(pc_libs "-L\${libdir} -l${arg_LIBRARY}")
  endif()
  foreach(library IN LISTS arg_HEADERS_OF)
    get_target_property(directories ${library} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    list(FILTER directories EXCLUDE REGEX "[$]<") # from a package manager, which writes its own pkg-config files
    list(REMOVE_ITEM directories ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
    foreach(directory IN LISTS directories)
      string(APPEND pc_cflags " -I${directory}")
    endforeach()
  endforeach()
  file(RELATIVE_PATH up "/${pkg_config_dir}" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  cmake_path(APPEND pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}") # may be absolute
  cmake_path(APPEND pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
  configure_file(cmake/goodput.pc.in "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${pkg_config_dir}")
endfunction()

goodput_pkg_config(goodput-core)
if(TARGET goodput::goodput)
  goodput_pkg_config(goodput REQUIRES "eigen3 >= 3.4" HEADERS_OF Ceres::headers Boost::headers)
endif()
if(TARGET goodput::compiled)
  goodput_pkg_config(goodput-compiled REQUIRES goodput DEFINES GOODPUT_COMPILED LIBRARY goodput_compiled)
  goodput_pkg_config(goodput-c LIBRARY goodput_c)
endif()
