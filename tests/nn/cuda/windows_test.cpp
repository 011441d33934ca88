#include "nn/cuda/windows.h"

#include <gtest/gtest.h>

namespace steelyard::nn::cuda::windows_test {
namespace {

// For window blockIdx.x and place threadIdx.x.
__global__ void meet(Windows all, std::uint32_t length, std::uint32_t count, bool* by_window,
                     bool* by_place) {
  const std::uint32_t w = blockIdx.x, place = threadIdx.x;
  const Range places = places_in(all, w, length), windows = windows_over(all, place, count);
  by_window[w * length + place] = places.begin <= place && place < places.end;
  by_place[w * length + place] = windows.begin <= w && w < windows.end;
}

TEST(CudaWindows, AgreeWithThePlacesTheyCover) {
  Stream stream;
  for (std::uint32_t size = 1; size < 6; ++size) {
    for (std::uint32_t stride = 1; stride < 5; ++stride) {
      for (std::uint32_t padding = 0; padding <= size / 2; ++padding) {
        const std::uint32_t length = 11, count = (length + 2 * padding - size) / stride + 1;
        const Windows all{length, length, 1, count, count, size, stride, padding};
        const DeviceArray<bool> by_window(count * length), by_place(count * length);
        const PinnedArray<bool> windows(count * length), places(count * length);
        launch(stream, count, length, &meet, all, length, count, by_window.data(), by_place.data());
        stream.copy_array(windows.data(), by_window.data(), count * length);
        stream.copy_array(places.data(), by_place.data(), count * length);
        stream.synchronize();
        for (std::uint32_t w = 0; w < count; ++w) {
          for (std::uint32_t p = 0; p < length; ++p) {
            const bool covers = w * stride <= p + padding && p + padding < w * stride + size;
            EXPECT_EQ(windows.data()[w * length + p], covers) << "window " << w << ", place " << p;
            EXPECT_EQ(places.data()[w * length + p], covers) << "place " << p << ", window " << w;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::windows_test
