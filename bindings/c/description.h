// What a caller says of its worker in steelyard_join(): the JSON of include/steelyard/steelyard.h, read.
#pragma once

#include "app/processes/process_settings.h"
#include "protocol/messages.h"

namespace steelyard::c_api {

struct Description {
  WorkerOptions options;
  Hello hello;
  ModelDescription model;
};

// Throws Failure (configuration) that names the key, what is there and what may be there.
Description read_description(const char* text);

}  // namespace steelyard::c_api
