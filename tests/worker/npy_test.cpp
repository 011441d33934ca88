#include "worker/compute/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/support/complaint.h"

namespace steelyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(const std::string& header, const std::string& values, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  const std::size_t length = header.size();
  file += static_cast<char>(length % 256);
  file += static_cast<char>(length / 256);
  if (version > 1) file += std::string(2, '\0');
  return file + header + values;
}

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

NpyArray parsed(const std::string& file) { return parse_npy(std::as_bytes(std::span(file)), "it.npy"); }

constexpr const char* two_by_two = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";

TEST(Npy, FloatsAreReadOfEveryVersion) {
  for (const char version : {'\1', '\2', '\3'}) {
    const NpyArray it = parsed(npy(two_by_two, floats({1, 2, 3, -0.5F}), version));
    EXPECT_THAT(it.shape, ElementsAre(2, 2));
    EXPECT_THAT(it.values, ElementsAre(1, 2, 3, -0.5F));
    EXPECT_FALSE(it.bytes);
  }
}

TEST(Npy, BytesAreNumbersFromZeroTo255) {
  const NpyArray it =
      parsed(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "\x01\x7f\xff"));
  EXPECT_THAT(it.shape, ElementsAre(3));
  EXPECT_THAT(it.values, ElementsAre(1, 127, 255));
  EXPECT_TRUE(it.bytes);
}

TEST(Npy, WhatIsCutOffOrOfAnotherKindIsRefusedWithTheFile) {
  const std::string good = npy(two_by_two, floats({1, 2, 3, 4}));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(complaint_of([&] { parsed(good.substr(0, size)); }),
                HasSubstr("it.npy: not a good npy file"));
  }
  const auto header = [](const std::string& type, const std::string& order, const std::string& shape) {
    return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  };
  const std::pair<std::string, std::string> bad[]{
      {npy(header("<f8", "False", "(1,)"), floats({1, 2})), "astype('float32')"},
      {npy(header("<f4", "True", "(2, 1)"), floats({1, 2})), "ascontiguousarray"},
      {npy(header("<f4", "False", "(3,)"), floats({1, 2})), "its shape takes 12"},
      {npy(header("<f4", "False", "(-1,)"), floats({1, 2})), "whole numbers"},
      {npy(header("<f4", "False", "7"), floats({1, 2})), "no tuple"},
      {npy(header("<f4", "False", "(4294967296, 4294967296)"), ""), "too large"},
      {npy("{'descr': '<f4'}", ""), "no 'shape'"},
      {npy(two_by_two, "", 9), "version"}};
  for (const auto& [file, why] : bad) EXPECT_THAT(complaint_of([&] { parsed(file); }), HasSubstr(why));
}

}  // namespace
}  // namespace steelyard
