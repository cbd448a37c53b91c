// A NewReno dumbbell in ns-3.37:  dumbbell --forward=50 --reverse=50 --duration=3 ...
//
// The network of dumbbell.tcl. A packet is 1000 bytes on the wire (PPP 2, IP 20, TCP 20, data 958), an
// ACK 42. ns-3 at its best: nix-vector routes (1.7 times as fast here as global ones), no SACK
// scoreboard, no queue disciplines above the devices, no checksums, no traces but a counter of the
// packets that links have sent. Prints "name value" lines; the CPU clock runs around Simulator::Run alone.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/nix-vector-routing-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdint>
#include <ctime>
#include <iostream>

using namespace ns3;

namespace {

constexpr uint32_t kSegmentBytes = 958;
constexpr uint16_t kPort = 9;
// Far more than a flow's window, and not so much that filling it is what takes the time.
constexpr uint32_t kSocketBytes = 1 << 20;
constexpr uint32_t kUnlimitedBytes = 1 << 30;

struct Options {
  uint64_t rate = 150000000;
  double rtt = 0.08;
  uint32_t forward = 50;
  uint32_t reverse = 50;
  uint32_t buffer = 1500000;
  double duration = 3;
  double start_window = 1;
  double minrto = 0.2;
  uint32_t seed = 1;
};

Options Parse(int argc, char** argv) {
  Options options;
  CommandLine line;
  line.AddValue("rate", "of the bottleneck, bits per second", options.rate);
  line.AddValue("rtt", "two-way propagation time, seconds", options.rtt);
  line.AddValue("forward", "flows from left to right", options.forward);
  line.AddValue("reverse", "flows from right to left", options.reverse);
  line.AddValue("buffer", "bytes", options.buffer);
  line.AddValue("duration", "seconds", options.duration);
  line.AddValue("start_window", "flows start within this time, seconds", options.start_window);
  line.AddValue("minrto", "least retransmission timeout, seconds", options.minrto);
  line.AddValue("seed", "of the random starts", options.seed);
  line.Parse(argc, argv);
  return options;
}

void Configure(const Options& options) {
  RngSeedManager::SetSeed(options.seed);
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(options.minrto)));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(kSocketBytes));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kSocketBytes));
}

uint64_t packet_hops = 0;

void CountHop(Ptr<const Packet>) { ++packet_hops; }

class Dumbbell {
 public:
  explicit Dumbbell(const Options& options) : options_(options), gateways_(2) {
    stack_.SetRoutingHelper(Ipv4NixVectorHelper());
    stack_.SetIpv6StackInstall(false);
    stack_.Install(gateways_);
    Connect(gateways_.Get(0), gateways_.Get(1), options.rate, options.rtt / 4, options.buffer);
  }

  void AddFlow(uint32_t from, uint32_t to, double start) {
    const Host source = AddHost(gateways_.Get(from));
    const Host sink = AddHost(gateways_.Get(to));
    const InetSocketAddress address(sink.address, kPort);
    BulkSendHelper bulk("ns3::TcpSocketFactory", address);
    bulk.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
    bulk.Install(source.node).Start(Seconds(start));
    PacketSinkHelper("ns3::TcpSocketFactory", address).Install(sink.node);
  }

 private:
  struct Host {
    Ptr<Node> node;
    Ipv4Address address;
  };

  Host AddHost(Ptr<Node> gateway) {
    Ptr<Node> node = CreateObject<Node>();
    stack_.Install(node);
    return {node, Connect(node, gateway, 10 * options_.rate, options_.rtt / 8, kUnlimitedBytes)};
  }

  // The address of the link's end at `from`.
  Ipv4Address Connect(Ptr<Node> from, Ptr<Node> to, uint64_t rate, double owd, uint32_t buffer) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(owd)));
    const QueueSize size(QueueSizeUnit::BYTES, buffer);
    link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(size));
    const NetDeviceContainer devices = link.Install(from, to);
    const Ipv4InterfaceContainer interfaces = addresses_.Assign(devices);
    addresses_.NewNetwork();
    TrafficControlHelper().Uninstall(devices);  // Assign has put an FqCoDel above each device.
    for (uint32_t end : {0, 1}) {
      devices.Get(end)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountHop));
    }
    return interfaces.GetAddress(0);
  }

  const Options options_;
  NodeContainer gateways_;
  InternetStackHelper stack_;
  Ipv4AddressHelper addresses_{"10.0.0.0", "255.255.255.252"};
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  Configure(options);
  Dumbbell dumbbell(options);
  Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
  const auto start = [&] { return random->GetValue(0, options.start_window); };
  for (uint32_t i = 0; i < options.forward; ++i) dumbbell.AddFlow(0, 1, start());
  for (uint32_t i = 0; i < options.reverse; ++i) dumbbell.AddFlow(1, 0, start());

  Simulator::Stop(Seconds(options.duration));
  const std::clock_t begin = std::clock();
  Simulator::Run();
  const double cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::cout << "packet_hops " << packet_hops << "\ncpu_s " << cpu_s << "\n";
  Simulator::Destroy();
}
