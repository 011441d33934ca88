# How every target of the house is made: one static library a folder, all warnings on.

option(STEELYARD_UNITY "Compile several files of a folder as one: quicker in all, slower after an edit (preset dev: off)" ON)

# In a file of many, a local name may be that of a constant of another file.
set(shadow $<IF:$<BOOL:${STEELYARD_UNITY}>,-Wshadow=local,-Wshadow>)
add_library(steelyard_options INTERFACE)
target_compile_options(steelyard_options INTERFACE
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;${shadow};-Wconversion;-Wno-sign-conversion;-Wnon-virtual-dtor>>)
# gcc 12 warns about alternatives that a variant does not hold, and about strings that do not overlap.
target_compile_options(steelyard_options INTERFACE
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict;$<$<BOOL:${STEELYARD_UNITY}>:-Wno-subobject-linkage>>>)
if(STEELYARD_SANITIZE)
  target_compile_options(steelyard_options INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${STEELYARD_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  target_link_options(steelyard_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${STEELYARD_SANITIZE}>)
endif()
if(STEELYARD_SANITIZE MATCHES thread)
  # libtbb is not instrumented: the sanitizer would report races that are none.
  target_compile_definitions(steelyard_options INTERFACE $<BUILD_INTERFACE:STEELYARD_PLAIN_THREADS>)
endif()
set_property(GLOBAL APPEND PROPERTY STEELYARD_INSTALLED steelyard_options)

# steelyard_unity(target batch): so many of its files are compiled as one.
function(steelyard_unity target batch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${STEELYARD_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# steelyard_library(folder [APART files] [OPTIMIZE level] [SOURCES files] [PUBLIC targets] [PRIVATE targets]): all *.cpp of
# this folder if no SOURCES. APART: these are objects of their own, which libsteelyard.so takes without the rest of the
# folder, so that it brings no thread pool. Release builds optimise at level 2: numbers are worth 3, what a person waits for is not worth 2.
function(steelyard_library name)
  cmake_parse_arguments(arg "" "OPTIMIZE" "APART;SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(NOT arg_OPTIMIZE)
    set(arg_OPTIMIZE 2)
  endif()
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  set(target steelyard_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(steelyard::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  steelyard_unity(${target} 16)
  set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O${arg_OPTIMIZE}>)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC steelyard_options ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY STEELYARD_INSTALLED ${target})
endfunction()

# steelyard_table(function folder header namespace type): a source that defines `function` of the header: it returns
# FILE_rows, of this function type, for each FILE.cpp in the folder. So what a folder holds is listed nowhere: a file without
# the function does not link. (Objects that register themselves would be left out of programs that link a static library.)
function(steelyard_table function folder header namespace type)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.cpp)
  set(rows ${files})
  list(TRANSFORM rows REPLACE "^.*/(.*)\\.cpp$" "\\1_rows")
  list(JOIN rows ", " rows)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT [[
// Made by CMake: the rows of each file in the folder @folder@.
#include "@header@"

namespace @namespace@ {

@type@ @rows@;

std::span<@type@* const> @function@() {
  static constexpr @type@* all[]{@rows@};
  return all;
}

}  // namespace @namespace@
]] @ONLY)
  set(${function} ${source} PARENT_SCOPE)
endfunction()

# steelyard_leveled(target file.cpp...): each file is compiled once per processor level, with STEELYARD_LEVEL naming
# the namespace of its functions. Such files include no library headers: an inline function compiled for AVX-512
# must never be the copy that the linker keeps for everybody.
function(steelyard_leveled target)
  foreach(level baseline v3 v4)
    set(objects ${target}_${level})
    add_library(${objects} OBJECT ${ARGN})
    target_include_directories(${objects} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_definitions(${objects} PRIVATE STEELYARD_LEVEL=${level})
    target_compile_options(${objects} PRIVATE -O3 -fno-math-errno -fno-trapping-math)
    if(level STREQUAL v3)
      target_compile_options(${objects} PRIVATE -march=x86-64-v3)
    elseif(level STREQUAL v4)
      target_compile_options(${objects} PRIVATE -march=x86-64-v4 -mprefer-vector-width=512)
    endif()
    target_link_libraries(${objects} PRIVATE steelyard_options)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()

# Tests are compiled once and run for a moment, so their own code need not be fast; and what all of them include is
# parsed once. (gcc 12 warns about the insides of precompiled headers.)
function(steelyard_test_code target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>)
  if(target STREQUAL test_headers)
    target_precompile_headers(${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <functional> <map> <optional> <ranges>
      <set> <span> <string> <variant> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM test_headers)
  endif()
endfunction()

# steelyard_test(folder [targets]): one test program for all *.cpp of this folder of tests/. What is in a folder cuda
# of it is another program.
function(steelyard_test name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/cuda/")
  add_executable(test_${name} ${sources})
  steelyard_unity(test_${name} 6)
  steelyard_test_code(test_${name})
  target_link_libraries(test_${name} PRIVATE ${ARGN} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(test_${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${name} TIMEOUT 300)
endfunction()
