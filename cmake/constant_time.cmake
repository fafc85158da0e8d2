# Constant-time runs: tests/constant-time/ct_<module>.c with that module's sources, compiled as a
# release is but with FRE_CONSTANT_TIME, under valgrind.  `make ct` runs them; not part of ctest.
find_program(FRE_VALGRIND valgrind)
find_path(FRE_MEMCHECK_HEADER valgrind/memcheck.h)
find_library(FRE_SODIUM_STATIC libsodium.a) # its symbols name what the suppressions forgive

add_custom_target(constant-time)
if(NOT FRE_VALGRIND OR NOT FRE_MEMCHECK_HEADER OR NOT FRE_SODIUM_STATIC OR FRE_SANITIZE)
    add_custom_command(TARGET constant-time COMMAND ${CMAKE_COMMAND} -E echo
        "constant time: needs valgrind with its header, libsodium.a and a build without sanitizers; nothing was checked"
        COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
    return()
endif()

file(GLOB ct_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/constant-time/ct_*.c)
foreach(file IN LISTS ct_files)
    get_filename_component(target ${file} NAME_WE)
    string(REGEX REPLACE "^ct_" "" module ${target})
    set(folder ${PROJECT_SOURCE_DIR}/src/${FRE_FLOOR_${module}}/${module})
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
    add_executable(${target} EXCLUDE_FROM_ALL ${file} ${sources})
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/include ${folder} ${FRE_MEMCHECK_HEADER})
    target_compile_definitions(${target} PRIVATE FRE_CONSTANT_TIME)
    target_compile_options(${target} PRIVATE $<IF:$<IN_LIST:${module},${FRE_O3_MODULES}>,-O3,-O2> -g)
    # The modules below as they are built anyway; of outside libraries, sodium is the static one.
    list(TRANSFORM FRE_USES_${module} PREPEND fre- OUTPUT_VARIABLE below)
    set(outside ${FRE_OUTSIDE_${module}})
    list(REMOVE_ITEM outside sodium)
    list(TRANSFORM outside PREPEND fre-ext-)
    target_link_libraries(${target} PRIVATE
        fre-flags ${FRE_SUPPORT_${module}} ${below} ${outside} ${FRE_SODIUM_STATIC} Threads::Threads m)
    # Compiled with all tests, so that it does not fall behind what it calls.
    add_library(${target}-compiles OBJECT ${file})
    target_include_directories(${target}-compiles PRIVATE
        ${PROJECT_SOURCE_DIR}/include ${folder} ${FRE_MEMCHECK_HEADER})
    target_compile_definitions(${target}-compiles PRIVATE FRE_CONSTANT_TIME)
    target_link_libraries(${target}-compiles PRIVATE fre-flags ${FRE_SUPPORT_${module}} ${below})
    # Verdicts that modules below declassify, where they are not compiled for it.
    set(declassified "")
    if(EXISTS ${PROJECT_SOURCE_DIR}/tests/constant-time/${target}.supp)
        set(declassified --suppressions=${PROJECT_SOURCE_DIR}/tests/constant-time/${target}.supp)
    endif()
    add_custom_target(run-${target} COMMAND ${FRE_VALGRIND} --quiet --error-limit=no ${declassified}
        --suppressions=${PROJECT_SOURCE_DIR}/tests/constant-time/libsodium.supp
        --suppressions=${PROJECT_SOURCE_DIR}/tests/constant-time/libcrypto.supp
        --log-file=${PROJECT_BINARY_DIR}/${target}.log $<TARGET_FILE:${target}>
        DEPENDS ${target} VERBATIM)
    add_dependencies(constant-time run-${target})
endforeach()
