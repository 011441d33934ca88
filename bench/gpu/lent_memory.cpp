#include "bench/gpu/lent_memory.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>

#include "bench/gpu/rows.h"
#include "bench/pairs.h"
#include "nn/cuda/device_values.h"
#include "nn/cuda/peer_values.h"

namespace steelyard::bench {

using namespace nn::cuda;

namespace {

constexpr std::uint64_t numbers = 1000;
constexpr float number = 5;
constexpr int right = 0, wrong_numbers = 1, unreadable = 4, failed = 5;  // exit codes
constexpr char what[] = "smoke: memory lent to another process";

std::vector<std::string> words_of(const DevicePlace& place) {
  std::vector<std::string> words;
  for (const std::uint64_t word : place.memory) words.push_back(std::to_string(word));
  for (const std::uint64_t word : {place.bytes, place.offset, place.size})
    words.push_back(std::to_string(word));
  return words;
}

DevicePlace place_of(const std::vector<std::string>& words) {
  DevicePlace place;
  auto word = words.begin();
  const auto next = [&] { return word == words.end() ? 0 : std::stoull(*word++); };
  for (std::uint64_t& part : place.memory) part = next();
  place.bytes = next();
  place.offset = next();
  place.size = next();
  return place;
}

int code_of_reader(const DevicePlace& place) {
  std::vector<std::string> words = words_of(place);
  words.insert(words.begin(), {"steelyard_gpu_check", reader_section});
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  pid_t reader = 0;
  int status = 0;
  const bool begun = posix_spawn(&reader, "/proc/self/exe", nullptr, nullptr, raw.data(), environ) == 0;
  expect(begun && waitpid(reader, &status, 0) == reader && WIFEXITED(status), "the reading process fails");
  return WEXITSTATUS(status);
}

}  // namespace

void lend_to_a_process() {
  const std::shared_ptr<DeviceExchange> exchange = exchange_on(0);
  Stream stream;
  const PinnedArray<float> host(numbers);
  std::fill_n(host.data(), numbers, number);
  DevicePool pool(numbers);
  const std::shared_ptr<DeviceBuffer> buffer = pool.take(stream);
  stream.copy_array(buffer->values().data(), host.data(), numbers);
  buffer->written(stream);
  const auto place = exchange->lend(CudaValues(0, buffer, buffer->values()));
  if (!place) return print({what, "", "", "the driver names no memory: values pass through the host"});
  const int code = code_of_reader(*place);
  if (code == unreadable) return print({what, "", "", "is refused: values pass through the host"});
  expect(code == right,
         "the reading process fails, or reads wrong numbers: exit code " + std::to_string(code));
  print({what, "ok", "", ""});
}

int read_lent(const std::vector<std::string>& words) try {
  const auto values = exchange_on(0)->borrow(place_of(words), nullptr);
  if (!values) return unreadable;
  const auto its = values->on_host().values;
  return its.size() == numbers && std::ranges::all_of(its, [](float it) { return it == number; })
             ? right
             : wrong_numbers;
} catch (const std::exception& trouble) {
  std::fprintf(stderr, "steelyard_gpu_check: memory of another process: %s\n", trouble.what());
  return failed;
}

}  // namespace steelyard::bench
