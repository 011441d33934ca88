// Adds a program's own rows to the registry, until the end of a test.
#pragma once

#include <utility>

#include "app/config/registry.h"

namespace steelyard {

class OwnRegistry {
 public:
  explicit OwnRegistry(Registry rows) { set_registry(std::move(rows)); }
  ~OwnRegistry() { set_registry({}); }
  OwnRegistry(const OwnRegistry&) = delete;
  OwnRegistry& operator=(const OwnRegistry&) = delete;
};

}  // namespace steelyard
