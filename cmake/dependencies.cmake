# Outside libraries, each as target fre-ext-<name> under the name that docs/layers.txt uses.
find_package(PkgConfig QUIET)
find_package(Threads REQUIRED)
set(missing "")
set(missing_debian "")
set(missing_fedora "")
if(NOT PKG_CONFIG_FOUND)
    set(missing "\n  the command pkg-config")
    set(missing_debian pkg-config)
    set(missing_fedora pkgconf-pkg-config)
endif()

# All that is missing is told at once, by the caller.
function(fre_external name module debian fedora)
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(ext_${name} QUIET IMPORTED_TARGET ${module})
    endif()
    if(NOT ext_${name}_FOUND)
        set(missing "${missing}\n  the library ${module} (pkg-config knows no module ${module})" PARENT_SCOPE)
        set(missing_debian ${missing_debian} ${debian} PARENT_SCOPE)
        set(missing_fedora ${missing_fedora} ${fedora} PARENT_SCOPE)
        return()
    endif()
    add_library(fre-ext-${name} INTERFACE)
    target_link_libraries(fre-ext-${name} INTERFACE PkgConfig::ext_${name})
endfunction()

fre_external(sodium libsodium libsodium-dev libsodium-devel)
fre_external(crypto libcrypto libssl-dev openssl-devel)
fre_external(jansson jansson libjansson-dev jansson-devel)
fre_external(zlib zlib zlib1g-dev zlib-devel)
fre_external(zstd libzstd libzstd-dev libzstd-devel)
fre_external(utf8proc libutf8proc libutf8proc-dev utf8proc-devel)
set(kind build)
if(FRE_TESTS)
    fre_external(cmocka cmocka libcmocka-dev libcmocka-devel)
    set(kind test)
endif()
if(missing)
    list(JOIN missing_debian " " missing_debian)
    list(JOIN missing_fedora " " missing_fedora)
    message(FATAL_ERROR "The build needs what is not here:${missing}\n"
        "Debian and its relatives: run\n  sh tools/install-packages ${kind}\n"
        "(packages ${missing_debian}).  Fedora and its relatives: ${missing_fedora}.  "
        "docs/building.md has the names of other systems.")
endif()

# Optional: the linear classifiers of `evaluate`.  Debian's package has no pkg-config file.
option(FRE_LINEAR "linear classifiers by liblinear, where it is installed" ON)
add_library(fre-ext-linear INTERFACE)
set(FRE_LINEAR_LIBS "")
if(FRE_LINEAR)
    find_path(FRE_LINEAR_INCLUDE linear.h PATH_SUFFIXES liblinear)
    find_library(FRE_LINEAR_LIBRARY linear)
    if(FRE_LINEAR_INCLUDE AND FRE_LINEAR_LIBRARY)
        target_include_directories(fre-ext-linear SYSTEM INTERFACE ${FRE_LINEAR_INCLUDE})
        target_link_libraries(fre-ext-linear INTERFACE ${FRE_LINEAR_LIBRARY})
        target_compile_definitions(fre-ext-linear INTERFACE FRE_HAVE_LIBLINEAR)
        set(FRE_LINEAR_LIBS "-llinear")
    else()
        message(STATUS "liblinear is not installed: evaluate trains no linear classifiers")
    endif()
endif()

# Optional: the databases in which servers keep their rows, and what carries their messages; without one of
# these the module store, or net, is left out.
option(FRE_SERVERS "what servers of the distributed mode need, where it is installed" ON)
if(FRE_SERVERS)
    foreach(pair sqlite:sqlite3 pq:libpq microhttpd:libmicrohttpd gnutls:gnutls curl:libcurl)
        string(REPLACE ":" ";" pair ${pair})
        list(GET pair 0 name)
        list(GET pair 1 module)
        pkg_check_modules(ext_${name} QUIET IMPORTED_TARGET ${module})
        if(ext_${name}_FOUND)
            add_library(fre-ext-${name} INTERFACE)
            target_link_libraries(fre-ext-${name} INTERFACE PkgConfig::ext_${name})
        endif()
    endforeach()
endif()
set(FRE_STORE_REQUIRES "")
if(TARGET fre-ext-sqlite AND TARGET fre-ext-pq)
    set(FRE_STORE_REQUIRES "sqlite3 libpq")
