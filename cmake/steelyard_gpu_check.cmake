# What script/gpu-check builds, on machines that have a compiler and CUDA and little else: core, nn with its CUDA
# column, the tests of that column where there is GTest, and a program that checks and measures it (bench/gpu).
# Whatever else is absent has a stand-in.
find_package(TBB QUIET)
find_package(OneDNN QUIET)
find_package(GTest QUIET)

add_subdirectory(core)
add_subdirectory(nn)
if(TARGET GTest::gmock)
  enable_testing()
  add_subdirectory(tests)
endif()
add_subdirectory(bench/gpu)
