#include "worker/data/zip.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string_view>

#include "tests/worker/data/data_checks.h"
#include "tests/worker/data/zip_files.h"
#include "worker/data/sets/npy.h"

namespace steelyard::zip_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// numpy.savez and numpy.savez_compressed of NumPy 2.4, with
// x_train = numpy.arange(6, dtype="<f4").reshape(2, 3) and y_train = numpy.array([1, 0], dtype="u1")
constexpr std::string_view savez =
    "504b03042d0000000000000021004fe9002affffffffffffffff0b001400785f747261696e2e6e7079010010009800000000"
    "0000009800000000000000934e554d5059010076007b276465736372273a20273c6634272c2027666f727472616e5f6f7264"
    "6572273a2046616c73652c20277368617065273a2028322c2033292c207d2020202020202020202020202020202020202020"
    "20202020202020202020202020202020202020202020202020202020202020202020202020200a000000000000803f000000"
    "4000004040000080400000a040504b03042d0000000000000021004e636bb1ffffffffffffffff0b001400795f747261696e"
    "2e6e70790100100082000000000000008200000000000000934e554d5059010076007b276465736372273a20277c7531272c"
    "2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c292c207d202020202020202020"
    "2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "200a0100504b01022d032d0000000000000021004fe9002a98000000980000000b0000000000000000000000800100000000"
    "785f747261696e2e6e7079504b01022d032d0000000000000021004e636bb182000000820000000b00000000000000000000"
    "008001d5000000795f747261696e2e6e7079504b0506000000000200020072000000940100000000";
constexpr std::string_view savez_compressed =
    "504b03042d0000000800000021004fe9002affffffffffffffff0b001400785f747261696e2e6e7079010010009800000000"
    "00000055000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94"
    "920a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e063068b007120e4004c40d40bcc00100504b0304"
    "2d0000000800000021004e636bb1ffffffffffffffff0b001400795f747261696e2e6e707901001000820000000000000046"
    "000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f54529498179f5f94920a1277"
    "4bcc294e058a17672416a402f91a463a9a3a0ab50a14002e460600504b01022d032d0000000800000021004fe9002a550000"
    "00980000000b0000000000000000000000800100000000785f747261696e2e6e7079504b01022d032d000000080000002100"
    "4e636bb146000000820000000b0000000000000000000000800192000000795f747261696e2e6e7079504b05060000000002"
    "00020072000000150100000000";

Bytes of_hex(std::string_view digits) {
  Bytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  return bytes;
}

FileBytes in_memory(const Bytes& bytes) {
  const auto own = std::make_shared<Bytes>(bytes);
  return {"a.npz", *own, own};
}

Bytes content(const FileBytes& bytes) { return {bytes.bytes.begin(), bytes.bytes.end()}; }

// The contents of the entry with this name.
Bytes read(const Bytes& bytes, const std::string& name) {
  const ZipArchive archive(in_memory(bytes));
  for (std::size_t i = 0; i < archive.names().size(); ++i) {
    if (archive.names()[i] == name) return content(archive.unpacked(i));
  }
  throw Failure(ExitCode::io, "there is no such entry");
}

// The last place of a signature. With one entry, it is the entry's only header of that kind.
std::size_t place(const Bytes& bytes, const std::string& mark) {
  const Bytes wanted = bytes_of(mark);
  return static_cast<std::size_t>(std::ranges::find_end(bytes, wanted).begin() - bytes.begin());
}

const std::string local = "PK\x03\x04", listed = "PK\x01\x02", end = "PK\x05\x06", wide_end = "PK\x06\x06",
                  locator = "PK\x06\x07";

// The error for an archive of one entry in which the bytes at `at` after a signature are replaced by others.
std::string complaint(Bytes bytes, const std::string& mark, std::size_t at, const Bytes& others) {
  std::ranges::copy(others, bytes.begin() + static_cast<std::ptrdiff_t>(place(bytes, mark) + at));
  return complaint_of([&] { read(bytes, "x"); });
}

TEST(Zip, ReadsStoredAndDeflatedEntries) {
  const Bytes text = bytes_of("some text, some text, some text"), large(100000, 3);
  for (const bool wide : {false, true}) {
    for (const std::string comment : {"", "PK\x05\x06 stands in this comment, too"}) {
      const ZipArchive archive(
          in_memory(zipped({{"a", text}, {"b/c", large, 8}, {"d", {}}, {"e", {}, 8}}, wide, comment)));
      EXPECT_THAT(archive.names(), ElementsAre("a", "b/c", "d", "e"));
      EXPECT_EQ(content(archive.unpacked(0)), text);
      EXPECT_EQ(content(archive.unpacked(1)), large);
      EXPECT_EQ(archive.unpacked(2).size(), 0U);
      EXPECT_EQ(archive.unpacked(3).size(), 0U);
      EXPECT_EQ(content(archive.unpacked(0)), text) << "a second time";
    }
  }
}

TEST(Zip, StoredEntriesAreNotCopied) {
  const Bytes text = bytes_of("some text");
  FileBytes entry;
  {
    const FileBytes whole = in_memory(zipped({{"b", Bytes(200000, 5)}, {"a", text}}));
    entry = ZipArchive(whole).unpacked(1);
    EXPECT_EQ(entry.bytes.data(), whole.bytes.data() + 30 + 1 + 20 + 200000 + 30 + 1 + 20);
    EXPECT_EQ(entry.owner, whole.owner);
  }
  EXPECT_EQ(content(entry), text) << "it keeps the archive's bytes";
  EXPECT_EQ(entry.file, "a.npz:a");
}

