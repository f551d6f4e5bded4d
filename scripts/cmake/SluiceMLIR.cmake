# MLIR, LLVM, protobuf and ONNX, and target functions for the rooms that know them.

find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir NO_DEFAULT_PATH)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# mlir_tablegen reads the folder's include directories, not a target's.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

add_library(SluiceMLIROptions INTERFACE)
target_link_libraries(SluiceMLIROptions INTERFACE SluiceOptions)
target_include_directories(SluiceMLIROptions SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_include_directories(SluiceMLIROptions INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
separate_arguments(SLUICE_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(SluiceMLIROptions INTERFACE ${SLUICE_LLVM_DEFINITIONS})
target_compile_options(SluiceMLIROptions INTERFACE -Wno-comment -Wno-unused-but-set-parameter)
target_link_libraries(SluiceMLIROptions INTERFACE MLIR LLVM)

# Compile time of the compiler itself counts; its inner loops are in the rooms
# and in generated code, which have their own levels. Tests have the level of their folder.
target_compile_options(SluiceMLIROptions INTERFACE
  $<$<AND:$<CONFIG:Release>,$<NOT:$<BOOL:$<TARGET_PROPERTY:SLUICE_IS_TEST>>>>:-O1>)

set(pch ${PROJECT_SOURCE_DIR}/scripts/cmake/pch)
set(headers SluiceMLIROptions nlohmann_json::nlohmann_json tl::expected)
sluice_define_pch(Mlir HEADERS ${pch}/Mlir.h LINKS ${headers})
sluice_define_pch(Dataflow OVER Mlir HEADERS ${pch}/Dataflow.h LINKS ${headers} DEPENDS SluiceDataflowIncGen)
sluice_define_pch(MlirTool OVER Dataflow HEADERS ${pch}/MlirTool.h LINKS ${headers} CLI11::CLI11 DEPENDS SluiceDataflowIncGen)
if(SLUICE_ENABLE_TESTS)
  sluice_define_pch(MlirTest OVER Test HEADERS ${pch}/MlirTest.h LINKS ${headers} Catch2::Catch2 DEPENDS SluiceDataflowIncGen
    OPTIONS $<$<CONFIG:Release>:-O0>)
  set_target_properties(SluiceMlirTestPch PROPERTIES SLUICE_IS_TEST ON)
endif()

# sluice_add_mlir_library(Name SOURCES ... [LINKS target ...] [DEPENDS tablegen-target ...] [PCH kind])
# PCH: Dataflow where the targets include that dialect; Mlir, the default, elsewhere.
function(sluice_add_mlir_library name)
  cmake_parse_arguments(ARG "" "PCH" "SOURCES;LINKS;DEPENDS" ${ARGN})
  add_library(Sluice${name} STATIC ${ARG_SOURCES})
  target_link_libraries(Sluice${name} PUBLIC SluiceMLIROptions ${ARG_LINKS})
  if(ARG_DEPENDS)
    add_dependencies(Sluice${name} ${ARG_DEPENDS})
  endif()
  if(NOT ARG_PCH)
    set(ARG_PCH Mlir)
  endif()
  sluice_use_pch(Sluice${name} ${ARG_PCH})
endfunction()
