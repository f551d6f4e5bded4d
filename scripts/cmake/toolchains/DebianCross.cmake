# clang-22 with the libraries of Debian's cross compiler for SLUICE_CROSS_ARCH, which g++-ARCH-linux-gnu installs. The
# toolchain files of the architectures include this one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${SLUICE_CROSS_ARCH})
set(SLUICE_CROSS_TRIPLE ${SLUICE_CROSS_ARCH}-linux-gnu)

if(NOT EXISTS /usr/${SLUICE_CROSS_TRIPLE}/lib/libc.so.6)
  message(FATAL_ERROR
    "no C library for ${SLUICE_CROSS_TRIPLE} in /usr/${SLUICE_CROSS_TRIPLE}, install g++-${SLUICE_CROSS_TRIPLE}")
endif()
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET ${SLUICE_CROSS_TRIPLE})
endforeach()
set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_AR llvm-ar-22)
set(CMAKE_RANLIB llvm-ranlib-22)

# Header-only libraries are the host's: clang reads /usr/include last, after the architecture's own headers. Programs are
# the host's, and no library is.
set(CMAKE_FIND_ROOT_PATH /usr/${SLUICE_CROSS_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# Of the architecture's package, where one is: tests and `ctest` run programs by it.
find_program(SLUICE_EMULATOR NAMES qemu-${SLUICE_CROSS_ARCH} qemu-${SLUICE_CROSS_ARCH}-static)
if(SLUICE_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${SLUICE_EMULATOR} -L /usr/${SLUICE_CROSS_TRIPLE})
endif()
