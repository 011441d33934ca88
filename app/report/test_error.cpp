#include "app/report/test_error.h"

#include <array>

#include "app/report/terminal_text.h"

namespace steelyard {
namespace {

struct ErrorName {
  const char *name, *key;
};
constexpr std::array error_names{ErrorName{TestError::squared, "rmse"},
                                 ErrorName{TestError::absolute, "mae"}};

}  // namespace

std::string TestError::text() const { return printed("%.6g", value); }

void add_error(Json& to, const TestError& error) {
  for (const ErrorName& it : error_names) {
    if (error.name == it.name) to[it.key] = error.value;
  }
}

TestError error_in(const Json& json) {
  for (const ErrorName& it : error_names) {
    const auto found = json.is_object() ? json.find(it.key) : json.end();
    if (found != json.end() && found->is_number()) return {it.name, found->get<double>()};
  }
  return {};
}

}  // namespace steelyard
