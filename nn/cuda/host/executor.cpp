#include "nn/cuda/host/executor.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "nn/cuda/host/fiber.h"

namespace steelyard::nn::cuda::host {

thread_local const Here* here = nullptr;

namespace {

// Limits of all cards from compute capability 5.0 on.
constexpr std::uint64_t max_threads = 1024, max_blocks = 65535, max_shared = 48 * 1024;
constexpr unsigned warp_size = 32, max_warps = max_threads / warp_size;
// Limits of this executor.
constexpr unsigned max_arrays = 32, max_barriers = 256;

[[noreturn]] void fail(const std::string& what) {
  check_failed(__FILE__, __LINE__, "a CUDA kernel that can work", what.c_str());
}

// A place in the source where threads wait.
struct Site {
  const char* file = nullptr;
  unsigned line = 0;

  [[nodiscard]] bool is(const Site& other) const { return line == other.line && file == other.file; }
  [[nodiscard]] std::string text() const { return std::string(file) + ":" + std::to_string(line); }
};
Site site_of(const std::source_location& where) { return {where.file_name(), where.line()}; }

Extent place(std::uint64_t index, Extent in) {
  return {static_cast<unsigned>(index % in.x), static_cast<unsigned>(index / in.x % in.y),
          static_cast<unsigned>(index / in.x / in.y)};
}

void require(Extent grid, Extent block) {
  const auto need = [](bool holds, const char* what) {
    if (!holds) fail(what);
  };
  need(grid.volume() > 0 && block.volume() > 0, "a launch of no blocks, or of blocks without threads");
  need(block.volume() <= max_threads && block.z <= 64, "more threads in a block than 1024, or 64 in z");
  need(grid.x <= 0x7FFFFFFF && grid.y <= max_blocks && grid.z <= max_blocks,
       "more blocks than 2147483647 in x, or than 65535 in y or z");
}

enum class State : unsigned char { runs, at_barrier, at_warp };

// Whether each thread has its own stack: on a shared one, the thread sanitizer would report writes of two
// threads as a race.
#if defined(STEELYARD_RACES)
constexpr bool own_stacks = true;
#else
constexpr bool own_stacks = false;
#endif

// A stack that runs threads one after the other, until one of them waits.
struct Worker {
  void* executor = nullptr;
  std::unique_ptr<Fiber> fiber;
  unsigned thread = 0;
};

// A CUDA thread of the running block.
struct Thread {
  Here here{};
  State state = State::runs;
  Site site{};
  Worker* worker = nullptr;
  bool odd = false;  // whether its warp has met an odd number of times: selects one of two places for values
  bool odd_barriers = false;
};

struct Warp {
  unsigned threads = 0, waiting = 0;
  std::uint64_t values[2][warp_size]{};
};

template <class T, unsigned max>
struct List {
  T items[max]{};
  unsigned size = 0;
  void push(T item) { items[size++] = item; }
  T take(unsigned at) {  // the last one moves to its place
    const T taken = items[at];
    items[at] = items[--size];
    return taken;
  }
};

}  // namespace

// Plain arrays throughout: the code of containers would be shared with code that the thread sanitizer
// watches.
struct Executor::Impl {
  // ---- over all runs
  Schedule schedule = Schedule::forward;
  std::uint64_t seed = 1, drawn = 0;
  Runner caller = Runner::caller();
  std::unique_ptr<Runner> runners[max_threads];
  std::unique_ptr<Worker> workers[max_threads];
  unsigned made = 0;  // workers; with own stacks, they are numbered like threads
  List<Site, max_barriers> reached;
  std::string left_out;

  // ---- per run
  const std::function<void()>* kernel = nullptr;
  // Synchronisation objects for the thread sanitizer. Barriers alternate between two, so that a thread
  // leaving one does not synchronise with those already at the next.
  char begun = 0, ended = 0, known = 0, met[2] = {};

  // ---- per block
  unsigned size = 0, started = 0, done = 0, at_barrier = 0;  // threads
  Thread threads[max_threads];
  Warp warps[max_warps];
  unsigned order[max_threads]{};  // in which threads start
  List<Worker*, max_threads> idle, ready;
  unsigned running = 0;
  struct Array {
    const void* name = nullptr;
    void* memory = nullptr;
  };
  List<Array, max_arrays> arrays;
  std::uint64_t shared_bytes = 0;

