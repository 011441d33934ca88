// Every message survives encoding and decoding.
#include "protocol/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/protocol/made_messages.h"

namespace steelyard::codec_test {
namespace {

using test::MadeMessage;

template <class Receiver, class Content>
Content round_trip(Role role, Content content) {
  const Frames frames = encode(Message(std::in_place_type<Receiver>, std::move(content)));
  auto decoded = decode(role, frames.header, frames.payload.value_or(Blob()));
  return std::get<Content>(std::get<Receiver>(std::get<Message>(decoded)));
}

TEST(Codec, EveryKindSurvivesARoundTrip) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const MadeMessage& made : test::messages_of_every_kind(seed)) {
      SCOPED_TRACE(made.name() + ", seed " + std::to_string(seed));
      const Frames first = encode(made.message);
      const auto decoded = decode(made.receiver, first.header, first.payload.value_or(Blob()));
      const auto* damage = std::get_if<Damage>(&decoded);
      ASSERT_TRUE(std::holds_alternative<Message>(decoded)) << (damage == nullptr ? "" : damage->why);
      const Frames second = encode(std::get<Message>(decoded));
      ASSERT_EQ(second.header, first.header);
      ASSERT_EQ(second.payload.has_value(), first.payload.has_value());
      if (!first.payload) continue;
      ASSERT_TRUE(std::ranges::equal(second.payload->bytes(), first.payload->bytes()));
      ASSERT_EQ(second.payload->bytes().data(), first.payload->bytes().data()) << "a tensor was copied";
    }
  }
}

TEST(Codec, TheGeneratorMakesEveryKind) {
  std::set<std::pair<Role, std::size_t>> kinds;
  const auto all = test::messages_of_every_kind(1);
  for (const MadeMessage& made : all) {
    kinds.emplace(made.receiver, made.kind);
    const Frames frames = encode(made.message);
    EXPECT_EQ(frames.header.at(4), static_cast<std::byte>(made.receiver));
    EXPECT_EQ(frames.header.at(5), static_cast<std::byte>(made.kind));
  }
  EXPECT_EQ(kinds.size(), all.size());
}

// The generator and the codec share the list of fields, so a field missing from it is only found by name.
TEST(Codec, AJobArrivesWithAllItsFields) {
  Job job;
  job.name = "name";
  job.seed = 2;
  job.model = "mlp";
  job.model_options = {{"hidden", "[3, 5]"}};
  job.model_layers = {{"conv2d", "first", {"input"}, {{"channels", "8"}}}};
  job.data = "synthetic";
  job.data_options = {{"path", "/somewhere"}};
  job.train_samples = 3, job.test_samples = 4;
  job.statistics = 16;
  append(job.layout, "w", {2, 3}, Rule::mean, 0.5, 0.25, 0.75);
  job.layout.slice_size = 5;
  job.global_batch = 6;
  job.optimizer = {nn::Optimizer::Kind::lamb, 0.7, 0.8, 0.3, 0.4, 0.5, 0.6};
  job.schedule.kind = nn::Schedule::Kind::cosine;
  job.schedule.base = 0.11;
  job.schedule.rates = {0.4, 0.2};
  job.clip_norm = 0.12;
  job.epochs = 13, job.rounds = 14;
  job.seconds = 0.15, job.target_accuracy = 0.16;
  job.evaluate_every = 17, job.checkpoint_every = 18;
  job.workers = 19, job.shards = 20;
  job.sync = parse_sync("local:3:equal"), job.sum_order = SumOrder::positions, job.policy = "equal";
  job.policy_options = {{"a", "b"}, {"c", "d"}};
  job.heartbeat = 0.21, job.heartbeat_timeout = 0.22;
  job.gradient_limit = 0.23, job.bad_gradient = BadGradient::stop;

  const auto back = round_trip<ToWorker>(Role::worker, Welcome{7, 3, job});
  EXPECT_EQ(back.term, 7U);
  EXPECT_EQ(back.slot, 3U);
  const Job& it = back.job;
  EXPECT_EQ(std::tie(it.name, it.seed, it.model, it.model_options, it.data, it.data_options, it.train_samples,
                     it.test_samples, it.statistics, it.layout, it.global_batch),
            std::tie(job.name, job.seed, job.model, job.model_options, job.data, job.data_options,
                     job.train_samples, job.test_samples, job.statistics, job.layout, job.global_batch));
  ASSERT_EQ(it.model_layers.size(), 1U);
  const ModelLayer &layer = it.model_layers[0], &sent = job.model_layers[0];
  EXPECT_EQ(std::tie(layer.kind, layer.name, layer.inputs, layer.options),
            std::tie(sent.kind, sent.name, sent.inputs, sent.options));
  EXPECT_EQ(it.optimizer.kind, job.optimizer.kind);
  EXPECT_EQ(it.optimizer.momentum, job.optimizer.momentum);
  EXPECT_EQ(it.optimizer.weight_decay, job.optimizer.weight_decay);
  EXPECT_EQ(std::tie(it.optimizer.beta1, it.optimizer.beta2, it.optimizer.epsilon, it.optimizer.trust),
            std::tie(job.optimizer.beta1, job.optimizer.beta2, job.optimizer.epsilon, job.optimizer.trust));
  EXPECT_EQ(it.schedule.kind, job.schedule.kind);
  EXPECT_EQ(it.schedule.base, job.schedule.base);
  EXPECT_EQ(it.schedule.rates, job.schedule.rates);
  EXPECT_EQ(
      std::tie(it.clip_norm, it.epochs, it.rounds, it.seconds, it.target_accuracy, it.evaluate_every,
               it.checkpoint_every, it.workers, it.shards, it.sync, it.sum_order, it.policy,
               it.policy_options, it.heartbeat, it.heartbeat_timeout, it.gradient_limit, it.bad_gradient),
      std::tie(job.clip_norm, job.epochs, job.rounds, job.seconds, job.target_accuracy, job.evaluate_every,
               job.checkpoint_every, job.workers, job.shards, job.sync, job.sum_order, job.policy,
               job.policy_options, job.heartbeat, job.heartbeat_timeout, job.gradient_limit,
               job.bad_gradient));
  EXPECT_EQ(fingerprint(it), fingerprint(job));
}

