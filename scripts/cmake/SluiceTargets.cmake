# Flags and target functions every room shares.

add_library(SluiceOptions INTERFACE)
target_include_directories(SluiceOptions INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:include>)
target_compile_options(SluiceOptions INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wno-unused-parameter;-Werror=return-type>)
# Executables share precompiled headers with libraries.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports false overreads in its own inlined containers at -O3.
  target_compile_options(SluiceOptions INTERFACE
    $<BUILD_INTERFACE:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-maybe-uninitialized;-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12 itself calls what it declares deprecated.
  target_compile_options(SluiceOptions INTERFACE $<BUILD_INTERFACE:-Wno-deprecated-declarations>)
endif()
if(SLUICE_SANITIZE)
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND SLUICE_SANITIZE MATCHES "undefined")
    # Functions found by name are called with opaque pointers of other types than theirs, and compiled kernels have no
    # type at all to read.
    add_compile_options(-fno-sanitize=function)
  endif()
endif()
if(SLUICE_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
# lld links libMLIR users in 0.2 s.
if(EXISTS /usr/lib/llvm-22/bin/ld.lld)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_link_options(-B/usr/lib/llvm-22/bin -fuse-ld=lld)
  else()
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# sluice_unify(target): its sources compile several at a time, which saves the instantiations that they share. Only where
# the build is optimized: other builds show that each source includes what it uses.
function(sluice_unify target)
  if(SLUICE_UNITY AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# sluice_add_room(Name SOURCES a.cpp ... [LINKS Room ...] [PRIVATE_LINKS target ...])
# A pure room: plain C++, no MLIR. LINKS name other rooms.
function(sluice_add_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(Sluice${name} STATIC ${ARG_SOURCES})
  add_library(Sluice::${name} ALIAS Sluice${name})
  set_target_properties(Sluice${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(Sluice${name} PUBLIC SluiceOptions)
  foreach(room IN LISTS ARG_LINKS)
    target_link_libraries(Sluice${name} PUBLIC Sluice${room})
  endforeach()
  target_link_libraries(Sluice${name} PRIVATE ${ARG_PRIVATE_LINKS})
  sluice_use_pch(Sluice${name} Room)
  set_property(GLOBAL APPEND PROPERTY SLUICE_INSTALL_TARGETS Sluice${name})
endfunction()

# sluice_add_unit_test(Room SOURCES a.cpp ... LINKS target ... [PCH kind])
# One Catch2 program a room; each TEST_CASE is a ctest test. A case that ends by skip() of
# test/unit/Skip.h counts as skipped, by an exit status that means nothing else.
function(sluice_add_unit_test room)
  cmake_parse_arguments(ARG "" "PCH" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH Test)
  endif()
  set(target ${room}Tests)
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE SluiceOptions ${ARG_LINKS} SluiceUnitMain)
  sluice_use_pch(${target} ${ARG_PCH})
  target_compile_definitions(${target} PRIVATE SLUICE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES SLUICE_IS_TEST ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  catch_discover_tests(${target} TEST_PREFIX "${room}: "
    PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()
