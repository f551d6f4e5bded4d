set(SLUICE_CROSS_ARCH aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/DebianCross.cmake)
