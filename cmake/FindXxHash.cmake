# libxxhash as packaged by Debian, without a CMake config: target steelyard::xxhash.
find_path(XxHash_INCLUDE_DIR xxhash.h)
find_library(XxHash_LIBRARY xxhash)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XxHash REQUIRED_VARS XxHash_LIBRARY XxHash_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libxxhash-dev (script/setup does)")
if(XxHash_FOUND AND NOT TARGET steelyard::xxhash)
  add_library(steelyard::xxhash INTERFACE IMPORTED)
  target_include_directories(steelyard::xxhash INTERFACE ${XxHash_INCLUDE_DIR})
  target_link_libraries(steelyard::xxhash INTERFACE ${XxHash_LIBRARY})
endif()
mark_as_advanced(XxHash_INCLUDE_DIR XxHash_LIBRARY)
