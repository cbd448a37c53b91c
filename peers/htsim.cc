// Greedy TCP over one bottleneck in csg-htsim, on its own classes (htsim.py builds it against them).
//
//   htsim-dumbbell RATE_BPS RTT_S FLOWS BUFFER_PKTS PACKET_BYTES DURATION_S START_WINDOW_S SEED
//
// Prints the ACKs that reached senders, the bottleneck's share of its capacity, and the time on the
// core of the event loop alone.

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "randomqueue.h"
#include "tcp.h"

namespace {

// Counts the packets that pass; one object for all flows, the last stop before each sender.
class AckCounter : public PacketSink {
public:
    void receivePacket(Packet& pkt) override {
        ++acks;
        pkt.sendOn();
    }
    const string& nodename() override { return _name; }
    uint64_t acks = 0;

private:
    string _name = "acks";
};

double cpu_s() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 9) {
        std::cerr << "eight arguments are needed; see the head of htsim.cc\n";
        return 2;
    }
    const double rate_bps = atof(argv[1]);
    const double rtt_s = atof(argv[2]);
    const int flows = atoi(argv[3]);
    const int buffer_pkts = atoi(argv[4]);
    const int packet_bytes = atoi(argv[5]);
    const double duration_s = atof(argv[6]);
    const double start_window_s = atof(argv[7]);
    srand48(atol(argv[8]));
    srand(unsigned(atol(argv[8])));

    // The library tells of each flow on standard output.
    std::ostringstream chatter;
    std::streambuf* output = std::cout.rdbuf(chatter.rdbuf());

    EventList eventlist;
    eventlist.setEndtime(timeFromSec(duration_s));
    Packet::set_packet_size(packet_bytes);
    const linkspeed_bps rate = linkspeed_bps(rate_bps);
    const mem_b buffer = memFromPkt(buffer_pkts);
    Pipe there(timeFromSec(rtt_s / 2), eventlist);
    Pipe back(timeFromSec(rtt_s / 2), eventlist);
    RandomQueue bottleneck(rate, buffer, eventlist, nullptr, memFromPkt(5));
    TcpRtxTimerScanner timers(timeFromMs(10), eventlist);
    AckCounter counter;
    std::vector<TcpSink*> sinks;
    for (int i = 0; i < flows; ++i) {
        auto* source = new TcpSrc(nullptr, nullptr, eventlist);
        auto* sink = new TcpSink();
        sinks.push_back(sink);
        timers.registerTcp(*source);
        auto* out = new Route();
        out->push_back(new Queue(rate, buffer * 10, eventlist, nullptr));
        out->push_back(&bottleneck);
        out->push_back(&there);
        out->push_back(sink);
        auto* in = new Route();
        in->push_back(&back);
        in->push_back(&counter);
        in->push_back(source);
        source->connect(*out, *in, *sink, timeFromSec(drand48() * start_window_s));
    }

    const double start_s = cpu_s();
    while (eventlist.doNextEvent()) {
    }
    const double end_s = cpu_s();

    uint64_t delivered_bytes = 0;
    for (const TcpSink* sink : sinks) {
        delivered_bytes += sink->_packets;
    }
    std::cout.rdbuf(output);
    std::cout << "acks " << counter.acks << "\n";
    std::cout << "utilization_ratio " << double(delivered_bytes) * 8 / (rate_bps * duration_s)
              << "\n";
    std::cout << "cpu_s " << end_s - start_s << "\n";
    return 0;
}
