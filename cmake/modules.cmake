# From docs/layers.txt to targets: fre-<module> (static library), fre-<module>-objects.
set(FRE_MODULES "")      # modules that have sources, in layer order
set(FRE_ALL_MODULES "")  # every module of docs/layers.txt
set(FRE_O3_MODULES linalg sharing) # loops over vectors: a release optimises them further

# A module gets an include path to the public headers and to its own folder only.
function(fre_module floor name uses externals)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${floor}/${name}/*.c)
    if(NOT sources)
        return()
    endif()
    foreach(external IN LISTS externals)
        if(NOT TARGET fre-ext-${external})
            message(STATUS "module ${name} is left out: ${external} is missing")
            return()
        endif()
    endforeach()
    set(needed "")
    foreach(use IN LISTS uses)
        if(TARGET fre-${use})
            list(APPEND needed fre-${use})
        elseif(use STREQUAL net OR use STREQUAL serve) # they are there only where their libraries are
            message(STATUS "module ${name} is left out: ${use} is")
            return()
        endif()
    endforeach()
    set(outside "")
    foreach(external IN LISTS externals)
        list(APPEND outside fre-ext-${external})
    endforeach()

    add_library(fre-${name}-objects OBJECT ${sources})
    target_include_directories(fre-${name}-objects PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(fre-${name}-objects PRIVATE fre-flags ${outside} Threads::Threads)
    target_compile_options(fre-${name}-objects PRIVATE
        -include ${PROJECT_SOURCE_DIR}/src/banned.h)
    target_compile_definitions(fre-${name}-objects PRIVATE FRE_VERSION="${PROJECT_VERSION}")
    file(GLOB template CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${floor}/${name}/template/*)
    if(template)
        # Compiled in, as arrays <module>_template_<ending>.
        set(embedded ${PROJECT_BINARY_DIR}/generated/${name}_template.c)
        add_custom_command(OUTPUT ${embedded}
            COMMAND ${CMAKE_COMMAND} -DOUT=${embedded} "-DFILES=${template}"
                -DPREFIX=${name}_template -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
            DEPENDS ${template} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
        target_sources(fre-${name}-objects PRIVATE ${embedded})
    endif()
    if(name STREQUAL core)
        target_compile_definitions(fre-${name}-objects PRIVATE FRE_MODULE_IS_CORE)
    endif()
    if(name STREQUAL model AND NOT FRE_WHEEL) # a wheel is installed anywhere
        target_compile_definitions(fre-${name}-objects PRIVATE
            FRE_MODEL_INSTALL_DIR="${CMAKE_INSTALL_FULL_DATADIR}/fre-e2t/models")
    endif()
    if(name STREQUAL model AND FRE_SANITIZE)
        # Instrumented, this one file takes the compiler ten minutes; the same code is instrumented
        # in the files of the other instruction sets.
        set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${floor}/${name}/kernels_generic.c
            PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
    endif()
    if(name STREQUAL model AND CMAKE_BUILD_TYPE STREQUAL Debug)
        # Nearly all of the time of the tests goes to these loops.
        foreach(set generic avx2 avx512)
            set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/${floor}/${name}/kernels_${set}.c
                APPEND PROPERTY COMPILE_OPTIONS -O2)
        endforeach()
    endif()
    if(name IN_LIST FRE_O3_MODULES AND CMAKE_BUILD_TYPE STREQUAL Release)
        target_compile_options(fre-${name}-objects PRIVATE -O3)
    endif()

    add_library(fre-${name} STATIC $<TARGET_OBJECTS:fre-${name}-objects>)
    set_target_properties(fre-${name} PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(fre-${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(fre-${name} PUBLIC fre-flags ${needed} Threads::Threads m)
    # Private: only this module sees these libraries' headers; the link still carries them on.
    target_link_libraries(fre-${name} PRIVATE ${outside})
    set(FRE_MODULES ${FRE_MODULES} ${name} PARENT_SCOPE)
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/docs/layers.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/docs/layers.txt layer_lines REGEX "^[a-z]")
foreach(line IN LISTS layer_lines)
    if(NOT line MATCHES "^([a-z]+) +([a-z0-9]+) *:([a-z0-9 ]*)\\|([a-z0-9 ]*)$")
        message(FATAL_ERROR "docs/layers.txt: cannot read this line: ${line}")
    endif()
    set(floor ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    separate_arguments(uses UNIX_COMMAND "${CMAKE_MATCH_3}")
    separate_arguments(externals UNIX_COMMAND "${CMAKE_MATCH_4}")
    list(APPEND FRE_ALL_MODULES ${name})
    set(FRE_FLOOR_${name} ${floor})
    set(FRE_USES_${name} ${uses})
    set(FRE_OUTSIDE_${name} ${externals})
    fre_module(${floor} ${name} "${uses}" "${externals}")
endforeach()
set(FRE_MODULE_TARGETS "")
foreach(module IN LISTS FRE_MODULES)
    list(APPEND FRE_MODULE_TARGETS fre-${module})
endforeach()
