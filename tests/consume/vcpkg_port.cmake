# cmake -DPORT_DIR=<folder of portfile.cmake> -DBUILD=<folder to write to> -DGENERATOR=<of CMake> -DCXX=<compiler>
#   -P vcpkg_port.cmake
#
# Runs the portfile without vcpkg, for the port without features and with the default ones. Stand-ins replace
# vcpkg's functions. This shows that the portfile's options, folders and files exist, not that vcpkg accepts it.
cmake_minimum_required(VERSION 3.23)

set(PORT goodput)
set(CURRENT_PACKAGES_DIR "${BUILD}/package")

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES;INVERTED_FEATURES")
  file(READ "${PORT_DIR}/vcpkg.json" manifest)
  set(options "")
  foreach(kind IN ITEMS FEATURES INVERTED_FEATURES)
    while(arg_${kind})
      list(POP_FRONT arg_${kind} feature variable)
      string(JSON description GET "${manifest}" features ${feature} description) # fails for a feature that does not exist
      set(value OFF)
      if((feature IN_LIST FEATURES AND kind STREQUAL "FEATURES") OR (NOT feature IN_LIST FEATURES AND NOT kind STREQUAL "FEATURES"))
        set(value ON)
      endif()
      list(APPEND options "-D${variable}=${value}")
    endwhile()
  endforeach()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  # CMake would only warn about a mistyped option.
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${BUILD}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
  foreach(option IN LISTS arg_OPTIONS)
    string(REGEX MATCH "^-D([^=]+)=" name "${option}")
    file(STRINGS "${BUILD}/build/CMakeCache.txt" line REGEX "^${CMAKE_MATCH_1}:BOOL=")
    if(NOT line)
      message(FATAL_ERROR "the portfile sets ${CMAKE_MATCH_1}, which is no option of goodput")
    endif()
  endforeach()
endfunction()
function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --install "${BUILD}/build")
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(RENAME "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}" "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/cmake")
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(READ "${arg_FILE_LIST}" text)
  file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" "${text}")
endfunction()

# expect_package(<features> <files beside the headers ...>)
function(expect_package FEATURES)
  file(REMOVE_RECURSE "${BUILD}")
  include("${PORT_DIR}/portfile.cmake")
  file(GLOB top RELATIVE "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/*" "${CURRENT_PACKAGES_DIR}/share/*"
    "${CURRENT_PACKAGES_DIR}/share/*/*")
  set(expected include share share/goodput share/goodput/copyright share/goodput/FindCeresHeaders.cmake
    share/goodput/goodput-config-version.cmake share/goodput/goodput-config.cmake share/goodput/goodput-core.cmake
    share/goodput/goodput_parts.cmake share/goodput/usage share/pkgconfig share/pkgconfig/goodput-core.pc ${ARGN})
  list(REMOVE_ITEM top share/goodput/goodput-ceres.cmake) # only with the library of Ceres
  list(SORT top)
  list(SORT expected)
  if(NOT top STREQUAL expected)
    message(FATAL_ERROR "the package with the features '${FEATURES}' has\n  ${top}\nand not\n  ${expected}")
  endif()
endfunction()
file(READ "${PORT_DIR}/vcpkg.json" manifest)
string(JSON default GET "${manifest}" default-features 0)
expect_package("")
set(all share/goodput/goodput-fit.cmake share/goodput/goodput-goodput.cmake share/goodput/goodput-place.cmake
  share/pkgconfig/goodput.pc)
expect_package("${default}" ${all})
