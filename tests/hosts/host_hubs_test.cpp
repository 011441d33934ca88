// Whole jobs with hubs: which worker takes over the pieces of a lost one, and hubs without workers. Every
// copy is compared with the plain loop throughout (tests/support/hub_loop.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::hubs_test {
namespace {

// Rounds of 96 positions, eight in each epoch.
Job hub_job(const std::string& sync, std::uint32_t workers) {
  Job job = job_for(sync, 768, 24, 2);
  job.workers = workers;
  return job;
}

const Piece* given(const Envelope& envelope) {
  const auto* content = std::get_if<ToWorker>(&envelope.message);
  const auto* start = content == nullptr ? nullptr : std::get_if<Start>(content);
  return start == nullptr || start->piece.purpose == Purpose::evaluate ? nullptr : &start->piece;
}

// Of four workers in two hubs one is lost, at any time: the other worker of its hub takes over its pieces.
TEST(HubJobs, APieceOfALostWorkerStaysInItsHub) {
  std::size_t again = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Job job = hub_job("mll:4:2:2", 4);
    World::Options options;
    options.seed = seed;
    World world(job, options);
    world.populate(4, 2);
    const NodeId victim = world.workers()[seed % 4];
    std::map<Round, IntervalSet> given_out;
    std::uint64_t delivered = 0;
    world.on_delivery = [&](const Envelope& envelope) {
      if (++delivered == 100 + 11 * seed) world.kill(victim);
      if (const Piece* piece = given(envelope)) {
        const WorkerMember* worker = world.scheduler().members().worker(envelope.to);
        if (worker != nullptr) {
          EXPECT_EQ(piece->hub, job.sync.hubs.of(worker->slot));
        }
        again += given_out[piece->round].add_if_absent(piece->positions) ? 0U : 1U;
      }
      return world.alive(envelope.to);
    };
    world.run();
    EXPECT_FALSE(world.alive(victim));
    expect_whole(world, job, "seed " + std::to_string(seed));
  }
  EXPECT_GT(again, 20U) << "the lost worker owed no piece";
}

// The only worker of a hub is lost. A worker of another hub finishes its round, from the parameters of the
// lost worker's hub. Then the hub has no positions until a worker of that name joins.
TEST(HubJobs, AHubWithoutWorkersIsIdleUntilOneJoins) {
  std::size_t strangers = 0, rests = 0, back = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Job job = hub_job("mll:4:3:2:line", 2);
    World::Options options;
    options.seed = seed;
    World world(job, options);
    world.populate(2, 2);
    const NodeId only = world.workers()[1];
    NodeId second{};
    HubNumber its_hub = whole_model;
    Round lost = 0;
    std::uint64_t delivered = 0;
    std::map<Round, std::set<HubNumber>> hubs;
    world.on_delivery = [&](const Envelope& envelope) {
      if (++delivered == 80 + 5 * seed) {
        if (const WorkerMember* it = world.scheduler().members().worker(only))
          its_hub = job.sync.hubs.of(it->slot);
        world.kill(only);
        lost = world.scheduler().cursor().round();
      }
      if (second == NodeId() && delivered > 80 && world.scheduler().cursor().round() > lost + 5)
        second = world.add_worker("worker-1");
      if (const Piece* piece = given(envelope)) {
        hubs[piece->round].insert(piece->hub);
        strangers += envelope.to == world.workers()[0] && piece->hub == its_hub ? 1U : 0U;
        back += envelope.to == second && piece->hub == its_hub ? 1U : 0U;
      }
      return world.alive(envelope.to);
    };
    world.run();
    for (const auto& [round, its] : hubs) rests += round > lost && its.size() == 1 ? 1U : 0U;
    expect_whole(world, job, "seed " + std::to_string(seed));
  }
  EXPECT_GT(strangers, 20U);
  EXPECT_GT(rests, 100U);
  EXPECT_GT(back, 20U);
}

// Pieces of evaluations name the whole model, which is the average of all hubs.
TEST(HubJobs, EvaluationsUseTheAverage) {
  const Job job = hub_job("mll:4:3:2", 4);
  World world(job, {});
  world.populate(4, 2);
  std::size_t evaluated = 0;
  world.on_delivery = [&](const Envelope& envelope) {
    const auto* content = std::get_if<ToWorker>(&envelope.message);
    const auto* start = content == nullptr ? nullptr : std::get_if<Start>(content);
    if (start != nullptr && start->piece.purpose == Purpose::evaluate) {
      EXPECT_EQ(start->piece.hub, whole_model);
      ++evaluated;
    }
    return true;
  };
  world.run();
  EXPECT_GT(evaluated, 0U);
  expect_whole(world, job, "evaluated");
}

}  // namespace
}  // namespace steelyard::test::hubs_test
