// Parses the argument `description` of steelyard_join() (include/steelyard/steelyard.h).
#pragma once

#include "app/processes/process_settings.h"
#include "protocol/messages.h"

namespace steelyard::c_api {

struct Description {
  WorkerOptions options;
  Hello hello;
  ModelDescription model;
};

// Throws Failure (configuration); the message has the key, its value and the allowed values.
Description read_description(const char* text);

}  // namespace steelyard::c_api