TEST(Zip, ReadsArchivesOfNumPy) {
  const TemporaryFolder folder;
  for (const std::string_view digits : {savez, savez_compressed}) {
    const std::string file = folder.write("a.npz", of_hex(digits));
    const NpyDataSet set(open_npy(file + ":x_train"), open_npy(file + ":y_train"), {});
    ASSERT_EQ(set.size(), 2U);
    EXPECT_THAT(sample_of(set, 0).values, ElementsAre(0, 1, 2));
    EXPECT_THAT(sample_of(set, 1).values, ElementsAre(3, 4, 5));
    EXPECT_THAT(sample_of(set, 0).labels, ElementsAre(1));
    EXPECT_THAT(sample_of(set, 1).labels, ElementsAre(0));
  }
}

TEST(Zip, RefusesUnsupportedArchives) {
  const Bytes text = bytes_of("text");
  EXPECT_THAT(complaint_of([&] {
                read(zipped({{"x", text, 0, 1}}), "x");
              }),
              AllOf(HasSubstr("a.npz: its entry 'x' is encrypted"), HasSubstr("numpy.savez")));
  EXPECT_THAT(complaint_of([&] {
                read(zipped({{"x", text, 12}}), "x");
              }),
              AllOf(HasSubstr("a.npz: its entry 'x' is packed by method 12"), HasSubstr("numpy.savez")));
  for (const std::string other : {"", "PK", "a text that is longer than the end of a directory"})
    EXPECT_THAT(complaint_of([&] { read(bytes_of(other), "x"); }),
                AllOf(HasSubstr("a.npz: it is "), HasSubstr("not a zip archive")));
}

TEST(Zip, ChecksEveryNumberAgainstTheFile) {
  const Bytes plain = zipped({{"x", Bytes(100, 7)}}), packed = zipped({{"x", Bytes(5000, 7), 8}}),
              wide = zipped({{"x", Bytes(5000, 7), 8}}, true), high(8, 0xFF);
  const auto no_archive = HasSubstr("a.npz: it is not a zip archive, or is truncated or damaged");
  const std::string size = "'x' does not have the size given in the directory";
  EXPECT_THAT(complaint(plain, listed, 24, {99}), HasSubstr(size));
  EXPECT_THAT(complaint(plain, listed, 20, {99}), HasSubstr("'x' cannot have 100 bytes, packed in 99"));
  EXPECT_THAT(complaint(plain, listed, 20, {0, 1}), HasSubstr("packed in 256 of a file of 235"));
  EXPECT_THAT(complaint(plain, listed, 16, {1, 2, 3, 4}), HasSubstr("'x' is damaged (CRC"));
  EXPECT_THAT(complaint(plain, listed, 42, {1}), HasSubstr("'x' is damaged"));
  EXPECT_THAT(complaint(plain, listed, 42, {0xFE, 0xFF, 0xFF, 0xFF}), HasSubstr("'x' cannot be opened"));
  EXPECT_THAT(complaint(plain, local, 26, {0xFF, 0xFF}), HasSubstr("'x' is damaged"));
  EXPECT_THAT(complaint(packed, listed, 24, {0, 0}), HasSubstr(size));
  EXPECT_THAT(complaint(packed, listed, 24, {0x89, 0x13}), HasSubstr(size)) << "5001";
  EXPECT_THAT(complaint(packed, listed, 24, {0, 0, 0, 0x7F}), HasSubstr("'x' cannot have 2130706432 bytes"));
  EXPECT_THAT(complaint(packed, end, 10, {2}), no_archive);
  EXPECT_THAT(complaint(packed, end, 10, {0}), no_archive);
  EXPECT_THAT(complaint(packed, end, 16, {0, 0, 0, 0x7F}), no_archive);
  EXPECT_THAT(complaint(wide, locator, 8, high), no_archive);
  EXPECT_THAT(complaint(wide, wide_end, 32, {0, 0, 0, 0, 1}), no_archive)
      << "more entries than there is room for";
  EXPECT_THAT(complaint(wide, wide_end, 48, high), no_archive);
  // The extra fields: one of twelve bytes; then an id, a length, and the entry's size, packed size and place.
  const std::size_t numbers = 46 + 1 + 12 + 4;
  EXPECT_THAT(complaint(wide, listed, numbers, high), HasSubstr("cannot have 18446744073709551615 bytes"));
  EXPECT_THAT(complaint(wide, listed, numbers + 8, high), HasSubstr("packed in 18446744073709551615 of"));
  EXPECT_THAT(complaint(wide, listed, numbers + 16, high), no_archive);
}

TEST(Zip, DetectsEveryTruncationAndHarmfulBitFlip) {
  const Bytes files[] = {of_hex(savez), of_hex(savez_compressed),
                         zipped({{"x_train.npy", Bytes(50, 1)}}, true)};
  for (const Bytes& good : files) {
    const Bytes right = read(good, "x_train.npy");
    for (std::size_t length = 0; length < good.size(); ++length) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_THAT(complaint_of([&] { read(cut, "x_train.npy"); }), HasSubstr("a.npz: ")) << length;
    }
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      Bytes spoilt = good;
      spoilt[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
      try {
        ASSERT_EQ(read(spoilt, "x_train.npy"), right) << "bit " << bit;
      } catch (const Failure&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 8 * 50U);
  }
}

}  // namespace
}  // namespace steelyard::zip_test
