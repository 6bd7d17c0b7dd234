# goodput_component(<name> [TARGET <target>] [FOLDERS ...] [FILES ...] [LINK ...])
#
# The INTERFACE target goodput_<name> (or <target>), which everybody calls goodput::<name>, with every header in
# include/goodput/<folder> and below, and those of FILES that exist.
function(goodput_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET" "FOLDERS;FILES;LINK")
  set(target goodput_${name})
  if(arg_TARGET)
    set(target ${arg_TARGET})
  endif()

  set(root "${PROJECT_SOURCE_DIR}/include/goodput")
  list(TRANSFORM arg_FOLDERS PREPEND "${root}/")
  list(TRANSFORM arg_FOLDERS APPEND "/*.hpp")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${arg_FOLDERS})
  foreach(file IN LISTS arg_FILES)
    file(GLOB found CONFIGURE_DEPENDS "${root}/${file}")
    list(APPEND headers ${found})
  endforeach()

  add_library(${target} INTERFACE)
  add_library(goodput::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${arg_LINK})
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
    FILES ${headers})
  set_property(GLOBAL APPEND PROPERTY GOODPUT_COMPONENTS ${name})
  set_property(GLOBAL PROPERTY GOODPUT_TARGET_OF_${name} ${target})
endfunction()
