#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace steelyard::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> product_folders{"core",      "nn",     "balancing", "protocol",
                                               "transport", "server", "worker",    "scheduler",
                                               "sim",       "app",    "bindings"};

// Build outputs, run directories and what only this machine has.
bool is_left_out(const std::string& top) {
  return top.starts_with(".git") || top.starts_with("build") || top == "runs" || top == "shared";
}

bool is_text(const fs::path& path) {
  static const std::vector<std::string> endings{".h",  ".cpp",  ".cu",   ".md", ".txt", ".cmake",
                                                ".in", ".json", ".toml", ".py", ".sh",  ".js"};
  const std::string ending = path.extension().string();
  return std::ranges::find(endings, ending) != endings.end() ||
         (ending.empty() && path.filename() != "LICENSE");
}

// Walks through code one character at a time.
class Splitter {
 public:
  struct Parts {
    std::string code, comment, literal;
  };
  Parts line(const std::string& text) {
    Parts parts;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool two = i + 1 < text.size();
      if (in_block_) {
        if (two && text[i] == '*' && text[i + 1] == '/') {
          in_block_ = false;
          ++i;
        } else {
          parts.comment += text[i];
        }
      } else if (in_raw_) {
        if (text.compare(i, raw_end_.size(), raw_end_) == 0) {
          in_raw_ = false;
          i += raw_end_.size() - 1;
          parts.code += '"';
        } else {
          parts.literal += text[i];
        }
      } else if (two && text[i] == '/' && text[i + 1] == '/') {
        parts.comment += text.substr(i + 2);
        break;
      } else if (two && text[i] == '/' && text[i + 1] == '*') {
        in_block_ = true;
        ++i;
      } else if (two && text[i] == 'R' && text[i + 1] == '"') {
        const std::size_t open = text.find('(', i);
        raw_end_ = ')' + text.substr(i + 2, open - i - 2) + '"';
        in_raw_ = true;
        parts.code += '"';
        i = open;
      } else if (text[i] == '"' || (text[i] == '\'' && !is_digit_separator(text, i))) {
        parts.code += std::string(2, text[i]);
        const std::size_t end = end_of_literal(text, i);
        if (!parts.literal.empty()) parts.literal += '\n';  // two literals of a line are two sentences
        parts.literal += text.substr(i + 1, end - i - 1);
        i = end;
      } else {
        parts.code += text[i];
      }
    }
    return parts;
  }

 private:
  static bool is_digit_separator(const std::string& text, std::size_t at) {
    return at > 0 && std::isxdigit(static_cast<unsigned char>(text[at - 1])) != 0 && at + 1 < text.size() &&
           std::isxdigit(static_cast<unsigned char>(text[at + 1])) != 0;
  }
  static std::size_t end_of_literal(const std::string& text, std::size_t begin) {
    for (std::size_t i = begin + 1; i < text.size(); ++i) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == text[begin]) {
        return i;
      }
    }
    return text.size();
  }

  bool in_block_ = false, in_raw_ = false;
  std::string raw_end_;
};

SourceFile read(const fs::path& root, const fs::path& path) {
  SourceFile file;
  file.path = fs::relative(path, root).generic_string();
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  if (is_code(file)) split_code(file);
  return file;
}

}  // namespace

std::string SourceFile::folder() const { return path.substr(0, path.find('/')); }

bool SourceFile::under(const std::string& place) const {
  return path == place || path.starts_with(place + '/');
}

bool SourceFile::ends_with(const std::string& suffix) const { return path.ends_with(suffix); }

bool is_code(const SourceFile& file) {
  return file.ends_with(".h") || file.ends_with(".cpp") || file.ends_with(".cu");
}

bool is_product(const SourceFile& file) {
  return is_code(file) && std::ranges::find(product_folders, file.folder()) != product_folders.end();
}

void split_code(SourceFile& file) {
  Splitter splitter;
  for (const std::string& line : file.lines) {
    // The path of an include stays in the code: the include table is checked with it.
    Splitter::Parts parts =
        line.starts_with("#include") ? Splitter::Parts{line, "", ""} : splitter.line(line);
    file.code.push_back(std::move(parts.code));
    file.comments.push_back(std::move(parts.comment));
    file.literals.push_back(std::move(parts.literal));
  }
}

const std::vector<SourceFile>& source_tree() {
  static const std::vector<SourceFile> tree = [] {
    const fs::path root = STEELYARD_SOURCE;
    std::vector<SourceFile> files;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
      const bool top = it.depth() == 0;
      if (top && is_left_out(it->path().filename().string())) {
        it.disable_recursion_pending();
      } else if (it->is_regular_file() && is_text(it->path())) {
        files.push_back(read(root, it->path()));
      }
    }
    std::ranges::sort(files, {}, &SourceFile::path);
    return files;
  }();
  return tree;
}

std::string listed(const std::vector<std::string>& findings) {
  std::string all;
  for (const std::string& finding : findings) all += "\n  " + finding;
  return all;
}

}  // namespace steelyard::test
