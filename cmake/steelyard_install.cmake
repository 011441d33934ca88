# What `cmake --install` puts where, and the package that find_package(steelyard) finds. Libraries of which only the headers
# are used are wrapped in BUILD_INTERFACE where they are linked: whoever uses the package need not have them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(installed GLOBAL PROPERTY STEELYARD_INSTALLED)
install(TARGETS ${installed} EXPORT steelyardTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS steelyard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(folder core nn balancing wire server scheduler worker sim cli)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/steelyard FILES_MATCHING PATTERN "*.h")
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/steelyard)
install(EXPORT steelyardTargets NAMESPACE steelyard:: DESTINATION ${package})
configure_package_config_file(cmake/steelyardConfig.cmake.in steelyardConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(steelyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/steelyardConfig.cmake ${CMAKE_BINARY_DIR}/steelyardConfigVersion.cmake
  cmake/FindZeroMQ.cmake cmake/FindOneDNN.cmake cmake/FindTomlplusplus.cmake cmake/FindXxHash.cmake DESTINATION ${package})
