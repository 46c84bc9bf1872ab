// Rounds of calls over HTTP: replies come as the servers give them, and what is dropped is closed.
#include "engine/remote_http.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "base/error.h"
#include "support/http_listener.h"

namespace counterbeam::testing {
namespace {

TEST(RemoteHttpTest, ARoundWithoutCallsHasNoReplies) {
  RemoteHttp http({});
  RemoteHttp::Round round(http, 0);
  EXPECT_FALSE(round.next());
}

TEST(RemoteHttpTest, RepliesAreHadWhileOthersAreStillAwaited) {
  std::promise<void> first_was_had;
  const auto had = first_was_had.get_future().share();
  HttpListener server([&](const HeardRequest& heard) -> SpokenReply {
    if (heard.path == "/slow") had.wait();
    return {200, heard.path};
  });
  RemoteHttp http({});
  RemoteHttp::Round round(http, 2);
  round.send({server.url() + "/slow"});
  round.send({server.url() + "/quick"});
  const auto quick = round.next();
  ASSERT_TRUE(quick);
  EXPECT_EQ(quick->call, 1u);
  EXPECT_EQ(quick->reply.body, "/quick");
  first_was_had.set_value();
  const auto slow = round.next();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->call, 0u);
  EXPECT_EQ(slow->reply.body, "/slow");
  EXPECT_FALSE(round.next());
}

TEST(RemoteHttpTest, ACallIsOnItsWayBeforeTheNextIsWritten) {
  std::promise<void> first_was_heard;
  HttpListener server([&](const HeardRequest& heard) -> SpokenReply {
    if (heard.path == "/first") first_was_heard.set_value();
    return {200, heard.path};
  });
  RemoteHttp http({});
  RemoteHttp::Round round(http, 2);
  round.send({server.url() + "/first"});
  first_was_heard.get_future().wait();
  round.send({server.url() + "/second"});
  std::string bodies;
  while (const auto answer = round.next()) bodies += answer->reply.body;
  EXPECT_EQ(bodies, "/first/second");
}

TEST(RemoteHttpTest, TheCallsOfARoundThatEndsEarlyAreClosed) {
  std::promise<void> heard_one;
  std::promise<bool> was_closed;
  HttpListener server([&](const HeardRequest& heard) -> SpokenReply {
    if (heard.path == "/quick") return {200, "quick"};
    return {.raw = [&](int socket) {
      heard_one.set_value();
      pollfd closing{socket, POLLIN, 0};
      was_closed.set_value(::poll(&closing, 1, 30'000) == 1);
    }};
  });
  RemoteHttp http({});
  {
    RemoteHttp::Round round(http, 1);
    round.send({server.url() + "/never"});
    heard_one.get_future().wait();
  }
  EXPECT_TRUE(was_closed.get_future().get());
  RemoteHttp::Round later(http, 1);  // the loop goes on
  later.send({server.url() + "/quick"});
  EXPECT_EQ(later.next()->reply.body, "quick");
}

TEST(RemoteHttpTest, ManyRoundsAtOnceEachHaveTheirOwnReplies) {
  HttpListener server([](const HeardRequest& heard) -> SpokenReply { return {200, heard.path}; });
  RemoteHttp http({.connections = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      RemoteHttp::Round round(http, 40);
      for (int i = 0; i < 40; ++i)
        round.send({server.url() + "/" + std::to_string(t) + "/" + std::to_string(i)});
      std::vector<int> seen(40);
      while (const auto answer = round.next()) {
        EXPECT_EQ(answer->reply.body, "/" + std::to_string(t) + "/" + std::to_string(answer->call));
        ++seen[answer->call];
      }
      EXPECT_EQ(seen, std::vector<int>(40, 1));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(RemoteHttpTest, CancellationEndsTheWait) {
  std::promise<void> over;
  const auto ended = over.get_future().share();
  HttpListener server([&](const HeardRequest&) -> SpokenReply {
    ended.wait();
    return {200, "late"};
  });
  RemoteHttp http({});
  Cancellation cancellation;
  {
    RemoteHttp::Round round(http, 1);
    round.send({server.url() + "/late"});
    cancellation.cancel();
    EXPECT_THROW(round.next(&cancellation), Cancelled);
  }
  over.set_value();
}

}  // namespace
}  // namespace counterbeam::testing
