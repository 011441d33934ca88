// Files are as NumPy 2 writes them: a header padded to 64 bytes.
#include "worker/compute/npy.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/worker/data_checks.h"

namespace steelyard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
Bytes npy(const std::string& type, const std::string& shape, const std::vector<T>& values,
          const std::string& order = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  Bytes bytes = bytes_of(std::string("\x93NUMPY\x01\x00", 8));
  bytes.push_back(static_cast<std::uint8_t>(header.size()));
  bytes.push_back(static_cast<std::uint8_t>(header.size() >> 8));
  bytes = joined(std::move(bytes), bytes_of(header));
  const std::size_t begin = bytes.size();
  bytes.resize(begin + values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data() + begin, values.data(), values.size() * sizeof(T));
  return bytes;
}

class Npy : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const Bytes& bytes) {
    return folder_.write(name, bytes);
  }
  std::string complaint(const Bytes& bytes) {
    const auto spoilt = file("spoilt.npy", bytes);
    return complaint_of([&] { open_npy(spoilt); });
  }
  const TemporaryFolder folder_;
};

TEST_F(Npy, ReadsEveryTypeOfValue) {
  const auto read = [&]<class T>(const std::string& type, T) {
    const auto inputs = file("x.npy", npy<T>(type, "(2, 3)", {0, 1, 2, 3, 4, 100}));
    const auto labels = file("y.npy", npy<std::int64_t>("<i8", "(2,)", {1, 0}));
    const NpyDataSet set(open_npy(inputs), open_npy(labels), {});
    EXPECT_EQ(set.shape(), (nn::Shape{1, 1, 3}));
    EXPECT_EQ(set.classes(), 2U);
    EXPECT_THAT(sample_of(set, 1).values, ElementsAre(3, 4, 100)) << type;
    EXPECT_THAT(sample_of(set, 0).labels, ElementsAre(1));
  };
  read("<f4", float{}), read("<f8", double{});
  read("|u1", std::uint8_t{}), read("<u2", std::uint16_t{}), read("<u4", std::uint32_t{}),
      read("<u8", std::uint64_t{});
  read("|i1", std::int8_t{}), read("<i2", std::int16_t{}), read("<i4", std::int32_t{}),
      read("<i8", std::int64_t{});
}

TEST_F(Npy, PicturesAndLabelsForEachPlace) {
  const auto inputs = file("x.npy", npy<std::uint8_t>("|u1", "(1, 2, 1, 2)", {1, 2, 3, 4}));
  const auto labels = file("y.npy.gz", gzipped(npy<std::int32_t>("<i4", "(1, 3)", {5, 0, 2})));
  const NpyDataSet set(open_npy(inputs), open_npy(labels), 7);
  EXPECT_EQ(set.shape(), (nn::Shape{2, 1, 2}));
  EXPECT_EQ(set.labels(), 3U);
  EXPECT_EQ(set.classes(), 7U);
  EXPECT_THAT(sample_of(set, 0).labels, ElementsAre(5, 0, 2));
}

TEST_F(Npy, NormalizesByTheTrainingSet) {
  const auto train = file("x.npy", npy<float>("<f4", "(2, 2)", {0, 5, 2, 5})),
             test = file("t.npy", npy<float>("<f4", "(1, 2)", {3, 6})),
             two = file("y.npy", npy<std::int64_t>("<i8", "(2,)", {1, 0})),
             one = file("z.npy", npy<std::int64_t>("<i8", "(1,)", {1}));
  const DataSets sets = open_npy_sets({train, two, test, one}, {}, true);
  EXPECT_THAT(sample_of(*sets.train, 0).values, ElementsAre(-1, 0));
  EXPECT_THAT(sample_of(*sets.test, 0).values, ElementsAre(2, 1));
  EXPECT_THAT(sets.normalization.mean, ElementsAre(1, 5));
  EXPECT_THAT(sample_of(*open_npy_sets({train, two, test, one}, {}, false).test, 0).values,
              ElementsAre(3, 6));
}

TEST_F(Npy, RefusesWhatItDoesNotRead) {
  const Bytes good = npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(complaint({}), HasSubstr("byte 0: expected an array of NumPy"));
  EXPECT_THAT(complaint(bytes_of("PK\x03\x04 and more of it")),
              AllOf(HasSubstr(".npz"), HasSubstr("unzip it")));
  EXPECT_THAT(complaint(npy<float>(">f4", "(1,)", {1})), HasSubstr("astype('<f4')"));
  EXPECT_THAT(complaint(npy<float>("<c8", "(1,)", {1})), HasSubstr("type '<c8'"));
  EXPECT_THAT(complaint(npy<float>("|O", "(1,)", {1})), HasSubstr("type '|O'"));
  EXPECT_THAT(complaint(npy<float>("<f4", "(1, 1)", {1}, "True")), HasSubstr("ascontiguousarray"));
  EXPECT_THAT(complaint(npy<float>("<f4", "()", {1})), HasSubstr("at least one dimension"));
  EXPECT_THAT(complaint(npy<float>("<f4", "(0,)", {})), HasSubstr("a size of at least 1"));
  EXPECT_THAT(complaint(npy<float>("<f4", "(3,)", {1, 2})), HasSubstr("expected more values"));
  EXPECT_THAT(complaint(npy<float>("<f4", "(1,)", {1, 2})),
              HasSubstr("byte 132: expected the end of the file"));
  EXPECT_THAT(complaint(npy<float>("<f4", "(1, 4611686018427387904)", {1})), HasSubstr("more values"));
  EXPECT_THAT(complaint(Bytes(good.begin(), good.begin() + 40)), HasSubstr("breaks off"));
}

TEST_F(Npy, RefusesFilesThatDoNotBelongTogether) {
  const auto inputs = file("x.npy", npy<float>("<f4", "(2, 1)", {1, 2}));
  const auto set = [&](const Bytes& labels, std::optional<std::uint32_t> classes = {}) {
    const auto second = file("y.npy", labels);
    return complaint_of([&] { NpyDataSet(open_npy(inputs), open_npy(second), classes); });
  };
  EXPECT_THAT(set(npy<std::int64_t>("<i8", "(3,)", {1, 0, 1})), HasSubstr("labels for 2 samples"));
  EXPECT_THAT(set(npy<float>("<f4", "(2,)", {1, 0})), HasSubstr("these are floats"));
  EXPECT_THAT(set(npy<std::int64_t>("<i8", "(2,)", {0, -1})), HasSubstr("byte 136: expected a label from 0"));
  EXPECT_THAT(set(npy<std::int64_t>("<i8", "(2,)", {0, 4}), 3),
              HasSubstr("byte 136: expected labels below 3, found 4"));
}

}  // namespace
}  // namespace steelyard
