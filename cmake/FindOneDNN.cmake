# oneDNN as packaged by Debian: target steelyard::dnnl. Its own CMake config fails if OpenCL headers are missing, which
# are not needed here.
find_path(OneDNN_INCLUDE_DIR dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libdnnl-dev (script/setup does)")
find_library(OneDNN_OMP_LIBRARY NAMES libgomp.so.1 gomp)
if(OneDNN_FOUND AND NOT TARGET steelyard::dnnl)
  add_library(steelyard::dnnl INTERFACE IMPORTED)
  target_include_directories(steelyard::dnnl INTERFACE ${OneDNN_INCLUDE_DIR})
  target_link_libraries(steelyard::dnnl INTERFACE ${OneDNN_LIBRARY} ${OneDNN_OMP_LIBRARY})
endif()
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY OneDNN_OMP_LIBRARY)
