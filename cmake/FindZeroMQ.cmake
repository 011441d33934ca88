# libzmq and the cppzmq header: target steelyard::zmq.
find_path(ZeroMQ_INCLUDE_DIR zmq.hpp)
find_library(ZeroMQ_LIBRARY zmq)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZeroMQ REQUIRED_VARS ZeroMQ_LIBRARY ZeroMQ_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libzmq3-dev and cppzmq-dev (script/setup does)")
if(ZeroMQ_FOUND AND NOT TARGET steelyard::zmq)
  add_library(steelyard::zmq INTERFACE IMPORTED)
  target_include_directories(steelyard::zmq INTERFACE ${ZeroMQ_INCLUDE_DIR})
  target_link_libraries(steelyard::zmq INTERFACE ${ZeroMQ_LIBRARY})
endif()
mark_as_advanced(ZeroMQ_INCLUDE_DIR ZeroMQ_LIBRARY)
