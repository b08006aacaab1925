// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/kernel_run.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "sim/air/mix.hpp"
#include "sim/air/pcapng.hpp"
#include "sim/kernel/addresses.hpp"
#include "sim/kernel/flow_log.hpp"
#include "sim/kernel/flow_plan.hpp"
#include "sim/kernel/initramfs.hpp"
#include "sim/kernel/kernel_host.hpp"
#include "sim/kernel/kernel_process.hpp"
#include "sim/kernel/network.hpp"
#include "sim/kernel/own_core.hpp"
#include "sim/kernel/plans.hpp"
#include "sim/kernel/rate_message.hpp"
#include "sim/run/run_report.hpp"

namespace perhop::kernels {

namespace {

constexpr const char* time_socket = "time.sock";
// What a kernel with its flow end needs, and some megabytes of packets.
constexpr const char* memory = "32M";
// In which the flow ends tell what was at the very end.
constexpr time_ns last_word_ns = 1'000'000;
constexpr std::size_t console_tail_lines = 4;
constexpr const char* panic = "Kernel panic";
// What a run draws of its seed beside others: the entropy of its kernels.
constexpr std::uint64_t entropy_draw = 0x6b65'726e'656c;

std::ofstream open_output(const std::filesystem::path& file) {
  std::ofstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be written; check outputs.directory");
  return stream;
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Linux looks for the next archive at a multiple of four bytes.
void add_archive(std::string& archives, const std::filesystem::path& file) {
  archives += read_file(file);
  archives.resize((archives.size() + 3) / 4 * 4);
}

double cpu_of_this_process_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

time_ns nanoseconds(double seconds) { return static_cast<time_ns>(std::llround(seconds * 1e9)); }

std::string card_socket(air::node_id node) { return "card-" + std::to_string(node) + ".sock"; }
std::string console_file(air::node_id node) { return "kernel-" + std::to_string(node) + ".log"; }
std::string initramfs_of(air::node_id node) { return "initramfs-" + std::to_string(node); }

/// Why a kernel has panicked; else its last lines that are not a flow end's, on one line.
std::string tail_of(const std::string& console) {
  std::vector<std::string> lines;
  std::istringstream all(console);
  for (std::string line; std::getline(all, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    // Behind it stands what was called when.
    if (const std::size_t at = line.find(panic); at != std::string::npos) return line.substr(at);
    if (!line.empty() && line.front() != '{') lines.push_back(line);
  }
  std::string tail;
  for (std::size_t index = lines.size() - std::min(lines.size(), console_tail_lines); index < lines.size(); ++index) {
    tail += (tail.empty() ? "" : " / ") + lines[index];
  }
  return tail;
}

/// A sum is packets and bytes.
nlohmann::ordered_json json_of(air::node_id node, const node_ledger& ledger) {
  const auto sum = [](const packet_sum& of) { return nlohmann::ordered_json::array({of.packets, of.bytes}); };
  auto neighbours = nlohmann::ordered_json::array();
  for (const auto& [beside, had] : ledger.neighbours) {
    neighbours.push_back(
        {{"node", beside}, {"from_air", sum(had.from_air)}, {"delivered", sum(had.delivered)}, {"mac_drops", sum(had.mac_drops)}});
  }
  return {{"node", node},
          {"from_ip", sum(ledger.from_ip)},
          {"to_ip", sum(ledger.to_ip)},
          {"queue_drops", sum(ledger.queue_drops)},
          {"waiting", sum(ledger.waiting)},
          {"neighbours", neighbours}};
}

/// A folder of the run's for sockets, links and what kernels begin with; gone afterwards. The process works in it: names of sockets are
/// short.
class workshop {
public:
  explicit workshop(const std::filesystem::path& folder) : folder_(folder), before_(std::filesystem::current_path()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "uml");
    std::filesystem::current_path(folder_);
  }
  ~workshop() {
    std::error_code none;
    std::filesystem::current_path(before_, none);
    std::filesystem::remove_all(folder_, none);
  }
  workshop(const workshop&) = delete;
  workshop& operator=(const workshop&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

private:
  std::filesystem::path folder_, before_;
};

/// Everything that lives as long as a run does.
class run_in_progress {
public:
  run_in_progress(const run::run_config& config, const kernel_files& files, const run_options& options);
  run_outcome make(const std::function<void(double)>& on_progress, const std::function<bool()>& interrupted);

private:
  void start_kernels(const kernel_files& files);
  std::string archives_of(air::node_id node) const;
  void look_at_limits();
  void tell_rate(std::size_t flow, std::uint64_t rate_bps);
  std::string console_of(air::node_id node) const;
  std::string words_of(const kernel_failure& failure) const;
  void write_results(bool complete);

  const run::run_config& config_;
  run_options options_;
  std::ofstream trace_, completions_, journeys_;
  std::optional<air::pcapng_writer> capture_;
  run::run_report report_;
  flow_log log_;
  std::map<air::node_id, std::string> plans_;
  workshop workshop_;
  calendar time_;
  network network_;
  std::vector<std::unique_ptr<kernel_host>> hosts_;
  kernel_processes processes_;
  descriptor core_;
  double kernels_cpu_s_ = 0;
};

time_ns hosts_time_of_day() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<time_ns>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count());
}

run_in_progress::run_in_progress(const run::run_config& config, const kernel_files& files, const run_options& options)
    : config_(config),
      options_(options),
      trace_(config.outputs.trace ? open_output(config.outputs.directory / "trace.txt") : std::ofstream()),
      completions_(config.outputs.completions ? open_output(config.outputs.directory / "completions.csv") : std::ofstream()),
      report_(config, config.outputs.trace ? &trace_ : nullptr, config.outputs.completions ? &completions_ : nullptr),
      log_(config, begin_ns),
      plans_(make_plans(config, log_.edges())),
      workshop_(config.outputs.directory / "kernels"),
      time_({.socket_path = time_socket,
             .kernels = plans_.size(),
             .shared_memory = options.shared_memory,
             .free_running = options.free_running,
             .time_of_day_ns = options.fixed_time_of_day ? usual_time_of_day_ns : hosts_time_of_day(),
             .patience = options.patience}),
      network_(config, report_,
               config.outputs.pcapng ? &capture_.emplace(config.outputs.directory / "packets.pcapng", *config.air.mac.profile,
                                                         config.air.nodes.size(), config.outputs.pcapng_nodes)
                                     : nullptr,
               begin_ns) {
  if (config.outputs.completions) {
    journeys_ = open_output(config.outputs.directory / "journeys.csv");
    network_.tell_journeys(journeys_);
  }
  time_.add(network_);
  if (options.own_core) core_ = take_own_core();
  start_kernels(files);
  network_.set_rates([this](std::size_t flow, std::uint64_t rate_bps) { tell_rate(flow, rate_bps); });
}

void run_in_progress::start_kernels(const kernel_files& files) {
  std::filesystem::create_symlink(files.kernel, workshop_.folder() / kernel_link);
  std::filesystem::create_symlink(files.seeded_random, workshop_.folder() / random_link);
  std::string program;
  add_archive(program, files.flow_end);
  for (const auto& [node, plan] : plans_) {
    const std::vector<initramfs_file> content = {{.name = flow_plan::file_name, .content = plan}};
    open_output(workshop_.folder() / initramfs_of(node)) << archives_of(node) << program << make_initramfs({}, content);
    const std::size_t kernel = hosts_.size();
    hosts_.push_back(std::make_unique<kernel_host>(time_, network_, kernel, node, card_socket(node), begin_ns));
    kernel_command command{
        .arguments = {std::string("mem=") + memory, "uml_dir=uml/", "umid=node-" + std::to_string(node),
                      "time-travel=ext:" + std::to_string(kernel) + ":" + time_socket, "virtio_uml.device=" + card_socket(node) + ":1",
                      "initrd=" + initramfs_of(node), "con=null", "con0=null,fd:1", "quiet", "random.trust_cpu=0", "panic=-1"},
        .fixed_layout = options_.fixed_layout,
        .console = "../" + console_file(node)};
    if (options_.seeded) command.seed = air::random_bits(config_.seed, node, entropy_draw);
    if (!options_.fixed_command_line) command.arguments.push_back("run=" + std::to_string(getpid()));
    processes_.start(workshop_.folder(), command);
  }
}

/// Of the programs at a node, one after the other; what comes last in an initramfs is what a kernel begins with.
std::string run_in_progress::archives_of(air::node_id node) const {
  std::vector<std::filesystem::path> known;
  std::string archives;
  for (const run::program_config& program : config_.programs) {
    if (program.node != node || std::find(known.begin(), known.end(), program.initramfs) != known.end()) continue;
    known.push_back(program.initramfs);
    add_archive(archives, program.initramfs);
  }
  return archives;
}

/// What the daemons hold the flows to, as often as flow ends look at their TCP.
void run_in_progress::look_at_limits() {
  for (std::size_t flow = 0; flow < config_.flows.size(); ++flow) {
    const auto limit = network_.path(config_.flows[flow].src).shim()->cwl_packets(key_of(config_.flows[flow], flow));
    if (limit) log_.add_limit(flow, time_.now(), *limit);
    if (const auto rate_bps = network_.allowed_rate_bps(flow)) log_.add_rate(flow, time_.now(), static_cast<double>(*rate_bps));
  }
  time_.at(time_.now() + flow_plan::look_interval_ns, [this] { look_at_limits(); });
}

/// To the kernel that has the flow's socket.
void run_in_progress::tell_rate(std::size_t flow, std::uint64_t rate_bps) {
  const air::node_id node = config_.flows[flow].src;
  const auto host = std::ranges::find(hosts_, node, [](const auto& each) { return each->node(); });
  (*host)->on_packet(rate_message(ipv4_of(node), flow, rate_bps));
}

std::string run_in_progress::console_of(air::node_id node) const {
  std::error_code none;
  const std::filesystem::path file = config_.outputs.directory / console_file(node);
  return std::filesystem::exists(file, none) ? read_file(file) : "";
}

std::string run_in_progress::words_of(const kernel_failure& failure) const {
  const air::node_id node = std::next(plans_.begin(), static_cast<std::ptrdiff_t>(failure.kernel()))->first;
  const std::string said = tail_of(console_of(node));
  return "the kernel of node " + std::to_string(node) + " " + failure.what() + (said.empty() ? "" : "; it said: " + said) +
         "\nremedy: look at " + (config_.outputs.directory / console_file(node)).string() +
         "; run again if something has killed it. What was measured so far is kept";
}

run_outcome run_in_progress::make(const std::function<void(double)>& on_progress, const std::function<bool()>& interrupted) {
  run_outcome outcome;
  const time_ns end = begin_ns + nanoseconds(config_.duration_s);
  time_.set_interrupted(interrupted);
  time_.at(begin_ns, [this] { look_at_limits(); });
  try {
    time_.connect();
    time_.run(end + last_word_ns, [&] {
      const time_ns now = time_.now();
      on_progress(static_cast<double>(std::clamp(now, begin_ns, end) - begin_ns) / 1e9);
      return !interrupted();
    });
    outcome.interrupted = time_.now() < end;
  } catch (const kernel_failure& failure) {
    outcome.interrupted = interrupted();
    if (!outcome.interrupted) outcome.failure = words_of(failure);
  }
  const bool complete = !outcome.interrupted && outcome.failure.empty();
  network_.finish(complete ? end : time_.now());
  kernels_cpu_s_ = processes_.end();
  write_results(complete);
  if (complete && (log_.kernels_up() < plans_.size() || log_.last_up() > begin_ns)) {
    outcome.failure = "not all kernels were up when the run began\nremedy: look at kernel-*.log in " + config_.outputs.directory.string();
  } else if (complete && !log_.problems().empty()) {
    outcome.failure = log_.problems().front() + "\nremedy: look at kernel-*.log in " + config_.outputs.directory.string();
  }
  return outcome;
}

void run_in_progress::write_results(bool complete) {
  for (const auto& [node, plan] : plans_) log_.read_console(console_of(node));
  std::vector<run::flow_result> flows;
  for (std::size_t flow = 0; flow < config_.flows.size(); ++flow) {
    run::flow_result result = log_.result(flow);
    const flow_packets& packets = network_.packets_of(flow);
    const node::packet_path& receiver = network_.path(config_.flows[flow].dst);
    result.tcp_acks_sent = packets.tcp_acks_sent;
    if (result.delivered_packets != 0) {
      result.tcp_acks_per_packet = static_cast<double>(packets.tcp_acks_sent) / static_cast<double>(result.delivered_packets);
    }
    result.tcp_acks_held = receiver.counters().tcp_acks_held;
    result.mac_drops_data_packets = packets.mac_drops_data;
    result.mac_drops_tcp_ack_packets = packets.mac_drops_tcp_acks;
    result.queue_drops_data_packets = packets.queue_drops_data;
    result.queue_drops_tcp_ack_packets = packets.queue_drops_tcp_acks;
    for (const node::packet_path::flow_report& known : network_.path(config_.flows[flow].src).flows()) {
      if (known.key == key_of(config_.flows[flow], flow)) result.max_packets_in_flight = known.most_in_flight;
    }
    flows.push_back(result);
  }
  std::ofstream intervals = open_output(config_.outputs.directory / "intervals.csv");
  log_.write_intervals(intervals);
  if (capture_) capture_->finish();

  const air::air_counters& counters = network_.medium().counters();
  const double own_s = cpu_of_this_process_s();
  const double scale = std::min(1.0, own_s / std::max(counters.rtl_s + counters.medium_s, 1e-9));
  run::cpu_times cpu;
  cpu.total_s = own_s + kernels_cpu_s_;
  cpu.rtl_s = counters.rtl_s * scale;
  cpu.medium_s = counters.medium_s * scale;
  cpu.transport_s = kernels_cpu_s_;
  cpu.other_s = std::max(0.0, own_s - cpu.rtl_s - cpu.medium_s);
  auto result = report_.result(network_.medium().now(), counters, cpu, flows, !complete);
  result["backend"] = "kernel";
  for (const auto& host : hosts_) {
    result["kernels"].push_back({{"node", host->node()},
                                 {"sent_packets", host->counters().sent},
                                 {"received_packets", host->counters().received},
                                 {"no_buffer", host->counters().no_buffer},
                                 {"packet_hash", host->packets().text()}});
  }
  for (air::node_id node = 0; node < config_.air.nodes.size(); ++node) result["ledger"].push_back(json_of(node, network_.ledger_of(node)));
  result["kernel_runs"] = time_.counters().runs;
  if (const std::uint64_t marks = network_.congestion_marks(); marks != 0) result["congestion_marks"] = marks;
  std::ofstream file = open_output(config_.outputs.directory / "result.json");
  file << result.dump(1) << '\n';
  const bool written = file.flush() && intervals.flush() && trace_.flush() && completions_.flush() && journeys_.flush();
  if (!written) {
    throw std::runtime_error(config_.outputs.directory.string() + ": results cannot be written; is the disk full?");
  }
}

}  // namespace

run_outcome make_run(run::run_config config, const kernel_files& files, const run_options& options,
                     const std::function<void(double)>& on_progress, const std::function<bool()>& interrupted) {
  check(config);
  config.outputs.directory = std::filesystem::absolute(config.outputs.directory);
  std::filesystem::create_directories(config.outputs.directory);
  return run_in_progress(config, files, options).make(on_progress, interrupted);
}

}  // namespace perhop::kernels
