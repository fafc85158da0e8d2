# Files as C arrays: cmake -DOUT=x.c "-DFILES=a.html;1.js;2.js" -DPREFIX=report_template -P embed.cmake
# defines PREFIX_html[] and PREFIX_html_size, and so on for each ending; files of the same ending follow one
# another, in the order given.
foreach(file IN LISTS FILES)
    get_filename_component(ending ${file} LAST_EXT)
    string(REPLACE . "_" ending "${ending}")
    file(READ ${file} part HEX)
    list(APPEND endings ${ending})
    string(APPEND bytes${ending} "${part}")
endforeach()
list(REMOVE_DUPLICATES endings)
set(text "#include <stddef.h>\n")
foreach(ending IN LISTS endings)
    set(name "${PREFIX}${ending}")
    string(LENGTH "${bytes${ending}}" size)
    math(EXPR size "${size} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes${ending}}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "extern const unsigned char ${name}[];\nextern const size_t ${name}_size;\n"
        "const unsigned char ${name}[] = {\n${bytes}};\nconst size_t ${name}_size = ${size};\n")
endforeach()
file(WRITE ${OUT} "${text}")
