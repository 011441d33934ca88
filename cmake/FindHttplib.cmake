# cpp-httplib as packaged by Debian, without a CMake config: target steelyard::httplib. If there is a compiled library
# besides the header, it was built with TLS and compression, and the header must be used with the same definitions.
find_path(Httplib_INCLUDE_DIR httplib.h)
find_library(Httplib_LIBRARY cpp-httplib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Httplib REQUIRED_VARS Httplib_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libcpp-httplib-dev (script/setup does)")
if(Httplib_FOUND AND NOT TARGET steelyard::httplib)
  add_library(steelyard::httplib INTERFACE IMPORTED)
  target_include_directories(steelyard::httplib SYSTEM INTERFACE ${Httplib_INCLUDE_DIR})
  if(Httplib_LIBRARY)
    target_link_libraries(steelyard::httplib INTERFACE ${Httplib_LIBRARY})
    target_compile_definitions(steelyard::httplib INTERFACE
      CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
  endif()
endif()
mark_as_advanced(Httplib_INCLUDE_DIR Httplib_LIBRARY)
