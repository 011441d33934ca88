#include "app/config/registry.h"

#include <utility>

namespace steelyard {
namespace {

Registry& rows_of_this_process() {
  static Registry rows;
  return rows;
}

}  // namespace

const Registry& registry() { return rows_of_this_process(); }

void set_registry(Registry rows) { rows_of_this_process() = std::move(rows); }

}  // namespace steelyard
