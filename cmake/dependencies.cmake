# Outside libraries, each as target fre-ext-<name> under the name that docs/layers.txt uses.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(fre_external name package)
    pkg_check_modules(ext_${name} REQUIRED IMPORTED_TARGET ${package})
    add_library(fre-ext-${name} INTERFACE)
    target_link_libraries(fre-ext-${name} INTERFACE PkgConfig::ext_${name})
endfunction()

fre_external(sodium libsodium)
fre_external(jansson jansson)
fre_external(zlib zlib)
fre_external(zstd libzstd)
fre_external(utf8proc libutf8proc)

# llama.cpp: the copy that tools/bootstrap-llama built, or the prefix named by FRE_LLAMA_PREFIX.
set(FRE_LLAMA_PREFIX "$ENV{FRE_LLAMA_PREFIX}" CACHE PATH
    "where llama.cpp is installed; empty: the copy built by tools/bootstrap-llama")
set(llama_prefix "${FRE_LLAMA_PREFIX}")
if(NOT llama_prefix)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/bootstrap-llama --prefix
        OUTPUT_VARIABLE llama_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
unset(FRE_LLAMA_LIBRARY CACHE)
unset(FRE_GGML_LIBRARY CACHE)
unset(FRE_GGML_BASE_LIBRARY CACHE)
unset(FRE_LLAMA_INCLUDE CACHE)
if(llama_prefix)
    find_library(FRE_LLAMA_LIBRARY llama PATHS ${llama_prefix}/lib NO_DEFAULT_PATH)
    find_library(FRE_GGML_LIBRARY ggml PATHS ${llama_prefix}/lib NO_DEFAULT_PATH)
    find_library(FRE_GGML_BASE_LIBRARY ggml-base PATHS ${llama_prefix}/lib NO_DEFAULT_PATH)
    find_path(FRE_LLAMA_INCLUDE llama.h PATHS ${llama_prefix}/include NO_DEFAULT_PATH)
endif()
if(FRE_LLAMA_LIBRARY AND FRE_GGML_LIBRARY AND FRE_GGML_BASE_LIBRARY AND FRE_LLAMA_INCLUDE)
    set(FRE_HAVE_LLAMA TRUE)
    set(FRE_LLAMA_LIBDIR ${llama_prefix}/lib)
    add_library(fre-ext-llama INTERFACE)
    target_include_directories(fre-ext-llama SYSTEM INTERFACE ${FRE_LLAMA_INCLUDE})
    target_link_libraries(fre-ext-llama INTERFACE
        ${FRE_LLAMA_LIBRARY} ${FRE_GGML_LIBRARY} ${FRE_GGML_BASE_LIBRARY})
else()
    set(FRE_HAVE_LLAMA FALSE)
    message(WARNING "llama.cpp was not found: the modules that need it are left out. "
        "Run tools/bootstrap-llama once, or name a prefix by -DFRE_LLAMA_PREFIX=DIR.")
endif()
