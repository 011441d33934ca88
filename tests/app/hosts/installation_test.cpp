// `steelyard install` with shells as hosts: each has a home directory of its own, and the files of this
// machine otherwise.
#include "app/hosts/installation.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/complaint.h"
#include "tests/support/process_run.h"

namespace steelyard::installation_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

HostAnswers answers() { return {{"machine", "Linux x86_64"}, {"glibc", "2.36"}, {"prefix", "/opt"}}; }

class TroubleTest : public testing::Test {
 protected:
  std::string trouble(const std::string& key, const std::string& value) {
    HostAnswers there = answers();
    there[key] = value;
    return trouble_with(there, package_);
  }
  Package package_{"", "0123456789abcdef", "2.34", "Linux x86_64"};
};

TEST_F(TroubleTest, WhatCannotRunThereIsNamed) {
  EXPECT_THAT(trouble("glibc", "2.34"), IsEmpty());
  EXPECT_THAT(
      trouble("machine", "Linux aarch64"),
      AllOf(HasSubstr("it is Linux aarch64"), HasSubstr("is for Linux x86_64"), HasSubstr("build it")));
  EXPECT_THAT(trouble("glibc", "2.31"), AllOf(HasSubstr("has glibc 2.31"), HasSubstr("needs glibc 2.34")));
  EXPECT_THAT(trouble("glibc", ""), HasSubstr("it has no glibc"));
  EXPECT_THAT(trouble("without", "tar"), HasSubstr("it has no tar: install it"));
  EXPECT_THAT(trouble("closed", "/usr/local"), AllOf(HasSubstr("into /usr/local"), HasSubstr("steelyard =")));
  EXPECT_THAT(trouble("other", "/opt/bin/steelyard"), HasSubstr("/opt/bin/steelyard is not a link"));
}

TEST(Installation, TheKeySteelyardGivesThePrefix) {
  HostSpec host;
  host.name = "one";
  host.steelyard = "steelyard";
  EXPECT_EQ(prefix_on(host), "");
  host.steelyard = "/opt/lab/bin/steelyard";
  EXPECT_EQ(prefix_on(host), "/opt/lab");
  host.steelyard = "job/bin/steelyard";
  EXPECT_EQ(prefix_on(host), "job");
  host.steelyard = "/opt/lab/steelyard";
  EXPECT_THAT(complaint_of([&] { (void)prefix_on(host); }),
              AllOf(HasSubstr("host 'one'"), HasSubstr("PREFIX/bin/steelyard")));
}

class InstallTest : public ProcessTest {
 protected:
  // Hosts that are shells with a home directory here. `before` is run there first, with the command as "$@".
  [[nodiscard]] std::string hosts(const std::vector<std::string>& names,
                                  const std::string& before = "") const {
    write("reach.sh", "cd \"$1\" && shift || exit\nHOME=$PWD PATH=/usr/bin:/bin\nexport HOME PATH\n" +
                          before + "\nexec \"$@\"\n");
    std::string text = "[defaults]\nthrough = [\"sh\", \"reach.sh\", \"{name}\"]\n";
    for (const std::string& name : names) {
      fs::create_directories(path(name));
      text +=
          "[[host]]\nname = \"" + name + "\"\naddress = \"127.0.0.1\"\nsteelyard = \"app/bin/steelyard\"\n";
      if (name == names.front()) text += "scheduler = true\nservers = 1\n[[host.worker]]\n";
    }
    return write("hosts.toml", text);
  }
  int install(const std::string& file) {
    return run({"install", file}, [this] {
      if (chdir(directory_.c_str()) != 0) _exit(125);
    });
  }
  // The folders that an installation has left.
  [[nodiscard]] std::vector<std::string> folders(const std::string& host) const {
    std::vector<std::string> names;
    for (const auto& it : fs::directory_iterator(path(host + "/app/lib")))
      names.push_back(it.path().filename());
    return names;
  }
};

TEST_F(InstallTest, EveryHostGetsTheProgramOnce) {
  const std::string file = hosts({"one", "two"});
  ASSERT_EQ(install(file), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("host 'one': installed in "), HasSubstr("host 'two': installed in "),
                           HasSubstr("steelyard 0.")));
  const fs::path program = path("two/app/bin/steelyard");
  EXPECT_TRUE(fs::is_symlink(program));
  const fs::path own = fs::canonical(program).parent_path().parent_path();
  EXPECT_TRUE(fs::exists(own / "share/steelyard/digits")) << "the files that the program opens";
  const std::vector<std::string> first = folders("two");
  EXPECT_EQ(first.size(), 1U);
  ASSERT_EQ(install(file), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("host 'one': has it already"), HasSubstr("host 'two': has it already")));
  EXPECT_EQ(folders("two"), first);
}

