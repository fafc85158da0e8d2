# Warnings, hardening and sanitizers, each as an interface target.
include(CheckCCompilerFlag)

set(warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
    -Wfloat-equal -Wformat=2 -Wvla -Walloca -Wundef -Wcast-qual -Wcast-align=strict
    -Wwrite-strings -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes
    -Wmissing-declarations -Wold-style-definition -Wredundant-decls -Wnested-externs
    -Wnull-dereference -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wswitch-enum
    -Wimplicit-fallthrough=5 -Wdate-time)

add_library(fre-flags INTERFACE)
foreach(flag IN LISTS warnings)
    string(MAKE_C_IDENTIFIER "has${flag}" has)
    check_c_compiler_flag("-Werror ${flag}" ${has})
    if(${has})
        target_compile_options(fre-flags INTERFACE ${flag})
    endif()
endforeach()
# -ffp-contract=off: sums and accountants must not depend on whether a machine fuses multiply-add.
target_compile_options(fre-flags INTERFACE -fno-common -ffp-contract=off -fvisibility=hidden)
target_compile_definitions(fre-flags INTERFACE _GNU_SOURCE)

if(FRE_WHEEL) # no path of the machine that built it
    target_compile_options(fre-flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()

if(FRE_WARNINGS_AS_ERRORS)
    target_compile_options(fre-flags INTERFACE -Werror)
endif()

if(FRE_HARDEN)
    target_compile_options(fre-flags INTERFACE
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
    foreach(flag -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER "has${flag}" has)
        check_c_compiler_flag("-Werror ${flag}" ${has})
        if(${has})
            target_compile_options(fre-flags INTERFACE ${flag})
        endif()
    endforeach()
    target_link_options(fre-flags INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()

if(FRE_SANITIZE)
    set(sanitize -fsanitize=${FRE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(fre-flags INTERFACE ${sanitize})
    target_link_options(fre-flags INTERFACE ${sanitize})
endif()
