# cuDNN: target steelyard::cudnn. It is in the CUDA toolkit or in a Python environment; for the latter CUDNN_ROOT is the
# folder nvidia/cudnn of its site-packages. CUDNN_FRONTEND_INCLUDE_DIR: the headers of its front end for C++ (PyPI's
# nvidia-cudnn-frontend), which attention needs; false if they are missing or too old.
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDNN_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS})
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDNN_ROOT}/lib ${CUDAToolkit_LIBRARY_DIR})
set(cudnn_frontend_oldest 1.32)
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
  HINTS ${CMAKE_SOURCE_DIR}/build/cudnn-frontend/include ${CUDNN_ROOT}/include ${CUDNN_ROOT}/../../include
  ${CUDAToolkit_INCLUDE_DIRS})
if(CUDNN_FRONTEND_INCLUDE_DIR)
  set(cudnn_frontend_version)
  file(STRINGS ${CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h cudnn_frontend_lines
    REGEX "_(MAJOR|MINOR)_VERSION [0-9]+$")
  foreach(line ${cudnn_frontend_lines})
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND cudnn_frontend_version ${number})
  endforeach()
  list(JOIN cudnn_frontend_version . cudnn_frontend_version)
  if(cudnn_frontend_version VERSION_LESS cudnn_frontend_oldest)
    set(CUDNN_FRONTEND_INCLUDE_DIR NOTFOUND CACHE PATH "The headers of cuDNN's front end" FORCE)
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install cuDNN 9 into the CUDA toolkit, or set -DCUDNN_ROOT=.../site-packages/nvidia/cudnn")
if(CUDNN_FOUND AND NOT TARGET steelyard::cudnn)
  add_library(steelyard::cudnn INTERFACE IMPORTED)
  target_include_directories(steelyard::cudnn INTERFACE ${CUDNN_INCLUDE_DIR})
  target_link_libraries(steelyard::cudnn INTERFACE ${CUDNN_LIBRARY})
endif()
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY CUDNN_FRONTEND_INCLUDE_DIR)
