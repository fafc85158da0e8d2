# make install: program, library, headers, pkg-config file, models, data, documents, man page,
# completions, and llama.cpp's shared libraries in a private folder.  Everything finds its parts
# relative to itself, so an installed tree can be moved.
#
# Program and library are linked a second time for it, with the search path that they have there.
# Were CMake to rewrite the path of the build tree when it installs, it would end that one with an
# empty element, which the loader takes for the current folder.
set(private_libdir ${CMAKE_INSTALL_LIBDIR}/fre-e2t)
set(datadir ${CMAKE_INSTALL_DATADIR}/fre-e2t)

if(TARGET libfre-e2t-shared)
    add_library(libfre-e2t-installed SHARED ${objects})
    set_target_properties(libfre-e2t-installed PROPERTIES OUTPUT_NAME fre-e2t LINKER_LANGUAGE C
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/installed
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/fre-e2t")
    target_link_libraries(libfre-e2t-installed PRIVATE fre-flags ${outside} Threads::Threads m)
    install(TARGETS libfre-e2t-installed LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${PROJECT_BINARY_DIR}/libfre-e2t.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY include/fre DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
    file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
    configure_file(cmake/fre-e2t.pc.in fre-e2t.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/fre-e2t.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(NOT FRE_LLAMA_IS_SYSTEM)
    install(DIRECTORY ${FRE_LLAMA_LIBDIR}/ DESTINATION ${private_libdir}
        FILES_MATCHING PATTERN "libllama.so*" PATTERN "libggml*.so*")
    if(EXISTS ${llama_prefix}/share/llama.cpp-LICENSE)
        install(FILES ${llama_prefix}/share/llama.cpp-LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
    endif()
endif()

install(DIRECTORY models DESTINATION ${datadir} FILES_MATCHING PATTERN "*.gguf")
install(DIRECTORY data DESTINATION ${datadir} FILES_MATCHING PATTERN "*.jsonl.gz")

# Documents lie to each other as in the checkout, with all that they link to.
install(FILES LICENSE NOTICE THIRD_PARTY.md SECURITY.md README.md DESTINATION
    ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY models data train DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.md" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY tests/vectors DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests
    FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN "*.txt")
install(DIRECTORY tests/vectors/ DESTINATION ${datadir}/vectors
    FILES_MATCHING PATTERN "*.json" PATTERN "*.txt" PATTERN "__pycache__" EXCLUDE)
install(FILES tests/integration/test_wire_document.py tests/integration/test_python_client.py DESTINATION
    ${CMAKE_INSTALL_DOCDIR}/tests/integration)

# What obtains the models that are not bundled.
foreach(tool get-language-model get-embedder)
    install(PROGRAMS tools/${tool} DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME fre-e2t-${tool})
endforeach()

if(TARGET fre-e2t)
    file(RELATIVE_PATH from_bin /${CMAKE_INSTALL_BINDIR} /${private_libdir})
    add_executable(fre-e2t-installed $<TARGET_OBJECTS:fre-e2t>)
    target_link_libraries(fre-e2t-installed PRIVATE fre-cli)
    set_target_properties(fre-e2t-installed PROPERTIES OUTPUT_NAME fre-e2t
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/installed
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/${from_bin}")
    install(TARGETS fre-e2t-installed RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

    # The man page and the completions come from the program's own argument tables.
    set(generated ${PROJECT_BINARY_DIR}/generated)
    file(MAKE_DIRECTORY ${generated})
    add_custom_command(OUTPUT ${generated}/stamp
        COMMAND fre-e2t help --man > ${generated}/fre-e2t.1
        COMMAND fre-e2t completion bash > ${generated}/fre-e2t.bash
        COMMAND fre-e2t completion zsh > ${generated}/_fre-e2t
        COMMAND fre-e2t completion fish > ${generated}/fre-e2t.fish
        COMMAND ${CMAKE_COMMAND} -E touch ${generated}/stamp
        DEPENDS fre-e2t VERBATIM)
    add_custom_target(generated ALL DEPENDS ${generated}/stamp)
    install(FILES ${generated}/fre-e2t.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${generated}/fre-e2t.bash RENAME fre-e2t
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${generated}/_fre-e2t DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${generated}/fre-e2t.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
