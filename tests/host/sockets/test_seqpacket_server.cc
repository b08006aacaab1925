// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/sockets/seqpacket_server.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace perhop::sockets {
namespace {

constexpr std::uint64_t second_us = 1'000'000;

/// A client's end.
class peer {
public:
  explicit peer(const std::string& path) : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~peer() { close(socket_); }
  peer(peer&& other) noexcept : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  peer(const peer&) = delete;

  bool connected() const { return connected_; }
  bool say(const std::string& text) const { return send(socket_, text.data(), text.size(), MSG_NOSIGNAL) > 0; }
  /// "-": nothing yet; "": the server has ended the connection.
  std::string hear() const {
    std::array<char, 256> text{};
    const ssize_t size = recv(socket_, text.data(), text.size(), 0);
    return size < 0 ? "-" : std::string(text.data(), static_cast<std::size_t>(size));
  }

private:
  int socket_;
  bool connected_ = false;
};

/// Echoes, keeps those who say "keep", closes those who say "close".
class seqpacket_server_test : public testing::Test, public server_handler {
protected:
  seqpacket_server_test() {
    std::string name = testing::TempDir() + "perhop-sockets-XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/socket";
  }
  ~seqpacket_server_test() override {
    server_.reset();
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  void start(server_config config = {}) {
    config.path = path_;
    server_ = std::make_unique<seqpacket_server>(config);
  }
  void serve(std::uint64_t now_us) {
    for (int i = 0; i < 20; ++i) server_->poll(now_us, *this);
  }
  /// Until the server's timer has ticked, which is real.
  void wait_for_tick(std::uint64_t now_us) {
    pollfd ready{.fd = server_->descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ready, 1, 5000), 1);
    serve(now_us);
  }
  /// How often a loop around the server would wake in half a second, at most 1000.
  int wakes(std::uint64_t now_us) {
    pollfd ready{.fd = server_->descriptor(), .events = POLLIN, .revents = 0};
    int count = 0;
    while (count < 1000 && ::poll(&ready, 1, 500) == 1) {
      server_->poll(now_us, *this);
      ++count;
    }
    return count;
  }

  void on_message(client_id from, std::span<const std::uint8_t> message) override {
    const std::string text(message.begin(), message.end());
    if (text == "keep" && !server_->keep(from)) {
      server_->send(from, "no");
      return;
    }
    if (text == "close") {
      server_->close(from);
      return;
    }
    server_->send(from, text);
  }
  void on_closed(client_id client) override { closed_.push_back(client); }
  void on_trouble(const std::string& what) override { troubles_.push_back(what); }

