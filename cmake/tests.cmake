# Unit tests, fuzz targets, integration tests, examples and benches, found by their place.

set(FRE_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp")

# The module a file is about: longest module name that starts its name after the prefix.
function(fre_module_of result stem)
    set(best "")
    foreach(module IN LISTS FRE_ALL_MODULES ITEMS cli)
        if(stem MATCHES "^${module}(_.*)?$")
            set(best ${module})
        endif()
    endforeach()
    set(${result} "${best}" PARENT_SCOPE)
endfunction()

# What such a file links to: its module, or everything; empty when it can't be built yet.
function(fre_libraries_of result module)
    if(module STREQUAL "")
        set(libs ${FRE_MODULE_TARGETS})
        if(TARGET fre-cli)
            list(APPEND libs fre-cli)
        endif()
    elseif(TARGET fre-${module})
        set(libs fre-${module})
    else()
        set(libs "")
    endif()
    set(${result} "${libs}" PARENT_SCOPE)
endfunction()

# tests/support/<module>/*.c: a library for the tests and fuzz targets of that module and of those
# that stand on it; of cli, on all.  Their headers only declare.
set(FRE_FLOOR_cli .)
set(FRE_USES_cli ${FRE_MODULES})
foreach(module IN LISTS FRE_MODULES ITEMS cli)
    file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/${module}/*.c)
    set(FRE_SUPPORT_${module} "") # of the module and below
    foreach(use IN LISTS FRE_USES_${module})
        list(APPEND FRE_SUPPORT_${module} ${FRE_SUPPORT_${use}})
    endforeach()
    list(REMOVE_DUPLICATES FRE_SUPPORT_${module})
    if(support AND TARGET fre-${module})
        add_library(support-${module} STATIC EXCLUDE_FROM_ALL ${support})
        target_include_directories(support-${module}
            PUBLIC ${PROJECT_SOURCE_DIR}/tests/support/${module}
            PRIVATE ${PROJECT_SOURCE_DIR}/src/${FRE_FLOOR_${module}}/${module})
        target_link_libraries(support-${module}
            PUBLIC ${FRE_SUPPORT_${module}} fre-${module} PRIVATE fre-flags)
        list(PREPEND FRE_SUPPORT_${module} support-${module})
    endif()
endforeach()

set(FRE_SUPPORT_ ${FRE_SUPPORT_cli}) # of what is about no module alone

function(fre_add_program target source module)
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE fre-flags ${FRE_SUPPORT_${module}} ${ARGN})
    target_compile_definitions(${target} PRIVATE FRE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    if(module)
        target_include_directories(${target} PRIVATE
            ${PROJECT_SOURCE_DIR}/src/${FRE_FLOOR_${module}}/${module})
    endif()
endfunction()

if(FRE_TESTS)
    enable_testing()
    # Of numbers alone, and minutes of them under sanitizers, which `make check-long` takes.
    option(FRE_LONG "sanitizers see the long tests of numbers too" OFF)
    set(long_unit test_privacy_paper test_privacy_plan test_privacy_joint test_privacy_distributed
        test_audit test_audit_levels test_audit_shares test_audit_splits test_curator_canary)
    # What sanitizers see of the commands: every one of them (test_few_files), input and files that are made to
    # break something, what is stored and resumed.  What else the tests of commands are about, numbers, wordings,
    # widths, is the same code, which the units take through sanitizers, and servers with test_rehearsal.
    set(sanitized_integration test_collection test_embed_invert test_few_files test_flags_of_formats
        test_inputs test_ledger test_model_files test_report test_store test_synthesize test_usage)
    # Begun first, the longest ahead, so that none is left alone at the end.
    set(first_units test_invert test_audit_levels test_audit_shares test_audit_splits
        test_server_schedules)
    set(first_integration test_serve_fronts test_terminal test_languages test_pipes test_inputs test_plan test_audit
        test_model_files test_few_files test_paraphrase test_locale test_synthesize test_simulate)
    # Of the module in src/<floor>/<module>: tests/unit/<floor>/<module>.
    # Of a whole floor: tests/unit/<floor>, with every module.
    file(GLOB test_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/*/*/test_*.c
        ${PROJECT_SOURCE_DIR}/tests/unit/*/test_*.c)
    # The allocators of tests/support/core/alloc_fail.c stand in front of these.
    set(allocators malloc calloc aligned_alloc realloc strdup strndup realpath asprintf vasprintf free
        sodium_malloc sodium_free)
    # Of floors; alloc_outside.c.
    set(allocators_outside utf8proc_map json_object json_array json_string json_integer json_real
        json_pack json_loadb json_dumps)
    foreach(file IN LISTS test_files)
        get_filename_component(test ${file} NAME_WE)
        if(FRE_SANITIZE AND NOT FRE_LONG AND test IN_LIST long_unit)
            continue()
        endif()
        string(REGEX REPLACE "^test_" "" stem ${test})
        fre_module_of(module ${stem})
        fre_libraries_of(libs "${module}")
        if(NOT libs)
            continue()
        endif()
        fre_add_program(${test} ${file} "${module}" ${libs} fre-ext-cmocka)
        if(test MATCHES "memory")
            set(wrapped ${allocators})
            if(NOT module)
                list(APPEND wrapped ${allocators_outside})
                target_link_options(${test} PRIVATE -Wl,-u,__wrap_utf8proc_map)
            endif()
            list(TRANSFORM wrapped PREPEND -Wl,--wrap=)
            target_link_options(${test} PRIVATE ${wrapped})
        endif()
        add_test(NAME ${test} COMMAND ${test} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
        set_tests_properties(${test} PROPERTIES TIMEOUT 1800
            ENVIRONMENT "${FRE_TEST_ENVIRONMENT}")
        if(NOT test IN_LIST long_unit)
            list(APPEND sanitized ${test})
        endif()
        if(test IN_LIST long_unit OR test IN_LIST first_units)
            set_tests_properties(${test} PROPERTIES COST 2000)
        endif()
    endforeach()
    if(TARGET test_privacy_levels)
        target_link_libraries(test_privacy_levels PRIVATE fre-ext-jansson)
    endif()
    if(TARGET test_evaluate_without_linear) # compiled once more, as where liblinear is not installed
        target_sources(test_evaluate_without_linear PRIVATE
            ${PROJECT_SOURCE_DIR}/src/study/evaluate/classifier.c)
    endif()
    if(TARGET test_report)
        target_link_libraries(test_report PRIVATE fre-ext-jansson)
    endif()
    if(TARGET test_model_tokens) # its vectors are JSON, its texts code points
        target_link_libraries(test_model_tokens PRIVATE fre-ext-jansson fre-ext-utf8proc)
    endif()
    if(TARGET test_rehearsal) # its servers may be exact, its devices seeded
        target_link_options(test_rehearsal PRIVATE -Wl,--wrap=fre_agreement_new
            -Wl,--wrap=fre_server_new_client)
    endif()
    if(TARGET test_server_schedules) # in halves, which two processors share
        set_tests_properties(test_server_schedules PROPERTIES
            ENVIRONMENT "${FRE_TEST_ENVIRONMENT};FRE_SCHEDULES_HALF=1")
        add_test(NAME test_server_schedules_second COMMAND test_server_schedules)
        set_tests_properties(test_server_schedules_second PROPERTIES TIMEOUT 1800 COST 2000
            ENVIRONMENT "${FRE_TEST_ENVIRONMENT};FRE_SCHEDULES_HALF=2")
        # By the hundred thousand, over numbers in the place of curves.
        fre_add_program(schedules-numbers
            "tests/unit/protocol/server/test_server_schedules.c;tests/numbers/numbers.c" server
            fre-server fre-ext-cmocka fre-ext-sodium)
        target_compile_definitions(schedules-numbers PRIVATE FRE_NUMBERS)
        add_test(NAME schedules-numbers COMMAND schedules-numbers)
        list(APPEND sanitized test_server_schedules_second schedules-numbers)
        set_tests_properties(schedules-numbers PROPERTIES TIMEOUT 1800
            ENVIRONMENT "${FRE_TEST_ENVIRONMENT}")
    endif()
    if(TARGET test_store) # it also does what somebody with the database could
        target_link_libraries(test_store PRIVATE fre-ext-sqlite fre-ext-pq)
        target_include_directories(test_store PRIVATE ${PROJECT_SOURCE_DIR}/src/protocol/server)
    endif()
    if(TARGET test_net_tls) # it also does what somebody with certificates of their own could
        target_link_libraries(test_net_tls PRIVATE fre-ext-gnutls)
    endif()
    if(TARGET test_net) # its private header
        target_link_libraries(test_net PRIVATE fre-ext-gnutls fre-ext-microhttpd)
    endif()
    if(TARGET test_map) # its allocator fails when it is told to
        target_link_options(test_map PRIVATE -Wl,--wrap=malloc -Wl,--wrap=calloc)
    endif()
endif()

# Fuzz targets: libFuzzer's main under the fuzz preset, elsewhere a main that replays the corpus.
file(GLOB fuzz_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.c)
foreach(file IN LISTS fuzz_files)
    get_filename_component(target ${file} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" stem ${target})
    fre_module_of(module ${stem})
    fre_libraries_of(libs "${module}")
    if(NOT libs)
        continue()
    endif()
    if(FRE_FUZZ)
        fre_add_program(${target} ${file} "${module}" ${libs})
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        if(module STREQUAL server) # what is looked for are orders of messages: numbers in the place of curves
            target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/numbers/numbers.c)
            target_link_libraries(${target} PRIVATE fre-ext-sodium)
        endif()
    elseif(FRE_TESTS)
        fre_add_program(${target} "${file};${PROJECT_SOURCE_DIR}/fuzz/replay_main.c" "${module}"
            ${libs})
        add_test(NAME ${target} COMMAND ${target} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${stem})
        list(APPEND sanitized ${target})
        set_tests_properties(${target} PROPERTIES TIMEOUT 600
            ENVIRONMENT "${FRE_TEST_ENVIRONMENT}")
    endif()
endforeach()

foreach(kind bench examples)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${kind}/*.c)
    foreach(file IN LISTS files)
        get_filename_component(stem ${file} NAME_WE)
        fre_module_of(module ${stem})
        if(kind STREQUAL examples)
            set(module "")
            set(libs libfre-e2t-shared) # as a user of the installed library would
        else()
            fre_libraries_of(libs "${module}")
        endif()
        if(libs AND TARGET libfre-e2t-shared)
            fre_add_program(${kind}-${stem} ${file} "${module}" ${libs})
            set_target_properties(${kind}-${stem} PROPERTIES
                RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${kind} OUTPUT_NAME ${stem})
        endif()
        # An example that needs nothing is run.
        if(FRE_TESTS AND stem STREQUAL take_part AND TARGET examples-take_part)
            add_test(NAME example-take_part COMMAND examples-take_part)
            list(APPEND sanitized example-take_part)
            set_tests_properties(example-take_part PROPERTIES TIMEOUT 120
                PASS_REGULAR_EXPRESSION "released 3 cells" ENVIRONMENT "${FRE_TEST_ENVIRONMENT}")
        endif()
    endforeach()
endforeach()

if(FRE_TESTS)
    file(GLOB integration CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/integration/test_*.py)
    find_program(FRE_PYTEST NAMES pytest-3 pytest)
    if(FRE_PYTEST AND TARGET fre-e2t)
        # Of scripts alone: sanitizers would see nothing.
        set(scripts_only test_missing_packages test_prove_fresh test_run_spark test_run_tests
            test_text_scores test_wheel test_wire_document)
        # What test_locale.py preloads.
        add_library(hostile-locale MODULE tests/integration/hostile_locale.c)
        set(hostile "FRE_HOSTILE_LOCALE=$<TARGET_FILE:hostile-locale>")
        # What test_serve*.py preload.
        add_library(other-clock MODULE tests/integration/other_clock.c)
        set(clock "FRE_OTHER_CLOCK=$<TARGET_FILE:other-clock>")
        set(store "FRE_TEST_STORE=")
        if(TARGET test_store)
            set(store "FRE_TEST_STORE=$<TARGET_FILE:test_store>")
        endif()
        set(collected "FRE_TEST_COLLECTED=")
        if(TARGET test_collected)
            set(collected "FRE_TEST_COLLECTED=$<TARGET_FILE:test_collected>")
        endif()
        set(python_package "FRE_PYTHON_PACKAGE=")
        if(FRE_HAVE_PYTHON)
            set(python_package "FRE_PYTHON_PACKAGE=${PROJECT_BINARY_DIR}/python")
        endif()
        set(rehearsal "FRE_TEST_REHEARSAL=")
        if(TARGET test_rehearsal)
            set(rehearsal "FRE_TEST_REHEARSAL=$<TARGET_FILE:test_rehearsal>")
        endif()
        # With what tools/run-spark installs, no test of Spark may be skipped.
        set(spark_tools ${PROJECT_SOURCE_DIR}/build/spark-tools)
        set(spark_is_here OFF)
        if(FRE_HAVE_PYTHON AND NOT FRE_SANITIZE AND EXISTS ${spark_tools}/.complete)
            set(spark_is_here ON)
        endif()
        # A file a test, so that they share the processors.
        foreach(path IN LISTS integration)
            get_filename_component(stem ${path} NAME_WE)
            if(FRE_SANITIZE AND stem IN_LIST scripts_only)
                continue()
            endif()
            if(NOT FRE_HAVE_PYTHON AND stem MATCHES "^test_(python|python_arrow|notebook)$")
                continue()
            endif()
            if(FRE_SANITIZE AND NOT FRE_LONG AND NOT stem IN_LIST sanitized_integration)
                continue()
            endif()
            string(REPLACE test_ integration- test ${stem})
            if(stem IN_LIST sanitized_integration)
                list(APPEND sanitized ${test})
            endif()
            if(spark_is_here AND stem MATCHES "^test_spark")
                add_test(NAME ${test} COMMAND ${spark_tools}/bin/python -m pytest -q -p no:cacheprovider
                    -W error::FutureWarning ${path})
            else()
                add_test(NAME ${test} COMMAND ${FRE_PYTEST} -q -p no:cacheprovider ${path})
            endif()
            set(cost 1000)
            if(stem IN_LIST first_integration)
                list(FIND first_integration ${stem} place)
                math(EXPR cost "1900 - ${place}")
            endif()
            set_tests_properties(${test} PROPERTIES TIMEOUT 1800 COST ${cost} ENVIRONMENT
                "${FRE_TEST_ENVIRONMENT};FRE_E2T=$<TARGET_FILE:fre-e2t>;${hostile};${clock};${store};${collected};${rehearsal};${python_package};PYTHONDONTWRITEBYTECODE=1")
        endforeach()
        foreach(test integration-spark integration-spark_connect)
            if(NOT TEST ${test})
                continue()
            endif()
            set_tests_properties(${test} PROPERTIES RESOURCE_LOCK spark)
            if(spark_is_here)
                set_tests_properties(${test} PROPERTIES COST 1950 # first: one after the other, minutes
                    ENVIRONMENT_MODIFICATION "FRE_SKIPS=set:fail")
            else() # no test of it is left where PySpark, pyarrow, gRPC or Java is missing
                set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 5
                    ENVIRONMENT_MODIFICATION "PYTEST_ADDOPTS=set:-rs")
            endif()
        endforeach()
        # Skipped where there is no Chromium, which `make check-browser` wants.  What it tests is script:
        # sanitizers would see nothing.
        if(NOT FRE_SANITIZE)
            add_test(NAME browser-report COMMAND ${FRE_PYTEST} -q -rs -p no:cacheprovider
                ${PROJECT_SOURCE_DIR}/tests/browser/test_page.py)
            set_tests_properties(browser-report PROPERTIES TIMEOUT 1800 COST 1000 ENVIRONMENT
                "${FRE_TEST_ENVIRONMENT};FRE_E2T=$<TARGET_FILE:fre-e2t>;PYTHONDONTWRITEBYTECODE=1")
        endif()
    endif()
endif()

# What `make asan` runs too, for whoever runs both: `make check-rest`.
if(FRE_TESTS)
    set_tests_properties(${sanitized} PROPERTIES LABELS sanitized)
endif()

# What `make tsan` builds and runs: servers and clients, and whatever else has threads of its own.
if(FRE_TESTS AND FRE_SANITIZE STREQUAL thread)
    add_custom_target(threads)
    add_executable(race EXCLUDE_FROM_ALL tests/threads/race.c)
    target_link_libraries(race PRIVATE fre-flags fre-core)
    add_dependencies(threads race)
    add_test(NAME a-race-is-seen COMMAND race)
    set_tests_properties(a-race-is-seen PROPERTIES LABELS threads
        PASS_REGULAR_EXPRESSION "ThreadSanitizer: data race")
    foreach(test test_core test_linalg test_linalg_grouped test_linalg_kmeans test_collected
            test_partial test_store test_net test_net_attacks test_net_client test_net_tls
            test_serve_credentials test_rehearsal)
        if(TARGET ${test})
            add_dependencies(threads ${test})
            set_property(TEST ${test} APPEND PROPERTY LABELS threads)
        endif()
    endforeach()
endif()

# Checks of the house, once a build without sanitizers; each also proves that it can fail.
if(FRE_TESTS AND NOT FRE_SANITIZE)
    set(check_circles_args ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
    set(check_layers_args ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    set(check_symbols_args ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
    set(check_memory_args ${PROJECT_SOURCE_DIR})
    set(check_locale_args ${PROJECT_BINARY_DIR})
    set(check_runpath_args ${PROJECT_BINARY_DIR} ${FRE_LLAMA_LIBDIR})
    foreach(check layers circles headers size symbols words locale runpath packages
            parameters memory)
        add_test(NAME check-${check}
            COMMAND ${PROJECT_SOURCE_DIR}/tools/check-${check} ${check_${check}_args})
        add_test(NAME check-${check}-can-fail
            COMMAND ${PROJECT_SOURCE_DIR}/tools/check-${check} --self-test)
        set_tests_properties(check-${check} check-${check}-can-fail PROPERTIES TIMEOUT 600)
    endforeach()
endif()
