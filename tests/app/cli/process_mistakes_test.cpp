// A table of mistakes: each gets its documented exit code, and a message that names the thing, its place and
// the remedy. None starts a process or changes a run.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/support/process_run.h"

namespace steelyard::process_mistakes_test {
namespace {

using testing::HasSubstr;

struct Mistake {
  std::string command;             // of the program; "@" is the directory of the test
  int code = 0;                    // exit code
  std::vector<std::string> texts;  // in the message
};

class ProcessMistakes : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    write("yaml.toml", "job:\n  name: x\n");
    write("unquoted.toml", "[job]\nname = small\n");
    write("latin.toml", "[job]\nname = \"caf\xE9\"\n");
    write("empty.toml", "");
    write("twins.toml", "[job]\nname = \"x\"\n[[worker]]\nname = \"ada\"\n[[worker]]\nname = \"ada\"\n");
    write("section.toml", "[trian]\nbatch = 1\n[[worker]]\n");
    write("string.toml", "[train]\nepochs = \"1\"\n[[worker]]\n");
    write("scenario.toml", "[job]\nglobal_batch = 64\n[network]\n[[worker]]\n");
    write("misspelt.toml", "[[host]]\nadress = \"x\"\n");
    write("nameless.toml", "[[host]]\nname = \"x\"\n");
    write("hosts.toml", "[[host]]\naddress = \"localhost\"\n");
    const std::string table = "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n";
    write("table.csv", table);
    std::string wide = "\xFF\xFE";
    for (const char letter : table) wide += {letter, '\0'};
    write("u16.csv", wide);
    write("none.csv", "");
    write("hole.csv", "a,b,kind\n1,,x\n2,2,y\n");
    write("text.csv", "a,b,kind\n1,q,x\n2,3,y\n");
    write("short.csv", "a,b,kind\n1,2,x\n2,3\n");
    write("class.csv", "a,b,kind\n1,2,z\n");
    write("columns.csv", "a,c\n1,2\n");
    write("unlabelled.csv", "a,b\n1,2\n");
    write("csv.toml", "[model]\nname = \"softmax\"\n[data]\nname = \"csv\"\ntrain = \"" + path("table.csv") +
                          "\"\ntest = \"" + path("table.csv") +
                          "\"\nlabel = \"kind\"\n[train]\nbatch = 4\nepochs = 2\n[[worker]]\n");
  }
  void train_table() { ASSERT_EQ(run({"train", path("csv.toml"), "--run-dir", path("run")}), 0) << said_; }
  // The files of the test's directory, with their sizes.
  [[nodiscard]] std::string listing() const {
    std::vector<std::string> lines;
    for (const auto& it : std::filesystem::recursive_directory_iterator(directory_)) {
      if (it.path().filename() == "run.log") continue;  // the output of the command
      lines.push_back(it.path().string() +
                      (it.is_regular_file() ? " " + std::to_string(it.file_size()) : ""));
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  void expect(const std::vector<Mistake>& mistakes) {
    const std::string before = listing();
    for (const Mistake& it : mistakes) {
      SCOPED_TRACE(it.command);
      std::vector<std::string> words;
      std::istringstream in(it.command);
      for (std::string word; in >> word;) {
        if (const auto at = word.find('@'); at != std::string::npos) word.replace(at, 1, directory_.string());
        words.push_back(word);
      }
      EXPECT_EQ(run(words), it.code) << said_;
      for (const std::string& text : it.texts) EXPECT_THAT(said_, HasSubstr(text));
    }
    EXPECT_EQ(listing(), before);
  }
};

TEST_F(ProcessMistakes, OfJobFiles) {
  expect({
      {"train", 2, {"job is required", "--help"}},
      {"trian @/job.toml", 2, {"not expected: trian", "did you mean \"train\""}},
      {"train @/no.toml", 78, {"no.toml: cannot be read", "steelyard help job"}},
      {"train @", 78, {"cannot be read", "steelyard help job"}},
      {"train @/job.toml extra", 2, {"not expected: extra", "train --help"}},
      {"train @/job.toml --epochs 3", 2, {"not expected: --epochs 3", "train --help"}},
      {"train @/job.toml --set", 2, {"--set", "KEY=VALUE"}},
      {"train @/job.toml --set nothing", 2, {"--set nothing", "section.key=value"}},
      {"train @/job.toml --set train.epoch=3", 78, {"\"epoch\"", "did you mean \"epochs\""}},
      {"train @/job.toml --set train.epochs=three", 78, {"\"three\"", "give a whole number from 0"}},
      {"train @/job.toml --set train.batch=0", 78, {"train.batch=0", "give a whole number from 1"}},
      {"train @/job.toml --set train.batch=-5", 78, {"train.batch=-5", "give a whole number from 1"}},
      {"train @/job.toml --set train.batch=9999999", 78, {"batch = 9999999", "8192 training samples"}},
      {"train @/job.toml --set train.lr=nan", 78, {"lr = nan", "above 0"}},
      {"train @/job.toml --set train.optimizer=adm", 78, {"\"adm\"", "did you mean \"adam\""}},
      {"train @/job.toml --set cluster.policy=fastest", 78, {"--set cluster.policy=fastest", "valid: boa"}},
      {"train @/job.toml --set cluster.sync=bsb", 78, {"\"bsb\"", "give one of bsp"}},
      {"train @/job.toml --set cluster.servers=0", 78, {"servers = 0", "from 1 to 1024"}},
      {"train @/job.toml --set cluster.servers=100000", 78, {"servers = 100000", "from 1 to 1024"}},
      {"train @/job.toml --set cluster.replicas=9", 78, {"replicas", "9"}},
      {"train @/job.toml --set model.layers=3", 78, {"'softmax'", "'layers'"}},
      {"train @/job.toml --set model.name=sofmax", 78, {"'sofmax'", "did you mean \"softmax\""}},
      {"train @/job.toml --set data.name=sinthetic", 78, {"'sinthetic'", "did you mean \"synthetic\""}},
      {"train @/job.toml --set worker.carl.threads=2", 2, {"\"carl\"", "valid: ada, bob"}},
      {"train @/job.toml --set job.name=" + std::string(300, 'x'), 78, {"name", "64"}},
      {"train @/table.csv", 78, {"table.csv:1:2", "not TOML"}},
      {"train @/yaml.toml", 78, {"yaml.toml:1:4", "not TOML"}},
      {"train @/unquoted.toml", 78, {"unquoted.toml:2:8", "not TOML"}},
      {"train @/latin.toml", 78, {"latin.toml:2:11", "utf-8"}},
      {"train @/empty.toml", 78, {"empty.toml", "write [[worker]]"}},
      {"train @/twins.toml", 78, {"twins.toml:5:1", "give each its own name"}},
      {"train @/section.toml", 78, {"section.toml:1:2", "did you mean \"train\""}},
      {"train @/string.toml", 78, {"string.toml:2:10", "give a whole number"}},
      {"train @/scenario.toml", 78, {"scenario", "steelyard simulate"}},
      {"simulate @/job.toml", 78, {"[cluster] belongs to a job", "steelyard train"}},
  });
}

TEST_F(ProcessMistakes, OfData) {
  train_table();
  expect({
      {"train @/csv.toml --set model.name=lenet5", 78, {"lenet5", "try name = \"mlp\""}},
      {"train @/csv.toml --set data.label=color", 74, {"no column 'color'", "valid: a, b, kind"}},
      {"train @/csv.toml --set data.train=@/no.csv", 74, {"no.csv does not exist", "correct its path"}},
      {"train @/csv.toml --set data.train=@", 74, {"not a file", "correct its path"}},
      {"train @/csv.toml --set data.train=@/u16.csv", 74, {"u16.csv", "save it as UTF-8"}},
      {"train @/csv.toml --set data.train=@/none.csv", 74, {"none.csv:1", "give at least one"}},
      {"train @/csv.toml --set data.train=@/hole.csv", 74, {"hole.csv:2: column 2", "missing = \"mean\""}},
      {"train @/csv.toml --set data.train=@/text.csv", 74, {"text.csv:2: column 2: 'q'", "skip = [2]"}},
      {"train @/csv.toml --set data.train=@/short.csv", 74, {"short.csv:3", "expected 3 columns", "found 2"}},
      {"train @/csv.toml --set data.test=@/class.csv", 74, {"class.csv:2", "'z'"}},
      {"train @/csv.toml --set data.separator=ab", 78, {"separator", "ab"}},
      {"train @/csv.toml --set data.missing=some", 78, {"missing", "some"}},
      {"train @/csv.toml --set data.lable=kind", 78, {"'lable'", "did you mean \"label\""}},
      {"predict @/run --input @/no.csv", 74, {"no.csv does not exist", "correct its path"}},
      {"predict @/run --input @/columns.csv",
       74,
       {"columns.csv:1", "no column 'b'", "give a file of the same table"}},
      {"predict @/run --input @/text.csv", 74, {"text.csv:2: column 2", "correct it"}},
      {"predict @/run --input @/job.toml", 74, {"job.toml:1", "give a file of the same table"}},
      {"predict @/run --input @/table.csv --out /nowhere/x.csv",
       74,
       {"/nowhere/x.csv", "give --out another place"}},
      {"eval @/run --input @/unlabelled.csv", 74, {"unlabelled.csv", "label"}},
      {"eval @/run --input @/no.npy", 74, {"no.npy does not exist", "correct its path"}},
  });
}

TEST_F(ProcessMistakes, OfRunsAndCheckpoints) {
  train_table();
  expect({
      {"train @/job.toml --run-dir @/run", 74, {"run: it is not empty", "--resume"}},
      {"train @/job.toml --run-dir @/job.toml", 74, {"a file has this name", "another name"}},
      {"train @/job.toml --run-dir /proc/x", 74, {"/proc/x", "where you may write"}},
      {"train @/job.toml --resume", 2, {"--resume needs --run-dir", "runs/job-1"}},
      {"train @/job.toml --resume --run-dir @/nothing", 74, {"nothing", "directory"}},
      {"train @/job.toml --resume --run-dir @/run", 78, {"another model", "softmax"}},
      {"eval", 2, {"checkpoint is required", "eval --help"}},
      {"eval @/nothing", 74, {"neither a checkpoint nor a run", "runs/job-1"}},
      {"eval @/job.toml", 74, {"job.toml: is neither", "runs/job-1"}},
      {"predict @/nothing --input @/table.csv", 74, {"neither a checkpoint nor a run", "runs/job-1"}},
      {"inspect @/nothing", 74, {"neither a checkpoint nor a run", "runs/job-1"}},
      {"inspect @/table.csv", 74, {"not a good safetensors file", "give another file"}},
      {"report @/nothing", 74, {"cannot be read", "give the directory of a run"}},
      {"status @/nothing", 74, {"cannot be read", "give the directory of a run"}},
      {"replay @/nothing", 74, {"cannot be read", "give the directory of a run"}},
      {"journal @/nothing", 74, {"it has no run", "give the directory of a run"}},
      {"runs @/nothing", 74, {"nothing", "give the folder that contains the runs"}},
      {"trace @/nothing", 74, {"nothing cannot be read", "give a run directory"}},
      {"status 127.0.0.1:1", 69, {"127.0.0.1:1 does not answer", "use the address"}},
      {"export @/run", 2, {"--to is required", "export --help"}},
      {"export @/run --to @/m.xyz", 2, {"'.xyz'", "give FILE.onnx"}},
      {"export @/nothing --to @/m.onnx", 74, {"neither a checkpoint nor a run", "runs/job-1"}},
      {"export @/run --to /nowhere/m.onnx", 74, {"/nowhere/m.onnx", "give --to another place"}},
      {"compare @/no.toml", 78, {"no.toml: cannot be read", "examples/scenarios"}},
      {"compare @/job.toml --policies fastest", 2, {"'fastest'", "valid: boa"}},
      {"plan", 2, {"required", "plan --help"}},
      {"help nothing", 2, {"nothing: unknown topic", "valid: job"}},
      {"help --completion csh", 2, {"csh", "bash"}},
  });
}

TEST_F(ProcessMistakes, OfProcessesHostsAndKeys) {
  expect({
      {"worker", 2, {"--scheduler is required", "worker --help"}},
      {"worker --scheduler nohost.invalid:7398 --wait 1",
       69,
       {"no host 'nohost.invalid'", "correct --scheduler"}},
      {"worker --scheduler 127.0.0.1:1 --wait 1",
       69,
       {"no answer from the scheduler at 127.0.0.1:1", "is it running there?"}},
      {"server --scheduler 127.0.0.1:99999", 2, {"no port 99999", "from 1 to 65535"}},
      {"worker --scheduler ftp://a:1", 2, {"'ftp://a:1'", "expected host:port"}},
      {"worker --scheduler 127.0.0.1:1 --threads 0", 2, {"--threads", "from 1 to 1024"}},
      {"worker --scheduler 127.0.0.1:1 --name a,b", 2, {"'a,b'", "letters, digits"}},
      {"worker --scheduler 127.0.0.1:1 --keys @/nokeys", 78, {"nokeys", "keys new"}},
      {"standby --scheduler 127.0.0.1:1 --listen 127.0.0.1:*", 2, {"127.0.0.1:*", "give a port number"}},
      {"standby --scheduler 127.0.0.1:1 --wait 1", 69, {"up to 1 s", "no answer from the scheduler"}},
      {"scheduler @/job.toml --listen 0.0.0.0:0", 78, {"can be reached from other machines", "give --keys"}},
      {"scheduler @/job.toml --listen nohost.invalid:1",
       78,
       {"'nohost.invalid:1'", "give an address of this machine"}},
      {"train @/job.toml --web 99999", 2, {"'99999'", "from 1 to 65535"}},
      {"train @/job.toml --web nohost.invalid:80",
       78,
       {"nohost.invalid:80", "give an address of this machine"}},
      {"launch @/job.toml", 2, {"launch needs hosts and a job", "steelyard launch"}},
      {"launch @/job.toml --hosts @/hosts.toml", 2, {"hosts.toml", "as the first argument"}},
      {"launch @/no.toml @/job.toml", 78, {"no.toml: cannot be read", "hosts"}},
      {"launch @/misspelt.toml @/job.toml", 78, {"misspelt.toml:2:1", "did you mean \"address\""}},
      {"launch @/nameless.toml @/job.toml", 78, {"no host has the scheduler", "add scheduler = true"}},
      {"doctor", 2, {"hosts is required", "doctor --help"}},
      {"install", 2, {"hosts is required", "install --help"}},
      {"render kubernetes @/hosts.toml @/job.toml", 2, {"kubernetes", "jobset"}},
      {"keys list @/nokeys", 78, {"no key directory", "keys new"}},
      {"keys create @/k robot", 2, {"create", "new"}},
      {"keys add @/k worker ada", 2, {"keys add needs", "keys list"}},
      {"run", 2, {"run needs a script", "train.py"}},
      {"run -n 2 @/no.py", 78, {"no script", "correct its path"}},
      {"profile @/no.toml", 78, {"no.toml", "cannot be read"}},
  });
}

}  // namespace
}  // namespace steelyard::process_mistakes_test
