// The archive. tests/bindings/python/test_export.py reads it with PyTorch, for every model.
#include "app/export/torch_state.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>

namespace steelyard::torch_state_test {
namespace {

using testing::HasSubstr;

std::uint32_t number_at(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}

TEST(TorchState, IsAnArchiveWithOneFileForEachTensor) {
  const nn::Model model = nn::Model({1, 1, 2}, 3).linear("fc", 3);
  std::vector<float> parameters(model.parameters());
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<float>(i);
  const std::string file = torch_state_file({model, parameters});

  const std::size_t end = file.rfind("PK\x05\x06");
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(number_at(file, end + 10, 2), 5U) << "the pickle, the byte order, two tensors, the version";
  std::size_t entry = number_at(file, end + 16, 4);
  std::vector<std::string> names;
  while (file.compare(entry, 4, "PK\x01\x02") == 0) {
    const std::size_t length = number_at(file, entry + 28, 2), header = number_at(file, entry + 42, 4);
    names.push_back(file.substr(entry + 46, length));
    EXPECT_EQ(file.substr(header + 30, length), names.back());
    const std::size_t contents = header + 30 + length + number_at(file, header + 28, 2);
    EXPECT_EQ(contents % 64, 0U) << "so that it can be mapped";
    if (names.back() == "archive/data/0") {
      ASSERT_EQ(number_at(file, entry + 24, 4), 6 * sizeof(float));
      EXPECT_EQ(std::memcmp(file.data() + contents, parameters.data(), 6 * sizeof(float)), 0);
    }
    entry += 46 + length;
  }
  EXPECT_THAT(names, testing::ElementsAre("archive/data.pkl", "archive/byteorder", "archive/data/0",
                                          "archive/data/1", "archive/version"));
  EXPECT_THAT(file, HasSubstr("fc.weight"));
}

}  // namespace
}  // namespace steelyard::torch_state_test
