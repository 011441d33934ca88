#include "server/checkpoint/safetensors.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/error.h"

namespace steelyard::safetensors_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// A file with this header, without padding, as another program may write it.
std::string file_of(const std::string& header, const std::string& values) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + values;
}

std::string refusal(const std::string& file) {
  try {
    parse_safetensors(bytes_of(file), "w.safetensors");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    EXPECT_THAT(failure.what(), HasSubstr("w.safetensors: not a good safetensors file: "));
    return failure.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

std::string refused_header(const std::string& header, std::size_t value_count = 2) {
  return refusal(file_of(header, floats(std::vector<float>(value_count, 1.0F))));
}

TEST(Safetensors, RoundTrips) {
  const std::string header =
      safetensors_header({{"b", {2, 1}}, {"a", {3}}, {"none", {0, 7}}, {"one", {}}}, {{"made by", "us"}});
  const std::string file = header + floats({1, 2, 3, 4, 5, 6});
  const TensorFile read = parse_safetensors(bytes_of(file), "f");
  EXPECT_THAT(read.texts, ElementsAre(std::pair("made by", "us")));
  ASSERT_EQ(read.tensors.size(), 4U);
  const StoredTensor* a = read.find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_THAT(a->shape, ElementsAre(3));
  std::vector<float> values(a->size());
  a->copy_to(values);
  EXPECT_THAT(values, ElementsAre(3, 4, 5));
  EXPECT_EQ(read.find("one")->size(), 1U);
  EXPECT_EQ(read.find("none")->size(), 0U);
  EXPECT_EQ(read.find("two"), nullptr);
}

TEST(Safetensors, ValuesBeginAtAMultipleOf64) {
  for (std::size_t extra = 0; extra < 70; ++extra) {
    const std::string header = safetensors_header({{std::string(1 + extra, 'n'), {1}}}, {});
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(header[8], '{');
    EXPECT_EQ(parse_safetensors(bytes_of(header + floats({7})), "f").tensors.size(), 1U);
  }
}

// A header as other programs write it: another order, no padding, unaligned values.
TEST(Safetensors, ReadsFilesOfOtherPrograms) {
  const std::string file = file_of(R"({"y":{"data_offsets":[4,12],"shape":[2],"dtype":"F32"},)"
                                   R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )",
                                   floats({1, 2, 3}));
  const TensorFile read = parse_safetensors(bytes_of(file), "f");
  ASSERT_EQ(read.tensors.size(), 2U);
  EXPECT_EQ(read.tensors[0].name, "x");
  std::vector<float> y(2);
  read.find("y")->copy_to(y);
  EXPECT_THAT(y, ElementsAre(2, 3));
}

TEST(Safetensors, EveryTruncationIsDetected) {
  const std::string file = safetensors_header({{"a", {2}}, {"b", {1}}}, {{"k", "v"}}) + floats({1, 2, 3});
  for (std::size_t size = 0; size < file.size(); ++size) refusal(file.substr(0, size));
  EXPECT_THAT(refusal(file + "x"), HasSubstr("1 bytes at the end belong to no tensor"));
}

TEST(Safetensors, HolesAndOverlapsAreRefused) {
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("\"a\" follows a hole"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("\"b\" overlaps another"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
              HasSubstr("4 bytes at the end"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
              HasSubstr("\"a\" exceeds the end of the file"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"), HasSubstr("hole"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"),
              HasSubstr("does not have the size of its shape"));
}

TEST(Safetensors, NamesAndFieldsAppearOnce) {
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("\"a\" appears twice"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,8]}})"),
              HasSubstr("\"shape\" appears twice"));
  EXPECT_THAT(refused_header(R"({"__metadata__":{"k":"1","k":"2"}})", 0), HasSubstr("\"k\" appears twice"));
}

TEST(Safetensors, SizesMustNotOverflow) {
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]}})"),
              HasSubstr("too large"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}})"),
              HasSubstr("99999999999999999999"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
              HasSubstr("negative"));
}

TEST(Safetensors, AnOversizedHeaderIsRefused) {
  std::string file = file_of("{}", "");
  const std::uint64_t huge = 1ULL << 60;
  std::memcpy(file.data(), &huge, sizeof huge);
  EXPECT_THAT(refusal(file), HasSubstr("a header of 1152921504606846976 bytes"));
}

TEST(Safetensors, DeepNestingIsRefusedAtItsStart) {
  const std::string deep = R"({"a":)" + std::string(1'000'000, '[');
  EXPECT_THAT(refused_header(deep), HasSubstr("an unexpected list"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":{"x":1}}})"), HasSubstr("an unexpected object"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,8]}})"),
              HasSubstr("an unexpected list"));
}

TEST(Safetensors, OtherInvalidHeadersAreRefused) {
  EXPECT_THAT(refused_header(R"([1])"), HasSubstr("does not begin with {"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})"),
              AllOf(HasSubstr("\"a\""), HasSubstr("F16"), HasSubstr("only F32")));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})"), HasSubstr("no shape"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})"),
              HasSubstr("data_offsets"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":"x"}})"),
              HasSubstr("an unexpected text"));
  EXPECT_THAT(refused_header(R"({"__metadata__":{"k":1}})", 0), HasSubstr("an unexpected number"));
  EXPECT_THAT(refused_header(R"({"a":7})"), HasSubstr("an unexpected number"));
  EXPECT_THAT(refused_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}})"),
              HasSubstr("not JSON"));
}

}  // namespace
}  // namespace steelyard::safetensors_test