  std::uint64_t below(std::uint64_t bound) { return hash(seed, drawn++) % bound; }

  void begin_block(Extent grid, Extent block, Extent at) {
    size = static_cast<unsigned>(block.volume());
    for (unsigned i = 0; i < size; ++i) {
      threads[i] = {.here = {place(i, block), at, block, grid}};
      order[i] = schedule == Schedule::reverse ? size - 1 - i : i;
    }
    for (unsigned i = size; schedule == Schedule::random && i > 1; --i)
      std::swap(order[i - 1], order[below(i)]);
    for (unsigned w = 0; w * warp_size < size; ++w) {
      const unsigned rest = size - w * warp_size;
      warps[w].threads = rest < warp_size ? rest : warp_size;
      warps[w].waiting = 0;
    }
    started = done = at_barrier = 0;
  }

  void end_block() {
    hear(&ended);
    for (unsigned i = 0; i < arrays.size; ++i) std::free(arrays.items[i].memory);
    arrays.size = 0;
    shared_bytes = 0;
  }

  void run_block() {
    while (done < size) {
      Worker* const next = choose();
      if (next == nullptr) {
        release_the_block();
      } else {
        next->fiber->resume();
      }
    }
  }

  // The next worker to run. Waiting threads that may continue come before threads not yet started, so they
  // run ahead.
  Worker* choose() {
    const bool draw = schedule == Schedule::random;
    const bool may_start = started < size;
    if (may_start && (ready.size == 0 || (draw && below(ready.size + 1) == 0))) return spare();
    if (ready.size == 0) return nullptr;
    return ready.take(draw ? static_cast<unsigned>(below(ready.size)) : ready.size - 1);
  }

  Worker* spare() {
    if (!own_stacks && idle.size > 0) return idle.take(idle.size - 1);
    std::unique_ptr<Worker>& worker = workers[own_stacks ? order[started] : made++];
    if (!worker) {
      worker = std::make_unique<Worker>();
      worker->executor = this;
      worker->fiber = std::make_unique<Fiber>(&Impl::work, worker.get());
    }
    return worker.get();
  }

  // The main loop of a worker: runs threads not yet started, one after the other.
  static void work(void* argument) {
    auto* const self = static_cast<Worker*>(argument);
    Impl& impl = *static_cast<Impl*>(self->executor);
    for (;;) {
      do {
        self->thread = impl.order[impl.started++];
        impl.threads[self->thread].worker = self;
        impl.run_thread(self->thread);
      } while (!own_stacks && impl.started < impl.size);
      if (!own_stacks) impl.idle.push(self);
      self->fiber->suspend();
    }
  }

  void run_thread(unsigned thread) {
    enter(thread);
    hear(&begun);
    (*kernel)();
    tell(&ended);
    caller.become();
    ++done;
    const Warp& warp = warps[thread / warp_size];
    if (warp.waiting > 0) deadlock();  // its lanes wait for a thread that has returned
  }

  void enter(unsigned thread) {
    running = thread;
    here = &threads[thread].here;
    runners[thread]->become();
  }

  // Suspends the running thread until it is in `ready` again and chosen.
  void wait(State state, Site site) {
    const unsigned self = running;
    threads[self].state = state;
    threads[self].site = site;
    caller.become();
    if (state == State::at_barrier) {
      ++at_barrier;
    } else if (Warp& warp = warps[self / warp_size]; ++warp.waiting == warp.threads) {
      release_the_warp(self / warp_size);
    }
    threads[self].worker->fiber->suspend();
    enter(self);
  }

  // The last one pushed runs first.
  void release(unsigned begin, unsigned end) {
    for (unsigned i = begin; i < end; ++i) {
      Thread& thread = threads[schedule == Schedule::reverse ? i : end - 1 - (i - begin)];
      thread.state = State::runs;
      ready.push(thread.worker);
    }
  }

  void release_the_warp(unsigned warp) {
    const unsigned begin = warp * warp_size;
    for (unsigned i = begin; i < begin + warps[warp].threads; ++i) {
      if (!threads[i].site.is(threads[begin].site)) deadlock();
    }
    warps[warp].waiting = 0;
    release(begin, begin + warps[warp].threads);
  }

  void release_the_block() {
    if (at_barrier != size) deadlock();
    for (unsigned i = 0; i < size; ++i) {
      if (!threads[i].site.is(threads[0].site)) deadlock();
    }
    at_barrier = 0;
    release(0, size);
  }