  std::string folder_, path_;
  std::unique_ptr<seqpacket_server> server_;
  std::vector<client_id> closed_;
  std::vector<std::string> troubles_;
};

TEST_F(seqpacket_server_test, answers_go_to_who_asked_and_who_goes_is_told_once) {
  start();
  peer one(path_);
  {
    const peer other(path_);
    serve(0);
    ASSERT_TRUE(one.say("a") && other.say("b"));
    serve(0);
    EXPECT_EQ(one.hear(), "a");
    EXPECT_EQ(other.hear(), "b");
  }
  serve(0);
  EXPECT_EQ(closed_, std::vector<client_id>{2});
  ASSERT_TRUE(one.say("close"));
  serve(0);
  EXPECT_EQ(one.hear(), "");
  EXPECT_EQ(closed_.size(), 1U) << "who is closed by the handler is not told to it";
  EXPECT_EQ(server_->clients(), 0U);
}

TEST_F(seqpacket_server_test, one_client_more_takes_the_place_of_the_one_that_was_silent_longest) {
  start({.most_clients = 10});
  std::vector<peer> peers;
  for (int i = 0; i < 10; ++i) peers.emplace_back(path_);
  serve(0);
  ASSERT_TRUE(peers[0].say("still here"));
  serve(1);
  const peer late(path_);
  ASSERT_TRUE(late.say("new"));
  serve(2);
  EXPECT_EQ(late.hear(), "new");
  EXPECT_EQ(peers[0].hear(), "still here");
  EXPECT_EQ(peers[1].hear(), "") << "the next in age";
  EXPECT_EQ(peers[2].hear(), "-");
  EXPECT_EQ(server_->clients(), 10U);
  EXPECT_EQ(server_->counters().displaced, 1U);
}

TEST_F(seqpacket_server_test, who_asks_is_heard_however_many_idle_ones_come_behind) {
  start({.most_clients = 16});
  std::vector<peer> idle;
  for (int i = 0; i < 16; ++i) idle.emplace_back(path_);
  serve(0);
  const peer asks(path_);
  ASSERT_TRUE(asks.say("question"));
  for (int i = 0; i < 40; ++i) idle.emplace_back(path_);
  serve(1);
  EXPECT_EQ(asks.hear(), "question");
}

TEST_F(seqpacket_server_test, kept_clients_lose_their_place_to_nobody_and_to_no_time) {
  start({.most_clients = 2, .idle_us = 10 * second_us});
  const peer first(path_), second(path_);
  serve(0);
  ASSERT_TRUE(first.say("keep") && second.say("keep"));
  serve(0);
  const peer third(path_);
  serve(1);
  EXPECT_EQ(third.hear(), "");
  EXPECT_EQ(server_->counters().refused, 1U);
  wait_for_tick(1000 * second_us);
  EXPECT_EQ(server_->clients(), 2U);
}

TEST_F(seqpacket_server_test, of_one_user_no_more_are_kept_than_a_user_may_have) {
  start({.most_clients = 4, .most_kept_of_a_user = 2});
  const peer first(path_), second(path_), third(path_);
  for (const peer* each : {&first, &second, &third}) ASSERT_TRUE(each->say("keep"));
  serve(1);
  EXPECT_EQ(first.hear(), "keep");
  EXPECT_EQ(second.hear(), "keep");
  EXPECT_EQ(third.hear(), "no");
  ASSERT_TRUE(first.say("keep"));
  serve(2);
  EXPECT_EQ(first.hear(), "keep") << "it is kept already";
  serve(20 * second_us);
  wait_for_tick(20 * second_us);
  EXPECT_EQ(third.hear(), "") << "silent, and not kept";
  EXPECT_EQ(server_->clients(), 2U);
}

TEST_F(seqpacket_server_test, a_silent_client_is_sent_away_after_its_time_and_not_before) {
  start({.idle_us = 10 * second_us});
  const peer silent(path_), speaks(path_);
  serve(0);
  ASSERT_TRUE(speaks.say("hello"));
  serve(5 * second_us);
  EXPECT_EQ(speaks.hear(), "hello");
  wait_for_tick(10 * second_us - 1);
  EXPECT_EQ(server_->clients(), 2U);
  wait_for_tick(10 * second_us);
  EXPECT_EQ(silent.hear(), "");
  EXPECT_EQ(speaks.hear(), "-");
  EXPECT_EQ(closed_, std::vector<client_id>{1});
}

/// No descriptor for anybody in this process while it lives.
class no_descriptors {
public:
  no_descriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int free = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(free);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(free), .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~no_descriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
  rlimit before_{};
};

TEST_F(seqpacket_server_test, without_a_descriptor_it_does_not_spin_and_accepts_when_there_is_one_again) {
  start();
  const peer waits(path_);
  ASSERT_TRUE(waits.say("patience"));
  {
    const no_descriptors none;
    EXPECT_LE(wakes(0), 3);
    EXPECT_EQ(troubles_.size(), 1U) << "said once, however often it is tried";
  }
  wait_for_tick(second_us);
  EXPECT_EQ(waits.hear(), "patience");
  EXPECT_EQ(troubles_.size(), 2U);
}

TEST_F(seqpacket_server_test, without_a_descriptor_an_idle_client_makes_room) {
  start();
  const peer idle(path_);
  serve(0);
  const peer asks(path_);
  ASSERT_TRUE(asks.say("question"));
  const no_descriptors none;
  serve(1);
  EXPECT_EQ(idle.hear(), "");
  EXPECT_EQ(asks.hear(), "question");
}

TEST_F(seqpacket_server_test, a_removed_socket_is_made_anew_and_clients_stay) {
  start({.mode = 0600});
  const peer old(path_);
  serve(0);
  unlink(path_.c_str());
  EXPECT_FALSE(peer(path_).connected());
  wait_for_tick(second_us);
  const peer fresh(path_);
  ASSERT_TRUE(fresh.connected() && fresh.say("new") && old.say("old"));
  serve(second_us);
  EXPECT_EQ(fresh.hear(), "new");
  EXPECT_EQ(old.hear(), "old");
  struct stat file{};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

TEST_F(seqpacket_server_test, a_socket_in_a_folder_that_is_gone_is_tried_again_without_spinning) {
  start();
  unlink(path_.c_str());
  rmdir(folder_.c_str());
  wait_for_tick(second_us);
  EXPECT_LE(wakes(2 * second_us), 3);
  EXPECT_EQ(troubles_.size(), 1U);
  mkdir(folder_.c_str(), 0700);
  wait_for_tick(3 * second_us);
  EXPECT_TRUE(peer(path_).connected());
}

TEST_F(seqpacket_server_test, a_path_that_another_process_has_taken_is_left_to_it) {
  start();
  const auto first = std::move(server_);
  start();  // takes the path
  wait_for_tick(second_us);
  first->poll(second_us, *this);
  const peer client(path_);
  ASSERT_TRUE(client.say("to the second"));
  serve(second_us);
  EXPECT_EQ(client.hear(), "to the second");
  first->poll(second_us, *this);
  EXPECT_EQ(first->clients(), 0U);
}

}  // namespace
}  // namespace perhop::sockets
