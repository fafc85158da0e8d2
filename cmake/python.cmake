# The Python package: python/fre_e2t over an extension that holds the whole library.  In the build tree it
# lies as in a wheel, build/<preset>/python/fre_e2t, to be used with PYTHONPATH; a wheel is built by
# python/pyproject.toml, which sets FRE_WHEEL.
set(FRE_PYTHON ON CACHE BOOL "the extension of the Python package, where Python's headers and cffi are")
set(FRE_HAVE_PYTHON FALSE)

if(FRE_PYTHON AND FRE_MODULES AND NOT FRE_SANITIZE)
    if(FRE_WHEEL)
        find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
    else()
        set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "the interpreter of the tests")
        find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
    endif()
    if(Python_FOUND)
        execute_process(COMMAND ${Python_EXECUTABLE} -c "import cffi" RESULT_VARIABLE without_cffi
            OUTPUT_QUIET ERROR_QUIET)
        if(NOT without_cffi)
            set(FRE_HAVE_PYTHON TRUE)
        elseif(FRE_WHEEL)
            message(FATAL_ERROR "The wheel needs cffi: build it with pip, which installs it for the build.")
        endif()
    endif()
    if(NOT FRE_HAVE_PYTHON)
        message(STATUS "the Python package is left out: no Python 3.11 with its headers and cffi")
    endif()
endif()
if(NOT FRE_HAVE_PYTHON)
    return()
endif()

set(package ${PROJECT_BINARY_DIR}/python/fre_e2t)
set(binding ${PROJECT_BINARY_DIR}/generated/python_binding.c)
file(MAKE_DIRECTORY ${package} ${PROJECT_BINARY_DIR}/generated)
add_custom_command(OUTPUT ${binding}
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/python/make_binding.py ${binding}
    DEPENDS ${PROJECT_SOURCE_DIR}/python/make_binding.py ${PROJECT_SOURCE_DIR}/python/cdef.h VERBATIM)
# Generated code is nobody's to mend.
set_source_files_properties(${binding} PROPERTIES COMPILE_OPTIONS -w)

set_source_files_properties(python/glue.c python/arrow.c PROPERTIES
    COMPILE_OPTIONS "-include;${PROJECT_SOURCE_DIR}/src/banned.h")

# The stable ABI of CPython 3.11: one file for that and every later version.
add_library(fre-python MODULE ${binding} python/glue.c python/arrow.c)
target_include_directories(fre-python PRIVATE ${PROJECT_SOURCE_DIR}/python ${PROJECT_SOURCE_DIR}/include)
target_include_directories(fre-python SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_compile_definitions(fre-python PRIVATE Py_LIMITED_API=0x030B0000 FRE_VERSION="${PROJECT_VERSION}")
target_link_libraries(fre-python PRIVATE fre-flags ${FRE_MODULE_TARGETS})
# Nothing is seen of the library, or of those that it is linked with, where another extension has its own.
target_link_options(fre-python PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/python/exports.map)
set_target_properties(fre-python PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/python/exports.map)
set_target_properties(fre-python PROPERTIES PREFIX "" OUTPUT_NAME _fre SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${package})

file(GLOB python_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/fre_e2t/*)
if(NOT FRE_WHEEL)
    foreach(file IN LISTS python_files ITEMS ${PROJECT_SOURCE_DIR}/models ${PROJECT_SOURCE_DIR}/data)
        get_filename_component(name ${file} NAME)
        if(NOT name MATCHES "__pycache__")
            file(CREATE_LINK ${file} ${package}/${name} SYMBOLIC)
        endif()
    endforeach()
    file(MAKE_DIRECTORY ${package}/bin)
    file(CREATE_LINK ${PROJECT_BINARY_DIR}/fre-e2t ${package}/bin/fre-e2t SYMBOLIC)
    return()
endif()

# What a wheel holds.  Extension and program find llama.cpp and the models relative to themselves.
set_target_properties(fre-python PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/lib")
set_target_properties(fre-e2t PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS fre-python LIBRARY DESTINATION fre_e2t COMPONENT python)
install(TARGETS fre-e2t RUNTIME DESTINATION fre_e2t/bin COMPONENT python)
if(FRE_WHEEL) # what `score` names where its model is not there
    install(PROGRAMS tools/get-language-model DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME fre-e2t-get-language-model
        COMPONENT python)
endif()
file(GLOB kernels ${FRE_LLAMA_LIBDIR}/libggml-cpu*.so)
install(FILES ${kernels} DESTINATION fre_e2t/lib COMPONENT python)
# Once each, by the name that the loader looks for: a wheel has no links.
foreach(name llama ggml ggml-base)
    file(GLOB found ${FRE_LLAMA_LIBDIR}/lib${name}.so.[0-9])
    get_filename_component(called "${found}" NAME)
    file(REAL_PATH "${found}" real)
    install(FILES ${real} DESTINATION fre_e2t/lib RENAME ${called} COMPONENT python)
endforeach()
install(DIRECTORY models DESTINATION fre_e2t COMPONENT python FILES_MATCHING PATTERN "*.gguf" PATTERN "*.md")
install(DIRECTORY data DESTINATION fre_e2t COMPONENT python FILES_MATCHING PATTERN "*.jsonl.gz" PATTERN "*.md")
install(FILES LICENSE NOTICE THIRD_PARTY.md DESTINATION fre_e2t/licenses COMPONENT python)
install(FILES ${llama_prefix}/share/llama.cpp-LICENSE DESTINATION fre_e2t/licenses COMPONENT python)
# Of what is linked in, or taken along by auditwheel, as Debian has them.
set(FRE_WHEEL_LIBRARIES "" CACHE PATH "what tools/bootstrap-manylinux built; empty: the system's libraries")
if(FRE_WHEEL_LIBRARIES)
    install(DIRECTORY ${FRE_WHEEL_LIBRARIES}/share/licenses/ DESTINATION fre_e2t/licenses COMPONENT python)
    install(FILES ${FRE_WHEEL_LIBRARIES}/share/sources.txt DESTINATION fre_e2t/licenses COMPONENT python)
    return()
endif()
foreach(name libsodium-dev libssl-dev libjansson-dev libzstd-dev libutf8proc-dev)
    if(EXISTS /usr/share/doc/${name}/copyright)
        install(FILES /usr/share/doc/${name}/copyright DESTINATION fre_e2t/licenses RENAME ${name}.copyright
            COMPONENT python)
    endif()
endforeach()
