# An overlay port: it installs the sources that it lies among. vcpkg takes a package for unchanged as long as this
# folder is, so after a change of the sources: vcpkg remove goodput, and --no-binarycaching. In a registry the next line
# becomes vcpkg_from_github() with the SHA512 of a release.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release) # headers only
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS options 
    FEATURES compiled GOODPUT_BUILD_COMPILED
    INVERTED_FEATURES toolkit GOODPUT_CORE_ONLY)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${options}
    -DGOODPUT_BUILD_TESTS=OFF -DGOODPUT_BUILD_EXAMPLES=OFF -DGOODPUT_BUILD_BENCHMARKS=OFF -DGOODPUT_PYTHON=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/goodput)
vcpkg_fixup_pkgconfig()
if("compiled" IN_LIST FEATURES)
  set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled) # goodput::c is a shared library always
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
endif()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
