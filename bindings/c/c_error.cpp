#include "bindings/c/c_error.h"

#include <steelyard/steelyard.h>

#include <string>

#include "core/processor.h"

namespace steelyard::c_api {
namespace {

thread_local std::string text;  // of steelyard_error()

}  // namespace

void say(std::string_view error) noexcept {
  try {
    text = error;
  } catch (const std::bad_alloc&) {
    text.clear();
  }
}

}  // namespace steelyard::c_api

int steelyard_api() { return STEELYARD_API; }
const char* steelyard_version() { return steelyard::release(); }
const char* steelyard_error() { return steelyard::c_api::text.c_str(); }
