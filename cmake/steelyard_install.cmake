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

# The headers that we promise, and of the others only those that they include.
function(steelyard_install_headers)
  set(todo ${ARGN})
  set(seen "")
  while(todo)
    list(POP_FRONT todo header)
    if(header IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    if(NOT header MATCHES "^include/")
      get_filename_component(folder ${header} DIRECTORY)
      install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/steelyard/internal/${folder})
    endif()
    file(STRINGS ${header} lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" included "${line}")
      list(APPEND todo ${included})
    endforeach()
  endwhile()
endfunction()
file(GLOB promised RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS include/steelyard/*.h)
install(FILES ${promised} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/steelyard)
steelyard_install_headers(${promised})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/steelyard)
install(EXPORT steelyardTargets NAMESPACE steelyard:: DESTINATION ${package})
configure_package_config_file(cmake/steelyardConfig.cmake.in steelyardConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(steelyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/steelyardConfig.cmake ${CMAKE_BINARY_DIR}/steelyardConfigVersion.cmake
  cmake/FindZeroMQ.cmake cmake/FindOneDNN.cmake cmake/FindTomlplusplus.cmake cmake/FindXxHash.cmake cmake/FindLibzip.cmake cmake/FindHttplib.cmake cmake/FindCUDNN.cmake DESTINATION ${package})

# Whatever a user reads: licence, documents, examples. The man page and the completion come from the command line that the
# program itself reads; they are made when it is installed, and not before.
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN CMakeLists.txt EXCLUDE PATTERN __pycache__ EXCLUDE)
foreach(what man completion)
  set(words_man --man)
  set(words_completion --completion bash)
  string(REPLACE ";" " " words_text "${words_${what}}")
  install(CODE "execute_process(COMMAND ${CMAKE_BINARY_DIR}/bin/steelyard help ${words_text}
    OUTPUT_FILE ${CMAKE_BINARY_DIR}/steelyard.${what} COMMAND_ERROR_IS_FATAL ANY)")
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/steelyard.man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME steelyard.1)
install(FILES ${CMAKE_BINARY_DIR}/steelyard.completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME steelyard)
