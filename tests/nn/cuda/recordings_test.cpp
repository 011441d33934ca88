#include "nn/cuda/recordings.h"

#include <gmock/gmock.h>

#include "nn/cuda/array_kernels.h"
#include "tests/nn/cuda/arrays.h"

namespace steelyard::nn::cuda::recordings_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct RecordingsTest : testing::Test {
  Stream stream;
  DeviceArray<float> sum = to_device(stream, std::vector<float>{0});
  DeviceArray<float> one = to_device(stream, std::vector<float>{1});
  Recordings recordings{stream};
  int issued = 0;

  void run(const Variant& variant) {
    recordings.run(variant, [&] {
      ++issued;
      add_up(stream, 1, one.data(), sum.data());
    });
  }
};

TEST_F(RecordingsTest, WorkIsIssuedTwiceAndThenRunAsAGraph) {
  for (int i = 0; i < 5; ++i) run({16, true, true, true});
  EXPECT_THAT(to_host(stream, sum), ElementsAre(5));
  EXPECT_EQ(issued, 2) << "once as it is, once to be captured";
  EXPECT_THAT(recordings.remarks(), IsEmpty());
}

TEST_F(RecordingsTest, EachKindOfMicroBatchHasItsOwn) {
  for (int i = 0; i < 3; ++i) {
    for (const Variant& variant :
         {Variant{16, true, true, true}, Variant{8, true, true, true}, Variant{16, false, true, true},
          Variant{16, true, false, true}, Variant{16, true, true, false}}) {
      run(variant);
    }
  }
  EXPECT_EQ(issued, 2 * 5);
  EXPECT_THAT(to_host(stream, sum), ElementsAre(15));
}

}  // namespace
}  // namespace steelyard::nn::cuda::recordings_test
