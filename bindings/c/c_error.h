// Turns exceptions into the error code and error text of a C function.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace steelyard::c_api {

// Sets the text that steelyard_error() returns on this thread. Sets "" if memory for the text is exhausted.
void say(std::string_view error) noexcept;

// Calls `work`, sets the error text, and returns the exit code. Returns 0 and sets "" if nothing was thrown.
template <class Work>
int guarded(Work&& work) noexcept {
  try {
    std::forward<Work>(work)();
  } catch (const Failure& failure) {
    say(failure.what());
    return static_cast<int>(failure.code());
  } catch (const std::bad_alloc&) {
    say("no memory is left");
    return static_cast<int>(ExitCode::failed);
  } catch (const std::exception& trouble) {
    say(trouble.what());
    return static_cast<int>(ExitCode::failed);
  } catch (...) {
    say("an exception of unknown type was thrown");
    return static_cast<int>(ExitCode::failed);
  }
  say("");
  return 0;
}

}  // namespace steelyard::c_api
