// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's host: packets and time are ns-3's, and views are read by it.
#include "host_under_test.hpp"
#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/ip-view.h"

#include "ns3/simulator.h"

namespace perhop::hop_test {
namespace {

using namespace ns3;

class ns3_host final : public host_under_test, public HopDevice {
public:
  explicit ns3_host(const setting& with) {
    if (Time::GetResolution() != Time::US) Time::SetResolution(Time::US);
    hop_ = std::make_unique<HopAdapter>(shim_of(with), queue_packets, default_average_shift, ipv4_of(0), *this);
  }
  ~ns3_host() override { Simulator::Destroy(); }

  void pass(time_us now) override {
    do {
      Simulator::Stop(MicroSeconds(now) - Simulator::Now());
      Simulator::Run();
    } while (hop_->GetPath().next_deadline().value_or(now + 1) <= now);
  }
  void send(time_us now, const bytes& ip) override {
    const auto packet = Create<Packet>(ip.data(), static_cast<std::uint32_t>(ip.size()));
    hop_->Send(now, {.view = *ReadIpView(packet), .content = {.packet = packet}});
  }
  std::optional<std::uint16_t> receive(time_us now, const wire::path_header& header, const bytes& ip) override {
    const auto packet = Create<Packet>(ip.data(), static_cast<std::uint32_t>(ip.size()));
    return hop_->Receive(now, header, *ReadIpView(packet));
  }
  void forward(time_us now, const wire::path_header& header, const hop::exact_rider& rider, const bytes& ip) override {
    const auto packet = Create<Packet>(ip.data(), static_cast<std::uint32_t>(ip.size()));
    HopPacket going{.view = *ReadIpView(packet),
                    .from = hop::origin::radio,
                    .header = header,
                    .rider = rider,
                    .content = {.packet = packet, .ttlSpent = 1}};
    --going.view.ttl;
    hop_->Forward(now, std::move(going), true);
  }
  void complete(time_us now, const completion& done) override {
    air::completion record{};
    record.peer = peer_;
    record.ra = receiver_;
    record.result = done.delivered ? tx_result::delivered : tx_result::long_retry_limit;
    record.data_attempts = done.data_attempts;
    record.t_done_us = now;
    record.t_head_us = now - done.contention_us - done.overhead_us - done.data_us;
    record.parts.control_us = done.overhead_us;
    record.parts.data_us = done.data_us;
    record.avg_contention_us16 = done.avg_contention_us16;
    record.avg_overhead_us16 = done.avg_overhead_us16;
    record.avg_data_attempts_256 = done.avg_data_attempts_256;
    taken_ = false;
    hop_->Completed(record, false);
    hop_->Pump(now);
  }
  bool has_frame() const override { return taken_; }
  std::string state() override { return std::exchange(frames_, {}) + text_of(hop_->GetPath()); }

private:
  uint64_t NextHopTo(uint32_t destination) const override { return mac_of(destination - ipv4_of(0)); }
  shim::next_hop Describe(const HopPacket& packet, uint64_t, uint8_t peer) const override {
    const std::size_t around = mac_header_bytes + llc_snap_bytes + path_header_bytes + hop::rider_size(packet.rider) + fcs_bytes;
    return {
        .peer = peer, .rate_index = data_rate_index, .mpdu_bytes = static_cast<std::uint32_t>(around + packet.content.packet->GetSize())};
  }
  void OnLeft(uint64_t, const HopPacket&, const wire::path_header&, uint64_t) override {}
  uint64_t Make(uint64_t, HopPacket&&, const wire::path_header& header, uint64_t receiver, const shim::next_hop& next) override {
    made_.push_back({header, receiver, next});
    return made_.size() - 1;
  }
  uint64_t MakeHello(uint64_t, std::span<const uint8_t>, uint8_t, uint32_t) override { throw std::logic_error("no router sends hellos"); }
  bool CanSubmit() const override { return !taken_; }
  void Submit(uint64_t place) override {
    const made& frame = made_[place];
    frames_ += text_of(frame.receiver, frame.next.peer, frame.next.mpdu_bytes, frame.header);
    taken_ = true;
    peer_ = frame.next.peer;
    receiver_ = frame.receiver;
  }
  void OnQueueDrop(const shim::ip_packet_view&) override {}
  void OnPurged(uint64_t) override {}

  struct made {
    wire::path_header header;
    std::uint64_t receiver;
    shim::next_hop next;
  };
  std::vector<made> made_;
  bool taken_ = false;
  std::uint8_t peer_ = 0;
  std::uint64_t receiver_ = 0;
  std::string frames_;
  std::unique_ptr<HopAdapter> hop_;
};

}  // namespace

std::unique_ptr<host_under_test> make_ns3_host(const setting& with) { return std::make_unique<ns3_host>(with); }

}  // namespace perhop::hop_test
