# cuDNN: target steelyard::cudnn. It is in the CUDA toolkit or in a Python environment; for the latter CUDNN_ROOT is the
# folder nvidia/cudnn of its site-packages.
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDNN_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS})
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDNN_ROOT}/lib ${CUDAToolkit_LIBRARY_DIR})
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install cuDNN 9 into the CUDA toolkit, or set -DCUDNN_ROOT=.../site-packages/nvidia/cudnn")
if(CUDNN_FOUND AND NOT TARGET steelyard::cudnn)
  add_library(steelyard::cudnn INTERFACE IMPORTED)
  target_include_directories(steelyard::cudnn INTERFACE ${CUDNN_INCLUDE_DIR})
  target_link_libraries(steelyard::cudnn INTERFACE ${CUDNN_LIBRARY})
endif()
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
