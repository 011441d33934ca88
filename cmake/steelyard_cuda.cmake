# The CUDA column on devices: kernels by nvcc, everything else by the C++ compiler; the runtime is linked in.
include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER)
  find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NVCC)
    set(CMAKE_CUDA_COMPILER ${NVCC})
  endif()
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "STEELYARD_CUDA is on, but no nvcc was found: install the CUDA toolkit, or use the release preset")
endif()
set(STEELYARD_CUDA_ARCHITECTURES "80;90;120" CACHE STRING "Compute capabilities to compile for")
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${STEELYARD_CUDA_ARCHITECTURES})
endif()
enable_language(CUDA)
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
find_package(CUDAToolkit REQUIRED)
find_package(CUDNN REQUIRED)

file(GLOB device CONFIGURE_DEPENDS device/*.cpp)
steelyard_library(nn_cuda SOURCES ${common} ${kernels} ${device}
  PUBLIC steelyard::nn PRIVATE CUDA::cudart_static CUDA::cublasLt steelyard::cudnn)
# nvcc's own name for C++20 is not known to the CMake of Debian 12.
target_compile_options(steelyard_nn_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra>)
