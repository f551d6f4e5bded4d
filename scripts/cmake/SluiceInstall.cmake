# Installation in three parts, the CMake package, and the Debian packages made of them.
#   runtime  the library a deployed model needs
#   tools    the compiler
#   dev      headers, and the planner's rooms as libraries, for find_package(Sluice)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SLUICE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
get_property(rooms GLOBAL PROPERTY SLUICE_INSTALL_TARGETS)
# Applications link the shared runtime; the static one is for our own tools and tests.
list(REMOVE_ITEM rooms SluiceRuntime sluice_runtime sluice_mpi sluice_regex sluice_images)
set_target_properties(sluice_runtime PROPERTIES EXPORT_NAME Runtime)

install(TARGETS sluice_runtime EXPORT SluiceTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
set(parts runtime:libsluice-runtime tools:sluice dev:libsluice-dev)
# Their packages alone need libraries of other projects, so CMake's package does not know them.
foreach(part IN ITEMS mpi regex images)
  if(TARGET sluice_${part})
    list(APPEND parts ${part}:libsluice-${part})
    # Applications link libsluice_mpi alone; the runtime opens the others by their file's name.
    set(namelink NAMELINK_SKIP)
    if(part STREQUAL mpi)
      set(namelink)
    endif()
    install(TARGETS sluice_${part} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${part} ${namelink})
  endif()
endforeach()
install(TARGETS ${rooms} SluiceOptions EXPORT SluiceTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
foreach(room IN LISTS rooms ITEMS SluiceRuntime)
  string(REGEX REPLACE "^Sluice" "" name ${room})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice/${name} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice COMPONENT dev)
endforeach()
install(EXPORT SluiceTargets NAMESPACE Sluice:: DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT dev)

configure_package_config_file(${PROJECT_SOURCE_DIR}/scripts/cmake/SluiceConfig.cmake.in SluiceConfig.cmake
  INSTALL_DESTINATION ${SLUICE_CMAKE_DIR})
write_basic_package_version_file(SluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/SluiceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/SluiceConfigVersion.cmake
  DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT dev)

# For pkg-config: of the installation, found by its own place, and of this build.
file(RELATIVE_PATH SLUICE_PC_INCLUDEDIR /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
set(SLUICE_PC_INCLUDEDIR "\${pcfiledir}/${SLUICE_PC_INCLUDEDIR}")
set(SLUICE_PC_LIBDIR "\${pcfiledir}/..")
configure_file(${CMAKE_CURRENT_LIST_DIR}/sluice_runtime.pc.in ${PROJECT_BINARY_DIR}/install/sluice_runtime.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/sluice_runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
set(SLUICE_PC_INCLUDEDIR ${PROJECT_SOURCE_DIR}/include)
set(SLUICE_PC_LIBDIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
configure_file(${CMAKE_CURRENT_LIST_DIR}/sluice_runtime.pc.in ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pkgconfig/sluice_runtime.pc @ONLY)
# What programs of `sluice compile --emit executable` link.
install(TARGETS sluice_standalone ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tools)

foreach(tool sluice sluice-opt sluice-translate sluice-solve sluice-bench sluice-reduce sluice-runner sluice-lsp-server)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  endif()
endforeach()
set(CPACK_COMPONENTS_ALL)
foreach(part IN LISTS parts)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 component)
  list(GET part 1 package)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright
    COMPONENT ${component})
  list(APPEND CPACK_COMPONENTS_ALL ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VENDOR "Sluice")
set(CPACK_PACKAGE_CONTACT "The Sluice maintainers <maintainers@sluice.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libsluice-runtime)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Runs models compiled by Sluice.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME libsluice-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_MPI_DEPENDS runtime)
set(CPACK_COMPONENT_MPI_DESCRIPTION "Ranks of a compiled model among processes that MPI starts.")
set(CPACK_DEBIAN_REGEX_PACKAGE_NAME libsluice-regex)
set(CPACK_DEBIAN_REGEX_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_REGEX_DEPENDS runtime)
set(CPACK_COMPONENT_REGEX_DESCRIPTION "Regular expressions of compiled models.")
set(CPACK_DEBIAN_IMAGES_PACKAGE_NAME libsluice-images)
set(CPACK_DEBIAN_IMAGES_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_IMAGES_DEPENDS runtime)
set(CPACK_COMPONENT_IMAGES_DESCRIPTION "Encoded images that compiled models read.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME sluice)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
# Compiled models are linked by lld, against the runtime.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS lld-22)
set(CPACK_COMPONENT_TOOLS_DEPENDS runtime)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Compiles, plans and runs ONNX models under a memory budget.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libsluice-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libexpected-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEV_DEPENDS runtime)
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers of the runtime's C API, and the planner as C++ libraries.")
include(CPack)
