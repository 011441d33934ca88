// What a caller says of its worker in steelyard_join(): the JSON of include/steelyard/steelyard.h, read.
#pragma once

#include <string>

#include "protocol/messages.h"

namespace steelyard::c_api {

struct Description {
  std::string scheduler;
  Hello hello;
  std::string slow, exchange, keys, trace;
  double wait = 60;
  bool quiet = false;
  ModelDescription model;
};

// Throws Failure (configuration) that names the key, what is there and what may be there.
Description read_description(const char* text);

}  // namespace steelyard::c_api
