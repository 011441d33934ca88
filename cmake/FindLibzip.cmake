# libzip: target steelyard::libzip. Debian's own CMake config requires programs of another package.
find_path(Libzip_INCLUDE_DIR zip.h)
find_library(Libzip_LIBRARY zip)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS Libzip_LIBRARY Libzip_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libzip-dev (script/setup does)")
if(Libzip_FOUND AND NOT TARGET steelyard::libzip)
  add_library(steelyard::libzip INTERFACE IMPORTED)
  target_include_directories(steelyard::libzip INTERFACE ${Libzip_INCLUDE_DIR})
  target_link_libraries(steelyard::libzip INTERFACE ${Libzip_LIBRARY})
endif()
mark_as_advanced(Libzip_INCLUDE_DIR Libzip_LIBRARY)
