// Folders of pictures, from train to the last prediction, as a user does.
#include <gmock/gmock.h>

#include <utility>

#include "tests/support/made_pictures.h"
#include "tests/support/process_run.h"

namespace steelyard::process_pictures_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ProcessPictures : public ProcessTest {
 protected:
  void write_picture(const std::string& name, std::uint64_t i, bool red) {
    test::Pixels pixels = test::patterned(20 + static_cast<std::uint32_t>(i % 9), 30, i);
    for (std::size_t at = 0; !red && at < pixels.bytes.size(); at += 3)
      std::swap(pixels.bytes[at], pixels.bytes[at + 2]);  // blue above, red below
    const auto file = name.ends_with(".png") ? test::png_of(pixels) : test::jpeg_of(pixels);
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write(name, std::string(file.begin(), file.end()));
  }
  void train() {
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::string end = std::to_string(i) + (i % 2 == 0 ? ".png" : ".jpg");
      write_picture("pets/cat/" + end, i, true);
      write_picture("pets/dog/" + end, 100 + i, false);
    }
    const std::string job = write(
        "pets.toml", "[model]\nname = \"softmax\"\n[data]\nname = \"pictures\"\ntrain = \"" + path("pets") +
                         "\"\nholdout = 0.2\nsize = [8, 10]\npad = 12\n[train]\nbatch = 20\nepochs = 8\n"
                         "lr = 0.05\n[[worker]]\nname = \"ada\"\n[[worker]]\nname = \"bea\"\n");
    ASSERT_EQ(run({"train", job, "--run-dir", path("own")}), 0) << said_;
  }
};

TEST_F(ProcessPictures, AFolderIsTrainedAndPredictedWithTheNamesOfClassesAndFiles) {
  train();
  EXPECT_EQ(accuracy("own"), 1);
  ASSERT_EQ(run({"predict", path("own")}), 0) << said_;
  EXPECT_THAT(said_, AllOf(StartsWith("file,class,probability,label\n"), HasSubstr("/pets/cat/"),
                           HasSubstr("/pets/dog/"), HasSubstr(",dog\n")));
  const std::string of_test_set = said_;

  // A picture of the test set has the same probability alone, and without the training data.
  const std::string line =
      of_test_set.substr(of_test_set.find('\n') + 1, of_test_set.find('\n', 30) - of_test_set.find('\n') - 1);
  const std::string file = line.substr(0, line.find(','));
  std::filesystem::create_directory(path("new"));
  std::filesystem::copy_file(file, path("new/a") + file.substr(file.size() - 4));
  write_picture("new/z.jpg", 500, false);
  std::filesystem::remove_all(path("pets"));
  ASSERT_EQ(run({"predict", path("own"), "--input", path("new")}), 0) << said_;
  const std::string wanted = line.substr(line.find(','), line.rfind(',') - line.find(','));
  EXPECT_THAT(said_, AllOf(StartsWith("file,class,probability\n" + path("new/a")), HasSubstr(wanted + '\n'),
                           HasSubstr("new/z.jpg,dog,")));
  const std::string of_folder = said_;
  ASSERT_EQ(run({"predict", path("own"), "--input", path("new/a") + file.substr(file.size() - 4),
                 path("new/z.jpg")}),
            0)
      << said_;
  EXPECT_EQ(said_, of_folder);
}

TEST_F(ProcessPictures, EvalTakesLabelsFromSubfolders) {
  train();
  write_picture("more/cat/a.png", 900, true);
  write_picture("more/dog/b.jpg", 901, false);
  write_picture("more/dog/c.jpg", 902, true);  // in the wrong folder
  ASSERT_EQ(run({"eval", path("own"), "--input", path("more")}), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("(2 of 3)"), HasSubstr("  cat          1 "), HasSubstr("  dog          2 ")));
  ASSERT_EQ(run({"predict", path("own"), "--input", path("more")}), 0) << said_;
  EXPECT_THAT(said_, AllOf(StartsWith("file,class,probability,label\n"), HasSubstr("c.jpg,cat,")));
  write_picture("more/cow/d.png", 903, true);
  EXPECT_EQ(run({"eval", path("own"), "--input", path("more")}), 74);
  EXPECT_THAT(said_, AllOf(HasSubstr("d.png': label 'cow' is not among those of the training set")));
  EXPECT_EQ(run({"eval", path("own"), "--input", path("more/dog")}), 74);
  EXPECT_THAT(said_, HasSubstr("it has no labels: give a CSV file"));
  EXPECT_EQ(run({"predict", path("own"), "--input", path("more"), "--normalized"}), 78) << said_;
  EXPECT_THAT(said_, HasSubstr("leave --normalized out"));
}

TEST_F(ProcessPictures, ADamagedFileEndsTheTrainingWithItsName) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    write_picture("pets/cat/" + std::to_string(i) + ".jpg", i, true);
    write_picture("pets/dog/" + std::to_string(i) + ".jpg", i, false);
  }
  write("pets/dog/3.jpg", text_of(path("pets/dog/3.jpg")).substr(0, 300));
  const std::string job = write(
      "pets.toml", "[model]\nname = \"softmax\"\n[data]\nname = \"pictures\"\ntrain = \"" + path("pets") +
                       "\"\ntest = \"" + path("pets") + "\"\n[train]\nbatch = 10\nepochs = 1\n[[worker]]\n");
  EXPECT_NE(run({"train", job, "--run-dir", path("own")}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("data set 'pictures'"), HasSubstr("/dog/3.jpg: the "),
                           HasSubstr("replace or remove the file"), Not(HasSubstr("exception"))));
}

}  // namespace
}  // namespace steelyard::process_pictures_test