endif()
set(FRE_NET_REQUIRES "")
if(TARGET fre-ext-microhttpd AND TARGET fre-ext-gnutls AND TARGET fre-ext-curl)
    set(FRE_NET_REQUIRES "libmicrohttpd gnutls libcurl")
endif()

# llama.cpp: a prefix named by the user; else an installed package that has every call that the
# adapter makes (its API moves quickly); else the copy that tools/bootstrap-llama built.
set(FRE_LLAMA_PREFIX "$ENV{FRE_LLAMA_PREFIX}" CACHE PATH
    "where llama.cpp is installed; empty: a system package, or the copy of tools/bootstrap-llama")
set(FRE_HAVE_LLAMA FALSE)
set(llama_prefix "${FRE_LLAMA_PREFIX}")

if(NOT llama_prefix)
    find_package(llama CONFIG QUIET)
    if(TARGET llama)
        include(CheckCSourceCompiles)
        set(CMAKE_REQUIRED_LIBRARIES llama)
        check_c_source_compiles("
            #include <llama.h>
            int main(void)
            {
                struct llama_context_params p = llama_context_default_params();
                p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
                ggml_backend_load_all_from_path(\".\");
                llama_memory_seq_cp(llama_get_memory(0), 0, 1, 0, -1);
                return llama_model_n_embd_inp(0) + llama_model_n_embd_out(0) + (int)p.n_seq_max +
                       (ggml_set_abort_callback(0) != 0);
            }" FRE_SYSTEM_LLAMA_FITS)
        unset(CMAKE_REQUIRED_LIBRARIES)
    endif()
    if(TARGET llama AND FRE_SYSTEM_LLAMA_FITS)
        set(FRE_HAVE_LLAMA TRUE)
        set(FRE_LLAMA_IS_SYSTEM TRUE)
        add_library(fre-ext-llama INTERFACE)
        target_link_libraries(fre-ext-llama INTERFACE llama)
        if(GGML_BACKEND_DIR)
            target_compile_definitions(fre-ext-llama INTERFACE
                FRE_LLAMA_BACKEND_DIR="${GGML_BACKEND_DIR}")
        endif()
    else()
        execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/bootstrap-llama --prefix
            OUTPUT_VARIABLE llama_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
endif()

foreach(library LLAMA GGML GGML_BASE)
    unset(FRE_${library}_LIBRARY CACHE)
endforeach()
unset(FRE_LLAMA_INCLUDE CACHE)
if(llama_prefix)
    # The loader would look for a relative path in the current folder, and takes a colon for the end.
    get_filename_component(llama_prefix "${llama_prefix}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
    foreach(path IN ITEMS "${llama_prefix}" "${PROJECT_BINARY_DIR}")
        if(path MATCHES "[:;]")
            message(FATAL_ERROR "There is a colon or semicolon in the path ${path}, where libraries "
                "would lie: use another folder.")
        endif()
    endforeach()
    find_library(FRE_LLAMA_LIBRARY llama PATHS ${llama_prefix}/lib NO_DEFAULT_PATH)
    find_library(FRE_GGML_LIBRARY ggml PATHS ${llama_prefix}/lib NO_DEFAULT_PATH)
    find_library(FRE_GGML_BASE_LIBRARY ggml-base PATHS ${llama_prefix}/lib NO_DEFAULT_PATH)
    find_path(FRE_LLAMA_INCLUDE llama.h PATHS ${llama_prefix}/include NO_DEFAULT_PATH)
    if(FRE_LLAMA_LIBRARY AND FRE_GGML_LIBRARY AND FRE_GGML_BASE_LIBRARY AND FRE_LLAMA_INCLUDE)
        set(FRE_HAVE_LLAMA TRUE)
        set(FRE_LLAMA_IS_SYSTEM FALSE)
        set(FRE_LLAMA_LIBDIR ${llama_prefix}/lib)
        add_library(fre-ext-llama INTERFACE)
        target_include_directories(fre-ext-llama SYSTEM INTERFACE ${FRE_LLAMA_INCLUDE})
        target_link_libraries(fre-ext-llama INTERFACE
            ${FRE_LLAMA_LIBRARY} ${FRE_GGML_LIBRARY} ${FRE_GGML_BASE_LIBRARY})
    endif()
endif()

if(NOT FRE_HAVE_LLAMA)
    message(FATAL_ERROR "llama.cpp was not found. Run tools/bootstrap-llama once "
        "(three minutes), or name a prefix by -DFRE_LLAMA_PREFIX=DIR.")
endif()
