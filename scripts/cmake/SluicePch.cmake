# Precompiled headers, one a kind of target. A kind holds what most files of its targets include;
# clang reads from it only what a file uses, so a kind may hold much.

file(WRITE ${PROJECT_BINARY_DIR}/pch/empty.cpp "")

# sluice_define_pch(Kind HEADERS file... [LINKS target...] [DEPENDS target...] [OPTIONS option...])
# OPTIONS: those of the targets, which have to optimize alike.
function(sluice_define_pch kind)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINKS;DEPENDS;OPTIONS" ${ARGN})
  add_library(Sluice${kind}Pch STATIC ${PROJECT_BINARY_DIR}/pch/empty.cpp)
  target_link_libraries(Sluice${kind}Pch PRIVATE SluiceOptions ${ARG_LINKS})
  target_compile_options(Sluice${kind}Pch PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(Sluice${kind}Pch PRIVATE ${ARG_HEADERS})
  if(ARG_DEPENDS)
    add_dependencies(Sluice${kind}Pch ${ARG_DEPENDS})
  endif()
endfunction()

# sluice_use_pch(target Kind)
function(sluice_use_pch target kind)
  target_precompile_headers(${target} REUSE_FROM Sluice${kind}Pch)
endfunction()