TEST(Codec, TheLongestRateTableFitsIntoAHeader) {
  Job job;
  job.schedule.kind = nn::Schedule::Kind::table;
  for (std::size_t i = 0; i < nn::max_rates; ++i)
    job.schedule.rates.push_back(1 / static_cast<double>(i + 1));
  const auto back = round_trip<ToWorker>(Role::worker, Welcome{1, 2, job});
  EXPECT_EQ(back.job->schedule.kind, nn::Schedule::Kind::table);
  EXPECT_TRUE(back.job->schedule.rates == job.schedule.rates);
  EXPECT_LT(encode(Message(std::in_place_type<ToWorker>, Welcome{1, 2, job})).header.size(),
            largest_header * 3 / 4)
      << "a layout must fit beside it";
}

TEST(Codec, AFingerprintCoversEveryFieldOfAJob) {
  const Job job;
  std::set<std::uint64_t> seen{fingerprint(job)};
  const auto differs = [&](auto change) {
    Job other = job;
    change(other);
    EXPECT_TRUE(seen.insert(fingerprint(other)).second) << "the fingerprint did not change";
  };
  differs([](Job& it) { it.seed = 2; });
  differs([](Job& it) { it.model = "mlp"; });
  differs([](Job& it) { it.model_options["hidden"] = "1"; });
  differs([](Job& it) { it.data_options["path"] = ""; });
  differs([](Job& it) { append(it.layout, "w", {1}); });
  differs([](Job& it) { append(it.layout, "w", {1}, Rule::step, 0.5); });
  differs([](Job& it) { append(it.layout, "w", {1}, Rule::step, 1, 0.9, 0.5); });
  differs([](Job& it) { it.statistics = whole_share; });
  differs([](Job& it) { it.layout.slice_size = 1; });
  differs([](Job& it) { it.global_batch = 1; });
  differs([](Job& it) { it.optimizer.weight_decay = 1e-9; });
  differs([](Job& it) { it.schedule.warmup = 0.51; });
  differs([](Job& it) { it.schedule.rates = {0.5}; });
  differs([](Job& it) { it.epochs = 11; });
  differs([](Job& it) { it.shards = 2; });
  differs([](Job& it) { it.sync = parse_sync("asp"); });
  differs([](Job& it) { it.sum_order = SumOrder::positions; });
  differs([](Job& it) { it.heartbeat_timeout = 11; });
  EXPECT_EQ(fingerprint(job), fingerprint(Job{}));
}

