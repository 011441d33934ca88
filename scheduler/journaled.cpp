#include "scheduler/journaled.h"

#include <utility>

namespace steelyard {

void Journaled::step(Time now, const Envelope& in, Outbox& out) {
  write(now, Heard{in});
  scheduler_.step(now, in, out);
}

void Journaled::wake(Time now, Outbox& out) {
  if (now < scheduler_.deadline()) return;
  write(now, Woken{});
  scheduler_.wake(now, out);
}

void Journaled::restarted(Time now, Outbox& out) {
  write(now, Restarted{});
  scheduler_.restarted(now, out);
}

void Journaled::write(Time now, JournalRecord::What what) {
  record_.clear();
  append(record_, {now, std::move(what)});
  if (!record_.empty()) write_(record_);
}

void replay(JournalReader& journal, Scheduler& scheduler, const Said& said) {
  Outbox out(scheduler_node);
  while (const auto record = journal.next()) {
    std::visit(Overloaded{
                   [](const JournalHead&) {},
                   [&](const Heard& it) { scheduler.step(record->now, it.envelope, out); },
                   [&](const Woken&) { scheduler.wake(record->now, out); },
                   [&](const Restarted&) { scheduler.restarted(record->now, out); },
               },
               record->what);
    said(*record, out.take());
  }
}

static_assert(Machine<Journaled>);

}  // namespace steelyard