  [[noreturn]] void deadlock() const {
    std::string all =
        "of " + std::to_string(size) + " threads of a block " + std::to_string(done) + " have returned";
    Site last;
    for (unsigned i = 0; i < size; ++i) {
      const Thread& thread = threads[i];
      if (thread.state == State::runs || thread.site.is(last)) continue;
      last = thread.site;
      all += std::string("; thread ") + std::to_string(i) + " and others wait " +
             (thread.state == State::at_warp ? "for lanes of their warp at " : "at the barrier ") +
             last.text();
    }
    fail(all);
  }
};

Executor& Executor::mine() {
  static thread_local Executor executor;
  return executor;
}

Executor::Executor() : impl_(std::make_unique<Impl>()) {}
Executor::~Executor() = default;

void Executor::choose(Schedule schedule, std::uint64_t seed) {
  impl_->schedule = schedule;
  impl_->seed = seed;
  impl_->drawn = 0;
}

void Executor::run(Extent grid, Extent block, const std::function<void()>& kernel) {
  require(grid, block);
  Impl& impl = *impl_;
  if (impl.kernel != nullptr) fail("a kernel starts another one");
  for (unsigned i = 0; i < block.volume(); ++i) {
    if (!impl.runners[i]) impl.runners[i] = std::make_unique<Runner>();
  }
  impl.kernel = &kernel;
  tell(&impl.begun);
  const std::uint64_t blocks = grid.volume(), from = impl.below(blocks);  // random: rotated
  for (std::uint64_t i = 0; i < blocks; ++i) {
    std::uint64_t index = i;
    if (impl.schedule == Schedule::reverse) index = blocks - 1 - i;
    if (impl.schedule == Schedule::random) index = (from + (impl.seed % 2 == 0 ? i : blocks - i)) % blocks;
    impl.begin_block(grid, block, place(index, grid));
    impl.run_block();
    impl.end_block();
  }
  impl.kernel = nullptr;
  here = nullptr;
}

void Executor::barrier(const std::source_location& where) {
  Impl& impl = *impl_;
  const Site site = site_of(where);
  bool known = false;
  for (unsigned i = 0; i < impl.reached.size && !known; ++i) known = impl.reached.items[i].is(site);
  if (!known && impl.reached.size < max_barriers) impl.reached.push(site);
  if (!impl.left_out.empty() && impl.left_out == site.text()) return;
  bool& odd = impl.threads[impl.running].odd_barriers;
  odd = !odd;
  char& meeting = impl.met[odd ? 1 : 0];
  tell(&meeting);
  impl.wait(State::at_barrier, site);
  hear(&meeting);
}

void Executor::meet(std::uint64_t value, const std::source_location& where) {
  Impl& impl = *impl_;
  Thread& thread = impl.threads[impl.running];
  thread.odd = !thread.odd;
  impl.warps[impl.running / warp_size].values[thread.odd ? 1 : 0][lane()] = value;
  impl.wait(State::at_warp, site_of(where));
}

std::uint64_t Executor::look(unsigned lane) const {
  const Thread& thread = impl_->threads[impl_->running];
  return impl_->warps[impl_->running / warp_size].values[thread.odd ? 1 : 0][lane];
}

unsigned Executor::lane() const { return impl_->running % warp_size; }

void* Executor::shared(const void* name, std::size_t bytes) {
  Impl& impl = *impl_;
  for (unsigned i = 0; i < impl.arrays.size; ++i) {
    if (impl.arrays.items[i].name == name) return hear(&impl.known), impl.arrays.items[i].memory;
  }
  impl.shared_bytes += bytes;
  if (impl.shared_bytes > max_shared) fail("more shared memory in a block than 48 KB");
  if (impl.arrays.size == max_arrays) fail("more arrays of shared memory in a block than 32");
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) fail("no memory");
  std::memset(memory, 0xFF, bytes);  // NaN
  impl.arrays.push({name, memory});
  tell(&impl.known);
  return memory;
}

std::vector<std::string> Executor::take_barriers() {
  std::vector<std::string> all;
  for (unsigned i = 0; i < impl_->reached.size; ++i) all.push_back(impl_->reached.items[i].text());
  impl_->reached.size = 0;
  return all;
}

void Executor::leave_out(std::string barrier) { impl_->left_out = std::move(barrier); }

}  // namespace steelyard::nn::cuda::host
