# The build of script/gpu-check, for machines with little more than a compiler and CUDA: core, nn with its CUDA backend,
# the tests of that backend if GTest is installed, and a program that checks and measures it (bench/gpu). Missing
# libraries have replacements in the source.
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
