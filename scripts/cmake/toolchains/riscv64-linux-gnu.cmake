set(SLUICE_CROSS_ARCH riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/DebianCross.cmake)
