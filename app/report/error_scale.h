// The scale of the errors of one job: a test error follows from the test loss, which is that of scaled
// labels.
#pragma once

#include <string>

#include "app/report/test_error.h"
#include "protocol/job.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {

class ErrorScale {
 public:
  ErrorScale() = default;  // of no job: errors are unknown
  ErrorScale(const Job& job, const SampleSource& source);
  [[nodiscard]] TestError of(double test_loss) const;

 private:
  std::string name_;
  double unit_ = 1;
};

}  // namespace steelyard
