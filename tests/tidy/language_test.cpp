// Plain English: patterns of sentences that readers stumble over must not come back. The rule for language is
// in CONTRIBUTING.md. A pattern is only a detector: rewrite the sentence by its meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>

#include "tests/tidy/source_tree.h"

namespace steelyard::test::language_test {
namespace {

using ::testing::IsEmpty;

struct Rule {
  std::string pattern;
  std::string instead;
  std::string planted;  // a sentence that the pattern must find
  std::string fine;     // a sentence that it must not find
};
const std::vector<Rule> rules{
    {R"((^|[.;:!?,(] )What (is|are|was|were|has|have|had|it|they|cannot|can|does|must|goes|comes|of|each)\b)",
     "begin with a subject that has a name", "What is late counts nothing.", "Prints what is late."},
    {R"(\b([Nn]o|[Ss]ome|[Ee]very|[Aa]ny)body\b)", "name the process", "Nobody waits.", "No worker waits."},
    {R"(\b[Ww]ho(ever|m)?\b(?!`))", "name the process; if it is one, \"which\"", "Who is refused ends.",
     "The whole process exits."},
    {R"(\b(is|are|was|were|be|been|being|gets?) told\b)", "processes send, receive and report",
     "The worker is told of it.", "The worker receives it."},
    {R"(\bhear[sd]? (of|from|nothing)\b|\bsays? (so|nothing)\b)", "processes send, receive and report",
     "The server hears of it.", "The server receives it."},
    {R"(\b[Ss]o (many|long|large|much|few|often)\b(?! (that|as)\b))", "a number with its unit, or N",
     "so many processes", "so many that it fails"},
    {R"(\b(?!so )\w+ that there (is|are|was|were)\b|\b(is|are) none\b)", "\"is not a ...\", \"existing\"",
     "the workers that there are", "There is no worker."},
    {R"(\b(is|are|was|were) to (be|have|go|do|come|get|run|stay|keep|take|hold|give|make)\b)",
     "\"must\", \"will\"", "It is to be sent.", "It must be sent."},
    {R"(\b(goes? home|in its senses|its word|begins? anew|begun anew|stands? aside|taken for lost)\b)",
     "the field's term: exit, restart, declared lost", "The round begins anew.", "The round restarts."},
    {R"(^ ?(Of|Behind|Whatever|So) (the|a|an|what|each|every|its|those|this|all|one|many|large|long)\b)",
     "begin with the subject", "Of what was cut nothing is read.", "A truncated record is ignored."},
};

bool flagged(const std::string& text) {
  static const std::vector<std::regex> patterns = [] {
    std::vector<std::regex> all;
    for (const Rule& rule : rules) all.emplace_back(rule.pattern, std::regex::optimize);
    return all;
  }();
  return !text.empty() && std::ranges::any_of(patterns, [&](const std::regex& pattern) {
    return std::regex_search(text, pattern);
  });
}

using Findings = std::vector<std::string>;
using Place = std::function<bool(const SourceFile&)>;

void count(Findings& findings, const SourceFile& file, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (flagged(lines[i])) findings.push_back(file.path + ':' + std::to_string(i + 1) + ": " + lines[i]);
  }
}

// A document without its blocks of output, and without code in its lines.
std::vector<std::string> prose_of(const SourceFile& document) {
  static const std::regex code("`[^`]*`");
  std::vector<std::string> lines;
  bool fenced = false;
  for (const std::string& line : document.lines) {
    const bool fence = line.find("```") != std::string::npos;
    fenced ^= fence;
    lines.push_back(fenced || fence || line.starts_with("    ") ? "" : std::regex_replace(line, code, "``"));
  }
  return lines;
}

// The comment of a line of Python, a script or a build file, and its text in quotes.
std::vector<std::string> script_text_of(const SourceFile& script) {
  static const std::regex text(R"(#(.*)|"([^"]*)\"|^( *[A-Z].*[.:,a-z])$)");
  std::vector<std::string> lines;
  for (const std::string& line : script.lines) {
    std::smatch found;
    lines.push_back(std::regex_search(line, found, text) ? found[0].str().substr(found[1].matched ? 1 : 0)
                                                         : "");
  }
  return lines;
}

bool is_document(const SourceFile& file) { return file.ends_with(".md"); }

// Help, errors and log lines; documents; public headers.
TEST(Language, UsersReadPlainEnglish) {
  Findings findings;
  for (const SourceFile& file : source_tree()) {
    if (is_product(file)) count(findings, file, file.literals);
    if (is_document(file)) count(findings, file, prose_of(file));
    if (file.under("include")) count(findings, file, file.comments);
    if (file.ends_with(".js")) {
      SourceFile page = file;
      split_code(page);
      count(findings, page, page.literals);
      count(findings, page, page.comments);
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

// Comments, and texts of tests, benchmarks and scripts.
TEST(Language, DevelopersReadPlainEnglish) {
  Findings findings;
  for (const SourceFile& file : source_tree()) {
    if (file.path == "tests/tidy/language_test.cpp") continue;  // it plants what it looks for
    if (is_code(file)) {
      if (!file.under("include")) count(findings, file, file.comments);
      if (!is_product(file)) count(findings, file, file.literals);
    } else if (!is_document(file) && !file.ends_with(".js")) {
      count(findings, file, script_text_of(file));
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

const std::regex odd_name(
    "(No|Some|Every)body|Who(ever|m|se)?([A-Z]|$)|^What(Is|Are|Was|Were|Has|It|They|Comes)|(Is|Are|Was)"
    "(Told|Said)|Heard(Of|From)|SaysNothing|So(Many|Long|Large)[A-Z]|ThatThereIs|BeginsAnew");

// Names of tests are sentences, too.
TEST(Language, NamesOfTestsArePlainEnglish) {
  static const std::regex test(R"(^(TYPED_)?TEST(_F|_P)?\(\w+, *(\w+)\))");
  Findings findings;
  for (const SourceFile& file : source_tree()) {
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      std::smatch found;
      if (!std::regex_search(file.code[i], found, test)) continue;
      const std::string name = found[3];
      if (std::regex_search(name, odd_name)) findings.push_back(file.path + ": " + name);
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

// An error says what to do next (give, use, start ...) or what is expected, ...
const std::regex remedy(
    R"(\b([Gg]ive|use|set|choose|add|leave|remove|start|restart|begin|name|write|raise|lower|correct|check|)"
    R"(free|make|run|install|build|try|wait|ask|pass|put|must|needs?|expected|at (least|most)|only|instead|)"
    R"(resume|stop|copy|train|get|let|look|drop|close|keep|list|point|record|repeat|split|take|declare|)"
    R"(chmod|there (is|are)|lists? them)\b)");
// ... or its text, with its remedy, comes from elsewhere.
const std::regex forwarded(
    R"(\b(what|why|trouble|reasons|complaint|among|did_you_mean|\w*remedy|not_joined)\b)");

struct Refusal {
  std::string place, words, code;

  [[nodiscard]] bool names_a_remedy() const {
    return std::regex_search(words, remedy) || std::regex_search(code, forwarded);
  }
};

// The statements that throw a Failure for a set-up or a command line.
std::vector<Refusal> refusals(const SourceFile& file) {
  static const std::regex begin(
      R"(\bthrow Failure\(ExitCode::(configuration|usage)|^\s*refuse_(setup|usage)\()");
  std::vector<Refusal> all;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    if (!std::regex_search(file.code[i], begin)) continue;
    Refusal it{file.path + ':' + std::to_string(i + 1), "", ""};
    for (std::size_t k = i; k < std::min(i + 12, file.code.size()); ++k) {
      it.words += file.literals[k] + ' ';
      it.code += file.code[k] + ' ';
      if (file.code[k].find(';') != std::string::npos) break;
    }
    all.push_back(it);
  }
  return all;
}

TEST(Language, ErrorsNameTheRemedy) {
  Findings findings;
  std::size_t looked_at = 0;
  for (const SourceFile& file : source_tree()) {
    if (!is_product(file)) continue;
    for (const Refusal& it : refusals(file)) {
      ++looked_at;
      if (!it.names_a_remedy()) findings.push_back(it.place + ": " + it.words);
    }
  }
  EXPECT_GT(looked_at, 100u);
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

TEST(Language, EachRuleFindsItsFault) {
  for (const Rule& rule : rules) {
    const std::regex pattern(rule.pattern);
    EXPECT_TRUE(std::regex_search(rule.planted, pattern)) << rule.planted << ": " << rule.instead;
    EXPECT_FALSE(std::regex_search(rule.fine, pattern)) << rule.fine;
  }
}

TEST(Language, FaultsAreFoundWhereverTheyStand) {
  SourceFile code{"core/x.cpp", {"f(\"Who is refused ends.\");  // Nobody waits."}, {}, {}, {}};
  split_code(code);
  SourceFile document{
      "docs/x.md", {"```", "Nobody waits.", "```", "`who` is a key. Nobody waits."}, {}, {}, {}};
  SourceFile script{"script/x", {"# Nobody waits.", "echo \"Nobody waits.\"", "nobody=1"}, {}, {}, {}};
  Findings findings;
  count(findings, code, code.literals);
  count(findings, code, code.comments);
  EXPECT_EQ(findings.size(), 2u);
  count(findings, document, prose_of(document));
  EXPECT_EQ(findings.size(), 3u);
  count(findings, script, script_text_of(script));
  EXPECT_EQ(findings.size(), 5u) << listed(findings);

  EXPECT_TRUE(std::regex_search(std::string("NobodyWaits"), odd_name));
  EXPECT_FALSE(std::regex_search(std::string("NoWorkerWaits"), odd_name));

  SourceFile refusing{"core/x.cpp", {"  refuse_setup(\"the port is taken\");"}, {}, {}, {}};
  split_code(refusing);
  ASSERT_EQ(refusals(refusing).size(), 1u);
  EXPECT_FALSE(refusals(refusing)[0].names_a_remedy());
}

}  // namespace
}  // namespace steelyard::test::language_test