TEST(Codec, RoundMessagesKeepEachField) {
  const auto open =
      round_trip<ToShard>(Role::shard, BeginRound{1, 2, 3, {4, 5}, 6, true, true, {7, 8}, {{9, 10}}});
  EXPECT_EQ(std::tie(open.term, open.round, open.epoch, open.positions, open.quorum, open.clip_barrier,
                     open.save, open.local, open.skipped),
            std::make_tuple(1U, 2U, 3U, Interval{4, 5}, 6U, true, true, LocalSteps{7, 8},
                            std::vector<Interval>{{9, 10}}));
  const auto start =
      round_trip<ToWorker>(Role::worker, Start{1, {4, 2, Purpose::evaluate, 3, {5, 6}, {8, 9}, {10, 11}}, 7});
  const Piece& owed = start.piece;
  EXPECT_EQ(std::tie(start.term, owed.round, owed.purpose, owed.epoch, owed.id, owed.positions, start.least,
                     owed.whole, owed.local),
            std::make_tuple(1U, 2U, Purpose::evaluate, 3U, 4U, Interval{5, 6}, 7U, Interval{8, 9},
                            LocalSteps{10, 11}));
  const auto trial = round_trip<ToWorker>(Role::worker, TryOut{1, owed});
  EXPECT_EQ(std::tie(trial.term, trial.piece), std::make_tuple(1U, owed));
  const auto pull = round_trip<ToShard>(Role::shard, Pull{1, 2, 3, {{4, {5, 6}}, {7, {8, 9}}}});
  EXPECT_EQ(std::tie(pull.term, pull.version, pull.ticket), std::make_tuple(1U, 2U, 3U));
  ASSERT_EQ(pull.own.size(), 2U);
  EXPECT_EQ(std::tie(pull.own[1].round, pull.own[1].positions), std::make_tuple(7U, Interval{8, 9}));
  const auto given =
      round_trip<ToWorker>(Role::worker, Parameters{1, 2, 3, Blob::copy_of(std::vector{4.0F}), 5, 6});
  EXPECT_EQ(std::tie(given.term, given.version, given.slice, given.ticket, given.steps),
            std::make_tuple(1U, 2U, 3U, 5U, 6U));
  const auto closed = round_trip<ToScheduler>(Role::scheduler, Closed{1, 2, {3, 4}});
  EXPECT_EQ(std::tie(closed.term, closed.version, closed.staleness),
            std::make_tuple(1U, 2U, Staleness{3, 4}));
  const auto push =
      round_trip<ToShard>(Role::shard, Push{1, owed, 6.5, 7, Blob::copy_of(std::vector{1.0F, 2.0F}), 8});
  EXPECT_EQ(std::tie(push.term, push.piece, push.weight, push.slice, push.steps),
            std::make_tuple(1U, owed, 6.5, 7U, 8U));
  EXPECT_THAT(push.values.floats(), ::testing::ElementsAre(1.0F, 2.0F));
  const auto report =
      round_trip<ToScheduler>(Role::scheduler, Report{1, owed, 0.5, 1.5, 6, 0.25, 9.0, {0.75, 8.0}, 2.5});
  EXPECT_EQ(std::tie(report.term, report.piece, report.seconds, report.loss, report.correct, report.cpu,
                     report.memory, report.now.cpu, report.now.memory, report.weight),
            std::make_tuple(1U, owed, 0.5, 1.5, 6U, 0.25, 9.0, 0.75, 8.0, 2.5));
  const auto beat =
      round_trip<ToScheduler>(Role::scheduler, ShardBeat{1, 2, 3, true, {{4, 5}, {6, 7}}, true, 8, 9, 10});
  EXPECT_EQ(std::tie(beat.term, beat.version, beat.opened, beat.loaded, beat.gaps, beat.covered),
            std::make_tuple(1U, 2U, 3U, true, std::vector<Interval>{{4, 5}, {6, 7}}, true));
}

TEST(Codec, APushHeaderHasAtMost128Bytes) {
  const std::vector<float> values(65536);
  const Push push{1, Piece{}, 1, 0, Blob::copy_of(values)};
  const Frames frames = encode(Message(std::in_place_type<ToShard>, push));
  EXPECT_LE(frames.header.size(), 128U);
  ASSERT_TRUE(frames.payload);
  EXPECT_EQ(frames.payload->size(), 262144U);
}

TEST(CodecDeathTest, LocalMessagesCannotBeEncoded) {
  EXPECT_DEATH((void)encode(Message(std::in_place_type<ToWorker>, GradientReady{})),
               "never leaves its machine");
  EXPECT_DEATH((void)encode(Message(std::in_place_type<ToCompute>, Abandon{})), "without a wire");
  EXPECT_DEATH((void)encode(Message(std::in_place_type<ToRecorder>, Note{})), "without a wire");
  EXPECT_DEATH((void)encode(Message(std::in_place_type<ToLink>, Disconnect{})), "without a wire");
}

}  // namespace
}  // namespace steelyard::codec_test
