# Precompiled headers, one a kind of target. A kind holds what most files of its targets include;
# clang reads from it only what a file uses, so a kind may hold much.

# Written anew only where it is missing, so that a new configuration compiles nothing twice.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch/empty.cpp CONTENT "")

# sluice_define_pch(Kind HEADERS file... [OVER kind] [LINKS target...] [DEPENDS target...] [OPTIONS option...])
# OVER: a kind with the same OPTIONS whose headers come first. clang keeps what the new kind adds to that one and compiles nothing twice.
# OPTIONS: those of the targets, which have to optimize alike.
function(sluice_define_pch kind)
  cmake_parse_arguments(ARG "" "OVER" "HEADERS;LINKS;DEPENDS;OPTIONS" ${ARGN})
  set(target Sluice${kind}Pch)
  add_library(${target} STATIC ${PROJECT_BINARY_DIR}/pch/empty.cpp)
  target_link_libraries(${target} PRIVATE SluiceOptions ${ARG_LINKS})
  target_compile_options(${target} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  if(ARG_DEPENDS)
    add_dependencies(${target} ${ARG_DEPENDS})
  endif()
  set(stem ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx)
  set(below)
  if(ARG_OVER AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_CONFIGURATION_TYPES)
    get_target_property(below Sluice${ARG_OVER}Pch SLUICE_PCH_FILES)
    list(GET below -1 parent)
    add_dependencies(${target} Sluice${ARG_OVER}Pch)
    # The file of this name that CMake adds to later command lines is the one clang takes.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -include-pch -Xclang ${parent}")
    set_source_files_properties(${stem}.cxx PROPERTIES OBJECT_DEPENDS ${parent})
    sluice_hash_with(${target} "${below}")
  endif()
  list(APPEND below ${stem}.pch)
  set_target_properties(${target} PROPERTIES SLUICE_PCH_FILES "${below}")
endfunction()

# sluice_use_pch(target Kind)
function(sluice_use_pch target kind)
  target_precompile_headers(${target} REUSE_FROM Sluice${kind}Pch)
  get_target_property(files Sluice${kind}Pch SLUICE_PCH_FILES)
  list(POP_BACK files)
  sluice_hash_with(${target} "${files}")
endfunction()

# ccache reads the one precompiled header that a command line names, not those below it.
function(sluice_hash_with target files)
  if(SLUICE_CCACHE AND files)
    list(JOIN files ":" joined)
    set(launcher ${CMAKE_CXX_COMPILER_LAUNCHER})
    list(INSERT launcher 3 CCACHE_EXTRAFILES=${joined})
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
  endif()
endfunction()
