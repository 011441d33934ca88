# What `cmake --install` puts where, and the package that find_package(steelyard) finds. Libraries of which only the headers
# are used are wrapped in BUILD_INTERFACE where they are linked: whoever uses the package need not have them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(installed GLOBAL PROPERTY STEELYARD_INSTALLED)
install(TARGETS ${installed} EXPORT steelyardTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS steelyard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS steelyard_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What bindings/python/pyproject.toml puts into a wheel, inside the package.
install(TARGETS steelyard RUNTIME DESTINATION steelyard/bin COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS steelyard_shared LIBRARY DESTINATION steelyard/lib COMPONENT python EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION steelyard COMPONENT python EXCLUDE_FROM_ALL)

# The headers that we promise; they include no others.
file(GLOB promised RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS include/steelyard/*.h)
install(FILES ${promised} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/steelyard)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/steelyard)
install(EXPORT steelyardTargets NAMESPACE steelyard:: DESTINATION ${package})
configure_package_config_file(cmake/steelyardConfig.cmake.in steelyardConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(steelyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/steelyardConfig.cmake ${CMAKE_BINARY_DIR}/steelyardConfigVersion.cmake
  cmake/FindZeroMQ.cmake cmake/FindOneDNN.cmake cmake/FindTomlplusplus.cmake cmake/FindXxHash.cmake cmake/FindLibzip.cmake cmake/FindHttplib.cmake cmake/FindCUDNN.cmake DESTINATION ${package})

# Whatever a user reads: licence, documents, examples. The man pages and the completion come from the program itself, so
# they are made when it is installed, on machines that can run it.
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN CMakeLists.txt EXCLUDE PATTERN __pycache__ EXCLUDE)
if(CMAKE_CROSSCOMPILING)
  message(STATUS "neither man pages nor completion are installed: they need the program to run here")
  return()
endif()
install(CODE "execute_process(COMMAND ${CMAKE_BINARY_DIR}/bin/steelyard help --completion bash
  OUTPUT_FILE ${CMAKE_BINARY_DIR}/steelyard.completion COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${CMAKE_BINARY_DIR}/steelyard.completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME steelyard)
find_program(HELP2MAN help2man)
if(NOT HELP2MAN)
  message(STATUS "no man pages are installed: there is no help2man (script/setup installs it)")
  return()
endif()
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -DPROGRAM=${CMAKE_BINARY_DIR}/bin/steelyard -DHELP2MAN=${HELP2MAN}
  -DVERSION=${PROJECT_VERSION} -DINTO=${CMAKE_BINARY_DIR}/man1 -P ${CMAKE_SOURCE_DIR}/cmake/man_pages.cmake
  COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${CMAKE_BINARY_DIR}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
