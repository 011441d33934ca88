#include "worker/data/sets/npy.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"
#include "tests/worker/data/zip_files.h"
#include "worker/data/data_sets.h"

namespace steelyard::npy_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST_F(Npy, ReadsPicturesWithSeveralLabels) {
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

TEST_F(Npy, ReadsTargets) {
  const auto x = file("x.npy", npy<float>("<f4", "(2, 1)", {1, 3})),
             one = file("y.npy", npy<double>("<f8", "(2,)", {-10, 30})),
             two = file("z.npy", npy<std::uint8_t>("|u1", "(2, 2)", {0, 1, 1, 1}));
  const LabelOptions numbers{LabelKind::numbers}, binary{LabelKind::binary};
  const DataSets scaled = open_npy_sets({x, one, x, one}, {}, true, numbers);
  EXPECT_EQ(scaled.train->targets(), 1U);
  EXPECT_EQ(scaled.train->labels(), 1U);
  EXPECT_THAT(targets_of(*scaled.train, 1), ElementsAre(1));
  EXPECT_THAT(scaled.target_scale.mean, ElementsAre(10));
  EXPECT_THAT(scaled.target_scale.deviation, ElementsAre(20));
  EXPECT_THAT(targets_of(*open_npy_sets({x, two, x, two}, {}, true, binary).test, 0), ElementsAre(0, 1));
  EXPECT_THAT(complaint_of([&] {
                open_npy_sets({x, one, x, one}, {}, true, binary);
              }),
              HasSubstr("a label is neither 0 nor 1"));
  EXPECT_THAT(complaint_of([&] {
                open_npy_sets({x, one, x, one}, {}, true);
              }),
              HasSubstr("save integers, or give [model] a loss of numbers"));
  const auto three = file("w.npy", npy<double>("<f8", "(3,)", {1, 2, 3}));
  EXPECT_THAT(complaint_of([&] {
                open_npy_sets({x, three, x, one}, {}, true, numbers);
              }),
              HasSubstr("expected labels for 2 samples"));
}

TEST_F(Npy, RefusesUnsupportedFiles) {
  const Bytes good = npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(complaint({}), HasSubstr("byte 0: expected an array of NumPy"));
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
  EXPECT_THAT(complaint(Bytes(good.begin(), good.begin() + 40)), HasSubstr("truncated"));
}

TEST_F(Npy, ReadsArraysOfAnArchive) {
  const Bytes x = npy<std::uint8_t>("|u1", "(2, 1, 2)", {1, 2, 3, 4}),
              t = npy<std::uint8_t>("|u1", "(1, 1, 2)", {5, 6}), y = npy<std::int64_t>("<i8", "(2,)", {1, 0}),
              z = npy<std::int64_t>("<i8", "(1,)", {1});
  for (const std::uint16_t method : std::initializer_list<std::uint16_t>{0, 8}) {
    const std::string mnist = file("mnist.npz", zipped({{"x_train.npy", x, method},
                                                        {"y_train.npy", y, method},
                                                        {"notes.txt", bytes_of("no array")},
                                                        {"x_test.npy", t, method},
                                                        {"y_test.npy", z, method}}));
    const DataSets sets = open_data("npy", {{"train_inputs", mnist + ":x_train"},
                                            {"train_labels", mnist + ":y_train"},
                                            {"test_inputs", mnist + ":x_test"},
                                            {"test_labels", mnist + ":y_test"},
                                            {"normalize", "false"}});
    EXPECT_EQ(sets.train->shape(), (nn::Shape{1, 2, 1}));
    EXPECT_THAT(sample_of(*sets.train, 1).values, ElementsAre(3, 4));
    EXPECT_THAT(sample_of(*sets.train, 0).labels, ElementsAre(1));
    EXPECT_THAT(sample_of(*sets.test, 0).values, ElementsAre(5, 6));
    EXPECT_THAT(sample_of(*sets.test, 0).labels, ElementsAre(1));
  }
}

TEST_F(Npy, NamesTheArraysOfAnArchive) {
  const Bytes one = npy<std::uint8_t>("|u1", "(1,)", {7}), two = npy<std::uint8_t>("|u1", "(2,)", {7, 7});
  const auto rows = [](const std::string& path) { return open_npy(path).shape[0]; };
  const auto refusal = [&](const std::string& path) { return complaint_of([&] { open_npy(path); }); };
  // A single array needs no name, in a file of any name. Of two arrays with one name the later counts.
  EXPECT_EQ(rows(file("renamed.dat", zipped({{"arr_0.npy", two}}))), 2U);
  const std::string twice = file("twice.npz", zipped({{"a.npy", one}, {"a/b.npy", one}, {"a.npy", two}}));
  EXPECT_EQ(rows(twice + ":a"), 2U);
  EXPECT_EQ(rows(twice + ":a/b"), 1U);
  EXPECT_THAT(refusal(twice), HasSubstr("twice.npz: there are several arrays in it: name one, as in "));
  EXPECT_THAT(refusal(twice), HasSubstr("twice.npz:a (valid: a, a/b, a)"));
  const std::string mnist = file("mnist.npz", zipped({{"x_train.npy", one}, {"x_test.npy", one}}));
  EXPECT_THAT(refusal(mnist + ":x_trian"),
              HasSubstr("mnist.npz: there is no array 'x_trian' in it; did you mean \"x_train\"? "
                        "(valid: x_train, x_test)"));
  EXPECT_THAT(refusal(file("none.npz", zipped({}))), HasSubstr("none.npz: there is no array (.npy) in it"));
  EXPECT_THAT(refusal(folder_.path("absent.npz:x")), HasSubstr("absent.npz does not exist"));
  EXPECT_THAT(refusal(file("plain.npz", one).string() + ":x"),
              HasSubstr("plain.npz: it is not a zip archive"));
  EXPECT_THAT(refusal(file("odd.npz", zipped({{"x.npy", bytes_of("something else")}}))),
              HasSubstr("odd.npz:x, byte 0: expected an array of NumPy"));
}

TEST_F(Npy, RefusesLabelsThatDoNotMatchTheInputs) {
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
}  // namespace steelyard::npy_test
