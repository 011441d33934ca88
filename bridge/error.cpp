#include "bridge/error.h"

#include <steelyard/steelyard.h>

#include <string>

namespace steelyard::bridge {
namespace {

thread_local std::string text;

}  // namespace

void say(std::string_view error) noexcept {
  try {
    text = error;
  } catch (const std::bad_alloc&) {
    text.clear();
  }
}

}  // namespace steelyard::bridge

int steelyard_api() { return STEELYARD_API; }
const char* steelyard_version() { return STEELYARD_VERSION; }
const char* steelyard_error() { return steelyard::bridge::text.c_str(); }
