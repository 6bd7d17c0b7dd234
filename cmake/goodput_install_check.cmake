# Stops an installation if a part of it was not built: headers alone need no build, but a program does. The component
# "program" is the program alone.
set(built "")
if(GOODPUT_BUILD_EXAMPLES)
  list(APPEND built goodput_program GOODPUT_BUILD_EXAMPLES program)
endif()
if(GOODPUT_BUILD_COMPILED)
  list(APPEND built goodput_compiled GOODPUT_BUILD_COMPILED Unspecified goodput_c GOODPUT_BUILD_COMPILED Unspecified)
endif()
while(built)
  list(POP_FRONT built target option component)
  install(CODE "
    if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
      message(FATAL_ERROR \"Nothing is installed, because $<TARGET_FILE_NAME:${target}> is not built. Build it: cmake --build \"
        \"${PROJECT_BINARY_DIR} --target ${target}. Or leave it out: cmake ${PROJECT_BINARY_DIR} -D ${option}=OFF.\")
    endif()" COMPONENT ${component})
endwhile()
