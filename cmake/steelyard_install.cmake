# The rules of `cmake --install`, and the package for find_package(steelyard). Header-only dependencies are linked inside
# BUILD_INTERFACE, so users of the package do not need them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(installed GLOBAL PROPERTY STEELYARD_INSTALLED)
install(TARGETS ${installed} EXPORT steelyardTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS steelyard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(TARGETS steelyard_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program)
# The files that pyproject.toml adds to the wheel. script/package gives the licences of libraries in it.
install(TARGETS steelyard RUNTIME DESTINATION steelyard/bin COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS steelyard_shared LIBRARY DESTINATION steelyard/lib COMPONENT python EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION steelyard COMPONENT python EXCLUDE_FROM_ALL)
if(STEELYARD_LICENCES)
  install(DIRECTORY ${STEELYARD_LICENCES}/ DESTINATION steelyard/licences COMPONENT python EXCLUDE_FROM_ALL)
endif()
# The files that the program itself opens (core/share.h).
set(shared_examples examples/jobs examples/digits examples/houses)
install(DIRECTORY ${shared_examples} DESTINATION ${CMAKE_INSTALL_DATADIR}/steelyard COMPONENT program)
install(DIRECTORY ${shared_examples} DESTINATION steelyard/share/steelyard COMPONENT python EXCLUDE_FROM_ALL)
# The same package for the Python of a distribution (packaging/deb.sh), which has program and library elsewhere.
install(DIRECTORY bindings/python/steelyard DESTINATION lib/python3/dist-packages COMPONENT python3 EXCLUDE_FROM_ALL
  PATTERN __pycache__ EXCLUDE)

# The public headers; they include no others.
file(GLOB promised RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS include/steelyard/*.h)
install(FILES ${promised} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/steelyard COMPONENT development)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/steelyard)
install(EXPORT steelyardTargets NAMESPACE steelyard:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(cmake/steelyardConfig.cmake.in steelyardConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(steelyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/steelyardConfig.cmake ${CMAKE_BINARY_DIR}/steelyardConfigVersion.cmake
  cmake/FindZeroMQ.cmake cmake/FindOneDNN.cmake cmake/FindTomlplusplus.cmake cmake/FindXxHash.cmake cmake/FindLibzip.cmake cmake/FindHttplib.cmake cmake/FindCUDNN.cmake DESTINATION ${package} COMPONENT development)

# Licence, documents, examples. The program itself generates the man pages and the completion, so they are made during
# installation, on machines that can run it.
install(FILES LICENSE README.md ARCHITECTURE.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program FILES_MATCHING PATTERN "*.md"
  PATTERN "*.svg" PATTERN "*.png")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program PATTERN CMakeLists.txt EXCLUDE
  PATTERN __pycache__ EXCLUDE PATTERN digits EXCLUDE)
if(CMAKE_CROSSCOMPILING)
  message(STATUS "man pages and completion are not installed: the program cannot run on this machine")
  return()
endif()
foreach(completion "bash bash-completion/completions/steelyard" "zsh zsh/vendor-completions/_steelyard"
    "fish fish/vendor_completions.d/steelyard.fish")
  separate_arguments(completion)
  list(GET completion 0 shell)
  list(GET completion 1 file)
  cmake_path(GET file FILENAME name)
  cmake_path(GET file PARENT_PATH folder)
  install(CODE "execute_process(COMMAND ${CMAKE_BINARY_DIR}/bin/steelyard help --completion ${shell}
    OUTPUT_FILE ${CMAKE_BINARY_DIR}/completion.${shell} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  install(FILES ${CMAKE_BINARY_DIR}/completion.${shell} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${name}
    COMPONENT program)
endforeach()
find_program(HELP2MAN help2man)
if(NOT HELP2MAN)
  message(STATUS "man pages are not installed: help2man is missing (script/setup installs it)")
  return()
endif()
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -DPROGRAM=${CMAKE_BINARY_DIR}/bin/steelyard -DHELP2MAN=${HELP2MAN}
  -DVERSION=${PROJECT_VERSION} -DINTO=${CMAKE_BINARY_DIR}/man1 -P ${CMAKE_SOURCE_DIR}/cmake/man_pages.cmake
  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
