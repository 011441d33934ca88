// What a C function says of its failure: a text of the calling thread, and an exit code.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace steelyard::c_api {

// What steelyard_error() gives this thread from now on. If there is no memory for the text, it is empty.
void say(std::string_view error) noexcept;

// Calls `work`, and takes what it throws as the code that is returned and the text that is said. Without a
// failure: 0, and nothing is said.
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
    say("something was thrown that is no exception");
    return static_cast<int>(ExitCode::failed);
  }
  say("");
  return 0;
}

}  // namespace steelyard::c_api
