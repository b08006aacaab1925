// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's host: packets and time are ns-3's, and views are read by it.
#include "host/core/shim/ip_packet.hpp"
#include "host_under_test.hpp"
#include "sim/ns3/exact-node.h"
#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/ip-view.h"

#include "ns3/simulator.h"
#include "tests/sim/ns3/run_file.h"

namespace perhop::hop_test {
namespace {

using namespace ns3;

HopPacket packet_of(const bytes& ip) {
  const auto packet = Create<Packet>(ip.data(), static_cast<std::uint32_t>(ip.size()));
  return {.view = *ReadIpView(packet), .content = {.packet = packet}};
}

/// A flow whose application sends as much as it may.
class greedy_flow final : public ExactFlowEnds {
public:
  greedy_flow(const shim::flow_key& key, std::function<void(const bytes&)> send) : key_(key), send_(std::move(send)) {}

  std::size_t GetIndex() const override { return 0; }
  double GetWeight() const override { return 1; }
  const shim::flow_key& GetKey() const override { return key_; }
  std::optional<hop::next_packet> GetNextPacket(uint64_t) override { return hop::next_packet{.ip_bytes = exact_ip_bytes}; }
  void SendPacket() override { send_(udp_of(key_, exact_ip_bytes)); }
  void SendReport() override { send_(shim::empty_udp(key_.reversed())); }
  void OnReport(uint64_t, const wire::exact_report&, const policy::exact_sender&) override {}
  void OnServed(uint64_t, const policy::exact_sender&) override {}

private:
  shim::flow_key key_;
  std::function<void(const bytes&)> send_;
};

class ns3_host final : public host_under_test, public HopDevice {
public:
  explicit ns3_host(const setting& with) {
    if (Time::GetResolution() != Time::US) Time::SetResolution(Time::US);
    hop_ = std::make_unique<HopAdapter>(shim_of(with), queue_packets, default_average_shift, ipv4_of(0), *this);
    if (!with.exact) return;
    run::run_config outputs;
    outputs.outputs.directory = folder_.Path();
    log_ = std::make_unique<ExactLog>(outputs);
    ends_ = std::make_unique<ExactNode>(0, *hop_, ends_config(), *log_);
    for (std::size_t flow = 0; flow < exact_flows; ++flow) {
      for (const shim::flow_key& key : {exact_flow_from_here(flow), exact_flow_to_here(flow)}) {
        flows_.push_back(std::make_unique<greedy_flow>(key, [this](const bytes& ip) { send(now(), ip); }));
        ends_->AddFlow(*flows_.back());
      }
    }
  }
  ~ns3_host() override { Simulator::Destroy(); }

  void pass(time_us now) override {
    do {
      Simulator::Stop(MicroSeconds(now) - Simulator::Now());
      Simulator::Run();
    } while (hop_->GetPath().next_deadline().value_or(now + 1) <= now ||
             (ends_ && ends_->GetEnds().next_deadline(has_room()).value_or(now + 1) <= now));
  }
  void begin(time_us now, std::size_t flow) override {
    ends_->Begin(now, *flows_[2 * flow], wire::unlimited_rate_bps);
    pass(now);
  }
  void send(time_us now, const bytes& ip) override {
    HopPacket going = packet_of(ip);
    if (ends_) ends_->OnSend(going);
    hop_->Send(now, std::move(going));
  }
  std::optional<std::uint16_t> receive(time_us now, const wire::path_header& header, const hop::exact_rider& rider,
                                       const bytes& ip) override {
    const HopPacket arrived = packet_of(ip);
    const auto window_bytes = hop_->Receive(now, header, arrived.view);
    if (ends_) {
      ends_->OnReceive(now, arrived.view, header, rider, 0);
      pass(now);
    }
    return window_bytes;
  }
  void forward(time_us now, const wire::path_header& header, const hop::exact_rider& rider, const bytes& ip) override {
    HopPacket going = packet_of(ip);
    going.from = hop::origin::radio;
    going.header = header;
    going.rider = rider;
    going.content.ttlSpent = 1;
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
    if (ends_) {
      ends_->Wind(now);
      pass(now);
    }
  }
  bool has_frame() const override { return taken_; }
  std::string state() override {
    return std::exchange(frames_, {}) + text_of(hop_->GetPath()) + (ends_ ? text_of_ends(ends_->GetEnds(), has_room()) : "");
  }

private:
  static time_us now() { return static_cast<time_us>(Simulator::Now().GetMicroSeconds()); }
  bool has_room() const { return !hop_->GetPath().queue().full(); }
  uint64_t NextHopTo(uint32_t destination) const override { return mac_of(destination - ipv4_of(0)); }
  shim::next_hop Describe(const HopPacket& packet, uint64_t, uint8_t peer) const override {
    const std::size_t around = mac_header_bytes + llc_snap_bytes + path_header_bytes + hop::rider_size(packet.rider) + fcs_bytes;
    return {
        .peer = peer, .rate_index = data_rate_index, .mpdu_bytes = static_cast<std::uint32_t>(around + packet.content.packet->GetSize())};
  }
  void OnLeft(uint64_t now, const HopPacket& packet, uint64_t receiver, const wire::path_header& header, uint64_t arrived_bps) override {
    if (ends_) ends_->OnLeft(now, packet, receiver, header, arrived_bps);
  }
  uint64_t Make(uint64_t, HopPacket&& packet, const wire::path_header& header, uint64_t receiver, const shim::next_hop& next) override {
    made_.push_back({header, packet.rider, receiver, next});
    return made_.size() - 1;
  }
  uint64_t MakeHello(uint64_t, std::span<const uint8_t>, uint8_t, uint32_t) override { throw std::logic_error("no router sends hellos"); }
  bool CanSubmit() const override { return !taken_; }
  std::size_t PacketsInMac() const override { return taken_ ? 1 : 0; }
  void Submit(uint64_t place) override {
    const made& frame = made_[place];
    frames_ += text_of(frame.receiver, frame.next.peer, frame.next.mpdu_bytes, frame.header, frame.rider);
    taken_ = true;
    peer_ = frame.next.peer;
    receiver_ = frame.receiver;
  }
  void OnQueueDrop(const shim::ip_packet_view&) override {}
  void OnPurged(uint64_t) override {}

  struct made {
    wire::path_header header;
    hop::exact_rider rider;
    std::uint64_t receiver;
    shim::next_hop next;
  };
  std::vector<made> made_;
  bool taken_ = false;
  std::uint8_t peer_ = 0;
  std::uint64_t receiver_ = 0;
  std::string frames_;
  std::unique_ptr<HopAdapter> hop_;
  run_file::TemporaryFolder folder_;
  std::unique_ptr<ExactLog> log_;
  std::vector<std::unique_ptr<greedy_flow>> flows_;
  std::unique_ptr<ExactNode> ends_;
};

}  // namespace

std::unique_ptr<host_under_test> make_ns3_host(const setting& with) { return std::make_unique<ns3_host>(with); }

}  // namespace perhop::hop_test
