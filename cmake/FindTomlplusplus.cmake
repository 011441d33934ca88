# toml++ as packaged by Debian, a shared library: target steelyard::toml.
find_path(Tomlplusplus_INCLUDE_DIR toml++/toml.h)
find_library(Tomlplusplus_LIBRARY tomlplusplus)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Tomlplusplus REQUIRED_VARS Tomlplusplus_LIBRARY Tomlplusplus_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libtomlplusplus-dev (script/setup does)")
if(Tomlplusplus_FOUND AND NOT TARGET steelyard::toml)
  add_library(steelyard::toml INTERFACE IMPORTED)
  target_include_directories(steelyard::toml INTERFACE ${Tomlplusplus_INCLUDE_DIR})
  target_compile_definitions(steelyard::toml INTERFACE TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)
  target_link_libraries(steelyard::toml INTERFACE ${Tomlplusplus_LIBRARY})
endif()
mark_as_advanced(Tomlplusplus_INCLUDE_DIR Tomlplusplus_LIBRARY)