// It needs no library of this machine but those of glibc.
TEST_F(InstallTest, TheCopyHasItsOwnLibraries) {
  ASSERT_EQ(install(hosts({"one"})), 0) << said_;
  const fs::path own = fs::canonical(path("one/app/bin/steelyard")).parent_path().parent_path();
  bool has_zmq = false;
  for (const auto& it : fs::directory_iterator(own / "lib/steelyard")) {
    has_zmq |= it.path().filename().string().starts_with("libzmq");
    EXPECT_FALSE(it.path().filename().string().starts_with("libc.so"));
  }
  EXPECT_TRUE(has_zmq);
  const std::string seen = path("ldd");
  const std::string command = "ldd " + (own / "bin/steelyard").string() + " > " + seen;
  const Process shell(path("shell.log"), {"-c", command}, {}, "/bin/sh");
  ASSERT_TRUE(eventually([&] { return text_of(seen).find("libzmq") != std::string::npos; }));
  EXPECT_THAT(text_of(seen), HasSubstr((own / "bin/../lib/steelyard/libzmq").string()));
}

TEST_F(InstallTest, AFailureLeavesTheFormerProgram) {
  const std::string file = hosts({"one"});
  fs::create_directories(path("one/app/lib/steelyard-0000000000000000/steelyard/bin"));
  fs::create_directories(path("one/app/bin"));
  const std::string former = "../lib/steelyard-0000000000000000/steelyard/bin/steelyard";
  write("one/app/lib/steelyard-0000000000000000/steelyard/bin/steelyard", "#!/bin/sh\n");
  fs::create_symlink(former, path("one/app/bin/steelyard"));
  // The connection breaks after a part of the package.
  const std::string cut = hosts({"one"}, "case \"$*\" in *'tar -xzf'*) head -c 100000 | \"$@\"; exit;; esac");
  EXPECT_NE(install(cut), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("host 'one': nothing was installed"));
  EXPECT_EQ(fs::read_symlink(path("one/app/bin/steelyard")), former);
  EXPECT_EQ(folders("one"), std::vector<std::string>{"steelyard-0000000000000000"})
      << "nothing is left of it";
  ASSERT_EQ(install(hosts({"one"})), 0) << said_;
  EXPECT_EQ(folders("one").size(), 1U) << "the former one is removed";
  EXPECT_NE(fs::read_symlink(path("one/app/bin/steelyard")), former);
}

TEST_F(InstallTest, FailuresOfAllHostsAreReportedAtOnce) {
  const std::string file =
      hosts({"one", "two", "three"},
            "case $PWD in\n*/two) PATH=$PWD:$PATH;;\n*/three) echo no way >&2; exit 255;;\n"
            "esac");
  fs::permissions(write("two/uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo sparc\n"),
                  fs::perms::owner_all);
  EXPECT_EQ(install(file), 78) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("host 'one': installed"), HasSubstr("host 'two': it is Linux sparc"),
                           HasSubstr("host 'three': "), HasSubstr("no way")));
  EXPECT_FALSE(fs::exists(path("two/app/bin/steelyard")));
  EXPECT_FALSE(fs::exists(path("three/app")));
}

TEST_F(InstallTest, AnotherProgramIsNotReplaced) {
  const std::string file = hosts({"one"});
  fs::create_directories(path("one/app/bin"));
  write("one/app/bin/steelyard", "mine");
  EXPECT_EQ(install(file), 78) << said_;
  EXPECT_THAT(said_, HasSubstr("is not a link of this command: remove it"));
  EXPECT_EQ(text_of(path("one/app/bin/steelyard")), "mine");
}

TEST_F(InstallTest, HostsWithOurFilesNeedNothing) {
  const std::string file =
      write("hosts.toml", "[[host]]\nname = \"here\"\nscheduler = true\nservers = 1\n[[host.worker]]\n");
  EXPECT_EQ(install(file), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("host 'here': has the files of this machine"));
}

}  // namespace
}  // namespace steelyard::installation_test
