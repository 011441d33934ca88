#include "worker/data/data_sets.h"

#include "core/error.h"
#include "core/options.h"

namespace steelyard {
namespace {

[[noreturn]] void refuse_set(const std::string& message) { throw Failure(ExitCode::configuration, message); }

// Asked of users' data sets as well: what is wrong here would be found in the middle of training otherwise.
void check(const DataSets& sets) {
  if (!sets.train || !sets.test) refuse_set("it is incomplete: make a training and a test set");
  if (sets.train->size() == 0 || sets.test->size() == 0) refuse_set("it has a set without samples");
  if (sets.train->shape() != sets.test->shape() || sets.train->classes() != sets.test->classes() ||
      sets.train->labels() != sets.test->labels() || sets.train->labels() == 0) {
    refuse_set("training and test set differ in shape or classes, or in labels of a sample");
  }
}

}  // namespace

const DataTable& built_in_data_sets() {
  static const DataTable table = table_of(data_files());
  return table;
}

DataSets open_data(const std::string& name, const OptionTexts& options, const DataTable& extra) {
  DataSets sets = make_choice("data set", name, options, extra, built_in_data_sets());
  in_name_of("data set '" + name + "'", [&] { check(sets); });
  sets.name = name;
  return sets;
}

}  // namespace steelyard
